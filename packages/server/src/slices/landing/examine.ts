// Conformance, computed: what the registries and the request itself show, and what they do not.

import {
  authorityReasons,
  type JsonObject,
  type LandingAuthority,
  type LandingConformance,
  type LayerBytes,
  landingConformance,
  landingNotChecked,
} from '@custos/proof'
import type { Kernel } from '../../platform/kernel.ts'
import { type Layers, lookUpArtifact, lookUpCorpus } from './look-up.ts'

export interface Subject extends Layers {
  readonly layer_bytes: LayerBytes
  readonly data_provenance: JsonObject
  /** Null: none was given. */
  readonly authority: LandingAuthority | null
}

export interface Examined {
  readonly conformance: LandingConformance
  /** Why checks failed; empty: none did. */
  readonly reasons: readonly string[]
  readonly not_checked: readonly string[]
}

/** The same for a certificate and for whoever only asks. */
export async function examine(
  kernel: Kernel,
  tenant_id: string,
  subject: Subject,
): Promise<Examined> {
  const { layer_bytes, data_provenance, authority } = subject
  const artifact = await lookUpArtifact(kernel, tenant_id, subject)
  const corpus = await lookUpCorpus(kernel, tenant_id, data_provenance)
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
