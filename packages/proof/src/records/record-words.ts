// Ids, digests and closed words, as records hold them.
import { isText } from '../shape.ts'

/** Of trust, ascending. */
export const ACTION_TIERS = [
  'untrusted',
  'basic',
  'verified',
  'trusted',
  'release',
  'root',
] as const

export const isOneOf =
  (words: readonly string[]) =>
  (value: unknown): boolean =>
    isText(value) && words.includes(value)

/** Lower hex SHA-256. */
export const isDigest = (value: unknown): boolean => isText(value) && /^[0-9a-f]{64}$/.test(value)

export const isRecordId = (value: unknown): boolean => isText(value) && /^[0-9a-f]{32}$/.test(value)
