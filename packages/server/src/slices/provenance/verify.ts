// GET /v1/provenance/corpora/{corpus_id}/verify: by the rules that an offline verifier uses.

import type { provenance as contract } from '@custos/contract'
import { corpusRulesWith, derivation, partsOf, verifyRegistryRecord } from '@custos/proof'
import type { Handler } from '../../platform/call.ts'
import { sha256 } from '../gcrumbs/index.ts'
import { runInSteps } from './corpus-registry.ts'
import { loadCorpus } from './reads.ts'
import { documentOf } from './show-corpus.ts'

export const verify: Handler<typeof contract.verify> = async (call, { params }) => {
  const document = documentOf(await loadCorpus(call, params.corpus_id))
  // Ten thousand sources are hashed in turns, the rest is short.
  const derived = await runInSteps(derivation(partsOf(document), sha256))
  const rules = corpusRulesWith(() => derived)
  const keys = call.kernel.keyring.publishedKeys()
  const { valid, checks, not_checked, reason } = await verifyRegistryRecord(rules, document, keys)
  return {
    passed: valid,
    checks: Object.fromEntries(checks.map(({ name, ok }) => [name, ok])),
    reason: reason ?? null,
    merkle_root: String(document['merkle_root']),
    corpus_hash: String(document['corpus_hash']),
    not_checked: [...not_checked],
  }
}
