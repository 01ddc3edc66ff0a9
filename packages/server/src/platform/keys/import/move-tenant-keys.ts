// Moves the keys of one tenant between two keyrings on PostgreSQL: opens each secret under the keys
// of the source and seals it under those of the destination, in memory.

import { isDeepStrictEqual } from 'node:util'
import { type BlockOwner, insertBlock } from '../core/blocks.sql.ts'
import { requireInstance, shareInstance } from '../core/instance.sql.ts'
import { listSigningKeys } from '../core/signing-keys.sql.ts'
import { isDestroyed, openTenantRow, rewrapTenantRow } from '../core/tenant-rows.ts'
import { findTenant, insertTenant } from '../core/tenants.sql.ts'
import { KeyringError } from '../keyring-error.ts'
import type { PgQueries, PgTx } from '../postgres/keyring-pg.ts'
import { insertSecrets, loadSecrets } from '../postgres/secrets.sql.ts'
import { insertWrapKey, newWrapKey, openWrapKey } from '../postgres/wrap-keys.sql.ts'
import type { ImportTarget } from './import-keyring.ts'

type Side = Pick<ImportTarget, 'db' | 'master'>

interface KeysOnTheirWay {
  readonly from: Side
  readonly to: Side
  readonly tenant_id: string
  /** RFC 3339. The signing keys of the source have signed for the tenant until this time. */
  readonly at: string
}

/** What both keyrings have for the tenant. */
interface TenantKeysProof {
  /** Existing secrets, which are equal on both sides. */
  readonly secrets: number
  readonly blocks: number
  /** Entries of the erasure ledger. */
  readonly ledger: number
  /** Lower hex SHA-256 of the entries, without their numbers, and of the secrets that they name. */
  readonly ledger_sha256: string
  readonly checkpoint: { readonly tree_size: number; readonly root_hash: string } | null
  /** Public keys of the source that the destination publishes too. */
  readonly signing_keys: number
}

const KINDS = ['fact', 'decision'] as const
const PAGE = 1_024
const COPIES_MAX = 5

/** Tables whose rows are copied unchanged; `order` is the row order of the digest. */
const PLAIN = [
  { name: 'ledger_parts', columns: ['parts_id', 'part', 'plan'], order: 'parts_id, part' },
  {
    name: 'ledger_renewals',
    columns: ['parts_id', 'number', 'part', 'renewed_as', 'box'],
    order: 'parts_id, number',
  },
  { name: 'ledger_secrets', columns: ['kind', 'number'], order: 'kind, number' },
  {
    name: 'checkpoints',
    columns: ['generation', 'epoch_number', 'tree_size', 'root_hash', 'checkpoint'],
    order: 'generation',
  },
] as const

const LEDGER = [
  'subject_kind',
  'subject',
  'store_id',
  'destroys',
  'state',
  'requested_us',
  'completed_us',
  'plan',
  'parts_id',
  'parts',
  'certificate',
]

/** Throws KeyringError unless the keys of both sides open under their master keys. */
export async function requireTwoKeyrings(from: Side, to: Side): Promise<void> {
  const [one, other] = [
    await requireInstance(from.db, from.master),
    await requireInstance(to.db, to.master),
  ]
  if (one.instance_id === other.instance_id)
    throw new KeyringError('bad_argument', 'both clusters have the same keyring')
}

/** Whether the keyring ever had keys of the tenant, including destroyed ones. */
export async function findKeysOf(
  { db }: Side,
  tenant_id: string,
): Promise<'none' | 'keys' | 'destroyed'> {
  const row = await findTenant(db, tenant_id)
  if (!row) return 'none'
  return isDestroyed(row) ? 'destroyed' : 'keys'
}

/** Makes every fencing number issued for the tenant stale. */
export async function outdateErasures({ db }: Side, tenant_id: string): Promise<void> {
  await db.transact((tx) =>
    tx.execute(
      `INSERT INTO keyring.ledger_turns AS t (tenant_id, number) VALUES ($1, 1)
       ON CONFLICT (tenant_id) DO UPDATE SET number = t.number + 1`,
      tenant_id,
    ),
  )
}

/** Number of erasures that were requested but are not certified. */
export async function countOpenErasures({ db }: Side, tenant_id: string): Promise<number> {
  const row = await db.queryFirst<{ open: number }>(
    `SELECT count(*) AS open FROM keyring.ledger WHERE tenant_id = $1 AND state = 'requested'`,
    tenant_id,
  )
  return row?.open ?? 0
}

/**
 * Copies everything and proves it. Repeats both if the proof fails, because a process of the source
 * may reserve secrets meanwhile, even while writes are paused. No record uses those that it
 * reserves after the last copy. Throws KeyringError, which names the difference, if it fails each
 * time.
 */
export async function copyProvedKeys(
  way: KeysOnTheirWay,
  copied: () => void | Promise<void>,
): Promise<TenantKeysProof> {
  for (let copies = 1; ; copies += 1) {
    await copyTenantKeys(way)
    await copied()
    try {
      return await proveTenantKeys(way)
    } catch (error) {
      const differs = error instanceof KeyringError && error.code === 'keyring_damaged'
      if (!differs || copies === COPIES_MAX) throw error
    }
  }
}

/** Copies in one transaction, which first removes what an earlier attempt has left. */
async function copyTenantKeys(way: KeysOnTheirWay): Promise<void> {
  const { from, to, tenant_id } = way
  await to.db.transact(async (tx) => {
    // Keeps a rotation of the destination's master key from missing what is wrapped below.
    await shareInstance(tx, to.master)
    await removeAll(tx, tenant_id)
    const row = await findTenant(from.db, tenant_id)
    if (!row) throw new KeyringError('tenant_key_missing', `no key for tenant ${tenant_id}`)
    await insertTenant(tx, rewrapTenantRow(row, { from: from.master, next: to.master }))
    const wrapRow = newWrapKey(to.master, tenant_id, 1)
    await insertWrapKey(tx, wrapRow)
    const sealing = { version: 1, key: openWrapKey(to.master, wrapRow) }
    for (const kind of KINDS) {
      const owner = { tenant_id, kind }
      for (const block of await listBlocksOf(from.db, owner)) await insertBlock(tx, owner, block)
      for await (const secrets of secretPages(from, owner)) {
        await insertSecrets(tx, owner, sealing, secrets)
        for (const { secret } of secrets) secret.fill(0)
      }
    }
    for (const table of PLAIN) await copyPlain(tx, from.db, { ...table, tenant_id })
    await copySigningKeys(tx, way)
    // Last, because nobody else can record an erasure from here to the end of the transaction.
    await copyLedger(tx, from.db, tenant_id)
  })
}

/** Removes what an abandoned move has left in the destination keyring. */
export const removeTenantKeys = ({ db }: Side, tenant_id: string): Promise<void> =>
  db.transact((tx) => removeAll(tx, tenant_id))

async function removeAll(tx: PgTx, tenant_id: string): Promise<void> {
  const at = 'WHERE tenant_id = $1'
  const zeros = (column: string) => `${column} = decode(repeat('00', length(${column})), 'hex')`
  await tx.execute(`UPDATE keyring.wrap_keys SET ${zeros('wrap_key')} ${at}`, tenant_id)
  for (const table of ['wrap_keys', 'secrets', 'secret_blocks', 'ledger', 'tenants'])
    await tx.execute(`DELETE FROM keyring.${table} ${at}`, tenant_id)
  for (const { name } of PLAIN) await tx.execute(`DELETE FROM keyring.${name} ${at}`, tenant_id)
}

const listBlocksOf = (
  db: PgQueries,
  { tenant_id, kind }: BlockOwner,
): Promise<{ first: number; count: number }[]> =>
  db.query(
    `SELECT first, count FROM keyring.secret_blocks WHERE tenant_id = $1 AND kind = $2
     ORDER BY first`,
    tenant_id,
    kind,
  )

async function* secretPages({ db, master }: Side, owner: BlockOwner) {
  for (let after = -1; ; ) {
    const rows: { number: number }[] = await db.query(
      `SELECT number FROM keyring.secrets WHERE tenant_id = $1 AND kind = $2 AND number > $3
       ORDER BY number LIMIT ${PAGE}`,
      owner.tenant_id,
      owner.kind,
      after,
    )
    const last = rows.at(-1)
    if (!last) return
    yield await loadSecrets(
      db,
      master,
      owner,
      rows.map(({ number }) => number),
    )
    after = last.number
  }
}

interface PlainRows {
  readonly name: string
  readonly columns: readonly string[]
  readonly order: string
  readonly tenant_id: string
}

const listPlain = (db: PgQueries, { name, columns, order, tenant_id }: PlainRows) =>
  db.query<Record<string, string | number | null>>(
    `SELECT ${columns.join(', ')} FROM keyring.${name} WHERE tenant_id = $1 ORDER BY ${order}`,
    tenant_id,
  )

async function copyPlain(tx: PgTx, from: PgQueries, table: PlainRows): Promise<void> {
  const { name, tenant_id } = table
  for (const row of await listPlain(from, table)) await insertPlain(tx, name, { tenant_id, ...row })
}

async function insertPlain(
  tx: PgTx,
  name: string,
  row: Readonly<Record<string, string | number | null>>,
): Promise<void> {
  const columns = Object.keys(row)
  const values = columns.map((_, i) => `$${i + 1}`)
  await tx.execute(
    `INSERT INTO keyring.${name} (${columns.join(', ')}) VALUES (${values.join(', ')})`,
    ...columns.map((column) => row[column] ?? null),
  )
}

async function copyLedger(tx: PgTx, from: PgQueries, tenant_id: string): Promise<void> {
  const rows = await listPlain(from, ledgerOf(tenant_id))
  if (rows.length === 0) return
  const taken = await tx.queryFirst<{ last: number }>(
    `UPDATE keyring.counters SET value = value + $1 WHERE name = 'ledger' RETURNING value AS last`,
    rows.length,
  )
  if (!taken) throw new KeyringError('keyring_damaged', 'the keyring has no counter ledger')
  for (const [i, row] of rows.entries()) {
    const ledger_id = taken.last - rows.length + 1 + i
    await insertPlain(tx, 'ledger', { ledger_id, tenant_id, ...row })
  }
}

const ledgerOf = (tenant_id: string): PlainRows => ({
  name: 'ledger',
  columns: LEDGER,
  order: 'ledger_id',
  tenant_id,
})

/**
 * Copies the source's public keys, without their seeds, so that its signatures for the tenant
 * verify at the destination. There they are valid until the time of the move, also if an earlier
 * move has copied them.
 */
async function copySigningKeys(tx: PgTx, { from, at }: KeysOnTheirWay): Promise<void> {
  let prolonged = 0
  for (const { key_id, purpose, public_key, valid_from, retired_at } of await listSigningKeys(
    from.db,
  )) {
    const until = retired_at ?? at
    const inserted = await tx.execute(
      `INSERT INTO keyring.signing_keys (key_id, purpose, public_key, seed, valid_from, retired_at)
       VALUES ($1, $2, $3, NULL, $4, $5) ON CONFLICT (key_id) DO NOTHING`,
      key_id,
      purpose,
      Buffer.from(public_key),
      valid_from,
      until,
    )
    if (inserted > 0) continue
    prolonged += await tx.execute(
      `UPDATE keyring.signing_keys SET retired_at = $2
       WHERE key_id = $1 AND seed IS NULL AND retired_at < $2`,
      key_id,
      until,
    )
  }
  if (prolonged === 0) return
  await tx.execute(
    `INSERT INTO keyring.counters AS c (name, value) VALUES ('keys_prolonged', $1)
     ON CONFLICT (name) DO UPDATE SET value = c.value + $1`,
    prolonged,
  )
}

/** Throws KeyringError, which names the difference. */
async function proveTenantKeys(way: KeysOnTheirWay): Promise<TenantKeysProof> {
  const { from, to, tenant_id } = way
  const [row, copied] = [await findTenant(from.db, tenant_id), await findTenant(to.db, tenant_id)]
  const one = row && openTenantRow(from.master, row)
  const other = copied && openTenantRow(to.master, copied)
  // Compares derived keys, because the keys that they derive from never leave a keyring.
  const probe = () => Buffer.alloc(32, 1)
  const same = one?.label('') === other?.label('')
  requireSame('keys', one && other && same && one.factKey(probe()).equals(other.factKey(probe())))
  const counts = { secrets: 0, blocks: 0 }
  for (const kind of KINDS) {
    const owner = { tenant_id, kind }
    const blocks = await listBlocksOf(from.db, owner)
    requireSame('blocks', isDeepStrictEqual(blocks, await listBlocksOf(to.db, owner)))
    counts.blocks += blocks.length
    counts.secrets += await compareSecrets(way, owner)
  }
  for (const table of PLAIN) {
    const plain = { ...table, tenant_id }
    const equal = isDeepStrictEqual(await listPlain(from.db, plain), await listPlain(to.db, plain))
    requireSame(table.name, equal)
  }
  const ledger = await digestLedger(from.db, tenant_id)
  requireSame('ledger', isDeepStrictEqual(ledger, await digestLedger(to.db, tenant_id)))
  const [checkpoint] = await listPlain(to.db, { ...PLAIN[3], tenant_id })
  const published = new Set((await listSigningKeys(to.db)).map(({ key_id }) => key_id))
  const own = await listSigningKeys(from.db)
  requireSame(
    'signing keys',
    own.every(({ key_id }) => published.has(key_id)),
  )
  return {
    ...counts,
    ...ledger,
    checkpoint: checkpoint
      ? {
          tree_size: Number(checkpoint['tree_size']),
          root_hash: String(checkpoint['root_hash']),
        }
      : null,
    signing_keys: own.length,
  }
}

async function compareSecrets({ from, to }: KeysOnTheirWay, owner: BlockOwner): Promise<number> {
  let secrets = 0
  const copies = secretPages(to, owner)
  for await (const page of secretPages(from, owner)) {
    const { value: copied } = await copies.next()
    const known = new Map(copied?.map(({ number, secret }) => [number, secret]))
    const same = page.every(({ number, secret }) => known.get(number)?.equals(secret))
    requireSame('secrets', same && known.size === page.length)
    for (const { secret } of [...page, ...(copied ?? [])]) secret.fill(0)
    secrets += page.length
  }
  requireSame('secrets', (await copies.next()).done === true)
  return secrets
}

async function digestLedger(
  db: PgQueries,
  tenant_id: string,
): Promise<Pick<TenantKeysProof, 'ledger' | 'ledger_sha256'>> {
  const row = await db.queryFirst<{ ledger: number; ledger_sha256: string }>(
    `SELECT count(*) AS ledger, encode(sha256(coalesce(string_agg(
       sha256(convert_to(ROW(${LEDGER.join(', ')})::text, 'UTF8')), ''::bytea
       ORDER BY ledger_id), ''::bytea)), 'hex') AS ledger_sha256
     FROM keyring.ledger WHERE tenant_id = $1`,
    tenant_id,
  )
  if (!row) throw new KeyringError('keyring_damaged', 'the ledger cannot be counted')
  return row
}

function requireSame(what: string, same: unknown): void {
  if (same === true) return
  throw new KeyringError('keyring_damaged', `the ${what} of the tenant differ at the destination`)
}
