// POST /v1/provenance/corpora: cleared, proposed, sealed.

import type { provenance as contract } from '@custos/contract'
import { clearanceReasons, corpusRequest } from '@custos/proof'
import type { Handler } from '../../platform/call.ts'
import { propose } from '../records/index.ts'
import { corpusRegistry, deriveInTurns, rejected } from './corpus-registry.ts'
import { normalCorpus } from './normal-corpus.ts'
import { showCorpus } from './show-corpus.ts'

export const register: Handler<typeof contract.register> = async (call, { body }) => {
  const corpus = normalCorpus(body)
  const reasons = clearanceReasons(corpus.sources, corpus.attestations)
  if (reasons.length > 0) throw rejected(reasons)

  const derived = await deriveInTurns(corpus)
  const registry = corpusRegistry(corpus, derived)
  const { record } = await propose(call, registry, corpusRequest(corpus, derived))
  return showCorpus(record, call.tenant_id)
}
