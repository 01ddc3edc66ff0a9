// POST /v1/stores/{store_id}/reembed: switches the embedder if requested and enqueues the job that
// makes missing vectors, a batch in each unit of work.

import assert from 'node:assert/strict'
import type { EmbedderName, memory } from '@custos/contract'
import { countRows } from '../../../platform/db/database.ts'
import type { Tx } from '../../../platform/db/tenant-db.ts'
import {
  EmbedderRefused,
  EmbedderUnavailable,
  type Space,
} from '../../../platform/embed/embedder.ts'
import type { JobContext, JobPause, JobRunner } from '../../../platform/jobs/queue.ts'
import type { Handler } from '../../../platform/kernel/call.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { appendCrumb, findHead } from '../../gcrumbs/index.ts'
import { meter } from '../../tenants/index.ts'
import {
  EmbeddingInterrupted,
  embedInSteps,
  enqueueReembed,
  runningEmbeddings,
} from '../facts/embeddings.ts'
import { sealFactDocument } from '../facts/fact-document.ts'
import { type FactRow, findFactHeads, LIVE } from '../facts/facts.sql.ts'
import { searchedText } from '../facts/item-name.ts'
import { isExpired, openFactRows } from '../facts/opened-fact.ts'
import {
  countFactsToEmbed,
  findFactToEmbed,
  listFactsToEmbed,
  updateSealed,
} from '../facts/vectors.sql.ts'
import { storeIndexes } from '../index/store-indexes.ts'
import {
  advanceStoreHead,
  changeEmbedder,
  loadStoreHead,
  type StoreHead,
} from '../stores/store-heads.ts'
import { parseStoreSettings, requireEmbedder, settingsCache } from '../stores/store-settings.ts'
import { findStore } from '../stores/stores.sql.ts'
import { loadTargetHead, loadWriteTarget, retryOnStoreConflict } from '../stores/write-target.ts'

export const reembed: Handler<typeof memory.reembed> = (call, { params, body }) =>
  retryOnStoreConflict(async () => {
    const { kernel, tenant_id, operation } = call
    const { store_id } = params
    const target = await loadWriteTarget(kernel, tenant_id, store_id)
    const embedder = body.embedder ?? target.settings.embedder
    requireEmbedder(kernel, embedder)
    const space = kernel.embedders.spaceOf(embedder)
    const missing = space ? await countMissing(kernel, { tenant_id, store_id }, space.mark) : 0

    const job_id = await call.transact(async (tx) => {
      const head = await loadTargetHead(kernel, tx, target)
      meter(tx, operation.id)
      if (embedder !== target.settings.embedder)
        await switchEmbedder(kernel, tx, head, { embedder, previous: target.settings.embedder })
      return enqueueReembed(kernel, tx, store_id)
    })
    return { job_id, store_id, embedder, missing }
  })

/** Counts outside the unit of work, as it reads every row of the store. */
const countMissing = (
  kernel: Kernel,
  { tenant_id, store_id }: { readonly tenant_id: string; readonly store_id: string },
  mark: number,
): Promise<number> => countRows(kernel.db, tenant_id, (db) => countFactsToEmbed(db, store_id, mark))

/** Writes a log entry: texts of the store may leave the service from here on, or no longer do. */
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

/** How long the job runs before it yields to other jobs. */
const RUN_MS = 5_000

/** The store's embedder is not configured in this process, but may be in another one. */
class EmbedderNotConfigured extends Error {
  override readonly name = 'EmbedderNotConfigured'
}

/** One pass through a store, over any number of runs of the job. */
interface ReembedPass {
  readonly embedder: string
  /** The last log position when the pass began. */
  readonly seq: number
  /** The last processed ref. */
  after: number
  embedded: number
  /** Failure of a skipped batch: the embedder may fail at its texts. */
  failure: EmbedderFailure | null
}

/** Can safely start over: facts that have a vector are not listed again. */
export function makeReembedRunner(kernel: Kernel): JobRunner {
  // Unfinished passes by job; a job without one starts again, which is safe.
  const passes = new Map<string, ReembedPass>()
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
  passes: Map<string, ReembedPass>,
): Promise<JobPause | undefined> {
  const { job } = context
  // `enqueueReembed` wrote the payload.
  const owner = { tenant_id: job.tenant_id, store_id: String(job.payload['store_id']) }
  const run_ends = performance.now() + RUN_MS
  const count = await ProgressCounter.open(kernel, context, owner)
  for (;;) {
    const target = await findTarget(kernel, owner)
    if (!target) break
    const pass = await resumePass(kernel, target, { job_id: job.job_id, passes })
    const end = await runPass(kernel, target, { context, count, run_ends, pass })
    if (end === 'stopped') return undefined
    if (end === 'paused') return { again_ms: 0 }
    passes.delete(job.job_id)
    if (pass.failure) throw pass.failure
    // Facts written meanwhile may have refs below the position of the pass.
    const { embedded, seq } = pass
    if (embedded > 0 || !(await finishJob(kernel, target, { context, seq }))) continue
    await count.end()
    return undefined
  }
  passes.delete(job.job_id)
  return undefined
}

/** Returns `null` if there is nothing to make vectors for. */
async function findTarget(
  kernel: Kernel,
  { tenant_id, store_id }: { tenant_id: string; store_id: string },
): Promise<ReembedTarget | null> {
  const store = await kernel.db.read(tenant_id, (db) => findStore(db, store_id))
  if (store?.state !== 'active' || store.embedder === 'none') return null
  const { embedder } = store
  const space = kernel.embedders.spaceOf(embedder)
  if (!space) throw new EmbedderNotConfigured()
  return { tenant_id, store_id, embedder, space }
}

const findLogEnd = async (kernel: Kernel, tenant_id: string): Promise<number> =>
  ((await kernel.db.read(tenant_id, findHead))?.size ?? 0) - 1

/** Returns the pass of the job, or a new one if the embedder has changed between two runs. */
async function resumePass(
  kernel: Kernel,
  { tenant_id, embedder }: ReembedTarget,
  { job_id, passes }: { job_id: string; passes: Map<string, ReembedPass> },
): Promise<ReembedPass> {
  const begun = passes.get(job_id)
  if (begun?.embedder === embedder) return begun
  const seq = await findLogEnd(kernel, tenant_id)
  const pass = { embedder, seq, after: -1, embedded: 0, failure: null }
  passes.set(job_id, pass)
  return pass
}

/** Continues the pass. Throws if the embedder cannot be called; the batch is then retried later. */
async function runPass(
  kernel: Kernel,
  target: ReembedTarget,
  run: { context: JobContext; count: ProgressCounter; run_ends: number; pass: ReembedPass },
): Promise<'ended' | 'stopped' | 'paused'> {
  const { context, count, run_ends, pass } = run
  for (;;) {
    if (context.stopping) return 'stopped'
    if (performance.now() > run_ends) return 'paused'
    try {
      const { embedded, last, failure } = await embedBatch(kernel, target, pass.after)
      // A refusal by the embedder counts as an attempt of the job; unavailability does not.
      if (failure?.reason === 'failed_before')
        throw pass.failure instanceof EmbedderRefused ? pass.failure : failure
      pass.failure ??= failure
      pass.embedded += embedded
      await count.add(embedded)
      // The store is done or has another embedder; the latter starts a new pass.
      if (last === null) return 'ended'
      pass.after = last
    } catch (error) {
      // A fact of the batch was erased: retries the batch without it.
      if (!(error instanceof EmbeddingInterrupted)) throw error
    }
  }
}

/** Finishes in one unit of work: a later write finds no open job and enqueues a new one. */
const finishJob = (
  kernel: Kernel,
  { tenant_id, store_id, embedder, space }: ReembedTarget,
  { context, seq }: { context: JobContext; seq: number },
): Promise<boolean> =>
  kernel.db.transact(tenant_id, async (tx) => {
    const store = await findStore(tx, store_id)
    if (store && store.embedder !== embedder) return false
    if (await findFactToEmbed(tx, store_id, { mark: space.mark, seq })) return false
    await context.finishIn(tx)
    return true
  })

/** Progress of the job over all of its runs. */
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
    const count = async () => {
      const target = await findTarget(kernel, owner)
      if (!target) return 0
      return countMissing(kernel, owner, target.space.mark)
    }
    const counter = new ProgressCounter(context, await count(), count)
    await counter.add(0)
    return counter
  }

  async add(embedded: number): Promise<void> {
    this.#done += embedded
    this.#total = Math.max(this.#total, this.#done)
    await this.#context.progress(this.#done, this.#total)
  }

  /** Facts that the embedder refuses keep missing a vector, and the progress shows them as such. */
  async end(): Promise<void> {
    this.#total = this.#done + (await this.#countMissing())
    await this.add(0)
  }
}

const BATCH = 128

/** A store and the embedding space its vectors are to be in. */
interface ReembedTarget {
  readonly tenant_id: string
  readonly store_id: string
  readonly embedder: string
  readonly space: Space
}

type EmbedderFailure = EmbedderUnavailable | EmbedderRefused

/**
 * Embeds the next facts with ref > `after` that have no vector of the target's space. `last`: the
 * last ref processed; null: the store has no more facts, or another embedder by now. `failure`: why
 * the batch was not embedded; null: it was.
 */
async function embedBatch(kernel: Kernel, target: ReembedTarget, after: number) {
  const { tenant_id, store_id, space } = target
  const rows = await kernel.db.read(tenant_id, (db) =>
    listFactsToEmbed(db, store_id, { mark: space.mark, after, limit: BATCH }),
  )
  const last = rows.at(-1)
  if (!last) return { embedded: 0, last: null, failure: null }
  const resealed = await resealFacts(kernel, target, rows).catch(toEmbedderFailure)
  if (!Array.isArray(resealed)) return { embedded: 0, last: last.ref, failure: resealed }
  await kernel.step('reembed:sealed')
  const embedded = await storeResealed(kernel, target, resealed)
  await kernel.step('reembed:stored')
  return { embedded: embedded ?? 0, last: embedded === null ? null : last.ref, failure: null }
}

function toEmbedderFailure(error: unknown): EmbedderFailure {
  if (error instanceof EmbedderUnavailable || error instanceof EmbedderRefused) return error
  throw error
}

async function resealFacts(kernel: Kernel, target: ReembedTarget, rows: readonly FactRow[]) {
  const { tenant_id, store_id, space } = target
  const embedder = kernel.embedders.find(target.embedder)
  if (!embedder) throw new Error('a space has its embedder')
  const refs = rows.map(({ ref }) => ref)
  const batch = { tenant_id, store_id, refs }
  // An erasure interrupts the call; nothing of the batch is sealed then.
  return runningEmbeddings(kernel).run(batch, async (signal) => {
    const opened = await openFactRows(kernel, tenant_id, rows, {
      onBroken: (ref) => kernel.logger.error('memory.seal_broken', { tenant_id, ref }),
    })
    // The embedder may be an external service; expired content must not be sent there.
    const facts = opened.filter((fact) => !isExpired(fact, kernel.clock.now()))
    const contents = facts.map(({ document }) => searchedText(document))
    const vectors = await embedInSteps(embedder, contents, { patient: true, signal })
    const keys = await kernel.keyring.tenant(tenant_id)
    // Secrets are read again after the wait, so that one destroyed meanwhile is not restored.
    const secrets = await kernel.keyring.secrets(tenant_id, 'fact', refs)
    return facts.flatMap((fact, i) => {
      const [vector, secret] = [vectors[i], secrets.get(fact.ref)]
      if (!vector || !secret) return []
      const document = { ...fact.document, space: space.name }
      const owner = { tenant_id, store_id, ref: fact.ref, secret }
      return [{ fact, vector, sealed: sealFactDocument(keys, owner, { document, vector }) }]
    })
  })
}

/**
 * Stores the vectors of facts that are live and unchanged since they were opened; erased facts and
 * facts being erased are skipped. Returns `null` if the store has another embedder by now.
 */
function storeResealed(
  kernel: Kernel,
  { tenant_id, store_id, embedder, space }: ReembedTarget,
  resealed: Awaited<ReturnType<typeof resealFacts>>,
): Promise<number | null> {
  return kernel.db.transact(tenant_id, async (tx) => {
    const head = await loadStoreHead(tx, store_id)
    if (head?.state !== 'active' || head.embedder !== embedder) return null
    const heads = await findFactHeads(
      tx,
      resealed.map(({ fact }) => fact.ref),
    )
    const now = new Map(heads.map((row) => [row.ref, row]))
    const unchanged = resealed.filter(({ fact }) => {
      const row = now.get(fact.ref)
      return row?.state === LIVE && row.sealed_seq === fact.sealed_seq
    })
    const refs = unchanged.map(({ fact }) => fact.ref)
    if (refs.length === 0) return 0
    // A log entry advances the store's log position, so every index applies the change like a
    // write.
    const { seq } = await appendCrumb(tx, {
      event_type: 'store.reembedded',
      subject: store_id,
      payload: {
        embedder: parseStoreSettings(head).embedder,
        count: refs.length,
        first_ref: Math.min(...refs),
        last_ref: Math.max(...refs),
      },
    })
    for (const { fact, sealed } of unchanged) {
      const row = { ref: fact.ref, sealed_seq: seq, space_mark: space.mark, sealed }
      const changed = await updateSealed(tx, { ...row, before_seq: fact.sealed_seq })
      assert.equal(changed, 1, 'what this unit found unchanged is there')
    }
    await advanceStoreHead(tx, store_id, seq)
    const vectors = unchanged.map(({ fact, vector }) => ({ ref: fact.ref, vector }))
    const change = { tenant_id, store_id, from_seq: head.head_seq, to_seq: seq }
    tx.afterCommit(() =>
      storeIndexes(kernel).applyChange({ ...change, facts: [], vectors, closed: [] }),
    )
    return refs.length
  })
}
