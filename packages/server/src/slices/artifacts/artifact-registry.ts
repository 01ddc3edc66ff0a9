// Artifacts as the records kit sees them.

import { LISTED_ARTIFACT_BYTES_MAX } from '@custos/contract'
import {
  type ArtifactLayer,
  type ArtifactRequest,
  artifactContent,
  isObject,
  manifestDigest,
} from '@custos/proof'
import type { Kernel } from '../../platform/kernel.ts'
import { findRecord, type OpenRecord, type Registry, showRow } from '../records/index.ts'

export const artifactRegistry: Registry<ArtifactRequest> = {
  kind: 'artifact',
  id_field: 'artifact_id',
  schema_version: 'modelpack/1',
  standing: 'registered',
  waits: true,
  not_found: 'artifact_not_found',
  operation: () => 'artifact.register',
  context: ({ artifact_ref, base_model_ref, kind, metadata }) => ({
    ...{ artifact_ref, base_model_ref, kind, metadata },
  }),
  content: (request) => artifactContent({ ...request, layer_hashes: hashesOf(request.layers) }),
  name: ({ artifact_ref }) => artifact_ref,
  async fields({ request }) {
    const layer_hashes = hashesOf(request.layers)
    const manifest_digest = manifestDigest({ ...request, layer_hashes })
    return { ...request, layer_hashes, manifest_digest }
  },
}

export const hashesOf = (layers: readonly ArtifactLayer[]): string[] =>
  layers.map(({ digest }) => digest)

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

export const findCertificate = (
  kernel: Kernel,
  tenant_id: string,
  record_id: string,
): Promise<OpenRecord | null> => findRecord(kernel, tenant_id, { kind: 'landing', record_id })

/** Why it does not certify the artifact; null: it does. */
export function certificateFault(certificate: OpenRecord, artifact: OpenRecord): string | null {
  const { row, document } = certificate
  if (row.status !== 'issued' || document === null) return 'the certificate was not issued'
  const same = contentOfCertificate(certificate) === contentOf(artifact)
  return same ? null : 'the certificate is about another artifact'
}

function contentOf(artifact: OpenRecord): string {
  const request = requestOf(artifact)
  return artifactContent({ ...request, layer_hashes: hashesOf(request.layers) })
}

/** Null: it does not say which artifact it is about. */
function contentOfCertificate({ document }: OpenRecord): string | null {
  const artifact = document?.['artifact']
  if (!isObject(artifact)) return null
  const { artifact_ref, base_model_ref, kind, layer_hashes } = artifact
  if (!Array.isArray(layer_hashes)) return null
  return artifactContent({
    artifact_ref: String(artifact_ref),
    base_model_ref: String(base_model_ref),
    kind: String(kind),
    layer_hashes: layer_hashes.map(String),
  })
}
