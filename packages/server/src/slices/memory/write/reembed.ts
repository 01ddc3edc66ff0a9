// POST /v1/stores/{store_id}/reembed: another embedder, if any, and a job that makes the vectors.

import type { EmbedderName, memory } from '@custos/contract'
import type { Handler } from '../../../platform/call.ts'
import type { Tx } from '../../../platform/db/tenant-db.ts'
import { EmbedderRefused, EmbedderUnavailable } from '../../../platform/embed/embedder.ts'
import type { Space } from '../../../platform/embed/embedders.ts'
import type { JobContext, JobPause, JobRunner } from '../../../platform/jobs/queue.ts'
import type { Kernel } from '../../../platform/kernel.ts'
import { appendCrumb, findHead } from '../../gcrumbs/index.ts'
import { meter } from '../../tenants/index.ts'
import { EmbeddingInterrupted, enqueueReembed } from '../facts/embeddings.ts'
import { countFactsToEmbed, findFactToEmbed } from '../facts/vectors.sql.ts'
import { changeEmbedder, type StoreHead } from '../stores/store-heads.ts'
import { requireEmbedder, settingsCache } from '../stores/store-settings.ts'
import { findStore } from '../stores/stores.sql.ts'
import { loadTargetHead, loadWriteTarget, retryOnStoreConflict } from '../stores/write-target.ts'
import { type EmbedderFailure, embedBatch } from './reembed-batch.ts'

export const reembed: Handler<typeof memory.reembed> = (call, { params, body }) =>
  retryOnStoreConflict(async () => {
    const { kernel, tenant_id, operation } = call
    const { store_id } = params
    const target = await loadWriteTarget(kernel, tenant_id, store_id)
    const embedder = body.embedder ?? target.settings.embedder
    requireEmbedder(kernel, embedder)
    const space = kernel.embedders.spaceOf(embedder)
    // Outside the unit of work: it looks at every memory.
    const missing = space ? await call.read((db) => countFactsToEmbed(db, store_id, space.mark)) : 0

    const job_id = await call.transact(async (tx) => {
      const head = await loadTargetHead(kernel, tx, target)
      meter(tx, operation.id)
      if (embedder !== target.settings.embedder)
        await switchEmbedder(kernel, tx, head, { embedder, previous: target.settings.embedder })
      return enqueueReembed(kernel, tx, store_id)
    })
    return { job_id, store_id, embedder, missing }
  })

/** On the log: from here on texts of the store may go elsewhere, or no longer do. */
async function switchEmbedder(
  kernel: Kernel,
  tx: Tx,
  head: StoreHead,
  change: { embedder: EmbedderName; previous: EmbedderName },
): Promise<void> {
  const { store_id } = head
  const { tenant_id } = tx
  const { seq } = await appendCrumb(tx, {
    event_type: 'store.embedder_changed',
    subject: store_id,
    payload: change,
  })
  const sent_out = kernel.embedders.find(change.embedder)?.remote ?? false
  await changeEmbedder(tx, head, { embedder: change.embedder, sent_out, seq })
  tx.afterCommit(() => settingsCache(kernel).forget(tenant_id, store_id))
}

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

/** Once through a store, over as many turns as it takes. */
interface Pass {
  readonly embedder: string
  /** The end of the log when it began. */
  readonly seq: number
  /** The last ref looked at. */
  after: number
  embedded: number
  /** Of a batch that was passed over: its texts may be what the embedder fails at. */
  failure: EmbedderFailure | null
}

/** Passes under way by job: without theirs, jobs begin at the start again, which is safe. */
type Passes = Map<string, Pass>

/** Safe to run again from the start: what has its vector is no longer listed. */
export function makeReembedRunner(kernel: Kernel): JobRunner {
  const passes: Passes = new Map()
  return async (context) => {
    try {
      return await runReembedJob(kernel, context, passes)
    } catch (error) {
      if (error instanceof EmbedderUnavailable) return { again_ms: error.retry_after_ms }
      throw error
    }
  }
}

async function runReembedJob(
  kernel: Kernel,
  context: JobContext,
  passes: Passes,
): Promise<JobPause | undefined> {
  const { job } = context
  // Written by reembed-queue.ts only.
  const owner = { tenant_id: job.tenant_id, store_id: String(job.payload['store_id']) }
  const turn_ends = performance.now() + TURN_MS
  const count = await ProgressCounter.open(kernel, context, owner)
  for (;;) {
    const target = await findTarget(kernel, owner)
    if (!target) break
    const pass = await currentPass(kernel, target, { job_id: job.job_id, passes })
    const end = await runPass(kernel, target, { context, count, turn_ends, pass })
    if (end === 'stopped') return undefined
    if (end === 'paused') return { again_ms: 0 }
    passes.delete(job.job_id)
    if (pass.failure) throw pass.failure
    // What was written meanwhile may stand before where the pass had got to.
    const { embedded, seq } = pass
    if (embedded > 0 || !(await finish(kernel, target, { context, seq }))) continue
    await count.end()
    return undefined
  }
  passes.delete(job.job_id)
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

/** The pass the job is in, or a new one; the embedder may have changed between two turns. */
async function currentPass(
  kernel: Kernel,
  { tenant_id, embedder }: Target,
  { job_id, passes }: { job_id: string; passes: Passes },
): Promise<Pass> {
  const begun = passes.get(job_id)
  if (begun?.embedder === embedder) return begun
  const seq = await logEnd(kernel, tenant_id)
  const pass = { embedder, seq, after: -1, embedded: 0, failure: null }
  passes.set(job_id, pass)
  return pass
}

interface Turn {
  readonly context: JobContext
  readonly count: ProgressCounter
  readonly turn_ends: number
  readonly pass: Pass
}

/** Goes on with the pass. Throws where the embedder is not asked: the batch comes again. */
async function runPass(
  kernel: Kernel,
  target: Target,
  { context, count, turn_ends, pass }: Turn,
): Promise<'ended' | 'stopped' | 'paused'> {
  for (;;) {
    if (context.stopping) return 'stopped'
    if (performance.now() > turn_ends) return 'paused'
    try {
      const { embedded, last, failure } = await embedBatch(kernel, target, pass.after)
      // Tries are counted where the embedder refuses, and not where it has only failed.
      if (failure?.reason === 'failed_before')
        throw pass.failure instanceof EmbedderRefused ? pass.failure : failure
      pass.failure ??= failure
      pass.embedded += embedded
      await count.add(embedded)
      // The embedder is another one by now: from the start again.
      if (last === null) return 'ended'
      pass.after = last
    } catch (error) {
      // A fact of the batch was erased: again without it.
      if (!(error instanceof EmbeddingInterrupted)) throw error
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
class ProgressCounter {
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
  ): Promise<ProgressCounter> {
    const countMissing = async () => {
      const target = await findTarget(kernel, owner)
      if (!target) return 0
      return kernel.db.read(owner.tenant_id, (db) =>
        countFactsToEmbed(db, owner.store_id, target.space.mark),
      )
    }
    const counter = new ProgressCounter(context, await countMissing(), countMissing)
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
