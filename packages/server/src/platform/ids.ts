// The one source of random identifiers.

import { randomFillSync, randomInt } from 'node:crypto'

export interface Ids {
  /** Lower hex of `bytes` random bytes. */
  hex(bytes: number): string
  /** `length` characters of 0-9A-Za-z, uniformly drawn. */
  base62(length: number): string
}

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

export const systemIds: Ids = {
  hex: takeHex,
  base62: (length) => Array.from({ length }, () => BASE62[randomInt(62)]).join(''),
}

// Draws 4 KiB from the system at a time, because the call costs more than the bytes.
const pool = Buffer.alloc(4_096)
let used = pool.length

function takeHex(bytes: number): string {
  if (bytes > pool.length) throw new RangeError(`at most ${pool.length} random bytes at once`)
  if (used + bytes > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const taken = pool.subarray(used, used + bytes)
  used += bytes
  const hex = taken.toString('hex')
  // Bytes left in the pool could be read from the heap after the record that they salt is erased.
  taken.fill(0)
  return hex
}
