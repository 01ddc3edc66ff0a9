// Artifacts as the records kit sees them.

import {
  type ArtifactLayer,
  type ArtifactRequest,
  artifactContent,
  manifestDigest,
} from '@custos/proof'
import type { Registry } from '../records/index.ts'

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
