// An artifact as it is answered.

import { LISTED_ARTIFACT_BYTES_MAX } from '@custos/contract'
import { type ArtifactRequest, manifestDigest } from '@custos/proof'
import { type OpenRecord, showRow } from '../records/index.ts'
import { hashesOf } from './registry.ts'

/** What was asked for; only this slice proposes artifacts. */
export const requestOf = ({ request }: OpenRecord): ArtifactRequest => request as ArtifactRequest

export function showArtifact(record: OpenRecord, tenant_id: string) {
  const { artifact_ref, base_model_ref, kind, layers, metadata } = requestOf(record)
  const layer_hashes = hashesOf(layers)
  return {
    artifact_id: record.row.record_id,
    ...{ artifact_ref, base_model_ref, kind, layer_hashes },
    manifest_digest: manifestDigest({ base_model_ref, kind, layer_hashes }),
    metadata: { ...metadata },
    certificate_id: record.row.linked_id,
    ...showRow(record, tenant_id),
  }
}

const BYTES_PER_BASE64_CHAR = 3 / 4

/** In a list: two hundred documents of a thousand layers are no page. */
export function showListed(record: OpenRecord, tenant_id: string) {
  const shown = showArtifact(record, tenant_id)
  const signed = String(record.document?.['signed_bytes'] ?? '')
  const large = signed.length * BYTES_PER_BASE64_CHAR > LISTED_ARTIFACT_BYTES_MAX
  return large ? { ...shown, document: null } : shown
}
