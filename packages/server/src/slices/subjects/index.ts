// Requests of data subjects: reads, extensions, handlers, the job, and labels that are kept.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import type { Manifest, StreamReply, subjects } from '@custos/contract'
import { type JsonObject, manifestBytes, verifyManifest } from '@custos/proof'
import { fromHex } from '../../platform/bytes.ts'
import { formatTime } from '../../platform/clock.ts'
import {
  type Call,
  fileReply,
  type Handler,
  type HandlersOf,
  streamed,
} from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import type { SealedText, TextSource } from '../../platform/kernel/text-source.ts'
import { pageOf } from '../../platform/page.ts'
import { findCertificates, parseCertificate, showCertificate } from '../erasure/index.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { printPdf } from '../jobs/index.ts'
import { meter } from '../tenants/index.ts'
import { access } from './access.ts'
import { extendedDue } from './due-date.ts'
import { erase } from './erase.ts'
import { SUBJECT_ERASE, subjectEraser } from './erase-job.ts'
import { openPayload, openReason, sealReason } from './sealed-request.ts'
import { showRequest } from './show.ts'
import {
  findManifest,
  findRequest,
  listDecisionLabels,
  listItems,
  listRecordsAfter,
  listRequests,
  listStoreIds,
  type RequestFilter,
  type RequestRow,
  updateOpenRequest,
} from './subjects.sql.ts'

type ReadCall = Pick<Call, 'kernel' | 'tenant_id' | 'principal' | 'read'>

const PAGE_DEFAULT = 50
const ITEMS_AT_ONCE = 100

/** A key limited to stores sees only requests it made itself. */
const ownRequestsOnly = ({ principal }: ReadCall): { made_by?: string } =>
  principal.allowed_stores.length === 0 ? {} : { made_by: principal.key_id }

async function findVisible(call: ReadCall, request_id: string): Promise<RequestRow | undefined> {
  const row = await call.read((db) => findRequest(db, fromHex(request_id)))
  const { made_by } = ownRequestsOnly(call)
  return made_by === undefined || row?.made_by === made_by ? row : undefined
}

const list: Handler<typeof subjects.list> = async (call, { query }) => {
  const page = pageOf(query, PAGE_DEFAULT, call.operation.id)
  const at_us = call.kernel.clock.now()
  const { kind, status, overdue } = query
  const filter: RequestFilter = {
    ...ownRequestsOnly(call),
    ...(kind === undefined ? {} : { kind }),
    ...(status === undefined ? {} : { status }),
    ...(overdue === undefined ? {} : { overdue: { is: overdue, at_us } }),
  }
  const rows = await call.read((db) => listRequests(db, filter, page))
  const last = rows.at(-1)
  return page.envelope(
    'requests',
    rows.map((row) => showRequest(call.tenant_id, row, at_us)),
    last ? { at: last.seq, id: '' } : null,
  )
}

const get: Handler<typeof subjects.get> = async (call, { params }) => {
  const { kernel, tenant_id } = call
  const { request_id } = params
  const row = await findVisible(call, request_id)
  if (!row) return call.refuse('subject_request_not_found')
  const { secret_no, sealed, sealed_reason } = row
  const payload = await openPayload(kernel, tenant_id, { request_id, secret_no, sealed })
  const reason = { request_id, secret_no, sealed: sealed_reason }
  return {
    ...showRequest(tenant_id, row, kernel.clock.now()),
    find: payload?.find ?? null,
    extension_reason: await openReason(kernel, tenant_id, reason),
  }
}

const manifest: Handler<typeof subjects.manifest> = async (call, { params, query }) => {
  const { request_id } = params
  const row = await findVisible(call, request_id)
  if (!row) return call.refuse('subject_request_not_found')
  const found = await call.read((db) => findManifest(db, row.request_id))
  const text = found?.manifest
  if (typeof text !== 'string') return call.refuse('wrong_state', explainNoManifest(row))
  const reply = await readManifest(call, text)
  if (query.format === 'bundle') return bundleOf(call, request_id, text)
  if (query.format !== 'pdf') return reply
  // Loaded on first use.
  const { manifestDocument } = await import('@custos/report-files')
  const file = await printPdf(call, manifestDocument(reply, hash('sha256', manifestBytes(reply))))
  const filename = `erasure_manifest_${request_id}.pdf`
  return fileReply({ file, type: 'application/pdf', filename })
}

/** Throws if the manifest does not verify: `closeRequest` stores only verified manifests. */
async function readManifest({ kernel }: ReadCall, text: string): Promise<Manifest> {
  const stored: Manifest = JSON.parse(text)
  const verdict = await verifyManifest(stored, kernel.keyring.publishedKeys())
  assert(verdict.valid, `a stored manifest does not verify: ${verdict.reason}`)
  return stored
}

const explainNoManifest = ({ kind }: RequestRow): string =>
  kind === 'erase'
    ? 'the erasure is not done: its manifest is signed at the end'
    : 'nothing was erased: it was a request for access'

const bundleOf = (call: ReadCall, request_id: string, text: string): StreamReply =>
  streamed({
    filename: `erasure_manifest_${request_id}.ndjson`,
    stream: bundleLines(call, request_id, text),
  })

async function* bundleLines(
  call: ReadCall,
  request_id: string,
  text: string,
): AsyncGenerator<string> {
  yield `${text}\n`
  const keys = call.kernel.keyring.publishedKeys()
  for (let after = ''; ; ) {
    const at = after
    const { items, records } = await call.read(async (db) => {
      const items = await listItems(db, fromHex(request_id), { after: at, limit: ITEMS_AT_ONCE })
      const ids = items.flatMap(({ certificate_id }) => certificate_id ?? [])
      const rows = ids.length === 0 ? [] : await findCertificates(db, ids)
      return { items, records: new Map(rows.map((row) => [row.certificate_id, row.record])) }
    })
    for (const { certificate_id } of items) {
      const record = records.get(certificate_id ?? '')
      if (record === undefined) continue
      yield `${JSON.stringify(await showCertificate(parseCertificate(record), keys))}\n`
    }
    const last = items.at(-1)
    if (!last || items.length < ITEMS_AT_ONCE) return
    after = last.item
  }
}

const extend: Handler<typeof subjects.extend> = async (call, { params, body }) => {
  const { kernel, tenant_id } = call
  const { request_id } = params
  const seen = await findVisible(call, request_id)
  if (!seen) return call.refuse('subject_request_not_found')
  const { secret_no } = seen
  const sealed = { request_id, secret_no, reason: body.reason }
  const sealed_reason = await sealReason(kernel, tenant_id, sealed)
  return call.transact(async (tx) => {
    const row = await findRequest(tx, fromHex(request_id))
    const fault = row && findExtensionFault(row, tx.now())
    if (!row || fault || !sealed_reason) return call.refuse('wrong_state', fault ?? REQUEST_DONE)
    meter(tx, call.operation.id)
    const due_us = extendedDue(row.received_us, row.due_us)
    const change = { due_us, extended_us: tx.now(), sealed_reason }
    await updateOpenRequest(tx, row.request_id, change)
    await appendCrumb(tx, {
      event_type: 'subject.extended',
      subject: request_id,
      payload: {
        due_at: formatTime(due_us),
        previous_due_at: formatTime(row.due_us),
        extended_by: call.principal.key_id,
      },
    })
    return showRequest(tenant_id, { ...row, ...change }, tx.now())
  })
}

const REQUEST_DONE = 'the request is done'

/** Why the request may not be extended, or null if it may. */
function findExtensionFault(
  { completed_us, extended_us, due_us }: RequestRow,
  now_us: number,
): string | null {
  if (completed_us !== null) return REQUEST_DONE
  if (extended_us !== null) return 'the request has been extended once already'
  return due_us <= now_us ? 'the request was due before it was extended' : null
}

export const subjectsHandlers = {
  erase,
  access,
  list,
  get,
  extend,
  manifest,
} satisfies HandlersOf<typeof subjects>

/** Call this before the worker starts, as it resumes erasures that the last stop interrupted. */
export function registerSubjectJobs(kernel: Kernel): void {
  kernel.jobs.register(SUBJECT_ERASE, subjectEraser(kernel))
}

const BATCH = 500

/** Yields each label once, however many records have it. */
async function* listLabels(kernel: Kernel, tenant_id: string): AsyncGenerator<JsonObject[]> {
  const seen = new Set<string>()
  const unseen = (labels: readonly JsonObject[]): JsonObject[] =>
    labels.filter((label) => {
      const text = JSON.stringify(label)
      return !seen.has(text) && seen.add(text)
    })
  const stores = await kernel.db.read(tenant_id, listStoreIds)
  const decided = await kernel.db.sums(tenant_id, listDecisionLabels)
  yield unseen(stores.map((store_id) => ({ store_id })))
  yield unseen(decided.flatMap(({ store_id, model_id }) => [{ store_id }, { model_id }]))
  for (let after = ''; ; ) {
    const last = after
    const rows = await kernel.db.read(tenant_id, (db) => listRecordsAfter(db, last, BATCH))
    const certified = rows.flatMap(({ record }): JsonObject[] => {
      const { store_id, legal_basis, requested_by } = parseCertificate(record)
      // The label of a removed store remains in its certificates.
      return [{ legal_basis, requested_by }, ...(store_id === null ? [] : [{ store_id }])]
    })
    yield unseen(certified)
    after = rows.at(-1)?.certificate_id ?? ''
    if (rows.length < BATCH) return
  }
}

async function* scan(kernel: Kernel, tenant_id: string): AsyncGenerator<readonly SealedText[]> {
  const keys = await kernel.keyring.tenant(tenant_id)
  for await (const labels of listLabels(kernel, tenant_id))
    yield labels.map((content) => ({
      // A manifest names the label by this id and must not contain it.
      id: keys.label(`kept_label\n${JSON.stringify(content)}`).slice(0, ID_CHARS),
      store_id: typeof content['store_id'] === 'string' ? content['store_id'] : null,
      created_us: null,
      held: true,
      secret_no: null,
      content,
    }))
}

const ID_CHARS = 32

export const keptLabelSource: TextSource = {
  kind: 'label',
  scan,
  async find(kernel, tenant_id, id) {
    for await (const labels of scan(kernel, tenant_id)) {
      const found = labels.find((label) => label.id === id)
      if (found) return found
    }
    return null
  },
  // Kept labels are held, so a redaction stops before it reaches these functions.
  prepare: async () => [Buffer.alloc(0)],
  apply: async () => false,
}
