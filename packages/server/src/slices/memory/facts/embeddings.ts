// Embeds contents and queries with a store's embedder, and tracks batches that are being
// re-embedded so that an erasure can stop them. A failing embedder fails no write and no read.

import { findOpenJobs } from '../../../platform/db/jobs.sql.ts'
import type { Tx } from '../../../platform/db/tenant-db.ts'
import {
  type Embedder,
  EmbedderRefused,
  EmbedderUnavailable,
  type EmbedOptions,
  type Space,
} from '../../../platform/embed/embedder.ts'
import { type Kernel, perKernel } from '../../../platform/kernel/kernel.ts'
import { yieldBetweenChunks } from '../../../platform/yield-between-chunks.ts'
import { withoutLeadingDate } from '../facts/conversation.ts'

/** Thrown when a fact of the batch is erased: the caller must not use any text of the batch. */
export class EmbeddingInterrupted extends Error {}

interface RunningBatch {
  readonly tenant_id: string
  readonly store_id: string
  readonly refs: ReadonlySet<number>
  readonly controller: AbortController
}

/** The re-embedding batches in flight, so that an erasure can stop them. */
class RunningEmbeddings {
  readonly #batches = new Set<RunningBatch>()

  /** Runs `act`; rejects with EmbeddingInterrupted once one of the refs is erased. */
  async run<T>(
    batch: { tenant_id: string; store_id: string; refs: readonly number[] },
    act: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const controller = new AbortController()
    const running = { ...batch, refs: new Set(batch.refs), controller }
    this.#batches.add(running)
    try {
      const result = await act(controller.signal)
      controller.signal.throwIfAborted()
      return result
    } finally {
      this.#batches.delete(running)
    }
  }

  interrupt(tenant_id: string, refs: readonly number[]): void {
    this.#stop((batch) => batch.tenant_id === tenant_id && refs.some((ref) => batch.refs.has(ref)))
  }

  interruptStore(tenant_id: string, store_id: string): void {
    this.#stop((batch) => batch.tenant_id === tenant_id && batch.store_id === store_id)
  }

  has(tenant_id: string, ref: number): boolean {
    for (const batch of this.#batches)
      if (batch.tenant_id === tenant_id && batch.refs.has(ref)) return true
    return false
  }

  /** Yields tenant and store of every batch in flight. */
  stores(): [string, string][] {
    return [...this.#batches].map(({ tenant_id, store_id }) => [tenant_id, store_id])
  }

  // Aborts the request to the embedder; a response that still arrives is discarded.
  #stop(isConcerned: (batch: RunningBatch) => boolean): void {
    for (const batch of this.#batches) {
      if (!isConcerned(batch)) continue
      this.#batches.delete(batch)
      batch.controller.abort(new EmbeddingInterrupted())
    }
  }
}

export const runningEmbeddings = perKernel(() => new RunningEmbeddings())

/** The job that makes missing vectors. A store has at most one open job. */
export const STORE_REEMBED = 'store.reembed'

/** Returns the id of the store's open job, or of a new one. */
export async function enqueueReembed(kernel: Kernel, tx: Tx, store_id: string): Promise<string> {
  // Only the code below writes payloads of this job.
  const open = (await findOpenJobs(tx, STORE_REEMBED)).find(
    ({ payload }) => JSON.parse(payload).store_id === store_id,
  )
  if (open) return open.job_id
  return (await kernel.jobs.enqueue(tx, STORE_REEMBED, { store_id })).job_id
}

/** The vector of one content, or the reason why there is none. */
export interface ContentVector {
  readonly numbers: Int8Array | null
  /** Embedding space of `numbers`; `null` without a vector. */
  readonly space: Space | null
  /** True when the embedder did not answer; a job makes the vector later. */
  readonly embed_later: boolean
}

const NONE: ContentVector = { numbers: null, space: null, embed_later: false }
const LATER: ContentVector = { numbers: null, space: null, embed_later: true }

/** Returns one vector for each content, in order. */
export async function embedContents(
  kernel: Kernel,
  name: string,
  contents: readonly string[],
): Promise<ContentVector[]> {
  const embedder = kernel.embedders.find(name)
  const space = kernel.embedders.spaceOf(name)
  if (!embedder || !space) return contents.map(() => NONE)
  const vectors = await tryEmbed(kernel, { name, embedder }, contents)
  if (vectors === null) return contents.map(() => LATER)
  return contents.map((_, i) => {
    const numbers = vectors[i] ?? null
    return numbers === null ? NONE : { numbers, space, embed_later: false }
  })
}

/** Returns `null` if there is no vector; the query is then ranked by its terms alone. */
export async function embedQuery(
  kernel: Kernel,
  name: string,
  query: string,
): Promise<Int8Array | null> {
  const embedder = kernel.embedders.find(name)
  const vectors = embedder && (await tryEmbed(kernel, { name, embedder }, [query]))
  return vectors?.[0] ?? null
}

/** Limits of one in-process embedder call (texts, UTF-16 units); other work runs between calls. */
const TEXTS_AT_ONCE = 32
const UNITS_AT_ONCE = 64 * 1024

/**
 * Embeds contents, without their leading dates, or queries. A remote embedder splits batches
 * itself; an in-process embedder gets small batches, so that other work can run between them.
 */
export async function embedInSteps(
  embedder: Embedder,
  texts: readonly string[],
  options: EmbedOptions = {},
): Promise<(Int8Array | null)[]> {
  const contents = texts.map(withoutLeadingDate)
  if (embedder.remote) return embedder.embed(contents, options)
  const vectors: (Int8Array | null)[] = []
  const pace = yieldBetweenChunks()
  for (let at = 0; at < contents.length; at = vectors.length) {
    options.signal?.throwIfAborted()
    let [end, units] = [at, 0]
    do {
      units += contents[end]?.length ?? 0
      end += 1
    } while (end < contents.length && end - at < TEXTS_AT_ONCE && units < UNITS_AT_ONCE)
    vectors.push(...(await embedder.embed(contents.slice(at, end), options)))
    await pace()
  }
  return vectors
}

async function tryEmbed(
  { logger }: Kernel,
  { name, embedder }: { name: string; embedder: Embedder },
  texts: readonly string[],
): Promise<(Int8Array | null)[] | null> {
  try {
    return await embedInSteps(embedder, texts)
  } catch (error) {
    if (!(error instanceof EmbedderUnavailable) && !(error instanceof EmbedderRefused)) throw error
    // After a failure, which has been logged, requests are suspended for a while.
    if (error.reason !== 'failed_before')
      logger.warn('embedder.failed', { embedder: name, reason: error.reason })
    return null
  }
}
