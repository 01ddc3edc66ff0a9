// The members of `compliance_evidence` that existing clients read, each from what was found.

import type { Json, JsonObject } from '@custos/proof'
import type { EvidenceName } from './evidence-kinds.ts'
import type { Found } from './found.ts'
import type { Walked } from './walk-log.ts'

type Read = (found: Readonly<Record<EvidenceName, Found>>, walked: Walked) => Json

const count =
  (name: EvidenceName): Read =>
  (found) =>
    found[name].count
const any =
  (name: EvidenceName): Read =>
  (found) =>
    found[name].count > 0

const models: Read = (_, { decided }) => decided.models.map(({ model_id }) => model_id)
const latency: Read = (_, { decided }) => decided.average_latency_ms
/** Of a period without entries there is nothing to say. */
const intact: Read = any('log_verified')
const erasedAt =
  (end: 'first_seq' | 'last_seq'): Read =>
  (found) =>
    found.erasures_certified[end]

/** By section. What a client reads and nothing on the log shows is left out. */
const FIELDS: Readonly<Record<string, Readonly<Record<string, Read>>>> = {
  article_13_transparency: {
    decision_trail_active: any('decisions_logged'),
    total_decisions_logged: count('decisions_logged'),
    models_used: models,
    average_latency_ms: latency,
  },
  article_14_human_oversight: {
    governance_gateway_active: any('policies_in_force'),
    total_policies: count('policies_changed'),
    active_policies: count('policies_in_force'),
    hitl_policies: count('oversight_policies'),
    requests_denied: count('evaluations_denied'),
    requests_escalated_hitl: count('evaluations_escalated'),
  },
  article_15_accuracy: { cryptographic_provenance: intact, content_addressing: intact },
  article_17_erasure: {
    erasure_proof_active: any('erasures_certified'),
    certificates_issued: count('erasures_certified'),
    signed_certificates: count('erasures_certified'),
    decisions_scrubbed: count('decisions_redacted'),
    first_erasure_seq: erasedAt('first_seq'),
    last_erasure_seq: erasedAt('last_seq'),
    signature_algorithm: () => 'Ed25519',
    content_hash_algorithm: () => 'SHA-256',
  },
  article_30_records: {
    decision_trail_active: any('decisions_logged'),
    total_processing_records: count('decisions_logged'),
    models_used: models,
  },
  article_25_by_design: {
    content_addressing: intact,
    cryptographic_signing: any('checkpoints_signed'),
    erasure_certificates: count('erasures_certified'),
  },
  article_6_ict_risk: {
    governance_gateway_active: any('policies_in_force'),
    active_policies: count('policies_in_force'),
    blocked_requests: count('evaluations_denied'),
  },
  article_9_protection: { content_integrity: intact, signature_verification: intact },
  article_11_audit_trail: {
    decision_trail_active: any('decisions_logged'),
    total_decisions_logged: count('decisions_logged'),
    erasure_audit_trail: any('erasures_certified'),
    all_records_immutable: intact,
  },
}

/** The flat members of a section; of others the counts by kind of evidence. */
export function clientFields(
  key: string,
  evidence: readonly EvidenceName[],
  found: Readonly<Record<EvidenceName, Found>>,
  walked: Walked,
): JsonObject {
  const counts = evidence.map((name): [string, Json] => [name, found[name].count])
  const named = Object.entries(FIELDS[key] ?? {}).map(([name, read]): [string, Json] => [
    name,
    read(found, walked),
  ])
  return Object.fromEntries([...named, ...counts])
}
