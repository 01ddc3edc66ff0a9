// What the tenant's own registries say of an artifact and of a corpus.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { artifactContent, type JsonObject, type LandingProvenance } from '@custos/proof'
import type { Kernel } from '../../platform/kernel.ts'
import { pageOf } from '../../platform/page.ts'
import {
  findByContent,
  findByName,
  findRecord,
  listRecords,
  type OpenRecord,
} from '../records/index.ts'

/** Neither: nothing of it is known here. */
export interface Found {
  /** The record that agrees. */
  readonly id: string | null
  /** Why what is known contradicts the request. */
  readonly fault: string | null
}

const UNKNOWN: Found = { id: null, fault: null }
const found = (id: string): Found => ({ id, fault: null })
const fault = (reason: string): Found => ({ id: null, fault: reason })

export interface Layers {
  readonly artifact_ref: string
  /** Null: whichever. */
  readonly base_model_ref: string | null
  readonly kind: string | null
  readonly layer_hashes: readonly string[]
}

const REGISTERED: ReadonlySet<string> = new Set(['registered', 'certified'])

/** An artifact that stands under this name has these layers, or the request is at fault. */
export async function lookUpArtifact(
  kernel: Kernel,
  tenant_id: string,
  layers: Layers,
): Promise<Found> {
  const exact = await findExact(kernel, tenant_id, layers)
  if (exact) return found(exact.row.record_id)
  const wanted = { kind: 'artifact', name: layers.artifact_ref } as const
  const named = (await findByName(kernel, tenant_id, wanted)).filter(stands)
  const same = named.find((record) => agreesWithLayers(record, layers))
  if (same) return found(same.row.record_id)
  if (named.length === 0) return UNKNOWN
  return fault('layer_hashes, base_model_ref or kind are not those registered for artifact_ref')
}

/** By its content, where all of it is given: one record of a name that may have many. */
export async function findExact(
  kernel: Kernel,
  tenant_id: string,
  { artifact_ref, base_model_ref, kind, layer_hashes }: Layers,
): Promise<OpenRecord | null> {
  if (base_model_ref === null || kind === null) return null
  const content = artifactContent({ artifact_ref, base_model_ref, kind, layer_hashes })
  const record = await findByContent(kernel, tenant_id, { kind: 'artifact', content })
  return record && stands(record) ? record : null
}

export function agreesWithLayers(record: OpenRecord, layers: Layers): boolean {
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

// Documents of corpora may have megabytes.
const OPENED_AT_ONCE = 5
const CORPORA_MAX = 50

/**
 * The corpus that is named by id, or else one of the newest with this root: its root, its hash and
 * the ids of its sources are those given, or the request is at fault.
 */
export async function lookUpCorpus(
  kernel: Kernel,
  tenant_id: string,
  provenance: LandingProvenance,
): Promise<Found> {
  const { corpus_id } = provenance
  if (typeof corpus_id === 'string') {
    const record = await findRecord(kernel, tenant_id, { kind: 'corpus', record_id: corpus_id })
    if (record) return judgeCorpus(record, provenance)
  }
  let judged = UNKNOWN
  for (let offset = 0; offset < CORPORA_MAX; offset += OPENED_AT_ONCE) {
    const page = pageOf({ limit: OPENED_AT_ONCE, offset }, OPENED_AT_ONCE)
    const records = await listRecords(kernel, tenant_id, { kind: 'corpus', page })
    for (const record of records.filter((one) => concerns(one, provenance))) {
      judged = judgeCorpus(record, provenance)
      // Two corpora of the same sources have one root: any that agrees will do.
      if (judged.id !== null) return judged
    }
    if (records.length < OPENED_AT_ONCE) break
    await nextTurn()
  }
  return judged
}

function concerns({ document }: OpenRecord, provenance: LandingProvenance): boolean {
  if (document === null) return false
  const { merkle_root, corpus_hash } = document
  return merkle_root === provenance.merkle_root || corpus_hash === provenance['corpus_hash']
}

export function judgeCorpus({ row, document }: OpenRecord, provenance: LandingProvenance): Found {
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
