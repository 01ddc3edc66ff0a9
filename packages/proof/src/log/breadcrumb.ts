// Entries (`breadcrumb` on the wire) of a tenant's audit log, and the links between them.
import { canonicalBytes, type JsonObject } from '../core/canonical.ts'
import type { Sha256 } from '../core/digest.ts'
import { toHex } from '../core/encoding.ts'
import { findMismatch, isCount, isObject, isText, orNull } from '../core/shape.ts'
import { leafHash } from './merkle.ts'

/** One log entry, as the API shows it. `created_at` is RFC 3339. */
export type Breadcrumb = {
  /** RFC 6962 leaf hash of the other fields, as 64 hex characters. */
  readonly breadcrumb_id: string
  readonly tenant_id: string
  /** Sequence number from 0, without gaps; also the position in the tree. */
  readonly seq: number
  readonly event_type: string
  readonly subject: string | null
  readonly payload: JsonObject
  /** `breadcrumb_id` of the previous entry, or GENESIS_PREV_ID. */
  readonly prev_id: string
  readonly created_at: string
}

export type UnnamedBreadcrumb = Omit<Breadcrumb, 'breadcrumb_id'>

export const GENESIS_PREV_ID = '0'.repeat(64)

/** The data of the tree leaf: RFC 8785 bytes of the breadcrumb without `breadcrumb_id`. */
export function breadcrumbLeaf(b: UnnamedBreadcrumb): Uint8Array {
  const { tenant_id, seq, event_type, subject, payload, prev_id, created_at } = b
  return canonicalBytes({ tenant_id, seq, event_type, subject, payload, prev_id, created_at })
}

/** The id of an entry: its RFC 6962 leaf hash in hex. */
export function breadcrumbId(b: UnnamedBreadcrumb, hash?: Sha256): string {
  return toHex(leafHash(breadcrumbLeaf(b), hash))
}

const SHAPE = {
  breadcrumb_id: isText,
  tenant_id: isText,
  seq: isCount,
  event_type: isText,
  subject: orNull(isText),
  payload: isObject,
  prev_id: isText,
  created_at: isText,
}

/** Whether a value has exactly the eight fields. The hash would not cover a further one. */
export function isBreadcrumb(value: unknown): value is Breadcrumb {
  return (
    isObject(value) &&
    Object.keys(value).length === Object.keys(SHAPE).length &&
    findMismatch(value, SHAPE) === null
  )
}

export type BreadcrumbProblem =
  | 'malformed'
  | 'id_mismatch'
  | 'prev_id_mismatch'
  | 'seq_gap'
  | 'tenant_mismatch'

export type BreadcrumbsVerdict =
  | { readonly ok: true; readonly count: number }
  | { readonly ok: false; readonly index: number; readonly reason: BreadcrumbProblem }

export type BreadcrumbsOptions = {
  readonly hash?: Sha256
  /** The entry before the first one in the list, if the caller has it. It is trusted. */
  readonly after?: Pick<Breadcrumb, 'breadcrumb_id' | 'tenant_id' | 'seq'>
}

/**
 * Verifies consecutive entries of one tenant in ascending order: every id, link and number. They
 * may start anywhere in the log; the first link is checked if it is the genesis or `after` is
 * given. The verdict has the position of the first failure in the list. Never throws.
 */
export function verifyBreadcrumbs(
  list: readonly unknown[],
  options: BreadcrumbsOptions = {},
): BreadcrumbsVerdict {
  let previous = options.after
  for (const [index, crumb] of list.entries()) {
    if (!isBreadcrumb(crumb)) return { ok: false, index, reason: 'malformed' }
    const reason = findProblem(crumb, previous, options.hash)
    if (reason !== null) return { ok: false, index, reason }
    previous = crumb
  }
  return { ok: true, count: list.length }
}

function findProblem(
  crumb: Breadcrumb,
  previous: BreadcrumbsOptions['after'],
  hash: Sha256 | undefined,
): BreadcrumbProblem | null {
  if (previous !== undefined) {
    if (crumb.tenant_id !== previous.tenant_id) return 'tenant_mismatch'
    if (crumb.seq !== previous.seq + 1) return 'seq_gap'
    if (crumb.prev_id !== previous.breadcrumb_id) return 'prev_id_mismatch'
  }
  if (crumb.seq === 0 && crumb.prev_id !== GENESIS_PREV_ID) return 'prev_id_mismatch'
  return matchesId(crumb, hash) ? null : 'id_mismatch'
}

function matchesId(crumb: Breadcrumb, hash: Sha256 | undefined): boolean {
  try {
    return crumb.breadcrumb_id === breadcrumbId(crumb, hash)
  } catch {
    // Without a canonical form (a lone surrogate, too deep nesting) no id can match.
    return false
  }
}
