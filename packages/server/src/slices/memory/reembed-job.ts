// The job behind reembed: gives memories the vectors they lack, a batch in each unit of work.

import { EmbedderUnavailable } from '../../platform/embed/embedder.ts'
import type { Space } from '../../platform/embed/embedders.ts'
import type { JobContext, JobPause, JobRunner } from '../../platform/jobs/queue.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { findHead } from '../gcrumbs/index.ts'
import { Interrupted } from './embeddings.ts'
import { embedBatch } from './reembed-batch.ts'
import { findStore } from './stores.sql.ts'
import { countFactsToEmbed, findFactToEmbed } from './vectors.sql.ts'

/** What has become of a turn: a while of work, after which other jobs get theirs. */
const TURN_MS = 5_000
/** The store goes by an embedder that this process does not have: another one may. */
class EmbedderNotConfigured extends Error {
  override readonly name = 'EmbedderNotConfigured'
}

/** Where a store stands with its vectors. */
interface Target {
  readonly tenant_id: string
  readonly store_id: string
  readonly embedder: string
  readonly space: Space
}

/** Safe to run again from the start: what has its vector is no longer listed. */
export const reembedder =
  (kernel: Kernel): JobRunner =>
  async (context) => {
    try {
      return await makeVectors(kernel, context)
    } catch (error) {
      if (error instanceof EmbedderUnavailable) return { again_ms: error.retry_after_ms }
      throw error
    }
  }

async function makeVectors(kernel: Kernel, context: JobContext): Promise<JobPause | undefined> {
  const { job } = context
  // Written by reembed-queue.ts only.
  const owner = { tenant_id: job.tenant_id, store_id: String(job.payload['store_id']) }
  const turn_ends = performance.now() + TURN_MS
  const count = await Counter.open(kernel, context, owner)
  for (;;) {
    const target = await findTarget(kernel, owner)
    if (!target) return undefined
    const seq = await logEnd(kernel, owner.tenant_id)
    const pass = await onePass(kernel, target, { context, count, turn_ends })
    if (pass === 'stopped') return undefined
    if (pass === 'paused') return { again_ms: 0 }
    // What was written meanwhile may stand before where the pass had got to.
    if (pass === 0 && (await finish(kernel, target, { context, seq }))) break
  }
  await count.end()
  return undefined
}

/** Null: there is nothing to make vectors for. */
async function findTarget(
  kernel: Kernel,
  { tenant_id, store_id }: { tenant_id: string; store_id: string },
): Promise<Target | null> {
  const store = await kernel.db.read(tenant_id, (db) => findStore(db, store_id))
  if (store?.state !== 'active' || store.embedder === 'none') return null
  const { embedder } = store
  const space = kernel.embedders.spaceOf(embedder)
  if (!space) throw new EmbedderNotConfigured()
  return { tenant_id, store_id, embedder, space }
}

const logEnd = async (kernel: Kernel, tenant_id: string): Promise<number> =>
  ((await kernel.db.read(tenant_id, findHead))?.size ?? 0) - 1

interface Pass {
  readonly context: JobContext
  readonly count: Counter
  readonly turn_ends: number
}

/** Once through the store; how many got their vectors. */
async function onePass(
  kernel: Kernel,
  target: Target,
  { context, count, turn_ends }: Pass,
): Promise<number | 'stopped' | 'paused'> {
  let embedded = 0
  for (let after = -1; ; ) {
    if (context.stopping) return 'stopped'
    if (performance.now() > turn_ends) return 'paused'
    try {
      const batch = await embedBatch(kernel, target, after)
      embedded += batch.embedded
      await count.add(batch.embedded)
      // The embedder is another one by now: from the start again.
      if (batch.last === null) return embedded
      after = batch.last
    } catch (error) {
      // A fact of the batch was erased: again without it.
      if (!(error instanceof Interrupted)) throw error
    }
  }
}

/** In one unit of work: whoever writes after it finds no open job and puts a new one. */
const finish = (
  kernel: Kernel,
  { tenant_id, store_id, embedder, space }: Target,
  { context, seq }: { context: JobContext; seq: number },
): Promise<boolean> =>
  kernel.db.transact(tenant_id, async (tx) => {
    const store = await findStore(tx, store_id)
    if (store && store.embedder !== embedder) return false
    if (await findFactToEmbed(tx, store_id, { mark: space.mark, seq })) return false
    await context.finishIn(tx)
    return true
  })

/** Progress of the job over all of its turns. */
class Counter {
  #done: number
  #total: number
  readonly #context: JobContext
  readonly #countMissing: () => Promise<number>

  private constructor(context: JobContext, missing: number, countMissing: () => Promise<number>) {
    this.#context = context
    this.#done = context.job.progress_done
    this.#total = this.#done + missing
    this.#countMissing = countMissing
  }

  static async open(
    kernel: Kernel,
    context: JobContext,
    owner: { tenant_id: string; store_id: string },
  ): Promise<Counter> {
    const countMissing = async () => {
      const target = await findTarget(kernel, owner)
      if (!target) return 0
      return kernel.db.read(owner.tenant_id, (db) =>
        countFactsToEmbed(db, owner.store_id, target.space.mark),
      )
    }
    const counter = new Counter(context, await countMissing(), countMissing)
    await counter.add(0)
    return counter
  }

  async add(embedded: number): Promise<void> {
    this.#done += embedded
    this.#total = Math.max(this.#total, this.#done)
    await this.#context.progress(this.#done, this.#total)
  }

  /** What the embedder does not take stays missing, and is seen to. */
  async end(): Promise<void> {
    this.#total = this.#done + (await this.#countMissing())
    await this.add(0)
  }
}
