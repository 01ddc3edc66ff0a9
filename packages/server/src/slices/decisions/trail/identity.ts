// Pure: a decision's identity and the digest in the log, with the runtime's fast hashes.

import { hash } from 'node:crypto'
import { canonicalize, type DecisionIdentity, type Json } from '@custos/proof'
import { createBLAKE2b } from 'hash-wasm'
import { hmacSha256 } from '../../../platform/bytes.ts'

// One instance serves the process: init, update and digest run without an await between them.
const blake2b128 = await createBLAKE2b(128)

/** The 16 bytes of BLAKE2b-128 over the five fields, concatenated in this order. */
export function decisionIdBytes(f: DecisionIdentity): Buffer {
  const preimage = f.tenant_id + f.store_id + f.model_id + f.query + f.timestamp
  return Buffer.from(blake2b128.init().update(preimage).digest('binary'))
}

/** The record that is committed to; `contents` is empty or has one text per ref. */
interface CommittedRecord {
  readonly decision_id: string
  readonly tenant_id: string
  readonly store_id: string
  readonly session_id: string | null
  readonly model_id: string
  readonly timestamp: string
  readonly query: string
  readonly output: string
  readonly parameters: Readonly<Record<string, unknown>> | null
  readonly refs: readonly number[]
  readonly scores: readonly number[]
  readonly contents: readonly string[]
  readonly token_count: number | null
  readonly latency_ms: number | null
  readonly memory_seq: number
}

/**
 * Hex SHA-256 of the RFC 8785 bytes of the record, with salted commitments in place of content.
 * Equals `recordDigest` of @custos/proof, which a test checks. `salt` has 32 bytes.
 */
export function recordDigestOf(record: CommittedRecord, salt: Buffer): string {
  const commit = hmacSha256(salt)
  const { session_id, parameters, contents, scores } = record
  // Keys are in canonical order, and values are texts, integers and finite numbers, for which
  // JSON.stringify writes the canonical form of RFC 8785.
  const text = JSON.stringify({
    decision_id: record.decision_id,
    latency_ms: record.latency_ms,
    memory_seq: record.memory_seq,
    model_id: record.model_id,
    output_commitment: commit(record.output),
    // Parameters were parsed from a JSON body.
    parameters_commitment: parameters === null ? null : commit(canonicalize(parameters as Json)),
    query_commitment: commit(record.query),
    retrieved: record.refs.map((ref, i) => {
      const content = contents[i]
      return {
        content_commitment: content === undefined ? null : commit(content),
        ref,
        score: scores[i] ?? null,
      }
    }),
    session_commitment: session_id === null ? null : commit(session_id),
    store_id: record.store_id,
    tenant_id: record.tenant_id,
    timestamp: record.timestamp,
    token_count: record.token_count,
  })
  return hash('sha256', text, 'hex')
}
