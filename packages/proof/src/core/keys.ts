// The published key list: which key may have signed what, and when.
import { isObject, isText } from './shape.ts'

export type KeyPurpose =
  | 'decision'
  | 'provenance'
  | 'checkpoint'
  | 'erasure'
  /** Signs records of registries and approvals, each under the domain of its kind. */
  | 'record'
  | (string & {})

/**
 * An entry of the key list that an instance publishes. The list is append-only: a retired key
 * stays, so that signatures it made while valid can still be verified. Times are RFC 3339.
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
 * Returns the listed key, or the reason why there is none. Keys are matched by `public_key`; a
 * `key_id` that belongs to another key gives `unknown_key`.
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

/** The well-formed entries of a key list. Others are dropped, so they are not trusted. */
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
