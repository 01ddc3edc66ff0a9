// Computes conformance: what the request and the tenant's registries show about a model.

import {
  artifactContent,
  authorityReasons,
  type JsonObject,
  type LandingAuthority,
  type LayerBytes,
  landingConformance,
  landingNotChecked,
} from '@custos/proof'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import {
  findByContent,
  findByName,
  findRecord,
  NAMED_MAX,
  type OpenRecord,
} from '../records/index.ts'

interface ArtifactLayers {
  readonly artifact_ref: string
  /** `null` matches any base model. */
  readonly base_model_ref: string | null
  readonly kind: string | null
  readonly layer_hashes: readonly string[]
}

/**
 * The same for a certificate and for a conformance request, where `authority` is null if none was
 * given. `reasons`: why checks failed; empty: none did.
 */
export async function checkConformance(
  kernel: Kernel,
  tenant_id: string,
  subject: ArtifactLayers & {
    readonly layer_bytes: LayerBytes
    readonly data_provenance: JsonObject
    readonly authority: LandingAuthority | null
  },
) {
  const { layer_bytes, data_provenance, authority } = subject
  const artifact = await findArtifactEvidence(kernel, tenant_id, subject)
  const corpus = await findCorpusEvidence(kernel, tenant_id, data_provenance)
  const evidence = { artifact_id: artifact.id, corpus_id: corpus.id, layer_bytes }
  const faults = {
    artifact_integrity: artifact.fault !== null,
    data_provenance: corpus.fault !== null,
  }
  return {
    conformance: landingConformance(evidence, authority, faults),
    reasons: [
      ...(layer_bytes === 'differ' ? ['layer_bytes are not those of layer_hashes'] : []),
      ...[artifact.fault, corpus.fault].filter((fault) => fault !== null),
      ...(authority === null ? [] : authorityReasons(authority)),
    ],
    not_checked: landingNotChecked(evidence, data_provenance),
  }
}

/** What a registry shows about a request. Both are `null` if it has no such record. */
interface EvidenceFinding {
  /** The id of the record that agrees. */
  readonly id: string | null
  /** How the registry contradicts the request. */
  readonly fault: string | null
}

const UNKNOWN: EvidenceFinding = { id: null, fault: null }
const found = (id: string): EvidenceFinding => ({ id, fault: null })
const fault = (reason: string): EvidenceFinding => ({ id: null, fault: reason })

const REGISTERED: ReadonlySet<string> = new Set(['registered', 'certified'])

/** Requires that a registered artifact of this name has these layers. */
async function findArtifactEvidence(
  kernel: Kernel,
  tenant_id: string,
  layers: ArtifactLayers,
): Promise<EvidenceFinding> {
  const exact = await findExact(kernel, tenant_id, layers)
  if (exact) return found(exact.row.record_id)
  const wanted = { kind: 'artifact', name: layers.artifact_ref } as const
  const named = await findByName(kernel, tenant_id, wanted)
  const same = named.find((record) => matchesLayers(record, layers))
  if (same) return found(same.row.record_id)
  if (named.some(isRegistered))
    return fault('layer_hashes, base_model_ref or kind are not those registered for artifact_ref')
  // Older records of the name were not read, and one of them may be registered.
  if (named.length >= NAMED_MAX) return fault('too many artifacts wait under artifact_ref')
  return UNKNOWN
}

/** Finds the artifact by its whole content, if given, because many records may share a name. */
async function findExact(
  kernel: Kernel,
  tenant_id: string,
  { artifact_ref, base_model_ref, kind, layer_hashes }: ArtifactLayers,
): Promise<OpenRecord | null> {
  if (base_model_ref === null || kind === null) return null
  const content = artifactContent({ artifact_ref, base_model_ref, kind, layer_hashes })
  const record = await findByContent(kernel, tenant_id, { kind: 'artifact', content })
  return record && isRegistered(record) ? record : null
}

export function matchesLayers(record: OpenRecord, layers: ArtifactLayers): boolean {
  const { artifact_ref, base_model_ref, kind, layer_hashes } = record.document ?? {}
  return (
    isRegistered(record) &&
    artifact_ref === layers.artifact_ref &&
    (layers.base_model_ref ?? base_model_ref) === base_model_ref &&
    (layers.kind ?? kind) === kind &&
    sameTexts(textsOf(layer_hashes), layers.layer_hashes)
  )
}

const isRegistered = ({ row, document }: OpenRecord): boolean =>
  document !== null && REGISTERED.has(row.status)

const RECORD_ID = /^[0-9a-f]{32}$/i

/** The reason given for a provenance without a root. */
export const UNSEALED = 'data_provenance is unsealed: its merkle_root is not 64 hex characters'

/**
 * Requires that the corpus of this id, or else of this root, has the given root, hash and source
 * ids. Ids in another format belong to other registries and are not looked up.
 */
async function findCorpusEvidence(
  kernel: Kernel,
  tenant_id: string,
  provenance: JsonObject,
): Promise<EvidenceFinding> {
  const { merkle_root, corpus_id } = provenance
  if (typeof merkle_root !== 'string') return fault(UNSEALED)
  if (typeof corpus_id === 'string' && RECORD_ID.test(corpus_id)) {
    const record = await findRecord(kernel, tenant_id, { kind: 'corpus', record_id: corpus_id })
    return record ? compareCorpus(record, provenance) : fault('no corpus here has this corpus_id')
  }
  const named = await findByName(kernel, tenant_id, { kind: 'corpus', name: merkle_root })
  const judged = named.map((record) => compareCorpus(record, provenance))
  // Corpora of the same sources share a root, so one that agrees is enough.
  return judged.find(({ id }) => id !== null) ?? judged[0] ?? UNKNOWN
}

export function compareCorpus(
  { row, document }: OpenRecord,
  provenance: JsonObject,
): EvidenceFinding {
  if (row.status !== 'sealed' || document === null) return fault('the corpus is not sealed')
  const { merkle_root, corpus_id, sources } = provenance
  const { corpus_hash = document['corpus_hash'] } = provenance
  if (merkle_root !== document['merkle_root']) return fault('merkle_root is not that of the corpus')
  if (corpus_hash !== document['corpus_hash']) return fault('corpus_hash is not that of the corpus')
  if (typeof corpus_id === 'string' && corpus_id !== row.record_id)
    return fault('corpus_id is not that of the corpus of this merkle_root')
  if (sources !== undefined && !sameTexts(sorted(textsOf(sources)), sorted(sourceIds(document))))
    return fault('sources are not those of the corpus')
  return found(row.record_id)
}

const textsOf = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : [])
const sorted = (texts: readonly string[]): string[] => [...texts].sort()

function sourceIds({ sources }: JsonObject): string[] {
  return textsOf(Array.isArray(sources) ? sources.map((source) => source?.id) : [])
}

// Compares lengths first, so that a prefix is not equal.
const sameTexts = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((text, i) => text === b[i])
