// What policies said, on its way to the rows: allowed requests in batches, within a second.

import type { SharedSlot, Tx } from '../../platform/db/tenant-db.ts'
import { type Kernel, perKernel } from '../../platform/kernel.ts'
import {
  addCount,
  deleteSlots,
  type EvaluationRow,
  insertEvaluation,
  saveSlot,
} from './evaluations.sql.ts'

const FLUSH_MS = 200
/** Small units: requests are answered between them. */
const ROWS_PER_UNIT = 100
/** Beyond this a request waits until its row is written. */
const WAITING_MAX = 20_000

/** Results by policy. */
export type Counts = ReadonlyMap<string, number>

const countsSlot: SharedSlot<Counts> = {
  name: 'policy-counts',
  async flush(tx, counts) {
    for (const [key, count] of counts) {
      const [policy_id = '', result = ''] = key.split(' ')
      await addCount(tx, { policy_id, result, count })
    }
  },
}

export const countKey = (policy_id: string, result: string): string => `${policy_id} ${result}`

/** Counts with the commit of the unit. */
export function countResults(tx: Tx, keys: readonly string[]): void {
  const counts = new Map(tx.shared.get(countsSlot))
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
  tx.shared.set(countsSlot, counts)
}

export interface NewEvaluation {
  readonly row: EvaluationRow
  /** One for each policy, see `countKey`. */
  readonly counted: readonly string[]
}

export async function writeEvaluation(tx: Tx, { row, counted }: NewEvaluation): Promise<void> {
  await insertEvaluation(tx, row)
  countResults(tx, counted)
}

/** What a slot of a rate limit holds now. */
export interface SlotNote {
  readonly policy_id: string
  readonly slot_us: number
  readonly count: number
  /** Slots until here do not count any more. */
  readonly old_us: number
}

interface Waiting {
  readonly evaluations: NewEvaluation[]
  readonly slots: Map<string, SlotNote>
}

class EvaluationLog {
  readonly #kernel: Kernel
  #waiting = new Map<string, Waiting>()
  #count = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #flushing: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  /** A promise when too much is waiting: it fails when nothing can be written. */
  add(tenant_id: string, evaluation: NewEvaluation): undefined | Promise<void> {
    this.#of(tenant_id).evaluations.push(evaluation)
    this.#count += 1
    this.#schedule()
    return this.#count > WAITING_MAX ? this.flush() : undefined
  }

  noteSlot(tenant_id: string, note: SlotNote): void {
    this.#of(tenant_id).slots.set(`${note.policy_id} ${note.slot_us}`, note)
    this.#schedule()
  }

  /** Writes all that waits. Throws when it cannot; what was not written waits on. */
  flush(): Promise<void> {
    const flushed = this.#flushing.then(() => this.#write())
    this.#flushing = flushed.catch(() => {})
    return flushed
  }

  /** Call it before the database is closed. */
  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#flushInBackground()
  }

  #of(tenant_id: string): Waiting {
    let waiting = this.#waiting.get(tenant_id)
    if (!waiting) {
      waiting = { evaluations: [], slots: new Map() }
      this.#waiting.set(tenant_id, waiting)
    }
    return waiting
  }

  #schedule(): void {
    if (this.#timer || this.#stopped) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      void this.#flushInBackground()
    }, FLUSH_MS)
    this.#timer.unref()
  }

  async #flushInBackground(): Promise<void> {
    try {
      await this.flush()
    } catch {
      this.#kernel.logger.warn('governance.log_not_written', { waiting: this.#count })
      this.#schedule()
    }
  }

  async #write(): Promise<void> {
    const taken = this.#waiting
    this.#waiting = new Map()
    let failed: unknown
    for (const [tenant_id, waiting] of taken) {
      try {
        await this.#writeTenant(tenant_id, waiting)
      } catch (error) {
        failed = error
        this.#putBack(tenant_id, waiting)
      }
    }
    if (failed !== undefined) throw failed
  }

  async #writeTenant(tenant_id: string, { evaluations, slots }: Waiting): Promise<void> {
    const { db } = this.#kernel
    while (evaluations.length > 0 || slots.size > 0) {
      const some = evaluations.slice(0, ROWS_PER_UNIT)
      const notes = [...slots.values()]
      await db.transact(tenant_id, async (tx) => {
        for (const { row } of some) await insertEvaluation(tx, row)
        countResults(
          tx,
          some.flatMap(({ counted }) => counted),
        )
        for (const { policy_id, slot_us, count, old_us } of notes) {
          await saveSlot(tx, { policy_id, slot_us, count })
          await deleteSlots(tx, policy_id, old_us)
        }
      })
      evaluations.splice(0, some.length)
      this.#count -= some.length
      slots.clear()
    }
  }

  #putBack(tenant_id: string, { evaluations, slots }: Waiting): void {
    const waiting = this.#of(tenant_id)
    waiting.evaluations.unshift(...evaluations)
    for (const [key, note] of slots) if (!waiting.slots.has(key)) waiting.slots.set(key, note)
  }
}

export const evaluationLog = perKernel((kernel) => new EvaluationLog(kernel))

/** Stops writing in the background and writes what is left. */
export const flushEvaluations = (kernel: Kernel): Promise<void> => evaluationLog(kernel).stop()
