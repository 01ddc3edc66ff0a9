// How many rows every table has, seen through a connection of its own.

import type { TestService } from '../../../../packages/server/src/testing/harness.ts'
import { listTables, rawSql } from '../../../../packages/server/src/testing/raw-sql.ts'

export type RowCounts = Readonly<Record<string, number>>

/** Who is at work, and what is written up to a second after the request it counts. */
const IN_THE_BACKGROUND =
  'leases tenant_locks rate_slots evaluations policy_counts retrieved_facts'.split(' ')

/** Rows by table. Reads are metered in the background too: those counts are left out. */
export async function rowCounts(service: TestService): Promise<RowCounts> {
  const counts: Record<string, number> = {}
  const kept = (await listTables(service)).filter((name) => !IN_THE_BACKGROUND.includes(name))
  for (const table of kept) {
    const where = table === 'usage' ? `where operation like 'w/%'` : ''
    const [row] = await rawSql(service, `select count(*) as n from "${table}" ${where}`)
    counts[table] = Number(row?.['n'])
  }
  return counts
}

/** The tables whose number of rows changed, and by how much. */
export function difference(before: RowCounts, after: RowCounts): RowCounts {
  const changed = Object.keys(after).map((table): [string, number] => [
    table,
    (after[table] ?? 0) - (before[table] ?? 0),
  ])
  return Object.fromEntries(changed.filter(([, by]) => by !== 0))
}

/** Runs SQL that no operation has, to bring about a state that only a fault leaves behind. */
export async function runSql(service: TestService, sql: string, ...values: string[]) {
  await rawSql(service, sql, values)
}
