// Reads of artifacts: stats, list, one, its verification, and a comparison of its layers.

import { type artifacts as contract, limits } from '@custos/contract'
import type { Call, Handler } from '../../platform/call.ts'
import { pageOf } from '../../platform/page.ts'
import {
  checksOf,
  countByStatus,
  findRecord,
  listRecords,
  normalizeDigest,
  type OpenRecord,
  verifyDocument,
} from '../records/index.ts'
import {
  artifactRegistry,
  certificateFault,
  findCertificate,
  hashesOf,
  requestOf,
  showArtifact,
  showListed,
} from './artifact-registry.ts'

const { kind } = artifactRegistry

export const stats: Handler<typeof contract.stats> = (call) =>
  call.read((db) => countByStatus(db, kind))

export const list: Handler<typeof contract.list> = async ({ kernel, tenant_id }, { query }) => {
  const page = pageOf(query, limits.records_page.default)
  const show = (record: OpenRecord) => showListed(record, tenant_id)
  return page.envelope('artifacts', await listRecords(kernel, tenant_id, { kind, page }, show))
}

type Finding = typeof contract.get | typeof contract.verify | typeof contract.integrity

export async function findArtifact<S extends Finding>(
  call: Call<S>,
  record_id: string,
): Promise<OpenRecord> {
  const { kernel, tenant_id } = call
  return (
    (await findRecord(kernel, tenant_id, { kind, record_id })) ?? call.refuse('artifact_not_found')
  )
}

export const get: Handler<typeof contract.get> = async (call, { params }) =>
  showArtifact(await findArtifact(call, params.artifact_id), call.tenant_id)

export const verify: Handler<typeof contract.verify> = async (call, { params }) => {
  const record = await findArtifact(call, params.artifact_id)
  const verdict = await verifyDocument(call.kernel, artifactRegistry, record)
  const certificate = await judgeCertificate(call, record)
  const { status, linked_id } = record.row
  const digest = record.document?.['manifest_digest'] ?? null
  const signed = verdict ? checksOf(verdict) : { signature: false, manifest_consistent: false }
  const reason = verdict ? (verdict.reason ?? null) : 'nothing was signed'
  return {
    artifact_id: params.artifact_id,
    passed: (verdict?.valid ?? false) && certificate.fault === null,
    checks: { ...signed, ...certificate.checks },
    manifest_digest: digest === null ? null : String(digest),
    status,
    certificate_id: linked_id,
    not_checked: [...(verdict?.not_checked ?? [])],
    reason: reason ?? certificate.fault,
  }
}

/** Of one that is certified: the certificate is here, was issued, and is about this artifact. */
async function judgeCertificate(
  { kernel, tenant_id }: Call<typeof contract.verify>,
  artifact: OpenRecord,
): Promise<{ checks: { certificate?: boolean }; fault: string | null }> {
  const { status, linked_id } = artifact.row
  if (status !== 'certified') return { checks: {}, fault: null }
  const found = await findCertificate(kernel, tenant_id, linked_id ?? '')
  const fault = found === null ? 'the certificate is not here' : certificateFault(found, artifact)
  return { checks: { certificate: fault === null }, fault }
}

export const integrity: Handler<typeof contract.integrity> = async (call, { params, body }) => {
  const registered = hashesOf(requestOf(await findArtifact(call, params.artifact_id)).layers)
  const supplied = body.layer_hashes.map(normalizeDigest)
  const match =
    supplied.length === registered.length && supplied.every((hash, i) => hash === registered[i])
  return { match, registered, supplied }
}
