// What the tenant's own registries say of an artifact and of a corpus.

import {
  artifactContent,
  authorityReasons,
  type JsonObject,
  type LandingAuthority,
  type LandingConformance,
  type LayerBytes,
  landingConformance,
  landingNotChecked,
} from '@custos/proof'
import type { Kernel } from '../../platform/kernel.ts'
import { findByContent, findByName, findRecord, type OpenRecord } from '../records/index.ts'

/** Neither: nothing of it is known here. */
export interface EvidenceFinding {
  /** The record that agrees. */
  readonly id: string | null
  /** Why what is known contradicts the request. */
  readonly fault: string | null
}

const UNKNOWN: EvidenceFinding = { id: null, fault: null }
const found = (id: string): EvidenceFinding => ({ id, fault: null })
const fault = (reason: string): EvidenceFinding => ({ id: null, fault: reason })

interface ArtifactLayers {
  readonly artifact_ref: string
  /** Null: whichever. */
  readonly base_model_ref: string | null
  readonly kind: string | null
  readonly layer_hashes: readonly string[]
}

/** So many of one name are found, newest first. */
const NAMED_MAX = 50
const REGISTERED: ReadonlySet<string> = new Set(['registered', 'certified'])

/** An artifact that stands under this name has these layers, or the request is at fault. */
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
  if (named.some(stands))
    return fault('layer_hashes, base_model_ref or kind are not those registered for artifact_ref')
  // Older ones were not looked at, and may be registered.
  if (named.length >= NAMED_MAX) return fault('too many artifacts wait under artifact_ref')
  return UNKNOWN
}

/** By its content, where all of it is given: one record of a name that may have many. */
export async function findExact(
  kernel: Kernel,
  tenant_id: string,
  { artifact_ref, base_model_ref, kind, layer_hashes }: ArtifactLayers,
): Promise<OpenRecord | null> {
  if (base_model_ref === null || kind === null) return null
  const content = artifactContent({ artifact_ref, base_model_ref, kind, layer_hashes })
  const record = await findByContent(kernel, tenant_id, { kind: 'artifact', content })
  return record && stands(record) ? record : null
}

export function matchesLayers(record: OpenRecord, layers: ArtifactLayers): boolean {
  const { artifact_ref, base_model_ref, kind, layer_hashes } = record.document ?? {}
  return (
    stands(record) &&
    artifact_ref === layers.artifact_ref &&
    (layers.base_model_ref ?? base_model_ref) === base_model_ref &&
    (layers.kind ?? kind) === kind &&
    sameTexts(textsOf(layer_hashes), layers.layer_hashes)
  )
}

const stands = ({ row, document }: OpenRecord): boolean =>
  document !== null && REGISTERED.has(row.status)

const RECORD_ID = /^[0-9a-f]{32}$/i

/** Why nothing can be said of a provenance without a root. */
export const UNSEALED = 'data_provenance is unsealed: its merkle_root is not 64 hex characters'

/**
 * The corpus that is named by an id of ours, or else one of this root: its root, its hash and the
 * ids of its sources are those given, or the request is at fault. Ids of other registries lead
 * nowhere.
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
  // Two corpora of the same sources have one root: any that agrees will do.
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

// Lengths first: the beginning of a list is not the list.
const sameTexts = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((text, i) => text === b[i])

interface ConformanceSubject extends ArtifactLayers {
  readonly layer_bytes: LayerBytes
  readonly data_provenance: JsonObject
  /** Null: none was given. */
  readonly authority: LandingAuthority | null
}

interface ConformanceResult {
  readonly conformance: LandingConformance
  /** Why checks failed; empty: none did. */
  readonly reasons: readonly string[]
  readonly not_checked: readonly string[]
}

/** The same for a certificate and for whoever only asks. */
export async function checkConformance(
  kernel: Kernel,
  tenant_id: string,
  subject: ConformanceSubject,
): Promise<ConformanceResult> {
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
