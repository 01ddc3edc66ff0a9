// The registry of training corpora: its operations and their handlers.

import { setImmediate as yieldToRequests } from 'node:timers/promises'
import {
  type Corpus,
  type provenance as contract,
  LISTED_DOCUMENT_BYTES_MAX,
  type provenance,
} from '@custos/contract'
import {
  type CorpusContent,
  type CorpusDerived,
  type CorpusRequest,
  canonicalize,
  clearanceReasons,
  corpusPartsOf,
  corpusPath,
  corpusRequest,
  corpusRules,
  corpusRulesWith,
  corpusTree,
  derivation,
  type JsonObject,
  toHex,
  verifyRegistryRecord,
} from '@custos/proof'
import { sha256 } from '../../platform/bytes.ts'
import type { Handler, HandlersOf } from '../../platform/kernel/call.ts'
import { Refusal } from '../../platform/refusal.ts'
import {
  countByStatus,
  isDocumentLarger,
  loadRecord,
  type OpenRecord,
  proposeRecord,
  type Registry,
  type RegistryIdentity,
  registryReads,
  rejection,
  showRow,
} from '../records/index.ts'
import { normalizeCorpus } from './normal-corpus.ts'

const corpusIdentity: RegistryIdentity = {
  kind: 'corpus',
  id_field: corpusRules.id_field,
  issued_status: 'sealed',
  not_found: 'corpus_not_found',
  denial: ({ name, reason }) => rejection([`sealing was denied by the policy ${name}: ${reason}`]),
}

/** Derives the digests in steps, so that other requests run in between. */
const deriveInSteps = (corpus: CorpusContent): Promise<CorpusDerived> =>
  runInSteps(derivation(corpus, sha256))

/** The registry for one corpus, whose sources are too large to be part of the proposal. */
function corpusRegistry(corpus: CorpusContent, derived: CorpusDerived): Registry<CorpusRequest> {
  const content = canonicalize(corpusRequest(corpus, derived))
  return {
    ...corpusIdentity,
    schema_version: corpusRules.schema_version,
    approvable: false,
    operation: () => 'provenance.register',
    context: ({ name, source_count }) => ({ name, sources: source_count }),
    // Computed before any redaction, because a repeated request arrives unredacted.
    content: () => content,
    // Landing certificates find the corpus by its root.
    name: ({ merkle_root }) => merkle_root,
    async fields({ request }) {
      // A policy may have redacted the name.
      const proposed = { ...corpus, name: request.name }
      const same = proposed.name === corpus.name
      const digests = same ? derived : await deriveInSteps(proposed)
      return { document: { ...proposed, ...digests, clearance: 'cleared' } }
    },
  }
}

/** Runs a generator to its end and returns its result. Other requests run between two steps. */
async function runInSteps<T>(steps: Generator<void, T>): Promise<T> {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    await yieldToRequests()
  }
}

/** The signed document. Refuses `corpus_not_found` if there is none. */
function documentOf({ document }: OpenRecord): JsonObject {
  if (document === null) throw new Refusal('corpus_not_found')
  return document
}

function showCorpus(record: OpenRecord, tenant_id: string): Corpus {
  const { redacted, request } = record
  // The request of a redacted corpus keeps the digests.
  const document = redacted ? request : documentOf(record)
  const text = (member: string): string => String(document[member])
  return {
    ...showRow(record, tenant_id),
    corpus_id: record.row.record_id,
    name: text('name'),
    merkle_root: text('merkle_root'),
    corpus_hash: text('corpus_hash'),
    sources_digest: text('sources_digest'),
    source_count: redacted
      ? Number(request['source_count'])
      : corpusPartsOf(document).sources.length,
    clearance: 'cleared',
  }
}

/** Omits large documents: a page of two hundred with 10,000 sources each would be too large. */
function showListed(record: OpenRecord, tenant_id: string): Corpus {
  const shown = showCorpus(record, tenant_id)
  return isDocumentLarger(record, LISTED_DOCUMENT_BYTES_MAX) ? { ...shown, document: null } : shown
}

const corpusView = {
  id: 'corpus_id',
  listKey: 'corpora',
  show: showCorpus,
  showListed,
} as const

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

/** GET /v1/provenance/stats. Only cleared corpora are sealed, and clients read `cleared`. */
const stats: Handler<typeof contract.stats> = async (call) => {
  const { sealed = 0 } = await call.read((db) => countByStatus(db, corpusIdentity.kind))
  return { sealed, cleared: sealed }
}

/** GET /v1/provenance/corpora/{corpus_id}/verify: by the rules that an offline verifier uses. */
const verify: Handler<typeof contract.verify> = async (call, { params }) => {
  const document = documentOf(await loadRecord(call, corpusIdentity, params.corpus_id))
  // Hashes up to ten thousand sources in steps; the rest is quick.
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

/** The members of a corpus in the form that landing certificates repeat. */
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
