// What any embedder offers: texts in, quantised unit vectors out, with the name of their space.

/**
 * Turns texts into vectors of one space. `model`, `version` and `dimensions` name that space: they
 * are stamped on every stored vector, and vectors of two spaces are never compared.
 */
export interface Embedder {
  readonly model: string
  readonly version: string
  readonly dimensions: number
  /**
   * One vector per text, in order: the unit vector (L2) times 127, truncated toward zero, so that
   * a dot product is a cosine times 16,129 and never more. A text without features gets zeros.
   */
  embed(texts: readonly string[]): Promise<Int8Array[]>
}

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
