// POST /v1/artifacts/register: an artifact, signed, or waiting for a person.

import { type artifacts as contract, limits } from '@custos/contract'
import type { ArtifactRequest, JsonObject } from '@custos/proof'
import type { Handler } from '../../platform/call.ts'
import { Refusal } from '../../platform/refusal.ts'
import { answerWaiting, normalizeDigest, proposeRecord } from '../records/index.ts'
import { artifactRegistry, showArtifact } from './artifact-registry.ts'

export const register: Handler<typeof contract.register> = async (call, { body }) => {
  const { kernel, tenant_id } = call
  checkMetadata(body.metadata ?? {})
  const request: ArtifactRequest = {
    artifact_ref: body.artifact_ref,
    base_model_ref: body.base_model_ref,
    kind: body.kind ?? 'lora+rag',
    layers: body.layers.map(({ media_type = null, digest, size = null }) => ({
      ...{ media_type, size },
      digest: normalizeDigest(digest),
    })),
    // Parsed from JSON, so what it holds is JSON.
    metadata: (body.metadata ?? {}) as JsonObject,
  }
  const { record } = await proposeRecord(call, artifactRegistry, request)
  if (record.row.status === 'waiting_hitl')
    return answerWaiting(kernel, tenant_id, record, 'artifact_id')
  return showArtifact(record, tenant_id)
}

/** Refuses metadata over its limits, naming its place in the body. */
function checkMetadata(metadata: object): void {
  if (isDeeper(metadata, limits.metadata_depth))
    throw tooLong(`metadata is nested ${limits.metadata_depth} levels at most`)
  if (Buffer.byteLength(JSON.stringify(metadata)) > limits.metadata_bytes)
    throw tooLong(`metadata has ${limits.metadata_bytes} bytes at most`)
}

const tooLong = (msg: string): Refusal =>
  new Refusal('validation', undefined, {
    detail: [{ loc: ['body', 'metadata'], msg, type: 'too_long' }],
  })

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  return Object.values(value).some((member) => isDeeper(member, levels - 1))
}
