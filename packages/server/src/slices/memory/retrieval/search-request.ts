// The records that go into and come out of a store's index.

/** A fact as the index is given it. Times in microseconds since the epoch; `null` until: open. */
export interface IndexedFact {
  readonly ref: number
  /** Searched apart from every other namespace; `null` is the root. */
  readonly namespace: string | null
  readonly content: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly valid_from_us: number
  readonly valid_until_us: number | null
  /** Tokens of `content` by the store's tokenizer. */
  readonly token_count: number
  /** By the store's embedder: unit length times 127. `null` counts as unlike and like nothing. */
  readonly vector: Int8Array | null
}

/** When a fact holds: from, inclusive, until, exclusive. */
export interface Validity {
  readonly valid_from_us: number
  readonly valid_until_us: number | null
}

export interface SearchRequest {
  readonly query: string
  /** The query by the store's embedder, or `null` to rank by words alone. */
  readonly vector: Int8Array | null
  readonly namespace: string | null
  /** Only facts with valid_from <= at < valid_until are visible. */
  readonly at_us: number
  /** Top-level metadata entries a fact must have, values equal as canonical JSON. */
  readonly filter: Readonly<Record<string, unknown>> | null
  /** What was known at an earlier time: replaces validity, and hides every ref it does not name. */
  readonly visible: ReadonlyMap<number, Validity> | null
  readonly limit: number
  readonly min_score: number | null
}

/**
 * Why a fact has its score: the parts add up to it exactly. In BM25 units, multiples of 2^-16:
 * `lexical` (the fact's own words), `neighbour` (lent by its session) and `dense` (likeness of
 * vectors, measured against the best words any visible fact has). `recency`, only when a query has
 * nothing to compare, is below 2^-16 while a partition has under 65,536 facts.
 */
export interface ScoreParts {
  readonly lexical: number
  readonly neighbour: number
  readonly dense: number
  readonly recency: number
}

export interface Ranked {
  readonly ref: number
  readonly score: number
  readonly parts: ScoreParts
  readonly token_count: number
}
