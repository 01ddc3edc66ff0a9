// Decision records: the commitment in the log, and the verification of identity and signature.
import { canonicalBytes, canonicalize, type JsonObject } from '../core/canonical.ts'
import { commitment, decisionId, sha256 } from '../core/digest.ts'
import { readHex, toHex } from '../core/encoding.ts'
import type { PublishedKey } from '../core/keys.ts'
import { findMismatch, isObject, isText } from '../core/shape.ts'
import {
  addCheck,
  checkSignature,
  finishVerdict,
  malformedVerdict,
  startVerdict,
  type Verdict,
  type VerdictDraft,
} from '../core/verdict.ts'

/** The members of a decision that its commitment covers. Refs are the tenant's own labels. */
export type CommittedDecision = {
  readonly decision_id: string
  readonly tenant_id: string
  readonly store_id: string
  readonly session_id: string | null
  readonly model_id: string
  readonly timestamp: string
  readonly query: string
  readonly output: string
  readonly parameters?: JsonObject | null
  readonly retrieved_refs: readonly (number | string)[]
  /** Empty, or one item for each ref. */
  readonly retrieved_scores: readonly number[]
  /** Empty, or one item for each ref. */
  readonly retrieved_contents: readonly string[]
  readonly token_count: number | null
  readonly latency_ms: number | null
  /** Position up to which the store was written when the decision read it; null if unknown. */
  readonly memory_seq?: number | null
}

/**
 * A decision with salted commitments in place of all content. The log stays complete when content
 * and salt are erased, and it reveals no content. Commitments are hex HMAC-SHA256.
 */
export type DecisionDigestRecord = {
  readonly decision_id: string
  readonly tenant_id: string
  readonly store_id: string
  readonly session_commitment: string | null
  readonly model_id: string
  readonly timestamp: string
  readonly query_commitment: string
  readonly output_commitment: string
  /** The commitment to the RFC 8785 text of the parameters. */
  readonly parameters_commitment: string | null
  readonly retrieved: readonly {
    readonly ref: number | string
    readonly score: number | null
    readonly content_commitment: string | null
  }[]
  readonly token_count: number | null
  readonly latency_ms: number | null
  readonly memory_seq: number | null
}

/**
 * Builds the record that `recordDigest` hashes. `salt` is 32 secret bytes, used for this decision
 * only. Throws ProofError `not_canonical` for parameters that are not JSON.
 */
export function decisionDigestRecord(
  decision: CommittedDecision,
  salt: Uint8Array,
): DecisionDigestRecord {
  const commit = (text: string) => commitment(salt, text)
  const { session_id, parameters = null, retrieved_contents, retrieved_scores } = decision
  return {
    decision_id: decision.decision_id,
    tenant_id: decision.tenant_id,
    store_id: decision.store_id,
    session_commitment: session_id === null ? null : commit(session_id),
    model_id: decision.model_id,
    timestamp: decision.timestamp,
    query_commitment: commit(decision.query),
    output_commitment: commit(decision.output),
    parameters_commitment: parameters === null ? null : commit(canonicalize(parameters)),
    retrieved: decision.retrieved_refs.map((ref, i) => {
      const content = retrieved_contents[i]
      const content_commitment = content === undefined ? null : commit(content)
      return { ref, score: retrieved_scores[i] ?? null, content_commitment }
    }),
    token_count: decision.token_count,
    latency_ms: decision.latency_ms,
    memory_seq: decision.memory_seq ?? null,
  }
}

/** Hex SHA-256 of the RFC 8785 bytes; this is the `record_digest` in the log. */
export function recordDigest(digestRecord: DecisionDigestRecord): string {
  return toHex(sha256(canonicalBytes(digestRecord)))
}

/** The beginning of every redaction marker, anywhere in a field. */
export const REDACTION_MARK = '[REDACTED'

const SHAPE = {
  decision_id: isText,
  tenant_id: isText,
  store_id: isText,
  model_id: isText,
  query: isText,
  timestamp: isText,
}

/**
 * Verifies that the identity follows from the record and is signed by a published decision key. If
 * the query is redacted, the identity cannot be recomputed, and `decision_id` is in `not_checked`.
 * The other fields are bound by `record_digest` in the log, not by this signature. Never throws.
 */
export async function verifyDecision(
  decision: unknown,
  keys: readonly PublishedKey[],
): Promise<Verdict> {
  if (!isObject(decision)) return malformedVerdict('decision', 'not an object')
  const misfit = findMismatch(decision, SHAPE)
  if (misfit !== null) return malformedVerdict('decision', misfit)
  const id = readHex(decision['decision_id'])
  if (id?.length !== 16) return malformedVerdict('decision', 'decision_id')

  const findings = startVerdict()
  checkIdentity(findings, decision)
  findings.notChecked.push('record_digest: output and retrieved facts are bound by the log entry')
  const claim = {
    message: id,
    signature: decision['signature'],
    public_key: decision['public_key'],
    key_id: decision['key_id'],
    purpose: 'decision',
    at: String(decision['timestamp']),
  }
  await checkSignature(findings, claim, keys)
  return finishVerdict('decision', findings)
}

function checkIdentity(findings: VerdictDraft, decision: JsonObject): void {
  // SHAPE has checked that all are texts; String() only satisfies the compiler.
  const text = (field: string) => String(decision[field])
  const expected = decisionId({
    tenant_id: text('tenant_id'),
    store_id: text('store_id'),
    model_id: text('model_id'),
    query: text('query'),
    timestamp: text('timestamp'),
  })
  const matches = expected === decision['decision_id']
  // Only after a mismatch: a query may contain a text that only looks like a marker.
  if (!matches && text('query').includes(REDACTION_MARK)) {
    findings.notChecked.push('decision_id: the query is redacted')
    return
  }
  addCheck(findings, 'decision_id', matches, 'does not follow from the record')
}
