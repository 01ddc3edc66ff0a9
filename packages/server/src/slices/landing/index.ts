// Landing certificates: their operations, the handlers, and the registry for approvals.

import type { landing as contract, landing } from '@custos/contract'
import { reconstructLanding } from '@custos/proof'
import type { Call, Handler, HandlersOf } from '../../platform/kernel/call.ts'
import {
  answerWaiting,
  applyDecision,
  checksOf,
  claimedAuthority,
  findRecord,
  loadRecord,
  type OpenRecord,
  proposeRecord,
  recordedAuthority,
  registryHandlers,
  unsignedReason,
  verifyDocument,
} from '../records/index.ts'
import { checkConformance, compareCorpus, matchesLayers } from './conformance.ts'
import { documentOf, landingRegistry, landingView } from './landing-registry.ts'
import { normalizeLanding, normalizeSubject } from './normal-request.ts'

/** POST /v1/landing/issue: a certificate, signed, or waiting for a person. */
const issue: Handler<typeof contract.issue> = async (call, { body }) => {
  const record = await proposeRecord(call, landingRegistry, normalizeLanding(body))
  // A retry may find it decided.
  if (record.document !== null) return documentOf(record)
  return answerWaiting(call.kernel, call.tenant_id, record, landingView.id)
}

/** POST /v1/landing/{certificate_id}/approve: answers the signed document. */
const approve: Handler<typeof contract.approve> = async (call, { params, body }) => {
  // By name: no other member of the body may become a part of the decision.
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

/** The checks that fail where nothing was issued. */
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

/** Compares the certificate with the records that it names as evidence, as they are now. */
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

export { landingRegistry } from './landing-registry.ts'

export const landingHandlers = {
  ...registryHandlers(landingRegistry, landingView),
  approve,
  conformance,
  issue,
  verify,
} satisfies HandlersOf<typeof landing>
