// Vectors of decisions, embedded from their current texts. They live for one computation.

import { canonicalize, type JsonObject } from '@custos/proof'
import { createStaticEmbedder } from '../../platform/embed/static-embedder.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import {
  type DecisionFilter,
  listDecisions,
  openRows,
  retryWhileErasing,
} from '../decisions/index.ts'
import { openPayload } from '../reputation/index.ts'
import { listSealedGoverned } from './manifold.sql.ts'
import type { Vectors } from './plane.ts'
import type { SelectedDecision, SelectionQuery } from './selection.ts'

/** One embedder for all stores and settings, as vectors of two spaces cannot be compared. */
const embedder = createStaticEmbedder()
export const EMBEDDER_NAME = `${embedder.model}/${embedder.version}`
export const EMBEDDER_DIMENSIONS = embedder.dimensions

/** The characters embedded of a question and of an answer, because a decision may be megabytes. */
const CHARS_MAX = 4_096
const CHUNK_ROWS = 100

interface Frame {
  readonly kernel: Kernel
  readonly tenant_id: string
  readonly asked: SelectionQuery
  readonly pace: () => Promise<void> | undefined
}

/** The text of a decision at a log position. */
interface DecisionText {
  readonly seq: number
  readonly text: string
}

/** Returns vectors in the order of `items`, with zeros for what can no longer be opened. */
export async function vectorsOf(
  frame: Frame,
  items: readonly SelectedDecision[],
): Promise<Vectors> {
  const { dimensions } = embedder
  const rows = new Int8Array(items.length * dimensions)
  const placeOf = new Map(items.map(({ seq }, at) => [seq, at]))
  for (let at = 0; at < items.length; at += CHUNK_ROWS) {
    const chunk = items.slice(at, at + CHUNK_ROWS)
    for (const { seq, text } of await textsOf(frame, chunk)) {
      const place = placeOf.get(seq)
      if (place === undefined) continue
      const [vector] = await embedder.embed([text])
      if (vector) rows.set(vector, place * dimensions)
      await frame.pace()
    }
  }
  return { rows, count: items.length, dimensions }
}

async function textsOf(frame: Frame, chunk: readonly SelectedDecision[]): Promise<DecisionText[]> {
  const trail = chunk.filter(({ governed: fields }) => fields === null)
  const governed = chunk.filter(({ governed: fields }) => fields !== null)
  return [...(await trailTexts(frame, trail)), ...(await governedTexts(frame, governed))]
}

const joined = (question: string, answer: string): string =>
  `${question.slice(0, CHARS_MAX)}\n${answer.slice(0, CHARS_MAX)}`

async function trailTexts(
  { kernel, tenant_id, asked }: Frame,
  chunk: readonly SelectedDecision[],
): Promise<DecisionText[]> {
  const [newest, oldest] = [chunk[0], chunk.at(-1)]
  if (!newest || !oldest) return []
  // The range selects exactly the chunk, since no decision is ever inserted between two others.
  const filter: DecisionFilter = {
    ...(asked.store_ids.length === 0 ? {} : { store_ids: asked.store_ids }),
    after_seq: oldest.seq - 1,
    before_seq: newest.seq + 1,
  }
  const opened = await retryWhileErasing(async () => {
    const rows = await kernel.db.read(tenant_id, (db) =>
      listDecisions(db, filter, { order: 'desc', limit: chunk.length }),
    )
    return openRows(kernel, tenant_id, rows)
  })
  return opened.map(({ row, document }) => ({
    seq: row.seq,
    text: joined(document.query, document.output),
  }))
}

async function governedTexts(
  { kernel, tenant_id, asked }: Frame,
  chunk: readonly SelectedDecision[],
): Promise<DecisionText[]> {
  const [newest, oldest] = [chunk[0], chunk.at(-1)]
  if (!newest || !oldest) return []
  const range = { dimension: asked.dimension, first: oldest.seq, last: newest.seq }
  const rows = await kernel.db.read(tenant_id, (db) => listSealedGoverned(db, range))
  const sealed = rows.map(({ decision_id, secret_no, sealed }) => {
    const place = { column: 'decision', id: Buffer.from(decision_id).toString('hex') } as const
    return { place, secret_no, sealed }
  })
  const opened = await openPayload<{
    readonly record: { readonly decision: string; readonly reason: string }
    readonly context: JsonObject
  }>(kernel, tenant_id, sealed)
  return rows.flatMap(({ seq }, at) => {
    const words = opened[at]
    if (!words) return []
    const { record, context } = words
    return [{ seq, text: joined(canonicalize(context), `${record.decision}: ${record.reason}`) }]
  })
}
