// Plain reads: corpora, how many there are, and what landing certificates take of one.

import { type provenance as contract, limits } from '@custos/contract'
import { partsOf } from '@custos/proof'
import type { Call, Handler } from '../../platform/call.ts'
import { pageOf } from '../../platform/page.ts'
import { Refusal } from '../../platform/refusal.ts'
import { countByStatus, findRecord, listRecords, type OpenRecord } from '../records/index.ts'
import { documentOf, showCorpus, showListed } from './show-corpus.ts'

type Op<K extends keyof typeof contract> = (typeof contract)[K]

const KIND = 'corpus'

/** Refuses where there is none. */
export async function loadCorpus(
  { kernel, tenant_id }: Pick<Call, 'kernel' | 'tenant_id'>,
  corpus_id: string,
): Promise<OpenRecord> {
  const record = await findRecord(kernel, tenant_id, { kind: KIND, record_id: corpus_id })
  if (record === null) throw new Refusal('corpus_not_found')
  return record
}

export const list: Handler<Op<'list'>> = async (call, { query }) => {
  const { kernel, tenant_id } = call
  const page = pageOf(query, limits.records_page.default)
  const show = (record: OpenRecord) => showListed(record, tenant_id)
  const corpora = await listRecords(kernel, tenant_id, { kind: KIND, page }, show)
  return page.envelope('corpora', corpora)
}

/** `cleared` is what existing clients read: nothing is sealed that is not cleared. */
export const stats: Handler<Op<'stats'>> = async (call) => {
  const { sealed = 0 } = await call.read((db) => countByStatus(db, KIND))
  return { sealed, cleared: sealed }
}

export const get: Handler<Op<'get'>> = async (call, { params }) =>
  showCorpus(await loadCorpus(call, params.corpus_id), call.tenant_id)

export const block: Handler<Op<'block'>> = async (call, { params }) => {
  const record = await loadCorpus(call, params.corpus_id)
  const document = documentOf(record)
  return {
    corpus_id: record.row.record_id,
    merkle_root: String(document['merkle_root']),
    corpus_hash: String(document['corpus_hash']),
    sources: partsOf(document).sources.map(({ id }) => String(id)),
  }
}
