// How many rows every table has, seen through a connection of its own.

import { DatabaseSync } from 'node:sqlite'
import type { TestService } from '../../../../packages/server/src/testing/harness.ts'

export type RowCounts = Readonly<Record<string, number>>

/** Rows by table. Reads are metered in the background: those counts are left out. */
export function rowCounts({ kernel }: TestService): RowCounts {
  const database = new DatabaseSync(kernel.db.path, { readOnly: true, timeout: 5_000 })
  try {
    const tables = database
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
      .all()
    return Object.fromEntries(
      tables.map(({ name }) => {
        const table = String(name)
        const where = table === 'usage' ? "WHERE operation LIKE 'w/%'" : ''
        const [row] = database.prepare(`SELECT count(*) AS n FROM "${table}" ${where}`).all()
        return [table, Number(row?.['n'])]
      }),
    )
  } finally {
    database.close()
  }
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
export function runSql({ kernel }: TestService, sql: string, ...values: string[]): void {
  const database = new DatabaseSync(kernel.db.path, { timeout: 5_000 })
  try {
    database.prepare(sql).run(...values)
  } finally {
    database.close()
  }
}
