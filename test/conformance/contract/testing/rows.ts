// How many rows every table has, seen through a connection of its own.

import { createHash } from 'node:crypto'
import type { TestService } from '../../../../packages/server/src/testing/harness.ts'
import { listTables, rawSql } from '../../../../packages/server/src/testing/raw-sql.ts'

export type RowCounts = Readonly<Record<string, number>>

/** Who is at work, and what is written up to a second after the request it counts. */
const IN_THE_BACKGROUND = 'leases tenant_locks rate_slots evaluations policy_counts retrieved_facts'
  .split(' ')
  .concat('webhook_deliveries')

/**
 * Rows by table. Reads are metered in the background too: those counts are left out.
 * @param youngest logs of older tenants than this one are not counted: they may still grow
 */
export async function rowCounts(service: TestService, youngest?: string): Promise<RowCounts> {
  const older = `select tenant_id from tenants where created_us <
    (select created_us from tenants where tenant_id = '${youngest}')`
  const counted = (await keptTables(service)).map(([table, from]) => {
    const some = table === 'breadcrumbs' && youngest ? ` where tenant_id not in (${older})` : ''
    return `select '${table}' as name, count(*) as n ${from}${some}`
  })
  const rows = await rawSql(service, counted.join(' union all '))
  return Object.fromEntries(rows.map(({ name, n }) => [String(name), Number(n)]))
}

/** What was asked for in tables that also say how far the work on it is. */
const ASKED: Readonly<Record<string, string>> = {
  jobs: 'job_id, kind, payload',
  webhooks: 'webhook_id, events, signature, sealed',
}

/** A hash of all values of each table, of those that `rowCounts` counts. */
export async function rowDigests(service: TestService): Promise<Record<string, string>> {
  const digests: Record<string, string> = {}
  for (const [table, from] of await keptTables(service)) {
    const rows = await rawSql(service, `select ${ASKED[table] ?? '*'} ${from}`)
    // When a key was last used is a count of use.
    const texts = rows.map(({ used_us: _, ...row }) => JSON.stringify(row)).sort()
    digests[table] = createHash('sha256').update(texts.join()).digest('hex')
  }
  return digests
}

async function keptTables(service: TestService): Promise<[table: string, from: string][]> {
  const kept = (await listTables(service)).filter((name) => !IN_THE_BACKGROUND.includes(name))
  return kept.map((table) => [
    table,
    `from "${table}"${table === 'usage' ? ` where operation like 'w/%'` : ''}`,
  ])
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
