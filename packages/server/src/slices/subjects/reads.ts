// Reads of requests: one, the list, the manifest alone or with its certificates.

import assert from 'node:assert/strict'
import type { Manifest, StreamReply, subjects } from '@custos/contract'
import { verifyManifest } from '@custos/proof'
import type { Call, Handler } from '../../platform/call.ts'
import { pageOf } from '../../platform/page.ts'
import { findRecords, readRecord, showCertificate } from '../erasure/index.ts'
import { openReason, openWords } from './sealed-words.ts'
import { bytesOf, showRequest } from './show.ts'
import {
  findManifest,
  findRequest,
  listItems,
  listRequests,
  type RequestFilter,
  type RequestRow,
} from './subjects.sql.ts'

type Op<K extends keyof typeof subjects> = (typeof subjects)[K]
type Reading = Pick<Call, 'kernel' | 'tenant_id' | 'principal' | 'read'>

const PAGE_DEFAULT = 50
const ITEMS_AT_ONCE = 100

/** A key limited to stores sees what it has asked for itself. */
const ownOnly = ({ principal }: Reading): { made_by?: string } =>
  principal.allowed_stores.length === 0 ? {} : { made_by: principal.key_id }

export async function findVisible(
  call: Reading,
  request_id: string,
): Promise<RequestRow | undefined> {
  const row = await call.read((db) => findRequest(db, bytesOf(request_id)))
  const { made_by } = ownOnly(call)
  return made_by === undefined || row?.made_by === made_by ? row : undefined
}

export const list: Handler<Op<'list'>> = async (call, { query }) => {
  const page = pageOf(query, PAGE_DEFAULT)
  const at_us = call.kernel.clock.now()
  const { kind, status, overdue } = query
  const filter: RequestFilter = {
    ...ownOnly(call),
    ...(kind === undefined ? {} : { kind }),
    ...(status === undefined ? {} : { status }),
    ...(overdue === undefined ? {} : { overdue: { is: overdue, at_us } }),
  }
  const rows = await call.read((db) => listRequests(db, filter, page))
  return page.envelope(
    'requests',
    rows.map((row) => showRequest(call.tenant_id, row, at_us)),
  )
}

export const get: Handler<Op<'get'>> = async (call, { params }) => {
  const { kernel, tenant_id } = call
  const { request_id } = params
  const row = await findVisible(call, request_id)
  if (!row) return call.refuse('subject_request_not_found')
  const { secret_no, sealed, sealed_reason } = row
  const words = await openWords(kernel, tenant_id, { request_id, secret_no, sealed })
  const reason = { request_id, secret_no, sealed: sealed_reason }
  return {
    ...showRequest(tenant_id, row, kernel.clock.now()),
    find: words?.find ?? null,
    extension_reason: await openReason(kernel, tenant_id, reason),
  }
}

export const manifest: Handler<Op<'manifest'>> = async (call, { params, query }) => {
  const { request_id } = params
  const row = await findVisible(call, request_id)
  if (!row) return call.refuse('subject_request_not_found')
  const found = await call.read((db) => findManifest(db, row.request_id))
  const text = found?.manifest
  if (typeof text !== 'string') return call.refuse('wrong_state', whyNone(row))
  const reply = await readManifest(call, text)
  return query.format === 'bundle' ? bundleOf(call, request_id, text) : reply
}

/** Throws where it does not verify: closeRequest has written none that did not. */
async function readManifest({ kernel }: Reading, text: string): Promise<Manifest> {
  const stored: Manifest = JSON.parse(text)
  const verdict = await verifyManifest(stored, kernel.keyring.publishedKeys())
  assert(verdict.valid, `a stored manifest does not verify: ${verdict.reason}`)
  return stored
}

const whyNone = ({ kind }: RequestRow): string =>
  kind === 'erase'
    ? 'the erasure is not done: its manifest is made at its end'
    : 'nothing was erased: it was a request for access'

const bundleOf = (call: Reading, request_id: string, text: string): StreamReply => ({
  filename: `erasure_manifest_${request_id}.ndjson`,
  stream: bundleLines(call, request_id, text),
})

async function* bundleLines(
  call: Reading,
  request_id: string,
  text: string,
): AsyncGenerator<string> {
  yield `${text}\n`
  const keys = call.kernel.keyring.publishedKeys()
  for (let after = ''; ; ) {
    const at = after
    const { items, records } = await call.read(async (db) => {
      const items = await listItems(db, bytesOf(request_id), { after: at, limit: ITEMS_AT_ONCE })
      const ids = items.flatMap(({ certificate_id }) => certificate_id ?? [])
      const rows = ids.length === 0 ? [] : await findRecords(db, ids)
      return { items, records: new Map(rows.map((row) => [row.certificate_id, row.record])) }
    })
    for (const { certificate_id } of items) {
      const record = records.get(certificate_id ?? '')
      if (record === undefined) continue
      yield `${JSON.stringify(await showCertificate(readRecord(record), keys))}\n`
    }
    const last = items.at(-1)
    if (!last || items.length < ITEMS_AT_ONCE) return
    after = last.item
  }
}
