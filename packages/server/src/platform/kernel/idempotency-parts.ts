// Idempotency-Key for operations of several units of work: the record is written with each of them.

import { keyedQueue } from '../concurrency.ts'
import {
  deleteRecord,
  findRecord,
  type IdempotencyRow,
  insertRecord,
} from '../db/idempotency.sql.ts'
import type { Tx } from '../db/tenant-db.ts'
import { Refusal } from '../refusal.ts'
import type { InParts, Notes, ReplayIds } from './call.ts'
import {
  compare,
  isRecent,
  type KeyedRequest,
  labelOf,
  macOfDay,
  macOfToday,
  type OnceResult,
} from './idempotency.ts'
import { type Kernel, perKernel } from './kernel.ts'
import { runIfLeaseFree } from './leases.ts'

interface PartsRequest extends Omit<KeyedRequest, 'content'> {
  /** What must be the same for a replay; of a streamed body a digest, once all of it is read. */
  content(): Promise<Uint8Array>
}

/** Replaces the MAC while the run has not ended: its body may not be read completely yet. */
const OPEN = { mac: '', day: 0 }
/** The state after a retry was refused because the run was interrupted: it cannot continue. */
const BROKEN = { mac: '', day: -1 }

/** Requests of one key, one after another in this process. */
const queue = perKernel(keyedQueue)

/** A retry waits for a run of another process for a third of the duration of a lease. */
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
 * The lease distinguishes a run that another process executes from an interrupted one. A complete
 * answer is returned without it: a process that died after the last unit may still have the lease.
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

// A process that was only suspended then finds another record than its own, and stops.
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

// Written by a note, from the operation's own answer.
const parseIds = <T>(text: string): T => JSON.parse(text)

const NOTHING = Buffer.alloc(0)

// Known before the body is read: a run that follows needs it.
const isLive = async (kernel: Kernel, row: IdempotencyRow): Promise<boolean> =>
  isRecent(kernel, row.created_us) &&
  (isOpen(row) || (await macOfDay(kernel, NOTHING, row.body_day)) !== null)

async function assertSame(request: PartsRequest, row: IdempotencyRow): Promise<void> {
  if (row.operation !== request.operation) throw new Refusal('idempotency_key_reused')
  if (isOpen(row)) return
  const content = await request.content()
  if (!(await compare({ ...request, content }, row))) throw underWay()
}

// Another process runs it, or the record was deleted while this request read it.
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
