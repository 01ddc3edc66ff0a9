// Rewrites the file of a table: only this removes deleted rows from it.

import type pg from 'pg'
import { KeyringError } from '../keyring-error.ts'

/** While this waits for the whole table, every later reader of it waits too. */
export async function limitLockWait(client: pg.Client): Promise<void> {
  await client.query("SET lock_timeout = '5s'")
}

/** Returns the dead rows that the new file keeps because an older snapshot may read them. */
export async function rewriteTable(
  client: pg.Client,
  schema: string,
  table: string,
): Promise<number> {
  const name = `"${schema}".${table}`
  const before = await fileOf(client, name)
  let left = 0
  const listen = (notice: { routine?: string | undefined; detail?: string | undefined }) => {
    // The one of two messages that counts rows. Its text is in the server's language; the dead rows
    // that had to be kept are its first number.
    if (notice.routine === 'copy_table_data' && notice.detail)
      left += Number(/\d+/.exec(notice.detail)?.[0] ?? 0)
  }
  client.on('notice', listen)
  await client.query(`VACUUM (FULL, VERBOSE) ${name}`)
  client.off('notice', listen)
  // Without the right to, VACUUM warns and passes the table over.
  if ((await fileOf(client, name)) === before)
    throw new KeyringError('keyring_damaged', `${name} was not rewritten: its owner must do it`)
  return left
}

async function fileOf(client: pg.Client, name: string): Promise<string> {
  const { rows } = await client.query<{ file: string }>(
    'SELECT pg_relation_filenode($1)::text AS file',
    [name],
  )
  return rows[0]?.file ?? ''
}
