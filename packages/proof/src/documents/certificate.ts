// Erasure certificates: their members, their signed bytes, and the offline verification.
import type { JsonObject } from '../core/canonical.ts'
import { sha256 } from '../core/digest.ts'
import { concatBytes, toBase64, toHex, utf8 } from '../core/encoding.ts'
import type { PublishedKey } from '../core/keys.ts'
import {
  findMismatch,
  isCount,
  isObject,
  isText,
  isTextList,
  optional,
  orNull,
} from '../core/shape.ts'
import { signedBytes, tryBytes, withoutFields } from '../core/signature.ts'
import {
  addCheck,
  checkSignature,
  finishVerdict,
  malformedVerdict,
  startVerdict,
  type Verdict,
} from '../core/verdict.ts'

export type ErasureOutcome = 'erased' | 'already_absent' | 'nothing_found'

/** The signed members of an erasure certificate. Times are RFC 3339. */
export type ErasureStatement = {
  readonly certificate_id: string
  readonly tenant_id: string
  /** The erased memory; null if the certificate is of a redacted decision or other record. */
  readonly fact_ref: number | null
  readonly decision_id?: string
  /** Kind and id of a redacted record other than a decision; both are present or neither. */
  readonly subject_kind?: string
  readonly subject_id?: string
  readonly store_id: string | null
  /**
   * `already_absent`: only decision records, which are scrubbed now, knew the fact.
   * `nothing_found`: there was no trace of it; signed, but never stored as the fact's certificate.
   */
  readonly outcome: ErasureOutcome
  /** Hex SHA-256 of salt ‖ content; see `contentHash`. */
  readonly fact_content_hash: string | null
  /** The status that was observed in each sink after the erasure. */
  readonly coverage: Readonly<Record<string, string>>
  readonly scrubbed_decision_ids: readonly string[]
  readonly redactions: readonly {
    readonly decision_id: string
    readonly field: string
    readonly count: number
  }[]
  /** The search of every read path that followed the erasure. */
  readonly verification: {
    readonly ran_at: string
    readonly paths: readonly { readonly path: string; readonly result: string }[]
  }
  /** What the certificate does not claim. */
  readonly limits: readonly string[]
  readonly legal_basis: string
  readonly requested_by: string | null
  readonly erasure_requested_at: string
  readonly erasure_completed_at: string
  /** Sequence number of the log entry that records the erasure; null when there is none. */
  readonly log_seq: number | null
}

/**
 * A certificate as the API returns it. `signed_bytes`, `signature` and `public_key` are base64.
 * The last five fields belong to one answer and are not signed.
 */
export type ErasureCertificate = ErasureStatement & {
  readonly signed_bytes: string
  readonly signature: string
  readonly public_key: string
  readonly key_id: string
  readonly verified?: boolean
  readonly content_salt?: string
  readonly deleted?: boolean
  readonly memory_deleted?: boolean
  readonly decision_records_scrubbed?: number
}

/**
 * Fields that answers add to a certificate and that are not signed. The salt is shown once and then
 * destroyed, `verified` is the server's own check, `deleted` says which request erased, and
 * `memory_deleted` and `decision_records_scrubbed` repeat it under the names of older clients. Any
 * other field added to a certificate breaks its signature.
 */
export const UNSIGNED_CERTIFICATE_FIELDS: ReadonlySet<string> = new Set([
  'content_salt',
  'verified',
  'deleted',
  'memory_deleted',
  'decision_records_scrubbed',
])

/**
 * The message of a certificate's signature, in version 2 of the domain if the certificate has a
 * `subject_kind`, otherwise in version 1. Throws ProofError `not_canonical`.
 */
export function certificateBytes(certificate: ErasureStatement | JsonObject): Uint8Array {
  const version = certificate['subject_kind'] === undefined ? 1 : 2
  return signedBytes('erasure', withoutFields(certificate, UNSIGNED_CERTIFICATE_FIELDS), version)
}

/**
 * Hex SHA-256(salt ‖ UTF-8 content). The content and the salt of the first answer prove what was
 * erased. The salt prevents guessing a short fact from the certificate alone.
 */
export function contentHash(salt: Uint8Array, content: string): string {
  return toHex(sha256(concatBytes(salt, utf8(content))))
}

const SHAPE = {
  certificate_id: isText,
  tenant_id: isText,
  fact_ref: orNull(isCount),
  decision_id: optional(isText),
  subject_kind: optional(isText),
  subject_id: optional(isText),
  store_id: orNull(isText),
  outcome: isText,
  fact_content_hash: orNull(isText),
  coverage: isObject,
  scrubbed_decision_ids: isTextList,
  redactions: Array.isArray,
  verification: isObject,
  limits: isTextList,
  legal_basis: isText,
  requested_by: orNull(isText),
  erasure_requested_at: isText,
  erasure_completed_at: isText,
  log_seq: orNull(isCount),
}

/**
 * Verifies a certificate with the published keys: the signed bytes follow from the record, the
 * signature covers them, the key is listed for erasures and was valid when the erasure completed.
 * It proves who stated this and when, not that the statement is true. Never throws.
 */
export async function verifyCertificate(
  certificate: unknown,
  keys: readonly PublishedKey[],
): Promise<Verdict> {
  if (!isObject(certificate)) return malformedVerdict('certificate', 'not an object')
  const misfit = findMismatch(certificate, SHAPE)
  if (misfit !== null) return malformedVerdict('certificate', misfit)
  if (!namesOneSubject(certificate)) return malformedVerdict('certificate', 'subject_kind')
  const message = tryBytes(() => certificateBytes(certificate))
  if (message === null) return malformedVerdict('certificate', 'no canonical form')

  const findings = startVerdict()
  const shown = certificate['signed_bytes'] ?? null
  if (shown !== null) {
    addCheck(findings, 'signed_bytes', shown === toBase64(message), 'do not follow from the record')
  }
  const claim = {
    message,
    signature: certificate['signature'],
    public_key: certificate['public_key'],
    key_id: certificate['key_id'],
    purpose: 'erasure',
    at: String(certificate['erasure_completed_at']),
  }
  await checkSignature(findings, claim, keys)
  return finishVerdict('certificate', findings)
}

/** Whether kind and id are both absent, or both texts on a certificate of no memory or decision. */
function namesOneSubject({ subject_kind, subject_id, fact_ref, decision_id }: JsonObject): boolean {
  if (subject_kind === undefined && subject_id === undefined) return true
  const both = isText(subject_kind) && isText(subject_id)
  return both && fact_ref === null && decision_id === undefined
}
