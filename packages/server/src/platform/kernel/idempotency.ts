// Idempotency-Key: runs one unit of work per key and replays its answer from rows on a retry. An
// operation of several units of work writes the record with each of them.

import { timingSafeEqual } from 'node:crypto'
import { Conflict, keyedQueue, retryOnConflict } from '../concurrency.ts'
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
import type { IdempotentUnit, InParts, Notes, ReplayIds } from './call.ts'
import { type Kernel, perKernel } from './kernel.ts'
import { runIfLeaseFree } from './leases.ts'

const HOUR_US = 3_600_000_000
const DAY_US = 24 * HOUR_US

/** How long a retry with the same key gets the first result. */
export const IDEMPOTENCY_US = 48 * HOUR_US

const DAYS_KEPT = IDEMPOTENCY_US / DAY_US
const ATTEMPTS_MAX = 5
const ID_HEX_CHARS = 32

interface KeyedRequest {
  readonly kernel: Kernel
  readonly tenant_id: string
  readonly operation: string
  readonly status: number
  /** Value of the Idempotency-Key header. */
  readonly key: string
  /** Parameters and raw body, which must be the same for a replay. */
  readonly content: Uint8Array
}

interface OnceResult<T> {
  readonly reply: T
  readonly replayed: boolean
}

/**
 * Runs the unit at most once per key and tenant within 48 h. Refuses `idempotency_key_reused` if
 * the key was used with another operation, other parameters or another body.
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

// Computes MACs outside the unit: a unit of work awaits nothing but its own queries.
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

// The text was written by `insertRecord` or a note, from the operation's own answer.
const parseIds = <T>(text: string): T => JSON.parse(text)

export const isRecent = (kernel: Kernel, created_us: number): boolean =>
  created_us >= kernel.clock.now() - IDEMPOTENCY_US

/** Returns whether the record is still valid; refuses if another request made it. */
async function compare(
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

const macOfToday = (kernel: Kernel, content: Uint8Array): Promise<BodyMac> =>
  kernel.keyring.bodyMac(content, Math.floor(kernel.clock.now() / DAY_US))

/** Returns null if the key of the day was destroyed. */
async function macOfDay(kernel: Kernel, content: Uint8Array, day: number): Promise<string | null> {
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
 * Ids (128 bits, hex) for the resource that a keyed request creates, today's first. A retry within
 * the lifetime of the key finds the id of the first request among them.
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

/** For the timer: deletes records older than 48 h and destroys the body keys of their days. */
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

interface PartsRequest extends Omit<KeyedRequest, 'content'> {
  /** The content to compare for a replay; for a streamed body, a digest once it is read. */
  content(): Promise<Uint8Array>
}

/** Stored in place of the MAC until the run ends, because its body may not be fully read yet. */
const OPEN = { mac: '', day: 0 }
/** Stored once a retry was refused because the run was interrupted: the run cannot continue. */
const BROKEN = { mac: '', day: -1 }

/** Runs requests of one key one after another in this process. */
const queue = perKernel(keyedQueue)

/** A retry waits for a run of another process for a third of the lease duration. */
const WAIT_SHARE = 3
const LOOK_MS = 50
const LOOK_MAX_MS = 500
const RETRY_AFTER_S = 5

/**
 * Runs the operation at most once per key and tenant within 48 h; requests of one key run one after
 * another. A run that was interrupted after its first unit is not started again: the retry gets the
 * operation's refusal for it. Refuses `idempotency_key_reused` as `runOnce` does, and `unavailable`
 * while another process executes the run.
 */
export async function runInParts<T extends ReplayIds>(
  request: PartsRequest,
  parts: InParts<T>,
): Promise<OnceResult<T>> {
  const { kernel, tenant_id } = request
  const keyed = { ...request, key_label: await labelOf(request) }
  const name = `${tenant_id}/${keyed.key_label.toString('hex')}`
  return queue(kernel).run(name, () =>
    kernel.db.shared ? amongProcesses(keyed, parts, name) : runOrReplay(keyed, parts),
  )
}

interface LabelledRequest extends PartsRequest {
  readonly key_label: Buffer
}

/**
 * The lease tells a run in another process from an interrupted one. A complete answer is returned
 * without the lease, because a process that died after the last unit may still have it.
 */
async function amongProcesses<T extends ReplayIds>(
  keyed: LabelledRequest,
  parts: InParts<T>,
  name: string,
): Promise<OnceResult<T>> {
  const { kernel } = keyed
  const deadline = performance.now() + kernel.settings.lease_ms / WAIT_SHARE
  for (let pause = LOOK_MS; ; pause = Math.min(pause * 2, LOOK_MAX_MS)) {
    const seen = await findLive(keyed)
    if (seen && !isOpen(seen)) return replayOf(keyed, parts, seen)
    let result: OnceResult<T> | undefined
    const act = async () => {
      result = await runOrReplay(keyed, parts)
    }
    await runIfLeaseFree(kernel, `parts/${name}`, act)
    if (result !== undefined) return result
    if (performance.now() > deadline) throw underWay(RETRY_AFTER_S)
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
}

async function runOrReplay<T extends ReplayIds>(
  keyed: LabelledRequest,
  parts: InParts<T>,
): Promise<OnceResult<T>> {
  const seen = await findRow(keyed)
  if (seen && (await isLive(keyed.kernel, seen))) return replayOf(keyed, parts, seen)
  return { reply: await parts.run(notesOf<T>(keyed, seen?.created_us)), replayed: false }
}

/** Answers for a run that has ended, or that no process is executing. */
async function replayOf<T extends ReplayIds>(
  keyed: LabelledRequest,
  parts: InParts<T>,
  seen: IdempotencyRow,
): Promise<OnceResult<T>> {
  await assertSame(keyed, seen)
  const soFar = parseIds<T>(seen.ids)
  if (!isOpen(seen)) return { reply: soFar, replayed: true }
  if (seen.body_day === OPEN.day) await markInterrupted(keyed, seen)
  throw parts.interrupted(soFar)
}

// If the process was only suspended, it then finds a record that is not its own, and stops.
async function markInterrupted(
  { kernel, tenant_id, key_label }: LabelledRequest,
  seen: IdempotencyRow,
) {
  await kernel.db.transact(tenant_id, async (tx) => {
    const found = await findRecord(tx, key_label)
    if (found?.created_us !== seen.created_us) throw underWay()
    await deleteRecord(tx, key_label)
    const created_us = Math.max(tx.now(), seen.created_us + 1)
    await insertRecord(tx, { ...seen, body_day: BROKEN.day, created_us })
  })
}

const findRow = ({
  kernel,
  tenant_id,
  key_label,
}: LabelledRequest): Promise<IdempotencyRow | undefined> =>
  kernel.db.read(tenant_id, (db) => findRecord(db, key_label))

async function findLive(keyed: LabelledRequest): Promise<IdempotencyRow | undefined> {
  const seen = await findRow(keyed)
  return seen && (await isLive(keyed.kernel, seen)) ? seen : undefined
}

const isOpen = (row: IdempotencyRow): boolean => row.body_mac === OPEN.mac

const NOTHING = Buffer.alloc(0)

// Does not need the request's body: a run that follows has to read it.
const isLive = async (kernel: Kernel, row: IdempotencyRow): Promise<boolean> =>
  isRecent(kernel, row.created_us) &&
  (isOpen(row) || (await macOfDay(kernel, NOTHING, row.body_day)) !== null)

async function assertSame(request: PartsRequest, row: IdempotencyRow): Promise<void> {
  if (row.operation !== request.operation) throw new Refusal('idempotency_key_reused')
  if (isOpen(row)) return
  const content = await request.content()
  if (!(await compare({ ...request, content }, row))) throw underWay()
}

// The run is in another process, or the record was deleted while this request read it.
const underWay = (retry_after_s = 1): Refusal =>
  new Refusal('unavailable', 'another request with this Idempotency-Key is under way', {
    retry_after_s,
  })

function notesOf<T extends ReplayIds>(
  keyed: LabelledRequest,
  seen_us: number | undefined,
): Notes<T> {
  const { kernel, key_label, operation, status } = keyed
  let last_us = seen_us
  const noteWith =
    ({ mac, day }: { mac: string; day: number }) =>
    async (tx: Tx, soFar: T): Promise<void> => {
      const found = await findRecord(tx, key_label)
      if (found?.created_us !== last_us) throw underWay()
      if (found) await deleteRecord(tx, key_label)
      const created_us = tx.now()
      const ids = JSON.stringify(soFar)
      const written = { key_label, operation, status, ids, body_mac: mac, body_day: day }
      await insertRecord(tx, { ...written, created_us })
      tx.afterCommit(() => {
        last_us = created_us
      })
    }
  return {
    open: noteWith(OPEN),
    close: async () => noteWith(await macOfToday(kernel, await keyed.content())),
  }
}
