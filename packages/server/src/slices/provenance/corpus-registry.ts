// The registry of corpora: what is proposed, what is signed, and how it is shown.

import { setImmediate as yieldToRequests } from 'node:timers/promises'
import { type Corpus, LISTED_DOCUMENT_BYTES_MAX } from '@custos/contract'
import {
  type CorpusContent,
  type CorpusDerived,
  type CorpusRequest,
  canonicalize,
  corpusPartsOf,
  corpusRequest,
  corpusRules,
  derivation,
  type JsonObject,
} from '@custos/proof'
import { Refusal } from '../../platform/refusal.ts'
import { sha256 } from '../gcrumbs/index.ts'
import {
  isDocumentLarger,
  type OpenRecord,
  type Registry,
  type RegistryIdentity,
  rejection,
  showRow,
} from '../records/index.ts'

export const corpusIdentity: RegistryIdentity = {
  kind: 'corpus',
  id_field: corpusRules.id_field,
  standing: 'sealed',
  not_found: 'corpus_not_found',
  denial: ({ name, reason }) => rejection([`sealing was denied by the policy ${name}: ${reason}`]),
}

/** Other requests run between its steps. */
export const deriveInSteps = (corpus: CorpusContent): Promise<CorpusDerived> =>
  runInSteps(derivation(corpus, sha256))

/** The registry for one corpus: its sources are too many to be part of the proposal. */
export function corpusRegistry(
  corpus: CorpusContent,
  derived: CorpusDerived,
): Registry<CorpusRequest> {
  const content = canonicalize(corpusRequest(corpus, derived))
  return {
    ...corpusIdentity,
    schema_version: corpusRules.schema_version,
    waits: false,
    operation: () => 'provenance.register',
    context: ({ name, source_count }) => ({ name, sources: source_count }),
    // Before any redaction: the next request comes without it again.
    content: () => content,
    // Landing certificates find it by its root.
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

/** Returns what the steps return; other requests run between two of them. */
export async function runInSteps<T>(steps: Generator<void, T>): Promise<T> {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    await yieldToRequests()
  }
}

/** The document of a sealed corpus. */
export function documentOf({ document }: OpenRecord): JsonObject {
  if (document === null) throw new Refusal('corpus_not_found')
  return document
}

function showCorpus(record: OpenRecord, tenant_id: string): Corpus {
  const { redacted, request } = record
  // Of a redacted corpus the request keeps the digests.
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

/** Two hundred documents of ten thousand sources do not fit on a page. */
function showListed(record: OpenRecord, tenant_id: string): Corpus {
  const shown = showCorpus(record, tenant_id)
  return isDocumentLarger(record, LISTED_DOCUMENT_BYTES_MAX) ? { ...shown, document: null } : shown
}

export const corpusView = {
  id: 'corpus_id',
  listKey: 'corpora',
  show: showCorpus,
  showListed,
} as const
