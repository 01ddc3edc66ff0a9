// The 32 bytes of a stored secret: copies them, detects destroyed ones, groups their numbers.

export const SECRET_BYTES = 32
const ZERO = Buffer.alloc(SECRET_BYTES)

export interface NumberedSecret {
  readonly number: number
  /** 32 bytes. */
  readonly secret: Buffer
}

/** Whether the secret was destroyed or never written: 32 zeros. */
export function isErased(secret: Uint8Array): boolean {
  return ZERO.equals(secret)
}

/** Not `Buffer.from`, which may share memory with unrelated data that lives longer. */
export function copySecret(secret: Uint8Array): Buffer {
  const copy = Buffer.alloc(SECRET_BYTES)
  copy.set(secret)
  return copy
}

/** A view of secret `index` in a buffer of consecutive secrets. */
export function secretIn(secrets: Buffer, index: number): Buffer {
  return secrets.subarray(index * SECRET_BYTES, (index + 1) * SECRET_BYTES)
}

/** Adjacent numbers `[start, end)`. */
export interface NumberRun {
  readonly start: number
  readonly end: number
}

/**
 * Groups numbers, in any order, into ascending runs of at most `max`. Numbers at most `gap` apart
 * share a run: 0 joins only neighbours; a larger gap trades extra numbers for fewer runs.
 */
export function runsOf(numbers: readonly number[], gap: number, max: number): NumberRun[] {
  const runs: { start: number; end: number }[] = []
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const last = runs.at(-1)
    if (last && number <= last.end + gap && number - last.start < max)
      last.end = Math.max(last.end, number + 1)
    else runs.push({ start: number, end: number + 1 })
  }
  return runs
}
