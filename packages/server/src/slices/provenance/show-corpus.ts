// A corpus as it is shown: its row, and what its document says first.

import { type Corpus, LISTED_DOCUMENT_BYTES_MAX } from '@custos/contract'
import { type JsonObject, partsOf } from '@custos/proof'
import { Refusal } from '../../platform/refusal.ts'
import { type OpenRecord, showRow } from '../records/index.ts'

/** The document of a sealed corpus. Refuses where it can no longer be opened. */
export function documentOf({ document }: OpenRecord): JsonObject {
  if (document === null) throw new Refusal('corpus_not_found')
  return document
}

export function showCorpus(record: OpenRecord, tenant_id: string): Corpus {
  const document = documentOf(record)
  const text = (member: string): string => String(document[member])
  return {
    ...showRow(record, tenant_id),
    corpus_id: record.row.record_id,
    name: text('name'),
    merkle_root: text('merkle_root'),
    corpus_hash: text('corpus_hash'),
    sources_digest: text('sources_digest'),
    source_count: partsOf(document).sources.length,
    clearance: 'cleared',
  }
}

const BYTES_PER_BASE64_CHAR = 3 / 4

/** In a list: two hundred documents of ten thousand sources are no page. */
export function showListed(record: OpenRecord, tenant_id: string): Corpus {
  const shown = showCorpus(record, tenant_id)
  const signed = String(record.document?.['signed_bytes'] ?? '')
  const large = signed.length * BYTES_PER_BASE64_CHAR > LISTED_DOCUMENT_BYTES_MAX
  return large ? { ...shown, document: null } : shown
}
