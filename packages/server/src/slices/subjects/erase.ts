// POST /v1/erasure/subject: finds everything about a person, and previews it or erases it in a job.

import type { InputOf, SubjectPreview, SubjectRequest, subjects } from '@custos/contract'
import { fromHex } from '../../platform/bytes.ts'
import { formatTime } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import {
  type Call,
  type Handler,
  type IdempotentUnit,
  previewed,
} from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { validationDetail } from '../../platform/validation.ts'
import { showBySeqs } from '../decisions/index.ts'
import { erasureSigner, fillReasons } from '../erasure/index.ts'
import { appendCrumb, nextSeq } from '../gcrumbs/index.ts'
import { admitItems } from '../governance/index.ts'
import { meter } from '../tenants/index.ts'
import { SUBJECT_ERASE } from './erase-job.ts'
import { sealPayload } from './sealed-request.ts'
import { searchAll } from './search.ts'
import { refOf, showRequest } from './show.ts'
import { describeScope, parseSubjectQuery } from './subject-query.ts'
import { findRequest, insertItems, insertRequest, type RequestRow } from './subjects.sql.ts'
import { type SubjectFindings, summarizeSearch } from './summary.ts'

const SAMPLES = 20

export const erase: Handler<typeof subjects.erase> = async (call, { body }) => {
  const { kernel, tenant_id } = call
  if (!body.preview && body.expect_digest === undefined)
    throw validationDetail(
      ['body', 'expect_digest'],
      'Field required: digest of a preview',
      'missing',
    )
  // A retry gets the first request as answer, whichever stores and policies exist by now.
  const before = body.preview ? null : await findEarlierAnswer(call)
  if (before) return before
  const query = await parseSubjectQuery(call, body)
  if (body.preview) {
    const found = await searchAll(kernel, tenant_id, query.search)
    const summary = await summarizeSearch(kernel, tenant_id, found)
    const sessions = await listSessions(kernel, tenant_id, { found, summary })
    const digest = await previewDigest(kernel, tenant_id, { query, found, summary })
    return previewed({ ...previewOf(body, { query, found, summary }, sessions), digest })
  }
  erasureSigner(kernel)
  const found = await searchAll(kernel, tenant_id, query.search)
  const summary = await summarizeSearch(kernel, tenant_id, found)
  const contexts = summary.stores.map(({ store_id }) => ({ store_id }))
  if (contexts.length > 0) await admitItems(call, 'memory.delete', contexts)
  const request_id = kernel.ids.hex(16)
  const { store_ids, namespace, include_decisions, include_records } = query.search
  const payload = {
    ...(body.find === undefined ? {} : { find: body.find }),
    store_ids,
    ...(namespace === undefined ? {} : { namespace }),
    include_decisions,
    include_records,
    reasons: fillReasons(body),
  }
  const sealed = await sealPayload(kernel, tenant_id, { request_id, payload })
  const findings = { query, found, summary }
  const preview_digest = await previewDigest(kernel, tenant_id, findings)
  const request: NewRequest = { request_id, ...findings, sealed, preview_digest }
  return call.once(requestOnce(call, body, request))
}

function previewOf(
  body: InputOf<typeof subjects.erase>['body'],
  { query, found: result, summary }: SubjectFindings,
  session_ids: string[],
): Omit<SubjectPreview, 'digest'> {
  const { log_seq, scanned } = result
  const { found, stores, kinds, items } = summary
  return {
    preview: true,
    found: {
      ...found,
      stores: stores.map((store) => ({ ...store })),
      kinds: kinds.map((kind) => ({ ...kind })),
    },
    sample_refs: items.slice(0, Math.min(SAMPLES, found.facts)).map(refOf),
    session_ids,
    log_seq,
    scanned: { ...scanned },
    namespace: body.namespace ?? null,
    include_decisions: query.search.include_decisions,
    include_records: query.search.include_records,
    ...describeScope(query.search),
  }
}

/**
 * Hex HMAC, under the tenant's label salt, over the search and what it found. Only a preview of
 * this very search shows it, even if nothing was found.
 */
async function previewDigest(
  kernel: Kernel,
  tenant_id: string,
  { query: { search, find_label }, summary }: SubjectFindings,
): Promise<string> {
  const { namespace, include_decisions, include_records } = search
  const store_ids = search.store_ids?.toSorted() ?? null
  const namespaces = namespace === undefined ? [] : [namespace]
  const scope = [store_ids, namespaces, include_decisions, include_records]
  const text = JSON.stringify([find_label, ...scope, summary.digest])
  return (await kernel.keyring.tenant(tenant_id)).label(`subject-preview\n${text}`)
}

const SESSIONS_MAX = 200
const DECISIONS_AT_ONCE = 50

/** The first 200 sessions of decisions that name the person or used a memory about them. */
async function listSessions(
  kernel: Kernel,
  tenant_id: string,
  { found, summary }: Pick<SubjectFindings, 'found' | 'summary'>,
): Promise<string[]> {
  const sessions = new Set(found.naming.flatMap(({ session_id }) => session_id ?? []))
  const using = [...summary.using_seqs]
  for (let at = 0; at < using.length && sessions.size < SESSIONS_MAX; at += DECISIONS_AT_ONCE) {
    const seqs = using.slice(at, at + DECISIONS_AT_ONCE)
    for (const { session_id } of await showBySeqs(kernel, tenant_id, seqs))
      if (session_id !== null) sessions.add(session_id)
  }
  return [...sessions].sort().slice(0, SESSIONS_MAX)
}

interface NewRequest extends SubjectFindings {
  readonly request_id: string
  readonly sealed: Awaited<ReturnType<typeof sealPayload>>
  /** The `digest` that a preview would show. */
  readonly preview_digest: string
}

async function showQueued(tx: Tx, request_id: string): Promise<SubjectRequest> {
  const row = await findRequest(tx, fromHex(request_id))
  if (!row) throw new Error('a request is gone although requests are never removed')
  return showRequest(tx.tenant_id, asQueued(row), row.created_us)
}

const replay: IdempotentUnit<SubjectRequest>['replay'] = (tx, ids) =>
  showQueued(tx, String(ids['request_id']))

/** Thrown if no answer is stored under the idempotency key. */
class Unanswered extends Error {}

/** The answer given under the same Idempotency-Key, or null if there is none. */
async function findEarlierAnswer(
  call: Call<typeof subjects.erase>,
): Promise<SubjectRequest | null> {
  if (call.idempotency_key === null) return null
  try {
    return await call.once<SubjectRequest>({
      run: () => Promise.reject(new Unanswered()),
      replay,
    })
  } catch (error) {
    if (error instanceof Unanswered) return null
    throw error
  }
}

function requestOnce(
  call: Call<typeof subjects.erase>,
  body: InputOf<typeof subjects.erase>['body'],
  request: NewRequest,
): IdempotentUnit<SubjectRequest> {
  return {
    async run(tx) {
      meter(tx, call.operation.id)
      // The refusal does not name the new digest: only a preview shows it, with what it covers.
      if (body.expect_digest !== request.preview_digest)
        return call.refuse('subject_changed', 'request a new preview and review what it finds')
      await writeRequest(call, tx, request)
      const { request_id } = request
      return { reply: await showQueued(tx, request_id), ids: { request_id } }
    },
    replay,
  }
}

/** The request as the first answer showed it, so that a retry gets the same answer. */
const asQueued = (row: RequestRow): RequestRow => ({
  ...row,
  status: 'queued',
  items_done: 0,
  items: row.facts + row.decisions_naming + (row.texts ?? 0),
  extended_us: null,
  started_us: null,
  completed_us: null,
})

async function writeRequest(
  call: Call<typeof subjects.erase>,
  tx: Tx,
  request: NewRequest,
): Promise<void> {
  const { query, found, summary, sealed, request_id } = request
  const { received_us, due_us, find_label } = query
  const { job_id } = await call.kernel.jobs.enqueue(tx, SUBJECT_ERASE, { request_id })
  await insertRequest(tx, {
    seq: await nextSeq(tx),
    request_id: fromHex(request_id),
    kind: 'erase',
    status: 'queued',
    job_id,
    find_label: fromHex(find_label),
    found_digest: fromHex(summary.digest),
    ...summary.found,
    log_seq: found.log_seq,
    searched_seq: found.log_seq,
    rounds: 0,
    items_done: 0,
    items: summary.items.length,
    received_us,
    due_us,
    extended_us: null,
    created_us: tx.now(),
    started_us: null,
    completed_us: null,
    made_by: call.principal.key_id,
    ...sealed,
    sealed_reason: null,
    manifest: null,
  })
  await insertItems(tx, fromHex(request_id), summary.items)
  await appendCrumb(tx, {
    event_type: 'subject.requested',
    subject: request_id,
    payload: {
      facts: summary.found.facts,
      decisions: summary.found.decisions_naming,
      texts: summary.found.texts,
      held: summary.found.held,
      found_digest: summary.digest,
      find: find_label,
      received_at: formatTime(received_us),
      due_at: formatTime(due_us),
      requested_by: call.principal.key_id,
    },
  })
}
