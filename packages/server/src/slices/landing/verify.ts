// GET /v1/landing/{certificate_id}/verify: everything a certificate says, recomputed.

import type { landing as contract } from '@custos/contract'
import { reconstructLanding } from '@custos/proof'
import type { Call, Handler } from '../../platform/call.ts'
import { checksOf, findRecord, type OpenRecord, verifyDocument } from '../records/index.ts'
import { compareCorpus, matchesLayers } from './conformance.ts'
import { documentOf, landingRegistry } from './landing-registry.ts'
import { loadLanding } from './reads.ts'

/** What is false of a row that was never signed. */
export const CHECKS = [
  ...['signature', 'key_known', 'record_kind', 'schema_version', 'signed_bytes', 'version'],
  ...['proposal_digest', 'certificate_id', 'layer_hashes', 'manifest_consistent'],
  ...['provenance_sealed', 'conformance_consistent', 'corpus_consistent', 'conformance_pass'],
  ...['authority_present', 'not_checked', 'shape', 'times'],
]

export const verify: Handler<typeof contract.verify> = async (call, { params }) => {
  const record = await loadLanding(call, params.certificate_id)
  const { status } = record.row
  const shown = { status: status as 'issued' }
  const verdict = await verifyDocument(call.kernel, landingRegistry, record)
  if (record.document === null || verdict === null) {
    const checks = Object.fromEntries(CHECKS.map((name) => [name, false]))
    const reason = `nothing was issued: the request is ${status}`
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

/** The records it rests on, as they are now. */
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
