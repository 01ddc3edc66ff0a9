// Writing a table's file anew: the only thing that takes deleted rows out of it.

import type pg from 'pg'
import { KeyringError } from '../keyring-error.ts'

/** Whoever waits for the whole table keeps every reader of it waiting behind. */
export async function limitLockWait(client: pg.Client): Promise<void> {
  await client.query("SET lock_timeout = '5s'")
}

/** How many dead rows are in the new file too, because an older snapshot may look at them. */
export async function rewriteTable(
  client: pg.Client,
  schema: string,
  table: string,
): Promise<number> {
  const name = `"${schema}".${table}`
  const before = await fileOf(client, name)
  let left = 0
  const listen = (notice: { routine?: string | undefined; detail?: string | undefined }) => {
    // Of the two messages of the copying the one that counts; its words are in the server's
    // language, the dead rows that had to be kept come first.
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
