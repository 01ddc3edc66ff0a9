// Approving, rejecting and certifying an artifact.

import type { artifacts as contract } from '@custos/contract'
import type { Handler } from '../../platform/call.ts'
import { applyDecision, certifyArtifact, findRecord, type OpenRecord } from '../records/index.ts'
import { meter } from '../tenants/index.ts'
import {
  artifactRegistry,
  certificateFault,
  findCertificate,
  showArtifact,
} from './artifact-registry.ts'

const { kind } = artifactRegistry

export const approve: Handler<typeof contract.approve> = async (call, { params, body }) => {
  // By name: whatever else the body holds must not become a part of the decision.
  const { approver, reason } = body
  const decision = { decision: 'approve', approver, reason } as const
  const record = await applyDecision(call, artifactRegistry, params.artifact_id, decision)
  return showArtifact(record, call.tenant_id)
}

export const reject: Handler<typeof contract.reject> = async (call, { params, body }) => {
  const { artifact_id } = params
  const { approver, reason } = body
  const decision = { decision: 'deny', approver, reason } as const
  await applyDecision(call, artifactRegistry, artifact_id, decision)
  return { artifact_id, status: 'denied' as const, approver }
}

export const certify: Handler<typeof contract.certify> = async (call, { params, body }) => {
  const { kernel, tenant_id, operation } = call
  const { artifact_id } = params
  const { certificate_id } = body
  const look = () => findRecord(kernel, tenant_id, { kind, record_id: artifact_id })
  const artifact = (await look()) ?? call.refuse('artifact_not_found')
  const certificate =
    (await findCertificate(kernel, tenant_id, certificate_id)) ?? call.refuse('landing_not_found')
  const fault = certificateFault(certificate, artifact)
  if (fault !== null) return call.refuse('rejected', fault)

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
