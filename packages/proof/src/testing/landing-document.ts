// A landing certificate for tests: signed whatever it says.
import type { JsonObject } from '../core/canonical.ts'
import { toBase64 } from '../core/encoding.ts'
import { signedBytes } from '../core/signature.ts'
import { manifestDigest } from '../records/artifact.ts'
import {
  type LandingAuthority,
  type LandingEvidence,
  type LandingRequest,
  landingConformance,
  landingNotChecked,
  landingRules,
} from '../records/landing.ts'
import { proposalDigest, recordId } from '../records/registry-record.ts'
import { publish, seededKey } from './fixtures.ts'

const key = seededKey(0x44)
export const keys = [publish(key, 'record')]
export const HEX = 'ab'.repeat(32)
export const NO_EVIDENCE: LandingEvidence = {
  artifact_id: null,
  corpus_id: null,
  layer_bytes: 'not_sent',
}
export const KNOWN: LandingEvidence = {
  artifact_id: 'c'.repeat(32),
  corpus_id: 'd'.repeat(32),
  layer_bytes: 'match',
}
export const AUTHORITY: LandingAuthority = {
  delegation_ref: 'delegations/17',
  human_principal: 'ana',
  claimed_tier: 'verified',
  trust_tier: 'verified',
}

export const REQUEST: LandingRequest = {
  artifact_ref: 'adapters/support',
  base_model_ref: 'models/base-7b',
  kind: 'lora+rag',
  layer_hashes: [HEX, 'cd'.repeat(32)],
  layer_bytes: 'match',
  data_provenance: {
    merkle_root: HEX,
    corpus_hash: 'ef'.repeat(32),
    corpus_id: 'd'.repeat(32),
    sources: ['m-1', 'm-2'],
    region: { of: ['eu', null, 1.5, false] },
  },
  authority: { delegation_ref: 'delegations/17', human_principal: 'ana', trust_tier: 'verified' },
  claimed_conformance: {
    result: 'pass',
    harness_version: 'own/3',
    per_policy: { authority: 'pass', bias: 'not_checked' },
  },
  permitted_actions: ['answer', 'summarise'],
}

export interface LandingDocumentOptions {
  readonly request?: LandingRequest
  readonly evidence?: LandingEvidence
  readonly authority?: LandingAuthority
  readonly members?: JsonObject
}

/** Signed whatever it says, as by a service that does not hold to its rules. */
export function makeLandingDocument({
  request = REQUEST,
  evidence = KNOWN,
  authority = AUTHORITY,
  members = {},
}: LandingDocumentOptions = {}): JsonObject {
  const { artifact_ref, base_model_ref, kind, layer_hashes, data_provenance } = request
  const created_at = '2026-01-02T03:04:05.000006Z'
  const nonce = '0'.repeat(32)
  const proposal = { tenant_id: 't-1', kind: 'landing' as const, request, created_at, nonce }
  const document: JsonObject = {
    schema_version: landingRules.schema_version,
    record_kind: 'landing',
    tenant_id: 't-1',
    certificate_id: recordId(proposal),
    ...{ created_at, issued_at: '2026-01-02T04:00:00.000000Z', nonce },
    proposal_digest: proposalDigest(proposal),
    requested_by: 'k-1',
    policy_set: 3,
    evaluation_id: 'e'.repeat(20),
    approval: {
      request_id: 'f'.repeat(32),
      ...{ approver: 'bo', approver_id: null, decided_by: 'k-2', reason: 'looked at it' },
      decided_at: '2026-01-02T04:00:00.000000Z',
      proposal_digest: proposalDigest(proposal),
    },
    version: landingRules.schema_version,
    artifact: {
      ...{ artifact_ref, base_model_ref, kind, layer_hashes },
      manifest_digest: manifestDigest({ base_model_ref, kind, layer_hashes }),
    },
    data_provenance,
    authority,
    conformance: landingConformance(evidence, authority),
    claimed_conformance: request.claimed_conformance,
    permitted_actions: request.permitted_actions,
    not_checked: landingNotChecked(evidence, data_provenance),
    ...members,
  }
  const message = signedBytes('landing', document)
  return {
    ...document,
    signed_bytes: toBase64(message),
    signature: toBase64(key.sign(message)),
    public_key: toBase64(key.publicKey),
    key_id: keys[0]?.key_id ?? '',
  }
}
