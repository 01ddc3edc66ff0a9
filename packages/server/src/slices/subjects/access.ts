// POST /v1/erasure/subject/access: streams everything stored about a person, line by line.

import {
  type FileReply,
  type InputOf,
  type JsonObject,
  limits,
  type subjects,
} from '@custos/contract'
import { fromHex } from '../../platform/bytes.ts'
import { formatTime } from '../../platform/clock.ts'
import { type Call, fileReply, type Handler, streamed } from '../../platform/kernel/call.ts'
import { findTextSource } from '../../platform/kernel/text-source.ts'
import { Refusal } from '../../platform/refusal.ts'
import { showBySeqs } from '../decisions/index.ts'
import { findStandingCertificate, parseCertificate, showCertificate } from '../erasure/index.ts'
import { appendCrumb, nextSeq } from '../gcrumbs/index.ts'
import { printPdf } from '../jobs/index.ts'
import { loadLiveFacts, showMemory } from '../memory/index.ts'
import { meter } from '../tenants/index.ts'
import { requireItemLimit, searchAll } from './search.ts'
import type { TextItem } from './show.ts'
import { describeScope, parseSubjectQuery } from './subject-query.ts'
import { insertRequest, listVersions } from './subjects.sql.ts'
import { type SubjectFindings, summarizeSearch } from './summary.ts'

const FACTS_AT_ONCE = 100
const DECISIONS_AT_ONCE = 50
const NO_SECRET = 0

export const access: Handler<typeof subjects.access> = async (
  call,
  { body, query: { format = 'ndjson' } },
) => {
  const { kernel, tenant_id } = call
  const search = await parseSubjectQuery(call, body)
  const found = await searchAll(kernel, tenant_id, search.search)
  const summary = await summarizeSearch(kernel, tenant_id, found)
  const seqs = new Set(found.naming.map(({ seq }) => seq))
  if (body.include_decisions ?? true) for (const seq of summary.using_seqs) seqs.add(seq)
  requireItemLimit(kernel, seqs.size)
  const request_id = kernel.ids.hex(16)
  const finding = { query: search, found, summary }
  const content = {
    header: headerOf(call, body, { request_id, ...finding }),
    refs: found.facts.map(({ ref }) => ref),
    seqs: [...seqs].sort(ascending),
    texts: found.texts,
  }
  const lines = () => streamLines(call, content)
  const document =
    format === 'html' || format === 'pdf' ? await readDocument(lines(), format) : null
  await recordAccess(call, request_id, finding)
  const name = `subject_access_${request_id}`
  if (document) return documentReply(call, document, { format, name })
  if (format === 'json')
    return streamed({ filename: `${name}.json`, type: JSON_TYPE, stream: asList(lines()) })
  return streamed({ filename: `${name}.ndjson`, stream: lines() })
}

const HTML_TYPE = 'text/html; charset=utf-8'
const JSON_TYPE = 'application/json; charset=utf-8'

/** Refuses `rejected` if the records are too long for a document. */
async function readDocument(lines: AsyncIterable<string>, format: 'html' | 'pdf') {
  const max = format === 'html' ? limits.subject_html_chars : limits.subject_pdf_chars
  const records: JsonObject[] = []
  let chars = 0
  for await (const text of lines) {
    chars += text.length
    if (chars > max)
      throw new Refusal('rejected', `too long for ${format}: use ndjson or json, or name stores`)
    records.push(JSON.parse(text))
  }
  // Loaded on first use.
  const { accessLetter } = await import('@custos/report-files')
  return accessLetter(records)
}

async function documentReply(
  call: Call<typeof subjects.access>,
  document: Awaited<ReturnType<typeof readDocument>>,
  { format, name }: { readonly format: string; readonly name: string },
): Promise<FileReply> {
  if (format === 'pdf') {
    const file = await printPdf(call, document)
    return fileReply({ file, type: 'application/pdf', filename: `${name}.pdf` })
  }
  const { htmlDocument } = await import('@custos/report-files')
  return fileReply({ file: htmlDocument(document), type: HTML_TYPE, filename: `${name}.html` })
}

/** Yields the lines as a list in one JSON document. */
async function* asList(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let before = '{"records":[\n'
  for await (const text of lines) {
    yield before + text
    before = ','
  }
  yield ']}\n'
}

const ascending = (a: number, b: number): number => a - b

/** Records the request and the counts of its answer before anything is shown. */
function recordAccess(
  call: Call<typeof subjects.access>,
  request_id: string,
  finding: SubjectFindings,
): Promise<void> {
  const { query, found, summary } = finding
  const { received_us, due_us, find_label } = query
  const made_by = call.principal.key_id
  return call.transact(async (tx) => {
    meter(tx, call.operation.id)
    const now = tx.now()
    await insertRequest(tx, {
      seq: await nextSeq(tx),
      request_id: fromHex(request_id),
      kind: 'access',
      status: 'done',
      job_id: null,
      find_label: fromHex(find_label),
      found_digest: fromHex(summary.digest),
      ...summary.found,
      log_seq: found.log_seq,
      searched_seq: found.log_seq,
      rounds: 0,
      items_done: 0,
      items: 0,
      received_us,
      due_us,
      extended_us: null,
      created_us: now,
      started_us: now,
      completed_us: now,
      made_by,
      secret_no: NO_SECRET,
      sealed: null,
      sealed_reason: null,
      manifest: null,
    })
    await appendCrumb(tx, {
      event_type: 'subject.accessed',
      subject: request_id,
      payload: {
        facts: summary.found.facts,
        decisions: summary.found.decisions_naming,
        texts: summary.found.texts,
        found_digest: summary.digest,
        find: find_label,
        received_at: formatTime(received_us),
        due_at: formatTime(due_us),
        requested_by: made_by,
      },
    })
  })
}

function headerOf(
  { kernel, tenant_id }: Call<typeof subjects.access>,
  body: InputOf<typeof subjects.access>['body'],
  { request_id, query, found, summary }: SubjectFindings & { readonly request_id: string },
): JsonObject {
  const { search, received_us, due_us } = query
  return {
    custos_subject_access: 1,
    request_id,
    tenant_id,
    find: body.find ?? null,
    store_ids: search.store_ids,
    namespace: body.namespace ?? null,
    include_decisions: search.include_decisions,
    include_records: search.include_records,
    generated_at: formatTime(kernel.clock.now()),
    received_at: formatTime(received_us),
    due_at: formatTime(due_us),
    log_seq: found.log_seq,
    found: summary.found,
    stores: summary.stores.map(({ store_id, facts }) => ({ store_id, facts })),
    kinds: summary.kinds.map(({ kind, texts }) => ({ kind, texts })),
    scanned: found.scanned,
    ...describeScope(search),
  }
}

async function* streamLines(
  call: Call<typeof subjects.access>,
  content: {
    readonly header: JsonObject
    readonly refs: readonly number[]
    readonly seqs: readonly number[]
    readonly texts: readonly TextItem[]
  },
): AsyncGenerator<string> {
  const counts = { memories: 0, decisions: 0, texts: 0, certificates: 0 }
  yield line('header', content.header)
  for (let at = 0; at < content.refs.length; at += FACTS_AT_ONCE)
    for (const memory of await loadMemories(call, content.refs.slice(at, at + FACTS_AT_ONCE))) {
      counts.memories += 1
      yield line('memory', memory)
    }
  const redacted: string[] = []
  for (let at = 0; at < content.seqs.length; at += DECISIONS_AT_ONCE) {
    const some = content.seqs.slice(at, at + DECISIONS_AT_ONCE)
    for (const decision of await showBySeqs(call.kernel, call.tenant_id, some)) {
      // A decision of another store may have used a memory in reach; the key may not read the
      // decision.
      if (!isVisible(call, decision.store_id)) continue
      counts.decisions += 1
      if (decision.redacted) redacted.push(decision.decision_id)
      yield line('decision', decision)
    }
  }
  for (const item of content.texts) {
    const text = await loadText(call, item)
    if (!text) continue
    counts.texts += 1
    yield line(item.kind, text)
  }
  for (const decision_id of redacted) {
    const certificate = await loadCertificate(call, decision_id)
    if (!certificate) continue
    counts.certificates += 1
    yield line('certificate', certificate)
  }
  yield line('end', counts)
}

const line = (record: string, fields: object): string =>
  `${JSON.stringify({ record, ...fields })}\n`

const isVisible = ({ principal }: Call<typeof subjects.access>, store_id: string): boolean =>
  principal.allowed_stores.length === 0 || principal.allowed_stores.includes(store_id)

/** Loads the memories that still exist, with every version of their valid time. */
function loadMemories(call: Call<typeof subjects.access>, refs: readonly number[]) {
  const { kernel, tenant_id } = call
  return call.read(async (db) => {
    const facts = await loadLiveFacts(kernel, db, refs)
    const versions = Map.groupBy(await listVersions(db, refs), ({ ref }) => ref)
    return refs.flatMap((ref) => {
      const fact = facts.get(ref)
      if (!fact) return []
      return [
        {
          store_id: fact.store_id,
          ...showMemory(kernel, tenant_id, fact),
          versions: (versions.get(ref) ?? []).map((version) => ({
            on_record_from_seq: version.from_seq,
            on_record_until_seq: version.until_seq,
            valid_from: formatTime(version.valid_from_us),
            valid_until:
              version.valid_until_us === null ? null : formatTime(version.valid_until_us),
            predecessor: version.predecessor,
            superseded_by: version.superseded_by,
          })),
        },
      ]
    })
  })
}

/** Loads a record as it is stored; `null` if it no longer exists. */
async function loadText(
  { kernel, tenant_id }: Call<typeof subjects.access>,
  { kind, id }: TextItem,
) {
  const text = await findTextSource(kernel, kind)?.find(kernel, tenant_id, id)
  if (!text || text === 'redacted') return null
  const { store_id, created_us, content } = text
  const created_at = created_us === null ? null : formatTime(created_us)
  return { id, store_id, created_at, content }
}

async function loadCertificate(call: Call<typeof subjects.access>, decision_id: string) {
  const row = await call.read((db) => findStandingCertificate(db, 'decision', decision_id))
  return row && showCertificate(parseCertificate(row.record), call.kernel.keyring.publishedKeys())
}
