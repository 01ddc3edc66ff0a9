// Labels of reputation: the tenant's HMACs that replace callers' texts in rows and in the log.

import { checkStatement, isAgentKey, type JsonObject, type StatementKind } from '@custos/proof'
import type { TenantKeys } from '../../../platform/keys/keyring.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { type Loc, validationDetail } from '../../../platform/validation.ts'

const PSEUDONYM = /^OUT-[0-9a-f]{24}$/
const PSEUDONYM_HEX_CHARS = 24
const KEY = /^[0-9a-fA-F]{64}$/

/** What identifies an agent: a key it proved to own, a key it only names, or its handle. */
export type KnownBy = 'proven' | 'claimed' | 'handle'

/** The label of a list of texts, whose encoding is unambiguous. */
const labelOf = (
  keys: TenantKeys,
  kind: string,
  words: readonly (string | number | null)[],
): Buffer => Buffer.from(keys.label(`cgr/${kind}\n${JSON.stringify(words)}`), 'hex')

/**
 * `OUT-` and 24 hex digits of an HMAC, shown to callers instead of the referent. A text in this
 * form is returned unchanged, so that callers can send the pseudonym in place of the referent.
 */
export const pseudonymOf = (keys: TenantKeys, referent: string): string =>
  PSEUDONYM.test(referent)
    ? referent
    : `OUT-${keys.label(`cgr/pseudonym\n${referent}`).slice(0, PSEUDONYM_HEX_CHARS)}`

/** A referent in a dimension. */
export const referentLabel = (keys: TenantKeys, dimension: string, pseudonym: string): Buffer =>
  labelOf(keys, 'referent', [dimension, pseudonym])

/** The label that the receipts of one workflow share. */
export const workflowLabel = (keys: TenantKeys, workflow_id: string): Buffer =>
  labelOf(keys, 'workflow', [workflow_id])

export const dimensionLabel = (keys: TenantKeys, dimension: string): Buffer =>
  labelOf(keys, 'dimension', [dimension])

/** A handle of an agent or a reviewer, or a key written as one, in a dimension. */
export const nameLabel = (keys: TenantKeys, dimension: string, name: string): Buffer =>
  labelOf(keys, 'name', [dimension, KEY.test(name) ? name.toLowerCase() : name])

export const keyLabel = (keys: TenantKeys, key: string): Buffer =>
  labelOf(keys, 'key', [key.toLowerCase()])

/** The name, if it is written as a key; otherwise `null`. */
export const keyInName = (name: string): string | null => (KEY.test(name) ? name : null)

/** An agent in a dimension, by its handle or by the first key of its rotations. */
export const identityLabel = (
  keys: TenantKeys,
  { dimension, known_by, by }: { dimension: string; known_by: KnownBy; by: Uint8Array },
): Buffer => labelOf(keys, 'agent', [dimension, known_by, hexOf(by)])

/** A label of the content outside the columns, so that equal records have equal labels. */
export const contentLabel = (
  keys: TenantKeys,
  words: readonly (string | number | null)[],
): Buffer => labelOf(keys, 'content', words)

export const hexOf = (label: Uint8Array): string => Buffer.from(label).toString('hex')

export const hexOrNull = (label: Uint8Array | null): string | null =>
  label === null ? null : hexOf(label)

export const sameLabel = (a: Uint8Array | null, b: Uint8Array | null): boolean =>
  a !== null && b !== null && Buffer.compare(a, b) === 0

/** Parses a key to lowercase. Refuses a weak key, for which anybody can forge signatures. */
export function readKey(key: string | null | undefined, loc: Loc): string | null {
  if (key === undefined || key === null) return null
  const lower = key.toLowerCase()
  if (isAgentKey(lower)) return lower
  throw validationDetail(loc, 'not an Ed25519 key that can prove anything', 'value_error')
}

interface SignatureClaim {
  readonly key: string | null
  readonly signature: string | null | undefined
  readonly signed_at: string | null | undefined
  /** The location of the signature in the request. */
  readonly loc: Loc
}

/** Whether a signature was sent. Refuses one that does not verify over the statement. */
export async function proves(
  kind: StatementKind,
  { key, signature, signed_at, loc }: SignatureClaim,
  statement: (signed_at: string) => JsonObject,
): Promise<boolean> {
  if (signature === undefined || signature === null) return false
  if (key === null) throw validationDetail(loc, 'a signature comes with its key', 'missing')
  if (signed_at === undefined || signed_at === null)
    throw validationDetail(loc, 'a signature comes with `signed_at`', 'missing')
  const problem = await checkStatement(kind, statement(signed_at), signature.toLowerCase())
  if (problem !== null) throw new Refusal('possession_unproven')
  return true
}
