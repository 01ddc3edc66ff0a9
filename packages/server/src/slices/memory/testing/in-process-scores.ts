// The raw parts of a ranking, fact by fact: for experiments on how to combine them.

import { createStaticEmbedder } from '../../../platform/embed/static-embedder.ts'
import { loadTokenizer } from '../../../platform/tokens/tokenizer.ts'
import { finish } from '../index/columns/steps.ts'
import { SCORE_UNIT, scoreTerms, takeScratch } from '../index/lexical-scores.ts'
import { Partition } from '../index/partition.ts'
import { analyse, analyseQuery } from '../text/analysis.ts'
import type { PlainFact } from './in-process-retrieval.ts'

/** By position in the list of facts. */
export interface RawScores {
  /** BM25 of own terms plus the shares of neighbours. */
  readonly words: Float64Array
  /** Cosine of the bundled model's vectors. */
  readonly likeness: Float64Array
}

export interface ScoredFacts {
  readonly tokens: readonly number[]
  readonly terms: readonly (readonly string[])[]
  scores(query: string): Promise<RawScores>
  /** The words part alone, for any text as a query. */
  words(query: string): Float64Array
  /** Cosine of two facts. */
  alike(one: number, other: number): number
}

const COSINE = 127 * 127

/** All facts in one namespace, all current. */
export async function openScores(facts: readonly PlainFact[]): Promise<ScoredFacts> {
  const tokenizer = await loadTokenizer('o200k_base')
  const embedder = createStaticEmbedder()
  const partition = new Partition(new Uint8Array(32), { namespace: null, number: 0 })
  const tokens = facts.map(({ content }) => tokenizer.count(content))
  for (const [ref, { content, metadata }] of facts.entries())
    partition.put({
      ref,
      content,
      metadata,
      namespace: null,
      vector: null,
      valid_from_us: 0,
      valid_until_us: null,
      token_count: tokens[ref] ?? 0,
    })
  partition.analysePending()
  const vectors = await embedder.embed(facts.map(({ content }) => content))
  const words = (query: string) => sumsOf(partition, facts.length, query)
  return {
    tokens,
    terms: facts.map(({ content }) => analyse(content)),
    words,
    async scores(query) {
      const [vector = new Int8Array(0)] = await embedder.embed([query])
      const likeness = Float64Array.from(vectors, (own) => dot(own, vector) / COSINE)
      return { words: words(query), likeness }
    },
    alike: (one, other) => {
      const [left, right] = [vectors[one], vectors[other]]
      return left && right ? dot(left, right) / COSINE : 0
    },
  }
}

function sumsOf(partition: Partition, facts: number, query: string): Float64Array {
  const scratch = takeScratch(partition)
  const visible = new Uint8Array(partition.columns.used).fill(1)
  const sums = new Float64Array(facts)
  try {
    const found = finish(
      scoreTerms(partition, analyseQuery(query), { visible, now_us: 0, scratch }),
    )
    for (let ref = 0; ref < facts; ref += 1) {
      const slot = partition.findSlot(ref)
      if (slot === undefined) continue
      sums[ref] = ((found.lexical[slot] ?? 0) + (found.neighbour[slot] ?? 0)) / SCORE_UNIT
    }
    return sums
  } finally {
    scratch.reset()
  }
}

function dot(left: Int8Array, right: Int8Array): number {
  let sum = 0
  for (let at = 0; at < left.length; at += 1) sum += (left[at] ?? 0) * (right[at] ?? 0)
  return sum
}
