// Reads of artifacts: stats, list, one, its verification, and a comparison of its layers.

import { type artifacts as contract, limits } from '@custos/contract'
import type { Call, Handler } from '../../platform/call.ts'
import { pageOf } from '../../platform/page.ts'
import {
  checksOf,
  countByStatus,
  findRecord,
  listRecords,
  normalDigest,
  type OpenRecord,
  verifyDocument,
} from '../records/index.ts'
import { artifactRegistry, hashesOf } from './registry.ts'
import { requestOf, showArtifact } from './show-artifact.ts'

const { kind } = artifactRegistry

export const stats: Handler<typeof contract.stats> = (call) =>
  call.read((db) => countByStatus(db, kind))

export const list: Handler<typeof contract.list> = async ({ kernel, tenant_id }, { query }) => {
  const page = pageOf(query, limits.records_page.default)
  const records = await listRecords(kernel, tenant_id, { kind, page })
  return page.envelope(
    'artifacts',
    records.map((record) => showArtifact(record, tenant_id)),
  )
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
  const { status, linked_id } = record.row
  const digest = record.document?.['manifest_digest'] ?? null
  return {
    artifact_id: params.artifact_id,
    passed: verdict?.valid ?? false,
    checks: verdict ? checksOf(verdict) : { signature: false, manifest_consistent: false },
    manifest_digest: digest === null ? null : String(digest),
    status,
    certificate_id: linked_id,
    not_checked: [...(verdict?.not_checked ?? [])],
    reason: verdict ? (verdict.reason ?? null) : 'nothing was signed',
  }
}

export const integrity: Handler<typeof contract.integrity> = async (call, { params, body }) => {
  const registered = hashesOf(requestOf(await findArtifact(call, params.artifact_id)).layers)
  const supplied = body.layer_hashes.map(normalDigest)
  const match =
    supplied.length === registered.length && supplied.every((hash, i) => hash === registered[i])
  return { match, registered, supplied }
}
