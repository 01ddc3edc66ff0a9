// Queries on rows of secrets, each sealed under a wrap key of its owner and bound to its number.

import type { KeyObject } from 'node:crypto'
import { takeNumbers } from '../core/counters.sql.ts'
import type { KeyringQueries } from '../core/database.ts'
import type { SecretOwner } from '../core/secret-store.ts'
import type { LedgerSecretRow, RenewalRow } from '../core/tables.ts'
import { destroyedRow, isDestroyed } from '../core/tenant-rows.ts'
import { findTenant, insertTenant, lockLiveTenant } from '../core/tenants.sql.ts'
import { KeyringError } from '../keyring-error.ts'
import { selectClaimedRenewals } from '../ledger/parts.sql.ts'
import { open, SealError, seal } from '../seal.ts'
import { type NumberedSecret, runsOf } from '../secret-bytes.ts'
import type { MasterHolder } from '../wrap.ts'
import { PERIOD_MS } from './held-secrets.ts'
import type { PgQueries, PgTx } from './keyring-pg.ts'
import { openWrapKey } from './wrap-keys.sql.ts'

/** The key that seals secrets, with its version. */
export interface SealingKey {
  readonly version: number
  readonly key: KeyObject
}

/** Length of the log of destroyed secrets, from which slow processes catch up. */
const DESTROYED_KEPT = 100_000

/** Numbers at most this far apart are destroyed by one statement. */
const RUN_GAP = 128
const RUN_MAX = 1_024

export function sealSecret(
  key: KeyObject,
  owner: SecretOwner,
  { number, secret }: NumberedSecret,
): Buffer {
  return seal(key, associatedData(owner, number), secret)
}

/** Throws `keyring_damaged` if it is not the secret of that number under that key. */
export function openSecret(
  key: KeyObject | undefined,
  owner: SecretOwner,
  row: { number: number; secret: Buffer },
): Buffer {
  try {
    if (key) return open(key, associatedData(owner, row.number), row.secret)
  } catch (error) {
    if (!(error instanceof SealError)) throw error
  }
  throw new KeyringError(
    'keyring_damaged',
    `the secret of ${owner.kind} ${row.number} does not open`,
  )
}

function associatedData({ tenant_id, kind }: SecretOwner, number: number): Buffer {
  return Buffer.from(`custos/keyring-secret/v1\n${JSON.stringify([tenant_id, kind, number])}`)
}

/** Whether the tenant's row says that its keys were destroyed. */
export async function isDestroyedTenant(db: KeyringQueries, tenant_id: string): Promise<boolean> {
  const row = await findTenant(db, tenant_id)
  return row !== undefined && isDestroyed(row)
}

/** Returns how many were inserted; a number that exists keeps its secret. */
export async function insertSecrets(
  tx: PgTx,
  owner: SecretOwner,
  { version, key }: SealingKey,
  secrets: readonly NumberedSecret[],
): Promise<number> {
  return tx.execute(
    `INSERT INTO keyring.secrets (tenant_id, kind, version, number, secret)
     SELECT $1, $2, $3, number, secret
     FROM unnest($4::bigint[], $5::bytea[]) AS u (number, secret)
     ON CONFLICT DO NOTHING`,
    owner.tenant_id,
    owner.kind,
    version,
    secrets.map(({ number }) => number),
    secrets.map((one) => sealSecret(key, owner, one)),
  )
}

/**
 * The existing secrets, opened. One statement reads keys and secrets, so that it never sees half a
 * rewrite. OFFSET makes the planner look up each number by itself: without statistics of a new
 * tenant it would assume a small one and scan all its rows.
 */
export async function loadSecrets(
  db: PgQueries,
  master: MasterHolder,
  owner: SecretOwner,
  numbers: readonly number[],
): Promise<NumberedSecret[]> {
  const { tenant_id, kind } = owner
  // Where there is no number, the bytes are a wrap key.
  const rows = await db.query<{ number: number | null; version: number; bytes: Buffer }>(
    `SELECT s.number, s.version, s.secret AS bytes
     FROM unnest($3::bigint[]) AS u (number)
     CROSS JOIN LATERAL (
       SELECT number, version, secret FROM keyring.secrets
       WHERE tenant_id = $1 AND kind = $2 AND number = u.number OFFSET 0
     ) AS s
     UNION ALL
     SELECT NULL, version, wrap_key FROM keyring.wrap_keys WHERE tenant_id = $1`,
    tenant_id,
    kind,
    numbers,
  )
  const keys = new Map<number, KeyObject>()
  for (const { number, version, bytes: wrap_key } of rows)
    if (number === null) keys.set(version, openWrapKey(master, { tenant_id, version, wrap_key }))
  // A tenant without keys is being removed: its keys went first, and nothing opens its secrets.
  if (keys.size === 0 && rows.length > 0 && (await isDestroyedTenant(db, tenant_id))) return []
  return rows.flatMap(({ number, version, bytes: secret }) => {
    if (number === null) return []
    return [{ number, secret: openSecret(keys.get(version), owner, { number, secret }) }]
  })
}

/**
 * Returns the numbers that existed. A row is overwritten before it is deleted: PostgreSQL keeps the
 * old row until the table is rewritten, but storage that changes rows in place does not.
 */
export async function deleteSecrets(
  tx: PgTx,
  { tenant_id, kind }: SecretOwner,
  numbers: readonly number[],
): Promise<number[]> {
  // The bounds help the planner in the same way. Numbers close together share a statement.
  const at = `WHERE tenant_id = $1 AND kind = $2 AND number >= $3 AND number < $4
    AND number = ANY ($5::bigint[])`
  const deleted: number[] = []
  const sorted = numbers.toSorted((a, b) => a - b)
  let next = 0
  for (const { start, end } of runsOf(sorted, RUN_GAP, RUN_MAX)) {
    const run: number[] = []
    for (let number = sorted[next]; number !== undefined && number < end; number = sorted[++next])
      run.push(number)
    const values = [tenant_id, kind, start, end, run] as const
    await tx.execute(
      `UPDATE keyring.secrets SET secret = decode(repeat('00', length(secret)), 'hex') ${at}`,
      ...values,
    )
    const rows = await tx.query<{ number: number }>(
      `DELETE FROM keyring.secrets ${at} RETURNING number`,
      ...values,
    )
    deleted.push(...rows.map(({ number }) => number))
  }
  return deleted
}

/**
 * Deletes the next secrets of a tenant whose keys are destroyed, overwriting them first as above.
 * Returns false if none was left.
 */
export async function deleteNextSecrets(
  tx: PgTx,
  tenant_id: string,
  limit: number,
): Promise<boolean> {
  for (const kind of ['fact', 'decision'] as const) {
    const row = await tx.queryFirst<{ last: number | null }>(
      `SELECT max(number) AS last FROM (
         SELECT number FROM keyring.secrets WHERE tenant_id = $1 AND kind = $2
         ORDER BY number LIMIT $3) AS next`,
      tenant_id,
      kind,
      limit,
    )
    const last = row?.last ?? null
    if (last === null) continue
    const at = 'WHERE tenant_id = $1 AND kind = $2 AND number <= $3'
    await tx.execute(
      `UPDATE keyring.secrets SET secret = decode(repeat('00', length(secret)), 'hex') ${at}`,
      tenant_id,
      kind,
      last,
    )
    await tx.execute(`DELETE FROM keyring.secrets ${at}`, tenant_id, kind, last)
    return true
  }
  return false
}

/** Informs the caches of other processes. The transaction must hold the counter `destroyed`. */
export async function insertDestroyed(
  tx: PgTx,
  { tenant_id, kind }: SecretOwner,
  numbers: readonly number[],
): Promise<void> {
  const first = await takeNumbers(tx, 'destroyed', numbers.length)
  await tx.execute(
    `INSERT INTO keyring.destroyed_secrets (seq, tenant_id, kind, number)
     SELECT $1::bigint + ord - 1, $2, $3, number
     FROM unnest($4::bigint[]) WITH ORDINALITY AS u (number, ord)`,
    first,
    tenant_id,
    kind,
    numbers,
  )
  await tx.execute(
    'DELETE FROM keyring.destroyed_secrets WHERE seq <= $1',
    first + numbers.length - 1 - DESTROYED_KEPT,
  )
}

/** Ascending, without gaps except for those that are no longer kept. */
export async function listDestroyed(db: PgQueries, after: number) {
  return db.query<SecretOwner & { readonly seq: number; readonly number: number }>(
    `SELECT seq, tenant_id, kind, number FROM keyring.destroyed_secrets
     WHERE seq > $1 ORDER BY seq`,
    after,
  )
}

/** Which of these numbers still have a secret. */
export async function listAlive(
  db: PgQueries,
  { tenant_id, kind }: SecretOwner,
  range: { first: number; end: number },
): Promise<Set<number>> {
  const rows = await db.query<{ number: number }>(
    `SELECT number FROM keyring.secrets
     WHERE tenant_id = $1 AND kind = $2 AND number >= $3 AND number < $4`,
    tenant_id,
    kind,
    range.first,
    range.end,
  )
  return new Set(rows.map(({ number }) => number))
}

export interface StoredSecret extends SecretOwner {
  readonly number: number
  readonly version: number
  readonly secret: Buffer
}

/** Secrets of an owner under versions `< before`, after `page.after`, locked until the end. */
export async function lockOldSecrets(
  tx: PgTx,
  tenant_id: string,
  page: { before: number; after: { kind: string; number: number }; limit: number },
): Promise<StoredSecret[]> {
  return tx.query<StoredSecret>(
    `SELECT tenant_id, kind, number, version, secret FROM keyring.secrets
     WHERE tenant_id = $1 AND version < $2 AND (kind, number) > ($3, $4)
     ORDER BY kind, number LIMIT $5 FOR UPDATE`,
    tenant_id,
    page.before,
    page.after.kind,
    page.after.number,
    page.limit,
  )
}

export async function updateSecrets(tx: PgTx, rows: readonly StoredSecret[]): Promise<void> {
  await tx.execute(
    `UPDATE keyring.secrets AS s SET version = u.version, secret = u.secret
     FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bytea[])
       AS u (tenant_id, kind, number, version, secret)
     WHERE s.tenant_id = u.tenant_id AND s.kind = u.kind AND s.number = u.number`,
    rows.map((row) => row.tenant_id),
    rows.map((row) => row.kind),
    rows.map((row) => row.number),
    rows.map((row) => row.version),
    rows.map((row) => row.secret),
  )
}

/** Numbers below `before` that have a secret, ascending. */
export async function listNumbersBefore(
  db: PgQueries,
  { tenant_id, kind }: SecretOwner,
  before: number,
): Promise<number[]> {
  const rows = await db.query<{ number: number }>(
    `SELECT number FROM keyring.secrets
     WHERE tenant_id = $1 AND kind = $2 AND number < $3 ORDER BY number`,
    tenant_id,
    kind,
    before,
  )
  return rows.map(({ number }) => number)
}

/** Secrets that the ledger destroys but that still exist. */
export async function listUndestroyedSecrets(db: KeyringQueries): Promise<LedgerSecretRow[]> {
  return db.all(
    db.tables
      .selectFrom('ledger_secrets as n')
      .innerJoin('secrets as s', (join) =>
        join
          .onRef('s.tenant_id', '=', 'n.tenant_id')
          .onRef('s.kind', '=', 'n.kind')
          .onRef('s.number', '=', 'n.number'),
      )
      .select(['n.tenant_id', 'n.kind', 'n.number']),
  )
}

/** Claimed renewals whose old secret still exists, because it came back with an older keyring. */
export async function listUnfinishedRenewals(db: KeyringQueries): Promise<RenewalRow[]> {
  return db.all(
    selectClaimedRenewals(db).innerJoin('secrets as s', (join) =>
      join
        .onRef('s.tenant_id', '=', 'r.tenant_id')
        .on('s.kind', '=', 'decision')
        .onRef('s.number', '=', 'r.number'),
    ),
  )
}

/**
 * Destroys the tenant's keys and those that seal its secrets. After the commit nothing of the
 * tenant opens, and no secret can be created for it. Overwrites rows first, so that storage that
 * changes rows in place keeps nothing of them. Waits for reservations in flight.
 */
export async function destroyTenantKeys(tx: PgTx, tenant_id: string): Promise<void> {
  await insertTenant(tx, destroyedRow(tenant_id))
  await lockLiveTenant(tx, tenant_id)
  const zeros = (column: string) => `${column} = decode(repeat('00', length(${column})), 'hex')`
  const at = 'WHERE tenant_id = $1'
  await tx.execute(
    `UPDATE keyring.tenants SET ${zeros('tenant_key')}, ${zeros('label_salt')} ${at}`,
    tenant_id,
  )
  await tx.execute(`UPDATE keyring.tenants SET tenant_key = '', label_salt = '' ${at}`, tenant_id)
  await tx.execute(`UPDATE keyring.wrap_keys SET ${zeros('wrap_key')} ${at}`, tenant_id)
  await tx.execute(`DELETE FROM keyring.wrap_keys ${at}`, tenant_id)
  await tx.execute(
    `INSERT INTO keyring.counters (name, value) VALUES ('tenants_destroyed', 1)
     ON CONFLICT (name) DO UPDATE SET value = counters.value + 1`,
  )
}

/** Whether the tenant has a key, a secret or a block of numbers. */
export async function hasRemains(db: PgQueries, tenant_id: string): Promise<boolean> {
  const any = (table: string) => `EXISTS (SELECT 1 FROM keyring.${table} WHERE tenant_id = $1)`
  const row = await db.queryFirst<{ found: boolean }>(
    `SELECT ${any('secrets')} OR ${any('secret_blocks')} OR ${any('wrap_keys')} OR EXISTS (
       SELECT 1 FROM keyring.tenants WHERE tenant_id = $1 AND length(tenant_key) > 0) AS found`,
    tenant_id,
  )
  return row?.found ?? true
}

/** Tenants without keys that still have secrets, because a stop interrupted their removal. */
export async function listHalfRemoved(db: PgQueries): Promise<string[]> {
  const rows = await db.query<{ tenant_id: string }>(
    `SELECT t.tenant_id FROM keyring.tenants AS t WHERE length(t.tenant_key) = 0
       AND (EXISTS (SELECT 1 FROM keyring.secrets AS s WHERE s.tenant_id = t.tenant_id)
         OR EXISTS (SELECT 1 FROM keyring.secret_blocks AS b WHERE b.tenant_id = t.tenant_id))
     ORDER BY t.tenant_id`,
  )
  return rows.map((row) => row.tenant_id)
}

/** Tenants that the ledger destroys and that still have keys, secrets or blocks. */
export async function listUndestroyed(db: PgQueries): Promise<string[]> {
  const rows = await db.query<{ tenant_id: string }>(
    `SELECT DISTINCT l.tenant_id FROM keyring.ledger AS l
     LEFT JOIN keyring.tenants AS t ON t.tenant_id = l.tenant_id
     WHERE l.subject_kind = 'tenant' AND (t.tenant_id IS NULL OR length(t.tenant_key) > 0
       OR EXISTS (SELECT 1 FROM keyring.secrets AS s WHERE s.tenant_id = l.tenant_id)
       OR EXISTS (SELECT 1 FROM keyring.secret_blocks AS b WHERE b.tenant_id = l.tenant_id)
       OR EXISTS (SELECT 1 FROM keyring.wrap_keys AS w WHERE w.tenant_id = l.tenant_id))
     ORDER BY l.tenant_id`,
  )
  return rows.map((row) => row.tenant_id)
}

interface KeyringState {
  /** Secrets ever destroyed. */
  readonly destroyed: number
  /** Signing keys created, plus those retired, plus prolongations of keys of other clusters. */
  readonly key_changes: number
  /** Keys of days before this one are destroyed. */
  readonly day_floor: number
  /** Tenants ever destroyed. */
  readonly tenants_destroyed: number
}

/** Counters that show whether anything that a process caches has changed. */
export async function loadState(db: PgQueries): Promise<KeyringState> {
  const row = await db.queryFirst<KeyringState>(
    `SELECT (SELECT value FROM keyring.counters WHERE name = 'destroyed') AS destroyed,
       (SELECT count(*) + count(retired_at) FROM keyring.signing_keys)
         + coalesce((SELECT value FROM keyring.counters WHERE name = 'keys_prolonged'), 0)
         AS key_changes,
       (SELECT day_floor FROM keyring.instance) AS day_floor,
       coalesce((SELECT value FROM keyring.counters WHERE name = 'tenants_destroyed'), 0)
         AS tenants_destroyed`,
  )
  if (row) return row
  throw new KeyringError('keyring_damaged', 'the keyring has no state')
}

/** Checks per heartbeat, which makes a heartbeat every ten seconds. */
const CHECKS_PER_HEARTBEAT = 20

interface KeyringWatcher {
  /** Wipes secrets that have been in memory for too long; does no I/O. */
  wipeExpired(): void
  follow(state: KeyringState): Promise<void>
  /** A check failed; the next one may succeed. */
  checkFailed(): void
  /** Shows other processes that this one is alive. */
  heartbeat(): Promise<void>
}

/** Returns a function that stops the checks and awaits one in flight. */
export function watchKeyring(db: PgQueries, watcher: KeyringWatcher): () => Promise<void> {
  let checks = 0
  let running: Promise<void> | undefined
  const check = async () => {
    try {
      await watcher.follow(await loadState(db))
      checks += 1
      if (checks % CHECKS_PER_HEARTBEAT === 0) await watcher.heartbeat()
    } catch {
      // Calls that need the keyring report its failure themselves.
      watcher.checkFailed()
    }
  }
  const timer = setInterval(() => {
    watcher.wipeExpired()
    running ??= check().finally(() => {
      running = undefined
    })
  }, PERIOD_MS)
  timer.unref()
  return async () => {
    clearInterval(timer)
    await running
  }
}
