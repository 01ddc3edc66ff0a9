// POST /v1/artifacts/register: an artifact, signed, or waiting for a person.

import type { artifacts as contract } from '@custos/contract'
import type { ArtifactRequest, JsonObject } from '@custos/proof'
import type { Handler } from '../../platform/call.ts'
import { normalDigest, propose, waitingAnswer } from '../records/index.ts'
import { artifactRegistry } from './registry.ts'
import { showArtifact } from './show-artifact.ts'

export const register: Handler<typeof contract.register> = async (call, { body }) => {
  const { kernel, tenant_id } = call
  const request: ArtifactRequest = {
    artifact_ref: body.artifact_ref,
    base_model_ref: body.base_model_ref,
    kind: body.kind ?? 'lora+rag',
    layers: body.layers.map(({ media_type = null, digest, size = null }) => ({
      ...{ media_type, size },
      digest: normalDigest(digest),
    })),
    // Parsed from JSON, so what it holds is JSON.
    metadata: (body.metadata ?? {}) as JsonObject,
  }
  const { record } = await propose(call, artifactRegistry, request)
  if (record.row.status === 'waiting_hitl')
    return waitingAnswer(kernel, tenant_id, record, 'artifact_id')
  return showArtifact(record, tenant_id)
}
