// The registry of corpora: what of one is proposed, evaluated, signed.

import { setImmediate } from 'node:timers/promises'
import {
  type Corpus,
  type CorpusDerived,
  type CorpusRequest,
  canonicalize,
  corpusRequest,
  corpusRules,
  derivation,
} from '@custos/proof'
import { Refusal } from '../../platform/refusal.ts'
import { sha256 } from '../gcrumbs/index.ts'
import type { Registry } from '../records/index.ts'

export const rejected = (reasons: readonly string[]): Refusal =>
  new Refusal('rejected', undefined, { detail: { status: 'rejected', reasons } })

/** Hashes in turns of the event loop. */
export const deriveInSteps = (corpus: Corpus): Promise<CorpusDerived> =>
  runInSteps(derivation(corpus, sha256))

/** Of one corpus: its sources are too many to stand in the proposal. */
export function corpusRegistry(corpus: Corpus, derived: CorpusDerived): Registry<CorpusRequest> {
  const content = canonicalize(corpusRequest(corpus, derived))
  return {
    kind: 'corpus',
    id_field: corpusRules.id_field,
    schema_version: corpusRules.schema_version,
    standing: 'sealed',
    waits: false,
    not_found: 'corpus_not_found',
    operation: () => 'provenance.seal',
    context: ({ name, source_count }) => ({ name, sources: source_count }),
    // As it was asked for: what a policy has redacted is asked for again as it was.
    content: () => content,
    // What a landing certificate looks it up by.
    name: ({ merkle_root }) => merkle_root,
    async fields({ request }) {
      // A policy may have redacted the name.
      const proposed = { ...corpus, name: request.name }
      const same = proposed.name === corpus.name
      const digests = same ? derived : await deriveInSteps(proposed)
      return { ...proposed, ...digests, clearance: 'cleared' }
    },
    denial: ({ name, reason }) => rejected([`sealing was denied by the policy ${name}: ${reason}`]),
  }
}

/** What the steps return; between two of them everything else has its turn. */
export async function runInSteps<T>(steps: Generator<void, T>): Promise<T> {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    await setImmediate()
  }
}
