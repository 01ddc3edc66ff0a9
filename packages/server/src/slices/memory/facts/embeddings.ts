// Vectors of contents and queries by a store's embedder, batches that are being embedded again, and
// the job that makes missing vectors. An embedder that fails fails no write and no read.

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

/** A fact of the batch was erased: none of the batch's texts may be used from now on. */
export class EmbeddingInterrupted extends Error {}

interface RunningBatch {
  readonly tenant_id: string
  readonly store_id: string
  readonly refs: ReadonlySet<number>
  readonly controller: AbortController
}

/** Facts that are being embedded again now, so that an erasure can stop it. */
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

  /** Tenant and store of every batch. */
  stores(): [string, string][] {
    return [...this.#batches].map(({ tenant_id, store_id }) => [tenant_id, store_id])
  }

  // The request to the embedder is aborted, and an answer that comes anyway is thrown away.
  #stop(isConcerned: (batch: RunningBatch) => boolean): void {
    for (const batch of this.#batches) {
      if (!isConcerned(batch)) continue
      this.#batches.delete(batch)
      batch.controller.abort(new EmbeddingInterrupted())
    }
  }
}

export const runningEmbeddings = perKernel(() => new RunningEmbeddings())

/** The job that makes missing vectors, at most one open for each store. */
export const STORE_REEMBED = 'store.reembed'

/** Returns the id of the store's open job, or of a new one. */
export async function enqueueReembed(kernel: Kernel, tx: Tx, store_id: string): Promise<string> {
  // Payloads are written below and nowhere else.
  const open = (await findOpenJobs(tx, STORE_REEMBED)).find(
    ({ payload }) => JSON.parse(payload).store_id === store_id,
  )
  if (open) return open.job_id
  return (await kernel.jobs.enqueue(tx, STORE_REEMBED, { store_id })).job_id
}

/** The vector of one content, or why there is none. */
export interface ContentVector {
  readonly numbers: Int8Array | null
  /** Embedding space of `numbers`; null when there are none. */
  readonly space: Space | null
  /** The embedder did not answer: a job makes the vector later. */
  readonly embed_later: boolean
}

const NONE: ContentVector = { numbers: null, space: null, embed_later: false }
const LATER: ContentVector = { numbers: null, space: null, embed_later: true }

/** One for each content, in order. */
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

/** Null: the query is ranked by its terms alone. */
export async function embedQuery(
  kernel: Kernel,
  name: string,
  query: string,
): Promise<Int8Array | null> {
  const embedder = kernel.embedders.find(name)
  const vectors = embedder && (await tryEmbed(kernel, { name, embedder }, [query]))
  return vectors?.[0] ?? null
}

/** Texts and UTF-16 units that one call embeds in this process; between calls others run. */
const TEXTS_AT_ONCE = 32
const UNITS_AT_ONCE = 64 * 1024

/**
 * Vectors of contents without their leading dates, or of queries. A remote embedder makes its own
 * batches; one in this process works in steps.
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
    // Requests are held back after a failure, which has been logged.
    if (error.reason !== 'failed_before')
      logger.warn('embedder.failed', { embedder: name, reason: error.reason })
    return null
  }
}
