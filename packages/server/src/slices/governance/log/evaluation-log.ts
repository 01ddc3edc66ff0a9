// A buffer of evaluations in front of their rows: allowed requests are written in batches, within a
// second.

import { findDestruction } from '../../../platform/db/destructions.sql.ts'
import type { SharedSlot, Tx } from '../../../platform/db/tenant-db.ts'
import { type Kernel, perKernel } from '../../../platform/kernel/kernel.ts'
import { addCount, type EvaluationRow, insertEvaluation } from './evaluations.sql.ts'

const FLUSH_MS = 200
/** Rows per unit of work; small, as requests are served between units. */
const ROWS_PER_UNIT = 100
/** At this many pending rows a request waits until those of its tenant are written. */
const WAITING_MAX = 20_000
/** The same limit per tenant: one whose rows cannot be written leaves room for the others. */
const WAITING_OF_TENANT_MAX = 10_000

const countsSlot: SharedSlot<ReadonlyMap<string, number>> = {
  name: 'policy-counts',
  async flush(tx, counts) {
    for (const [key, count] of counts) {
      const [policy_id = '', result = ''] = key.split(' ')
      await addCount(tx, { policy_id, result, count })
    }
  },
}

export const countKey = (policy_id: string, result: string): string => `${policy_id} ${result}`

/** Adds the counts when the unit commits. */
function countResults(tx: Tx, evaluations: readonly NewEvaluation[]): void {
  const counts = new Map(tx.shared.get(countsSlot))
  const alike = Map.groupBy(evaluations, ({ row }) => `${row.policy_set} ${row.verdicts}`)
  for (const some of alike.values())
    for (const key of some[0]?.counted() ?? [])
      counts.set(key, (counts.get(key) ?? 0) + some.length)
  tx.shared.set(countsSlot, counts)
}

export interface NewEvaluation {
  readonly row: EvaluationRow
  /**
   * Keys of the counts to increase, one per policy; see `countKey`. Rows with the same policy set
   * and verdicts have the same keys.
   */
  counted(): readonly string[]
}

/** Idempotent: a row that exists is neither written nor counted again. */
export async function writeEvaluations(
  tx: Tx,
  evaluations: readonly NewEvaluation[],
): Promise<void> {
  const written: NewEvaluation[] = []
  for (const one of evaluations) if ((await insertEvaluation(tx, one.row)) > 0) written.push(one)
  if (written.length > 0) countResults(tx, written)
}

/** The pending rows of one tenant. */
interface PendingRows {
  readonly evaluations: NewEvaluation[]
  /** Settles when the write in progress ends; never rejects. */
  writing: Promise<void>
}

/** Tenants are written independently; a failure of one does not affect the others. */
class EvaluationLog {
  readonly #kernel: Kernel
  readonly #waiting = new Map<string, PendingRows>()
  #count = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #stopped = false

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  /** Returns a promise if too much is pending; it rejects if none of the rows can be written. */
  add(tenant_id: string, evaluation: NewEvaluation): undefined | Promise<void> {
    const { evaluations } = this.#of(tenant_id)
    if (this.#count < WAITING_MAX && evaluations.length < WAITING_OF_TENANT_MAX) {
      this.#push(tenant_id, evaluation)
      return undefined
    }
    return this.flush(tenant_id).then(() => this.#push(tenant_id, evaluation))
  }

  /** Writes the tenant's pending rows. If that fails, throws, and the rows stay pending. */
  flush(tenant_id: string): Promise<void> {
    const waiting = this.#of(tenant_id)
    const written = waiting.writing.then(() => this.#write(tenant_id, waiting))
    waiting.writing = written.catch(() => {})
    return written
  }

  /** Writes the pending rows of all tenants; a failure of one does not delay the others. */
  async flushAll(): Promise<void> {
    let failed: unknown
    for (const tenant_id of [...this.#waiting.keys()])
      try {
        await this.flush(tenant_id)
      } catch (error) {
        failed = error
      }
    if (failed !== undefined) throw failed
  }

  /** Call this before the database is closed. */
  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#flushInBackground()
  }

  #of(tenant_id: string): PendingRows {
    let waiting = this.#waiting.get(tenant_id)
    if (!waiting) {
      waiting = { evaluations: [], writing: Promise.resolve() }
      this.#waiting.set(tenant_id, waiting)
    }
    return waiting
  }

  #push(tenant_id: string, evaluation: NewEvaluation): void {
    this.#of(tenant_id).evaluations.push(evaluation)
    this.#count += 1
    this.#schedule()
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
      await this.flushAll()
    } catch {
      this.#kernel.logger.warn('governance.log_not_written', { waiting: this.#count })
      this.#schedule()
    }
  }

  // Rows that arrive meanwhile are written by the next call.
  async #write(tenant_id: string, waiting: PendingRows): Promise<void> {
    const { evaluations } = waiting
    for (let left = evaluations.length; left > 0; ) {
      const some = evaluations.slice(0, Math.min(left, ROWS_PER_UNIT))
      await this.#kernel.db.transact(tenant_id, async (tx) => {
        // Writes no rows of a tenant that was off-boarded meanwhile.
        if (await findDestruction(tx, tenant_id)) return
        // May run again after a commit whose acknowledgement was lost.
        await writeEvaluations(tx, some)
      })
      evaluations.splice(0, some.length)
      this.#count -= some.length
      left -= some.length
    }
    if (evaluations.length === 0 && this.#waiting.get(tenant_id) === waiting)
      this.#waiting.delete(tenant_id)
  }
}

export const evaluationLog = perKernel((kernel) => new EvaluationLog(kernel))

/** Stops the background writes and writes what is left. */
export const flushEvaluations = (kernel: Kernel): Promise<void> => evaluationLog(kernel).stop()
