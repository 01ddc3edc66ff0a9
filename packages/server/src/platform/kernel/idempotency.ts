// Idempotency-Key: one unit of work per key, replayed from its rows for a retry.

import { timingSafeEqual } from 'node:crypto'
import { Conflict, retryOnConflict } from '../concurrency.ts'
import { listServedIds } from '../db/control.sql.ts'
import { PLATFORM } from '../db/database.ts'
import { listTenantsWith } from '../db/engines/first-of-each.ts'
import {
  anyOldStatement,
  deleteRecord,
  deleteRecordsBefore,
  findRecord,
  type IdempotencyRow,
  insertRecord,
} from '../db/idempotency.sql.ts'
import type { Tx } from '../db/tenant-db.ts'
import type { BodyMac } from '../keys/keyring.ts'
import { KeyringError } from '../keys/keyring-error.ts'
import { Refusal } from '../refusal.ts'
import type { IdempotentUnit, ReplayIds } from './call.ts'
import type { Kernel } from './kernel.ts'

const HOUR_US = 3_600_000_000
const DAY_US = 24 * HOUR_US

/** How long a key answers with its first result. */
export const IDEMPOTENCY_US = 48 * HOUR_US

const DAYS_KEPT = IDEMPOTENCY_US / DAY_US
const ATTEMPTS_MAX = 5
const ID_HEX_CHARS = 32

export interface KeyedRequest {
  readonly kernel: Kernel
  readonly tenant_id: string
  readonly operation: string
  readonly status: number
  /** The header's value. */
  readonly key: string
  /** What must be the same for a replay: parameters and raw body. */
  readonly content: Uint8Array
}

export interface OnceResult<T> {
  readonly reply: T
  readonly replayed: boolean
}

/**
 * Runs the unit at most once per key and tenant within 48 h. Refuses `idempotency_key_reused`
 * when the key came with another operation, other parameters or another body.
 */
export const runOnce = <T>(
  request: KeyedRequest,
  unit: IdempotentUnit<T>,
): Promise<OnceResult<T>> =>
  retryOnConflict(() => attemptOnce(request, unit), {
    on: 'idempotency_key',
    attempts: ATTEMPTS_MAX,
    message: 'other requests with this Idempotency-Key are under way',
  })

// MACs are made outside the unit: a unit of work awaits nothing but its own queries.
async function attemptOnce<T>(
  request: KeyedRequest,
  unit: IdempotentUnit<T>,
): Promise<OnceResult<T>> {
  const { kernel, tenant_id } = request
  const key_label = await labelOf(request)
  const seen = await kernel.db.read(tenant_id, (db) => findRecord(db, key_label))
  const live = seen !== undefined && (await compare(request, seen))
  const { mac, day } = await macOfToday(kernel, request.content)

  return kernel.db.transact(tenant_id, async (tx) => {
    const found = await findRecord(tx, key_label)
    if (found?.created_us !== seen?.created_us) throw new Conflict('idempotency_key')
    if (found && live) {
      return { reply: await unit.replay(tx, parseIds(found.ids)), replayed: true }
    }
    if (found) await deleteRecord(tx, key_label)
    const { reply, ids } = await unit.run(tx)
    const record = {
      key_label,
      operation: request.operation,
      status: request.status,
      ids: JSON.stringify(ids),
      body_mac: mac,
      body_day: day,
      created_us: tx.now(),
    }
    tx.needs(insertRecord(tx, record))
    return { reply, replayed: false }
  })
}

/** The stored form of an idempotency key. */
export async function labelOf({
  kernel,
  tenant_id,
  key,
}: Pick<KeyedRequest, 'kernel' | 'tenant_id' | 'key'>): Promise<Buffer> {
  const tenant = await kernel.keyring.tenant(tenant_id)
  return Buffer.from(tenant.label(`idempotency-key\n${key}`), 'hex')
}

// Written by insertRecord above, from an object.
const parseIds = (text: string): ReplayIds => JSON.parse(text) as ReplayIds

export const isRecent = (kernel: Kernel, created_us: number): boolean =>
  created_us >= kernel.clock.now() - IDEMPOTENCY_US

/** Whether the record still counts; refuses when it was made by another request. */
export async function compare(
  request: Omit<KeyedRequest, 'status' | 'key'>,
  row: IdempotencyRow,
): Promise<boolean> {
  const { kernel, content, operation } = request
  if (!isRecent(kernel, row.created_us)) return false
  const mac = await macOfDay(kernel, content, row.body_day)
  if (mac === null) return false
  if (equal(mac, row.body_mac) && row.operation === operation) return true
  throw new Refusal('idempotency_key_reused')
}

export const macOfToday = (kernel: Kernel, content: Uint8Array): Promise<BodyMac> =>
  kernel.keyring.bodyMac(content, Math.floor(kernel.clock.now() / DAY_US))

/** Null when the key of the day was destroyed. */
export async function macOfDay(
  kernel: Kernel,
  content: Uint8Array,
  day: number,
): Promise<string | null> {
  try {
    return (await kernel.keyring.bodyMac(content, day)).mac
  } catch (error) {
    if (error instanceof KeyringError && error.code === 'day_key_dropped') return null
    throw error
  }
}

const equal = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))

/**
 * Ids (128 bits, hex) for what a keyed request makes, today's first: a retry within the time the
 * key is kept finds among them the one its first request took.
 */
export async function idsOfKey(kernel: Kernel, operation: string, key: string): Promise<string[]> {
  const content = Buffer.from(`${operation}\n${key}`)
  const today = Math.floor(kernel.clock.now() / DAY_US)
  const ids: string[] = []
  for (let day = today; day >= today - DAYS_KEPT; day -= 1) {
    const mac = await macOfDay(kernel, content, day)
    if (mac !== null) ids.push(mac.slice(0, ID_HEX_CHARS))
  }
  return ids
}

/** For the timer: deletes records older than 48 h and destroys the keys of their days. */
export async function sweepIdempotency(
  kernel: Kernel,
  now_us: number,
  stopping?: AbortSignal,
): Promise<number> {
  const oldest = now_us - IDEMPOTENCY_US
  let deleted = 0
  const tenants = await kernel.db.read(PLATFORM, listServedIds)
  const old = { statement: anyOldStatement, params: { created_us: oldest } }
  for (const tenant_id of await listTenantsWith(kernel.db, tenants, old)) {
    if (stopping?.aborted) return deleted
    const sweep = (tx: Tx) => deleteRecordsBefore(tx, oldest)
    deleted += await kernel.db.transact(tenant_id, sweep)
  }
  await kernel.keyring.dropDayKeys(Math.floor(now_us / DAY_US) - DAYS_KEPT)
  return deleted
}
