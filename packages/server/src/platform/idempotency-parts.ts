// Idempotency-Key for operations of several units of work: the record is written with each of them.

import type { InParts, Notes, ReplayIds } from './call.ts'
import {
  deleteRecord,
  findRecord,
  type IdempotencyRow,
  insertRecord,
} from './db/idempotency.sql.ts'
import type { Tx } from './db/tenant-db.ts'
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
import { Refusal } from './refusal.ts'

export interface PartsRequest extends Omit<KeyedRequest, 'content'> {
  /** What must be the same for a replay; of a streamed body a digest, once all of it is read. */
  content(): Promise<Uint8Array>
}

/** In place of a MAC: the run has not ended, so its body may not be known to its end. */
const OPEN = { mac: '', day: 0 }

/**
 * Runs the operation at most once per key and tenant within 48 h, one request of a key after the
 * other. A run that broke off after its first unit is not begun again: the retry is refused with
 * what the operation says of it. Refuses `idempotency_key_reused` as `runOnce` does.
 */
export async function runInParts<T extends ReplayIds>(
  request: PartsRequest,
  parts: InParts<T>,
): Promise<OnceResult<T>> {
  const { kernel, tenant_id } = request
  const key_label = await labelOf(request)
  return inTurn(kernel, `${tenant_id}\n${key_label.toString('hex')}`, async () => {
    const seen = await kernel.db.read(tenant_id, (db) => findRecord(db, key_label))
    if (seen && (await isLive(kernel, seen))) {
      await assertSame(request, seen)
      const soFar = parseIds<T>(seen.ids)
      if (seen.body_mac === OPEN.mac) throw parts.interrupted(soFar)
      return { reply: soFar, replayed: true }
    }
    const notes = notesOf<T>(request, key_label, seen?.created_us)
    return { reply: await parts.run(notes), replayed: false }
  })
}

// Written by a note, from the operation's own answer.
const parseIds = <T>(text: string): T => JSON.parse(text)

const NOTHING = Buffer.alloc(0)

// Known before the body is read: a run that follows needs it.
const isLive = async (kernel: Kernel, row: IdempotencyRow): Promise<boolean> =>
  isRecent(kernel, row.created_us) &&
  (row.body_mac === OPEN.mac || (await macOfDay(kernel, NOTHING, row.body_day)) !== null)

async function assertSame(request: PartsRequest, row: IdempotencyRow): Promise<void> {
  if (row.operation !== request.operation) throw new Refusal('idempotency_key_reused')
  if (row.body_mac === OPEN.mac) return
  const content = await request.content()
  if (!(await compare({ ...request, content }, row))) throw tryAgain()
}

// The record went, or another process took the key, while this request looked at it.
const tryAgain = (): Refusal =>
  new Refusal('unavailable', 'another request with this Idempotency-Key is under way', {
    retry_after_s: 1,
  })

function notesOf<T extends ReplayIds>(
  request: PartsRequest,
  key_label: Buffer,
  seen_us: number | undefined,
): Notes<T> {
  const { kernel, operation, status } = request
  let last_us = seen_us
  const noteWith =
    ({ mac, day }: { mac: string; day: number }) =>
    async (tx: Tx, soFar: T): Promise<void> => {
      const found = await findRecord(tx, key_label)
      if (found?.created_us !== last_us) throw tryAgain()
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
    close: async () => noteWith(await macOfToday(kernel, await request.content())),
  }
}

const turns = perKernel(() => new Map<string, Promise<void>>())

/** One after the other, in this process. */
async function inTurn<T>(kernel: Kernel, name: string, act: () => Promise<T>): Promise<T> {
  const running = turns(kernel)
  const result = (running.get(name) ?? Promise.resolve()).then(act)
  const over = result.then(
    () => {},
    () => {},
  )
  running.set(name, over)
  try {
    return await result
  } finally {
    if (running.get(name) === over) running.delete(name)
  }
}
