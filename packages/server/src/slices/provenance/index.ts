// The registry of training corpora: its operations and their handlers.

import type { provenance as contract, provenance } from '@custos/contract'
import {
  clearanceReasons,
  corpusPartsOf,
  corpusPath,
  corpusRequest,
  corpusRulesWith,
  corpusTree,
  derivation,
  toHex,
  verifyRegistryRecord,
} from '@custos/proof'
import type { Handler, HandlersOf } from '../../platform/kernel/call.ts'
import { sha256 } from '../gcrumbs/index.ts'
import {
  countByStatus,
  loadRecord,
  proposeRecord,
  registryReads,
  rejection,
} from '../records/index.ts'
import {
  corpusIdentity,
  corpusRegistry,
  corpusView,
  deriveInSteps,
  documentOf,
  runInSteps,
} from './corpus-registry.ts'
import { normalizeCorpus } from './normal-corpus.ts'

/** POST /v1/provenance/corpora: a corpus, cleared and sealed. */
const register: Handler<typeof contract.register> = async (call, { body }) => {
  const corpus = normalizeCorpus(body)
  const reasons = clearanceReasons(corpus.sources, corpus.attestations)
  if (reasons.length > 0) throw rejection(reasons)

  const derived = await deriveInSteps(corpus)
  const registry = corpusRegistry(corpus, derived)
  const record = await proposeRecord(call, registry, corpusRequest(corpus, derived))
  return corpusView.show(record, call.tenant_id)
}

/** GET /v1/provenance/stats; only cleared corpora are sealed, and clients read `cleared`. */
const stats: Handler<typeof contract.stats> = async (call) => {
  const { sealed = 0 } = await call.read((db) => countByStatus(db, corpusIdentity.kind))
  return { sealed, cleared: sealed }
}

/** GET /v1/provenance/corpora/{corpus_id}/verify: by the rules that an offline verifier uses. */
const verify: Handler<typeof contract.verify> = async (call, { params }) => {
  const document = documentOf(await loadRecord(call, corpusIdentity, params.corpus_id))
  // Up to ten thousand sources are hashed in steps; the rest is short.
  const derived = await runInSteps(derivation(corpusPartsOf(document), sha256))
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

/** GET /v1/provenance/corpora/{corpus_id}/proof: a source and its path to the root. */
const proof: Handler<typeof contract.proof> = async (call, { params, query }) => {
  const { corpus_id } = params
  const { source_id } = query
  const { sources } = corpusPartsOf(documentOf(await loadRecord(call, corpusIdentity, corpus_id)))
  const leaf_index = sources.findIndex(({ id }) => id === source_id)
  const source = sources[leaf_index]
  if (!source) return { included: false, corpus_id, source_id, reason: 'source_not_in_corpus' }

  const tree = await runInSteps(corpusTree(sources, sha256))
  const { leaf, audit_path, proof: steps } = await corpusPath(tree, leaf_index, sha256)
  return {
    included: true,
    corpus_id,
    source_id,
    leaf,
    leaf_index,
    tree_size: tree.size,
    audit_path: [...audit_path],
    proof: steps.map((step) => [...step]),
    merkle_root: toHex(tree.root),
    source,
  }
}

/** The members of a corpus that landing certificates repeat. */
const block: Handler<typeof contract.block> = async (call, { params }) => {
  const record = await loadRecord(call, corpusIdentity, params.corpus_id)
  const document = documentOf(record)
  return {
    corpus_id: record.row.record_id,
    merkle_root: String(document['merkle_root']),
    corpus_hash: String(document['corpus_hash']),
    sources: corpusPartsOf(document).sources.map(({ id }) => String(id)),
  }
}

export const provenanceHandlers = {
  ...registryReads(corpusIdentity, corpusView),
  register,
  stats,
  verify,
  proof,
  block,
} satisfies HandlersOf<typeof provenance>
