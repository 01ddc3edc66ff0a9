// Seals every live secret again under new keys, so that remains of old rows cannot be opened.
//
// A row that PostgreSQL deletes stays in its pages until they are rewritten, and in the WAL for as
// long as that is kept. After this operation the tables' files hold no such rows, and every other
// copy was sealed under wrap keys that the keyring no longer has. An old base backup or archived
// WAL has those keys too, wrapped under the master key: only a rotation of that key closes them.

import type pg from 'pg'
import { lockInstance } from '../core/instance.sql.ts'
import { lockLiveTenant } from '../core/tenants.sql.ts'
import type { RewriteResult } from '../keyring.ts'
import { KeyringError } from '../keyring-error.ts'
import type { MasterHolder } from '../wrap.ts'
import type { KeyringPg, PgTx } from './keyring-pg.ts'
import {
  isDestroyedTenant,
  lockOldSecrets,
  openSecret,
  type SealingKey,
  type StoredSecret,
  sealSecret,
  updateSecrets,
} from './secrets.sql.ts'
import {
  deleteOldWrapKeys,
  insertWrapKey,
  KEYRING_OWN,
  lastWrapVersion,
  listOwnWrapKeys,
  listWrapOwners,
  lockOldWrapKeys,
  newWrapKey,
  openWrapKey,
} from './wrap-keys.sql.ts'

const PAGE = 500
/** Tables that hold, or held, something that was destroyed or retired. */
const TABLES = ['secrets', 'wrap_keys', 'signing_keys', 'tenants', 'instance'] as const

export async function rewriteSecrets(db: KeyringPg, master: MasterHolder): Promise<RewriteResult> {
  let secrets = 0
  for (const tenant_id of await listWrapOwners(db)) secrets += await rewrap(db, master, tenant_id)
  let dead_rows_left = 0
  await db.apart(async (client) => {
    await limitLockWait(client)
    for (const table of TABLES) dead_rows_left += await rewriteTable(client, db.schema, table)
  })
  return { secrets, dead_rows_left }
}

/** Moves the owner's secrets to a new key and deletes the old keys. Returns how many were moved. */
async function rewrap(db: KeyringPg, master: MasterHolder, tenant_id: string): Promise<number> {
  const version = await db.transact(async (tx) => {
    await lockInstance(tx, master)
    // A tenant destroyed since it was listed must not get a key.
    if (tenant_id !== KEYRING_OWN && !(await lockLiveTenant(tx, tenant_id))) return null
    const next = (await lastWrapVersion(tx, tenant_id)) + 1
    await insertWrapKey(tx, newWrapKey(master, tenant_id, next))
    return next
  })
  if (version === null) return 0
  const move = new SecretMove(master, tenant_id, version)
  await repeatWhileTrue(() => db.transact((tx) => move.page(tx)))
  await db.transact(async (tx) => {
    // A reservation that began before the new key existed has stored more under the old one.
    await lockOldWrapKeys(tx, tenant_id, version)
    move.restart()
    await repeatWhileTrue(() => move.page(tx))
    await deleteOldWrapKeys(tx, tenant_id, version)
  })
  return move.moved
}

async function repeatWhileTrue(step: () => Promise<boolean>): Promise<void> {
  for (let more = true; more; ) more = await step()
}

/** Moves the secrets of one owner, page by page, to a new key. */
class SecretMove {
  readonly #master: MasterHolder
  readonly #tenant_id: string
  readonly #version: number
  #after = { kind: '', number: 0 }
  moved = 0

  constructor(master: MasterHolder, tenant_id: string, version: number) {
    this.#master = master
    this.#tenant_id = tenant_id
    this.#version = version
  }

  restart(): void {
    this.#after = { kind: '', number: 0 }
  }

  /** Returns false if there was nothing left to move. */
  async page(tx: PgTx): Promise<boolean> {
    const page = { before: this.#version, after: this.#after, limit: PAGE }
    const rows = await lockOldSecrets(tx, this.#tenant_id, page)
    const last = rows.at(-1)
    if (!last) return false
    const keys = await this.#keys(tx)
    const next = keys.get(this.#version)
    if (!next && (await isDestroyedTenant(tx, this.#tenant_id))) return false
    if (!next) throw new KeyringError('keyring_damaged', 'the new wrap key is gone')
    const sealing = { version: this.#version, key: next }
    await updateSecrets(
      tx,
      rows.map((row) => sealAgain(row, keys, sealing)),
    )
    this.moved += rows.length
    this.#after = { kind: last.kind, number: last.number }
    return true
  }

  async #keys(tx: PgTx) {
    const rows = await listOwnWrapKeys(tx, this.#tenant_id)
    return new Map(rows.map((row) => [row.version, openWrapKey(this.#master, row)]))
  }
}

function sealAgain(
  row: StoredSecret,
  keys: ReadonlyMap<number, SealingKey['key']>,
  { version, key }: SealingKey,
): StoredSecret {
  const secret = openSecret(keys.get(row.version), row, row)
  const sealed = sealSecret(key, row, { number: row.number, secret })
  secret.fill(0)
  return { ...row, version, secret: sealed }
}

/** While VACUUM waits for the lock on the table, every later reader of it waits too. */
async function limitLockWait(client: pg.Client): Promise<void> {
  await client.query("SET lock_timeout = '5s'")
}

/** Returns the number of dead rows that the new file keeps for an older snapshot. */
async function rewriteTable(client: pg.Client, schema: string, table: string): Promise<number> {
  const name = `"${schema}".${table}`
  const before = await fileOf(client, name)
  let left = 0
  const listen = (notice: { routine?: string | undefined; detail?: string | undefined }) => {
    // The one of two messages that counts rows. Its text is in the server's language; its first
    // number is the count of dead rows that had to be kept.
    if (notice.routine === 'copy_table_data' && notice.detail)
      left += Number(/\d+/.exec(notice.detail)?.[0] ?? 0)
  }
  client.on('notice', listen)
  await client.query(`VACUUM (FULL, VERBOSE) ${name}`)
  client.off('notice', listen)
  // Without the required right, VACUUM only warns and skips the table.
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
