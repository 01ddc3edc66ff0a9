// The registry of artifacts: what one is proposed with, what is signed, and how it is shown.

import { LISTED_ARTIFACT_BYTES_MAX } from '@custos/contract'
import {
  type ArtifactLayer,
  type ArtifactRequest,
  artifactContent,
  isObject,
  type JsonObject,
  manifestDigest,
} from '@custos/proof'
import { isDocumentLarger, type OpenRecord, type Registry, showRow } from '../records/index.ts'

export const artifactRegistry: Registry<ArtifactRequest> = {
  kind: 'artifact',
  id_field: 'artifact_id',
  schema_version: 'modelpack/1',
  standing: 'registered',
  waits: true,
  not_found: 'artifact_not_found',
  operation: () => 'artifacts.register',
  context: ({ artifact_ref, base_model_ref, kind, metadata }) => ({
    artifact_ref,
    base_model_ref,
    kind,
    metadata,
  }),
  content: (request) => artifactContent({ ...request, layer_hashes: hashesOf(request.layers) }),
  name: ({ artifact_ref }) => artifact_ref,
  async fields({ request }) {
    const layer_hashes = hashesOf(request.layers)
    const manifest_digest = manifestDigest({ ...request, layer_hashes })
    return { document: { ...request, layer_hashes, manifest_digest } }
  },
}

export const hashesOf = (layers: readonly ArtifactLayer[]): string[] =>
  layers.map(({ digest }) => digest)

/** Only this registry proposes artifacts. */
export const requestOf = ({ request }: OpenRecord): ArtifactRequest => request as ArtifactRequest

export function showArtifact(record: OpenRecord, tenant_id: string) {
  const { artifact_ref, base_model_ref, kind, layers, metadata } = requestOf(record)
  const layer_hashes = hashesOf(layers)
  return {
    artifact_id: record.row.record_id,
    artifact_ref,
    base_model_ref,
    kind,
    layer_hashes,
    manifest_digest: manifestDigest({ base_model_ref, kind, layer_hashes }),
    metadata: { ...metadata },
    certificate_id: record.row.linked_id,
    ...showRow(record, tenant_id),
  }
}

/** Two hundred documents of a thousand layers do not fit on a page. */
function showListed(record: OpenRecord, tenant_id: string) {
  const shown = showArtifact(record, tenant_id)
  return isDocumentLarger(record, LISTED_ARTIFACT_BYTES_MAX) ? { ...shown, document: null } : shown
}

export const artifactView = {
  id: 'artifact_id',
  listKey: 'artifacts',
  show: showArtifact,
  showListed,
} as const

/** Why the certificate does not certify the artifact; null: it does. */
export function findCertificateFault(
  { row, document }: OpenRecord,
  artifact: OpenRecord,
): string | null {
  if (row.status !== 'issued' || document === null) return 'the certificate was not issued'
  const { layers, ...request } = requestOf(artifact)
  const content = artifactContent({ ...request, layer_hashes: hashesOf(layers) })
  if (certifiedContent(document) === content) return null
  return 'the certificate is about another artifact'
}

/** Null: it does not say which artifact it is about. */
function certifiedContent({ artifact }: JsonObject): string | null {
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
