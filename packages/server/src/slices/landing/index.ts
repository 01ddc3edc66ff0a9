// Landing certificates: their operations, the handlers, and the registry for approvals.

import {
  type ConformanceRequest,
  type landing as contract,
  type IssueLandingRequest,
  type LandingCertificate,
  type LandingDocument,
  LISTED_CERTIFICATE_BYTES_MAX,
  type landing,
  limits,
  PROVENANCE_BYTES_MAX,
} from '@custos/contract'
import {
  claimReasons,
  isObject,
  type JsonObject,
  type LandingRequest,
  type LayerBytes,
  manifestDigest,
  reconstructLanding,
  toHex,
} from '@custos/proof'
import { jsonByteLength, sha256 } from '../../platform/bytes.ts'
import type { Call, Handler, HandlersOf } from '../../platform/kernel/call.ts'
import { Refusal } from '../../platform/refusal.ts'
import {
  type AdmittedProposal,
  answerWaiting,
  applyDecision,
  type ClaimedAuthority,
  certifyArtifact,
  checksOf,
  claimedAuthority,
  findRecord,
  loadRecord,
  normalizeDigest,
  type OpenRecord,
  proposeRecord,
  type Registry,
  type RegistryFields,
  recordedAuthority,
  registryHandlers,
  rejection,
  showRow,
  unsignedReason,
  verifyDocument,
} from '../records/index.ts'
import { checkConformance, compareCorpus, matchesLayers, UNSEALED } from './conformance.ts'

type NormalLandingRequest = LandingRequest & { readonly authority: ClaimedAuthority }

const KIND_DEFAULT = 'lora+rag'
const DIGEST = /^(sha256:)?[0-9a-fA-F]{64}$/
const isDigest = (value: unknown): value is string =>
  typeof value === 'string' && DIGEST.test(value)

/**
 * Normalizes a request: one spelling of each digest, no null members, no bytes. Refuses a request
 * that is unsealed or too long to be signed.
 */
export function normalizeLanding(body: IssueLandingRequest): NormalLandingRequest {
  const { artifact_ref, base_model_ref, kind, conformance, permitted_actions } = body
  const subject = normalizeSubject(body)
  const { merkle_root } = subject.data_provenance
  if (typeof merkle_root !== 'string') throw rejection([UNSEALED])
  const given = isObject(conformance) ? conformance : {}
  // A caller that claims nothing has checked nothing, and every certificate carries a result.
  const claimed_conformance = { ...given, result: given['result'] ?? 'not_checked' }
  if (jsonByteLength(claimed_conformance) > limits.metadata_bytes)
    throw rejection([`conformance is longer than ${limits.metadata_bytes} bytes`])
  return {
    artifact_ref,
    base_model_ref,
    kind: kind ?? KIND_DEFAULT,
    ...subject,
    data_provenance: { ...subject.data_provenance, merkle_root },
    authority: claimedAuthority(body.authority),
    claimed_conformance,
    permitted_actions,
  }
}

/** The members that `landing.issue` and `landing.conformance` share. */
function normalizeSubject({
  layer_hashes,
  layer_bytes,
  data_provenance,
}: Pick<ConformanceRequest, 'layer_hashes' | 'layer_bytes' | 'data_provenance'>) {
  const hashes = layer_hashes.map(normalizeDigest)
  return {
    layer_hashes: hashes,
    layer_bytes: compareBytes(hashes, layer_bytes ?? null),
    data_provenance: normalizeProvenance(data_provenance),
  }
}

/** Omits the root if it is missing or malformed. */
function normalizeProvenance(given: ConformanceRequest['data_provenance']): JsonObject {
  const { merkle_root, corpus_hash, ...more } = given
  const stated = Object.entries(more).filter(([, value]) => value !== null && value !== undefined)
  const members = Object.fromEntries(stated)
  const provenance = {
    ...(isObject(members) ? members : {}),
    ...(isDigest(merkle_root) ? { merkle_root: normalizeDigest(merkle_root) } : {}),
    ...(corpus_hash ? { corpus_hash: normalizeDigest(corpus_hash) } : {}),
  }
  if (jsonByteLength(provenance) > PROVENANCE_BYTES_MAX)
    throw rejection([`data_provenance is longer than ${PROVENANCE_BYTES_MAX} bytes`])
  return provenance
}

/** Compares the digests of the sent layers. A different number of layers never matches. */
function compareBytes(hashes: readonly string[], sent: readonly string[] | null): LayerBytes {
  if (sent === null) return 'not_sent'
  if (sent.length !== hashes.length) return 'differ'
  const match = sent.every((text, i) => toHex(sha256(Buffer.from(text, 'base64'))) === hashes[i])
  return match ? 'match' : 'differ'
}

const VERSION = 'lc/1'

export const landingRegistry: Registry<NormalLandingRequest> = {
  kind: 'landing',
  id_field: 'certificate_id',
  schema_version: VERSION,
  issued_status: 'issued',
  approvable: true,
  not_found: 'landing_not_found',
  operation: () => 'landing.issue',
  context: ({ artifact_ref, authority }) => ({ artifact_ref, authority }),
  name: ({ artifact_ref }) => artifact_ref,
  fields,
}

/** Refuses what does not conform now, and what contradicts the caller's own claim. */
async function fields(proposal: AdmittedProposal<NormalLandingRequest>): Promise<RegistryFields> {
  const { kernel, tenant_id, request } = proposal
  const { artifact_ref, base_model_ref, kind, layer_hashes, data_provenance } = request
  const authority = recordedAuthority(request.authority, proposal.ceiling)
  const { conformance, reasons, not_checked } = await checkConformance(kernel, tenant_id, {
    ...request,
    authority,
  })
  const against = claimReasons(request.claimed_conformance, conformance.per_policy)
  if (conformance.result === 'fail' || against.length > 0) throw rejection([...reasons, ...against])
  const { artifact_id } = conformance.evidence
  return {
    document: {
      version: VERSION,
      artifact: {
        artifact_ref,
        base_model_ref,
        kind,
        layer_hashes,
        manifest_digest: manifestDigest({ base_model_ref, kind, layer_hashes }),
      },
      data_provenance,
      authority,
      conformance,
      claimed_conformance: request.claimed_conformance,
      permitted_actions: request.permitted_actions,
      not_checked,
    },
    // Certifies the artifact named as evidence in the same unit of work. An artifact registered
    // later is not named, and a certified artifact keeps its first certificate.
    async effect(tx, record_id) {
      if (artifact_id !== null) await certifyArtifact(tx, artifact_id, record_id)
    },
  }
}

/** The signed document. Refuses if nothing was issued. */
function documentOf({ document }: OpenRecord): LandingDocument {
  if (document === null) throw new Refusal('not_waiting')
  // This registry signed it, and verified it by its rules before it was stored.
  return document as unknown as LandingDocument
}

function showLanding(record: OpenRecord, tenant_id: string): LandingCertificate {
  const { row, content } = record
  // Proposed by this slice in its normal form.
  const request = record.request as NormalLandingRequest
  const document = record.document === null ? null : documentOf(record)
  return {
    certificate_id: row.record_id,
    ...showRow(record, tenant_id),
    artifact_ref: request.artifact_ref,
    base_model_ref: request.base_model_ref,
    kind: request.kind,
    layer_hashes: [...request.layer_hashes],
    data_provenance: { ...request.data_provenance },
    authority: document?.authority ?? recordedAuthority(request.authority, content.ceiling),
    conformance: document?.conformance ?? null,
    claimed_conformance: { ...request.claimed_conformance },
    permitted_actions: [...request.permitted_actions],
  }
}

/** Omits large parts: a page of two hundred with ten thousand sources each would be too large. */
function showListed(record: OpenRecord, tenant_id: string): LandingCertificate {
  const shown = showLanding(record, tenant_id)
  if (record.row.sealed.length <= LISTED_CERTIFICATE_BYTES_MAX) return shown
  const { sources: _, ...data_provenance } = shown.data_provenance
  return { ...shown, document: null, data_provenance }
}

const landingView = {
  id: 'certificate_id',
  listKey: 'certificates',
  show: showLanding,
  showListed,
} as const

/** POST /v1/landing/issue: a certificate, signed, or waiting for a person. */
const issue: Handler<typeof contract.issue> = async (call, { body }) => {
  const record = await proposeRecord(call, landingRegistry, normalizeLanding(body))
  // A retry may find the certificate already decided.
  if (record.document !== null) return documentOf(record)
  return answerWaiting(call.kernel, call.tenant_id, record, landingView.id)
}

/** POST /v1/landing/{certificate_id}/approve: returns the signed document. */
const approve: Handler<typeof contract.approve> = async (call, { params, body }) => {
  // Members are named one by one, so that no other member of the body enters the decision.
  const { approver, reason } = body
  const decision = { decision: 'approve', approver, reason } as const
  return documentOf(await applyDecision(call, landingRegistry, params.certificate_id, decision))
}

/** POST /v1/landing/conformance: the checks of a certificate; nothing is stored. */
const conformance: Handler<typeof contract.conformance> = async (call, { body }) => {
  const { kernel, tenant_id, principal } = call
  const { artifact_ref, base_model_ref = null, kind = null, authority = null } = body
  const { conformance, reasons, not_checked } = await checkConformance(kernel, tenant_id, {
    artifact_ref,
    base_model_ref,
    kind,
    ...normalizeSubject(body),
    authority:
      authority === null
        ? null
        : recordedAuthority(claimedAuthority(authority), principal.max_trust_tier),
  })
  const { harness_version, result, per_policy, evidence } = conformance
  return {
    harness_version,
    result,
    per_policy,
    evidence,
    reasons: [...reasons],
    not_checked: [...not_checked],
  }
}

/** The checks that count as failed if nothing was issued. */
export const CHECKS = [
  ...['signature', 'key_known', 'record_kind', 'schema_version', 'signed_bytes', 'version'],
  ...['proposal_digest', 'certificate_id', 'layer_hashes', 'manifest_consistent'],
  ...['provenance_sealed', 'conformance_consistent', 'corpus_consistent', 'conformance_pass'],
  ...['authority_present', 'not_checked', 'shape', 'times'],
]

/** GET /v1/landing/{certificate_id}/verify: recomputes everything that a certificate states. */
const verify: Handler<typeof contract.verify> = async (call, { params }) => {
  const record = await loadRecord(call, landingRegistry, params.certificate_id)
  const { status } = record.row
  const shown = { status: status as 'issued' }
  const verdict = await verifyDocument(call.kernel, landingRegistry, record)
  if (record.document === null || verdict === null) {
    const checks = Object.fromEntries(CHECKS.map((name) => [name, false]))
    const reason = unsignedReason(record, `nothing was issued: the request is ${status}`)
    return { passed: false, checks, reason, reconstruction: {}, ...shown, not_checked: [] }
  }
  const evidence = await evidenceOf(call, record)
  const lost = Object.entries(evidence).find(([, found]) => !found)
  const { what, from_where, under_whom, cleared_how, may_do } = reconstructLanding(record.document)
  return {
    passed: verdict.valid && lost === undefined && status === 'issued',
    checks: { ...checksOf(verdict), ...evidence },
    reason: verdict.reason ?? (lost ? `${lost[0]}: the record does not agree any more` : null),
    reconstruction: { what, from_where, under_whom, cleared_how, may_do: [...may_do] },
    ...shown,
    not_checked: [...verdict.not_checked],
  }
}

/** Compares the certificate with the current state of the records it names as evidence. */
async function evidenceOf(
  { kernel, tenant_id }: Call,
  record: OpenRecord,
): Promise<Record<string, boolean>> {
  const { artifact, data_provenance, conformance } = documentOf(record)
  const { artifact_id, corpus_id } = conformance.evidence
  const find = (kind: 'artifact' | 'corpus', record_id: string) =>
    findRecord(kernel, tenant_id, { kind, record_id })
  const checks: Record<string, boolean> = {}
  if (artifact_id !== null) {
    const found = await find('artifact', artifact_id)
    checks['artifact_registered'] = found !== null && matchesLayers(found, artifact)
  }
  if (corpus_id !== null) {
    const found = await find('corpus', corpus_id)
    const provenance = { ...data_provenance, merkle_root: String(data_provenance['merkle_root']) }
    checks['corpus_sealed'] = found !== null && compareCorpus(found, provenance).id !== null
  }
  return checks
}

export const landingHandlers = {
  ...registryHandlers(landingRegistry, landingView),
  approve,
  conformance,
  issue,
  verify,
} satisfies HandlersOf<typeof landing>
