// The published key list: which key may have signed what, and when.
import { isObject, isText } from './shape.ts'

export type KeyPurpose =
  | 'decision'
  | 'provenance'
  | 'checkpoint'
  | 'erasure'
  /** Records of the registries and of approvals, each under a domain of its kind. */
  | 'record'
  | (string & {})

/**
 * One line of the list an instance publishes. The list is append-only: a retired key stays, so
 * that what it signed while valid can still be checked. Times are RFC 3339.
 */
export type PublishedKey = {
  readonly key_id: string
  readonly purpose: KeyPurpose
  /** 32 bytes, lower-case hex. */
  readonly public_key: string
  readonly valid_from: string
  readonly retired_at: string | null
}

export type KeyQuery = {
  readonly key_id?: string
  /** Lower-case hex. */
  readonly public_key: string
  readonly purpose: KeyPurpose
  /** RFC 3339; when given, the key must be valid at this moment. */
  readonly at?: string
}

export type KeyProblem = 'unknown_key' | 'wrong_purpose' | 'not_valid_then'

/**
 * Finds the listed key, or says why there is none. The public key decides; a `key_id` that
 * belongs to another key is `unknown_key`.
 */
export function findKey(keys: readonly PublishedKey[], query: KeyQuery): PublishedKey | KeyProblem {
  const same = keys.filter(
    (key) =>
      key.public_key === query.public_key &&
      (query.key_id === undefined || key.key_id === query.key_id),
  )
  if (same.length === 0) return 'unknown_key'
  const fit = same.filter((key) => key.purpose === query.purpose)
  if (fit.length === 0) return 'wrong_purpose'
  const { at } = query
  return fit.find((key) => at === undefined || isValidAt(key, at)) ?? 'not_valid_then'
}

/** Valid from `valid_from` up to and including `retired_at`; an unreadable time is not valid. */
export function isValidAt(key: PublishedKey, at: string): boolean {
  const moment = toMicroseconds(at)
  const from = toMicroseconds(key.valid_from)
  const until = key.retired_at === null ? Number.POSITIVE_INFINITY : toMicroseconds(key.retired_at)
  return moment >= from && moment <= until
}

const RFC3339 = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2})$/

/** Microseconds since 1970 of an RFC 3339 time (exact in a double until 2255), or NaN. */
export function toMicroseconds(time: string): number {
  const [, second, fraction, zone] = RFC3339.exec(time) ?? []
  if (second === undefined || zone === undefined) return Number.NaN
  return Date.parse(second + zone) * 1000 + Number((fraction ?? '').padEnd(6, '0').slice(0, 6))
}

/** The entries of `value` that are whole key records; what cannot be read cannot be trusted. */
export function readKeys(value: unknown): readonly PublishedKey[] {
  return Array.isArray(value) ? value.filter(isPublishedKey) : []
}

function isPublishedKey(value: unknown): value is PublishedKey {
  return (
    isObject(value) &&
    isText(value['key_id']) &&
    isText(value['purpose']) &&
    isText(value['public_key']) &&
    isText(value['valid_from']) &&
    (value['retired_at'] === null || isText(value['retired_at']))
  )
}
