// Plain reads: corpora, how many there are, and what landing certificates take of one.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Corpus, provenance as contract } from '@custos/contract'
import { partsOf } from '@custos/proof'
import type { Call, Handler } from '../../platform/call.ts'
import { pageOf } from '../../platform/page.ts'
import { Refusal } from '../../platform/refusal.ts'
import { countByStatus, findRecord, listRecords, type OpenRecord } from '../records/index.ts'
import { documentOf, showCorpus, showListed } from './show-corpus.ts'

type Op<K extends keyof typeof contract> = (typeof contract)[K]

const KIND = 'corpus'
/** Opened at a time, and where the last ones were large: each may hold the loop for a moment. */
const AT_ONCE = 4
const AT_ONCE_LARGE = 1
const PAGE = 50

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
  const page = pageOf(query, PAGE)
  const corpora = new Map<string, Corpus>()
  let [offset, atOnce] = [page.offset, AT_ONCE_LARGE]
  // One that is sealed meanwhile moves the others: nothing stands in a page twice.
  while (corpora.size < page.limit) {
    const limit = Math.min(atOnce, page.limit - corpora.size)
    const listed = await listSome(call, { limit, offset })
    for (const corpus of listed) corpora.set(corpus.corpus_id, corpus)
    if (listed.length < limit) break
    offset += limit
    atOnce = listed.some(({ document }) => document === null) ? AT_ONCE_LARGE : AT_ONCE
    await nextTurn()
  }
  return page.envelope('corpora', [...corpora.values()])
}

async function listSome(
  { kernel, tenant_id }: Pick<Call, 'kernel' | 'tenant_id'>,
  at: { limit: number; offset: number },
): Promise<Corpus[]> {
  const records = await listRecords(kernel, tenant_id, { kind: KIND, page: pageOf(at, PAGE) })
  return records.map((record) => showListed(record, tenant_id))
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
