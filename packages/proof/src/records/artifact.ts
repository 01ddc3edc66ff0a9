// Artifacts: a registered model or adapter, and the digests of its layers.
import { canonicalBytes, canonicalize, type JsonObject } from '../core/canonical.ts'
import { sha256 } from '../core/digest.ts'
import { toHex } from '../core/encoding.ts'
import { isCount, isObject, isText, isTextList, orNull } from '../core/shape.ts'
import { addCheck, type VerdictDraft } from '../core/verdict.ts'
import { checkShape, exactObject, listOf } from './document-shape.ts'
import type { RecordMembers, RecordRules } from './registry-record.ts'

export type ArtifactLayer = {
  readonly media_type: string | null
  /** SHA-256 in lower-case hex. */
  readonly digest: string
  readonly size: number | null
}

/** The request to register an artifact, in normal form. */
export type ArtifactRequest = {
  readonly artifact_ref: string
  readonly base_model_ref: string
  readonly kind: string
  readonly layers: readonly ArtifactLayer[]
  readonly metadata: JsonObject
}

/** The identity of an artifact, independent of its name. */
export type ArtifactManifest = {
  readonly base_model_ref: string
  readonly kind: string
  /** Hashes of the layers in their order. */
  readonly layer_hashes: readonly string[]
}

export type ArtifactDocument = RecordMembers & {
  readonly artifact_id: string
  readonly artifact_ref: string
  readonly base_model_ref: string
  /** The kind of artifact, for example `lora+rag`. */
  readonly kind: string
  readonly layers: readonly ArtifactLayer[]
  readonly layer_hashes: readonly string[]
  readonly manifest_digest: string
  readonly metadata: JsonObject
}

/** Hex SHA-256 of the RFC 8785 bytes of `{base_model_ref, kind, layer_hashes}`. */
export function manifestDigest({ base_model_ref, kind, layer_hashes }: ArtifactManifest): string {
  return toHex(sha256(canonicalBytes({ base_model_ref, kind, layer_hashes })))
}

/** A text that is equal for the same artifact under the same name. */
export function artifactContent(
  manifest: ArtifactManifest & { readonly artifact_ref: string },
): string {
  return canonicalize([manifest.artifact_ref, manifestDigest(manifest)])
}

function requestOf(document: JsonObject): JsonObject | null {
  const { artifact_ref = null, base_model_ref = null, kind = null, layers = null } = document
  const { metadata = null } = document
  return { artifact_ref, base_model_ref, kind, layers, metadata }
}

const SHA256 = /^[0-9a-f]{64}$/
const isDigest = (value: unknown): boolean => isText(value) && SHA256.test(value)

const SHAPE = {
  ...{ artifact_id: isText, artifact_ref: isText, base_model_ref: isText, kind: isText },
  layers: listOf(
    exactObject({ media_type: orNull(isText), digest: isDigest, size: orNull(isCount) }),
  ),
  ...{ layer_hashes: isTextList, manifest_digest: isText, metadata: isObject },
}

function check(document: JsonObject, findings: VerdictDraft): void {
  checkShape(document, SHAPE, findings)
  const { base_model_ref, kind, layers, layer_hashes, manifest_digest } = document
  const digests = Array.isArray(layers)
    ? layers.map((layer) => (isObject(layer) ? String(layer['digest']) : ''))
    : []
  const hashes = isTextList(layer_hashes) ? layer_hashes : []
  const listed =
    hashes.length > 0 &&
    hashes.length === digests.length &&
    hashes.every((hash, i) => hash === digests[i])
  addCheck(findings, 'layer_hashes', listed, 'are not those of the layers')
  const manifest = {
    base_model_ref: String(base_model_ref),
    kind: String(kind),
    layer_hashes: hashes,
  }
  const consistent = manifest_digest === manifestDigest(manifest)
  addCheck(findings, 'manifest_consistent', consistent, 'does not follow from the layers')
  findings.notChecked.push('the bytes of the layers: compare them with layer_hashes')
}

export const artifactRules: RecordRules = {
  kind: 'artifact',
  id_field: 'artifact_id',
  schema_version: 'modelpack/1',
  requestOf,
  check,
}
