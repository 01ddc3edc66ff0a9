// The one source of random identifiers.

import { randomBytes, randomInt } from 'node:crypto'

export interface Ids {
  /** Lower hex of `bytes` random bytes. */
  hex(bytes: number): string
  /** `length` characters of 0-9A-Za-z, uniformly drawn. */
  base62(length: number): string
}

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

export const systemIds: Ids = {
  hex: (bytes) => randomBytes(bytes).toString('hex'),
  base62: (length) => Array.from({ length }, () => BASE62[randomInt(62)]).join(''),
}
