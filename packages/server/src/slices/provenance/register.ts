// POST /v1/provenance/corpora: cleared, proposed, sealed.

import type { provenance as contract } from '@custos/contract'
import { clearanceReasons, corpusRequest } from '@custos/proof'
import type { Handler } from '../../platform/call.ts'
import { proposeRecord } from '../records/index.ts'
import { corpusRegistry, deriveInSteps, rejected } from './corpus-registry.ts'
import { normalizeCorpus } from './normal-corpus.ts'
import { showCorpus } from './show-corpus.ts'

export const register: Handler<typeof contract.register> = async (call, { body }) => {
  const corpus = normalizeCorpus(body)
  const reasons = clearanceReasons(corpus.sources, corpus.attestations)
  if (reasons.length > 0) throw rejected(reasons)

  const derived = await deriveInSteps(corpus)
  const registry = corpusRegistry(corpus, derived)
  const { record } = await proposeRecord(call, registry, corpusRequest(corpus, derived))
  return showCorpus(record, call.tenant_id)
}
