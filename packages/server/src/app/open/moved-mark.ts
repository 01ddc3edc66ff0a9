// The file that marks a data directory whose data was moved and is served elsewhere.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { syncDirectory, writeFileDurably } from '../../platform/keys/durable-file.ts'
import { OfflineError } from '../../platform/operator-error.ts'

const FILE = 'moved-to-postgresql'
const TEXT = `The data of this directory was moved to PostgreSQL by custos migrate-engine.
Served from both places, one log would be signed twice, and an erasure in one would not reach the
other. Remove this file only when the copy on PostgreSQL is never used again.
`

/** Throws OfflineError for a directory whose data was moved. */
export function requireUnmoved(data_dir: string): void {
  if (existsSync(join(data_dir, FILE)))
    throw new OfflineError(
      `the data of ${data_dir} was moved to PostgreSQL: set CUSTOS_DATABASE_URL, or remove ` +
        `${join(data_dir, FILE)} if that copy is never used again`,
    )
}

/** Durable when it returns. Returns the path of the mark. */
export function leaveMark(data_dir: string): string {
  const path = join(data_dir, FILE)
  if (!existsSync(path)) {
    writeFileDurably(path, Buffer.from(TEXT))
    syncDirectory(data_dir)
  }
  return path
}
