// Every table of the data, copied and read back: as many rows, with the same bytes.

import type { PostgresConnection } from '../../platform/db/postgres/connection.ts'
import {
  copyTable,
  digestTable,
  type MovedRows,
  movedTables,
} from '../../platform/db/postgres/moved-tables.ts'
import { OfflineError } from '../../platform/operator-error.ts'

export interface MovedTable {
  readonly name: string
  readonly rows: number
  /** Lower hex SHA-256 of its rows in the order of the key, the same on both sides. */
  readonly sha256: string
}

/** Throws OfflineError when a table reads back as another. */
export async function copyTables(
  connection: PostgresConnection,
  source: MovedRows,
  progress: (text: string) => void,
): Promise<MovedTable[]> {
  const moved: MovedTable[] = []
  for (const table of movedTables()) {
    const { name } = table
    const show = (rows: number) => progress(`${name}, row ${rows}`)
    const given = await copyTable(connection, table, { source, progress: show })
    const kept = await digestTable(connection, table)
    if (kept.rows !== given.rows || kept.sha256 !== given.sha256)
      throw new OfflineError(
        `${name} reads back as other rows: ${given.rows} were sent, ${kept.rows} are there`,
      )
    moved.push({ name, ...kept })
  }
  return moved
}
