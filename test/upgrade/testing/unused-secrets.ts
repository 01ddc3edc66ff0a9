// Leaves out the secrets that were made in advance and that no record has: a process that starts
// makes new ones, and 32 random bytes each for thousands of them would be most of the data.

import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { onPostgres } from './postgres-client.ts'

const SECRET_BYTES = 32
const zeros = Buffer.alloc(SECRET_BYTES)

/** Numbers of secrets in use. The one of a memory is its ref, other records have a column. */
const inUse = (tables: readonly string[]): string =>
  [
    `select tenant_id, 'fact' as kind, ref as number from facts`,
    ...tables.map((name) => `select tenant_id, 'decision', secret_no from "${name}"`),
  ].join(' union ')

/** Of a stopped service: overwritten like those that were destroyed. */
export function dropUnusedSlots(data_dir: string): void {
  const slots = openSync(join(data_dir, 'keyring', 'secrets.slots'), 'r+')
  const db = new DatabaseSync(join(data_dir, 'keyring', 'keyring.db'), { readOnly: true })
  db.exec(`attach '${join(data_dir, 'custos.db')}' as data`)
  const tables = db
    .prepare(
      `select m.name from data.sqlite_schema m, pragma_table_info(m.name, 'data') c
        where m.type = 'table' and c.name = 'secret_no'`,
    )
    .all()
  const used = db.prepare(inUse(tables.map(({ name }) => String(name)))).all()
  const known = new Set(used.map(({ tenant_id, kind, number }) => `${tenant_id} ${kind} ${number}`))
  for (const block of db.prepare('select * from secret_blocks').all()) {
    const { tenant_id, kind } = block
    const [first, count, slot] = [block['first'], block['count'], block['slot']].map(Number)
    for (let i = 0; i < (count ?? 0); i += 1)
      if (!known.has(`${tenant_id} ${kind} ${Number(first) + i}`))
        writeSync(slots, zeros, 0, SECRET_BYTES, (Number(slot) + i) * SECRET_BYTES)
  }
  db.close()
  closeSync(slots)
}

/** Of stopped services: deleted like those that were destroyed. */
export async function dropUnusedRows(database_url: string): Promise<void> {
  await onPostgres(database_url, async (query) => {
    const tables = await query(
      `select table_name as name from information_schema.columns
        where table_schema = 'public' and column_name = 'secret_no'`,
    )
    await query(
      `delete from custos_keyring.secrets where kind in ('fact', 'decision')
        and (tenant_id, kind, number) not in (${inUse(tables.map(({ name }) => String(name)))})`,
    )
  })
}
