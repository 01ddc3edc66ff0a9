// Approving, rejecting and certifying an artifact.

import type { artifacts as contract } from '@custos/contract'
import { artifactContent, isObject } from '@custos/proof'
import type { Handler } from '../../platform/call.ts'
import { certifyArtifact, findRecord, type OpenRecord, resume } from '../records/index.ts'
import { meter } from '../tenants/index.ts'
import { artifactRegistry, hashesOf } from './registry.ts'
import { requestOf, showArtifact } from './show-artifact.ts'

const { kind } = artifactRegistry

export const approve: Handler<typeof contract.approve> = async (call, { params, body }) => {
  const decision = { decision: 'approve' as const, ...body }
  const record = await resume(call, artifactRegistry, params.artifact_id, decision)
  return showArtifact(record, call.tenant_id)
}

export const reject: Handler<typeof contract.reject> = async (call, { params, body }) => {
  const { artifact_id } = params
  const { approver } = body
  await resume(call, artifactRegistry, artifact_id, { decision: 'deny', ...body })
  return { artifact_id, status: 'denied' as const, approver }
}

export const certify: Handler<typeof contract.certify> = async (call, { params, body }) => {
  const { kernel, tenant_id, operation } = call
  const { artifact_id } = params
  const { certificate_id } = body
  const look = () => findRecord(kernel, tenant_id, { kind, record_id: artifact_id })
  const artifact = (await look()) ?? call.refuse('artifact_not_found')
  const wanted = { kind: 'landing' as const, record_id: certificate_id }
  const landing = (await findRecord(kernel, tenant_id, wanted)) ?? call.refuse('landing_not_found')
  if (landing.row.status !== 'issued' || landing.document === null)
    return call.refuse('rejected', 'the certificate was not issued')
  if (contentOfCertificate(landing) !== contentOf(artifact))
    return call.refuse('rejected', 'the certificate is about another artifact')

  await call.once<string>({
    async run(tx) {
      const changed = await certifyArtifact(tx, artifact_id, certificate_id)
      if (!changed && !isCertifiedBy(artifact, certificate_id)) call.refuse('wrong_state')
      meter(tx, operation.id)
      return { reply: certificate_id, ids: { artifact_id } }
    },
    replay: async () => certificate_id,
  })
  const certified = (await look()) ?? call.refuse('unavailable')
  return showArtifact(certified, tenant_id)
}

const isCertifiedBy = ({ row }: OpenRecord, certificate_id: string): boolean =>
  row.status === 'certified' && row.linked_id === certificate_id

function contentOf(artifact: OpenRecord): string {
  const request = requestOf(artifact)
  return artifactContent({ ...request, layer_hashes: hashesOf(request.layers) })
}

/** Null: it does not say which artifact it is about. */
function contentOfCertificate({ document }: OpenRecord): string | null {
  const artifact = document?.['artifact']
  if (!isObject(artifact)) return null
  const { artifact_ref, base_model_ref, kind: own, layer_hashes } = artifact
  if (!Array.isArray(layer_hashes)) return null
  return artifactContent({
    artifact_ref: String(artifact_ref),
    base_model_ref: String(base_model_ref),
    kind: String(own),
    layer_hashes: layer_hashes.map(String),
  })
}
