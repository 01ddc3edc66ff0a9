// The interface of an embedder: turns texts into quantised unit vectors, and names their space. The
// embedders of this process by name: which there are, and which one a new store gets.

import { createHash } from 'node:crypto'
import type { EmbedderName } from '@custos/contract'

/** Maximum dimensions of a vector. */
export const DIMENSIONS_MAX = 4_096

export interface EmbedOptions {
  /** True for work that nobody waits for: the embedder retries for longer before it gives up. */
  readonly patient?: boolean
  /** Stops the work at once; `embed` then rejects with its reason. */
  readonly signal?: AbortSignal
}

/**
 * Turns texts into vectors of one space. `model`, `version` and `dimensions` name that space: they
 * are stamped on every stored vector, and vectors of two spaces are never compared.
 */
export interface Embedder {
  readonly model: string
  readonly version: string
  readonly dimensions: number
  /** True if texts leave this process for a service that may keep them. */
  readonly remote: boolean
  /**
   * One vector per text, in order: the unit vector (L2) times 127, truncated toward zero, so that a
   * dot product is a cosine times 16,129 and never more. A text without features gets zeros, and a
   * text that this embedder can never embed gets `null`. Throws EmbedderUnavailable or
   * EmbedderRefused, whose messages reveal nothing of the texts.
   */
  embed(texts: readonly string[], options?: EmbedOptions): Promise<(Int8Array | null)[]>
}

/** An embedder that runs in this process only and accepts every text. */
export interface LocalEmbedder extends Embedder {
  readonly remote: false
  embed(texts: readonly string[]): Promise<Int8Array[]>
}

/** The embedder cannot answer now but may later. */
export class EmbedderUnavailable extends Error {
  readonly reason: string
  /** Milliseconds until the next attempt makes sense. */
  readonly retry_after_ms: number

  /** @param reason one of this service's own words */
  constructor(reason: string, retry_after_ms: number) {
    super(`the embedder is unavailable: ${reason}`)
    this.name = 'EmbedderUnavailable'
    this.reason = reason
    this.retry_after_ms = retry_after_ms
  }
}

/** The embedder answers, but a retry with the same configuration would fail too. */
export class EmbedderRefused extends Error {
  readonly reason: string

  /** @param reason one of this service's own words */
  constructor(reason: string) {
    super(`the embedder cannot be used: ${reason}`)
    this.name = 'EmbedderRefused'
    this.reason = reason
  }
}

/** The name of the space of an embedder's vectors. */
export const spaceOf = (embedder: Pick<Embedder, 'model' | 'version' | 'dimensions'>): string =>
  `${embedder.model}/${embedder.version}/${embedder.dimensions}`

/** The short form of a space, stored in rows beside sealed columns: 48 bits of its SHA-256. */
export const spaceMark = (space: string): number =>
  createHash('sha256').update(space).digest().readUIntBE(0, 6)

/** Scales `weights` to the int8 form that every embedder returns; zeros stay zeros. */
export function quantise(weights: Float64Array): Int8Array {
  let squares = 0
  for (const weight of weights) squares += weight * weight
  const vector = new Int8Array(weights.length)
  if (squares === 0) return vector
  const scale = 127 / Math.sqrt(squares)
  // Int8Array truncates toward zero: rounding could push the norm, and a dot product, past 127.
  for (let at = 0; at < weights.length; at++) vector[at] = (weights[at] ?? 0) * scale
  return vector
}

export interface Embedders {
  /** The default embedder of a new store. */
  readonly default_name: EmbedderName
  /** Names a store may be created with. */
  readonly names: readonly EmbedderName[]
  /** Returns null if no embedder of that name is configured, or the name is `none`. */
  find(name: string): Embedder | null
  /** The current space of the named embedder, or null if there is none. */
  spaceOf(name: string): Space | null
}

export interface Space {
  readonly name: string
  readonly mark: number
}

/** Throws if the default is not among them. `none` is always available. */
export function embeddersOf(
  default_name: EmbedderName,
  made: ReadonlyMap<EmbedderName, Embedder>,
): Embedders {
  if (default_name !== 'none' && !made.has(default_name))
    throw new Error('the default embedder is not configured')
  const spaces = new Map<string, Space>()
  for (const [name, embedder] of made) {
    const space = spaceOf(embedder)
    spaces.set(name, { name: space, mark: spaceMark(space) })
  }
  const byName: ReadonlyMap<string, Embedder> = made
  return {
    default_name,
    names: [...made.keys(), 'none'],
    find: (name) => byName.get(name) ?? null,
    spaceOf: (name) => spaces.get(name) ?? null,
  }
}
