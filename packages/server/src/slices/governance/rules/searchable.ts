// What policies search in a value: its text, or every key and leaf of a list or an object.

import { limits } from '@custos/contract'

interface FoldedText {
  readonly text: string
  /** UTF-16 offset, in the original, of the character at `i`. */
  startOf(i: number): number
  /** UTF-16 offset, in the original, after the last character that ends before `i`. */
  endOf(i: number): number
}

const ASCII = /^[\0-\x7f]*$/
const IGNORABLE = /\p{Default_Ignorable_Code_Point}/gu
/** A character with its combining marks and invisible characters. */
const CLUSTER =
  /[^\p{M}\p{Default_Ignorable_Code_Point}]?[\p{M}\p{Default_Ignorable_Code_Point}]*/gu

const plain = (text: string): string => text.replaceAll(IGNORABLE, '').normalize('NFKC')

/** Returns `null` if the normalised text equals the original. */
export function foldText(text: string): FoldedText | null {
  if (ASCII.test(text) || plain(text) === text) return null
  const pieces: string[] = []
  const [starts, ends]: [number[], number[]] = [[], []]
  for (const { 0: cluster, index } of text.matchAll(CLUSTER)) {
    const piece = plain(cluster)
    pieces.push(piece)
    for (let i = 0; i < piece.length; i += 1) {
      starts.push(index)
      ends.push(index + cluster.length)
    }
  }
  return {
    text: pieces.join(''),
    startOf: (i) => starts[i] ?? text.length,
    endOf: (i) => ends[i - 1] ?? 0,
  }
}

/** No policy reads more of a field. A longer field is cut here and is a fault there. */
const BYTES_MAX = limits.recogniser_field_bytes
const BETWEEN = '\n'

export class Searchable {
  readonly text: string
  /** Size of the text; of a list or object over the limit, only of the part that was read. */
  readonly bytes: number
  #folded: FoldedText | null | undefined
  #forms: Searchable['forms'] | undefined

  constructor(value: unknown) {
    const pieces: string[] = []
    let bytes = -BETWEEN.length
    for (const piece of piecesOf(value)) {
      bytes += Buffer.byteLength(piece) + BETWEEN.length
      pieces.push(piece)
      if (bytes > BYTES_MAX) break
    }
    this.text = pieces.join(BETWEEN)
    this.bytes = Math.max(0, bytes)
  }

  /** The normalised text; null if it equals the original. */
  get folded(): FoldedText | null {
    if (this.#folded === undefined) this.#folded = foldText(this.text)
    return this.#folded
  }

  /**
   * The text, and the normalised text if it differs. `tested`: whether a pattern matches, by its
   * key, because policies of a tenant often have the same patterns.
   */
  get forms(): readonly { readonly text: string; readonly tested: Map<string, boolean> }[] {
    this.#forms ??= [this.text, this.folded?.text].flatMap((text) =>
      text === undefined ? [] : [{ text, tested: new Map() }],
    )
    return this.#forms
  }
}

function* piecesOf(value: unknown): Generator<string> {
  if (isLeaf(value)) yield String(value)
  else if (Array.isArray(value)) for (const item of value) yield* piecesOf(item)
  else if (typeof value === 'object' && value !== null)
    for (const [key, item] of Object.entries(value)) {
      yield key
      yield* piecesOf(item)
    }
}

const isLeaf = (value: unknown): value is string | number | boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

export interface Replacement {
  readonly field: string
  /** Range in the field's searchable text. */
  readonly start: number
  readonly end: number
  /** The replacement text. */
  readonly by: string
}

/**
 * Replaces every span of the value's searchable text, also in keys. A number that contains one
 * becomes a text; everything else keeps its shape.
 */
export function replaceIn(value: unknown, replacements: readonly Replacement[]): unknown {
  const spans = disjoint(replacements)
  let [at, next] = [0, 0]
  const take = (piece: string): string => {
    const end = at + piece.length
    let text = ''
    let kept = at
    while ((spans[next]?.end ?? Number.POSITIVE_INFINITY) <= at) next += 1
    for (let i = next; i < spans.length; i += 1) {
      const span = spans[i]
      if (!span || span.start >= end) break
      text += piece.slice(kept - at, Math.max(span.start, at) - at) + span.by
      kept = Math.min(span.end, end)
    }
    text += piece.slice(kept - at)
    at = end + BETWEEN.length
    return text
  }
  return rewrite(value, take)
}

/** Of overlapping spans, the first to begin wins. */
function disjoint(replacements: readonly Replacement[]): Replacement[] {
  const spans: Replacement[] = []
  for (const span of replacements.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const last = spans.at(-1)
    if (!last || span.start >= last.end) spans.push(span)
    else if (span.end > last.end) spans[spans.length - 1] = { ...last, end: span.end }
  }
  return spans
}

/** Visits the pieces in the order in which they are searched. */
function rewrite(value: unknown, take: (piece: string) => string): unknown {
  if (isLeaf(value)) {
    const piece = String(value)
    const text = take(piece)
    return text === piece ? value : text
  }
  if (Array.isArray(value)) return value.map((item) => rewrite(item, take))
  if (typeof value !== 'object' || value === null) return value
  const entries = new Map<string, unknown>()
  for (const [key, item] of Object.entries(value)) {
    const name = freeName(entries, take(key))
    entries.set(name, rewrite(item, take))
  }
  return Object.fromEntries(entries)
}

/** Two keys with the same redacted text stay two keys. */
function freeName(taken: ReadonlyMap<string, unknown>, name: string): string {
  if (!taken.has(name)) return name
  for (let i = 2; ; i += 1) if (!taken.has(`${name} ${i}`)) return `${name} ${i}`
}
