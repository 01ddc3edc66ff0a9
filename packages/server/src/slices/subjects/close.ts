// The end of an erasure: the manifest over its certificates, then one unit that closes the request.

import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  CertificatesRoot,
  certificateBytes,
  type ErasureManifest,
  type ManifestEntry,
  type ManifestOutcome,
  manifestBytes,
  type SignedManifest,
  verifyManifest,
} from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { makePacer } from '../../platform/pacer.ts'
import { erasureSigner, findRecords, readRecord } from '../erasure/index.ts'
import { appendCrumb, findHead, originOf, sha256 } from '../gcrumbs/index.ts'
import { notSearched } from './asked.ts'
import type { Work } from './erase-job.ts'
import { matcherOf } from './find.ts'
import { decisionOf, isFactItem, refOf } from './items.ts'
import { bytesOf, foundOf, hex } from './show.ts'
import {
  findRequest,
  type ItemRow,
  listItems,
  type RequestRow,
  updateOpen,
} from './subjects.sql.ts'

const ITEMS_AT_ONCE = 200
const WORDS_GONE =
  'what was written after the request: data from before its end were restored, and the words of ' +
  'the search are destroyed'

export async function closeRequest(work: Work): Promise<void> {
  const { kernel, tenant_id, request_id } = work
  const id = bytesOf(request_id)
  const row = await kernel.db.read(tenant_id, (db) => findRequest(db, id))
  if (!row || row.completed_us !== null) return
  const listed = await listEntries(kernel, tenant_id, id)
  const completed_us = kernel.clock.now()
  const statement = await statementOf(work, row, listed, completed_us)
  const { manifest, record_digest } = await signManifest(kernel, statement)
  const text = JSON.stringify(manifest)
  await kernel.step('subject:signed')
  const { status, certificates_root, found_later } = manifest
  await kernel.db.transact(tenant_id, async (tx) => {
    const closing = { status, completed_us, sealed: null, sealed_reason: null }
    // Another process may have closed it: its manifest stands.
    if ((await updateOpen(tx, id, { ...closing, manifest: text })) === 0) return
    const { erased, held, absent } = listed.outcomes
    await appendCrumb(tx, {
      event_type: 'subject.erased',
      subject: request_id,
      payload: { erased, held, absent, found_later, certificates_root, record_digest },
    })
  })
}

interface Listed {
  readonly entries: readonly ManifestEntry[]
  readonly root: CertificatesRoot
  readonly outcomes: Record<ManifestOutcome, number>
}

/** Every item with its outcome, and the root over the certificates in their order. */
async function listEntries(kernel: Kernel, tenant_id: string, id: Uint8Array): Promise<Listed> {
  const entries: ManifestEntry[] = []
  const root = new CertificatesRoot(sha256)
  const outcomes = { erased: 0, held: 0, absent: 0 }
  const pace = makePacer()
  for (let after = ''; ; ) {
    const at = after
    const { items, records } = await kernel.db.read(tenant_id, async (db) => {
      const items = await listItems(db, id, { after: at, limit: ITEMS_AT_ONCE })
      const ids = items.flatMap(({ certificate_id }) => certificate_id ?? [])
      const rows = ids.length === 0 ? [] : await findRecords(db, ids)
      return { items, records: new Map(rows.map((row) => [row.certificate_id, row.record])) }
    })
    for (const item of items) {
      const entry = entryOf(item, records.get(item.certificate_id ?? ''), root)
      entries.push(entry)
      outcomes[entry.outcome] += 1
      await pace()
    }
    const last = items.at(-1)
    if (!last || items.length < ITEMS_AT_ONCE) return { entries, root, outcomes }
    after = last.item
  }
}

function entryOf(
  { item, outcome, certificate_id }: ItemRow,
  record: string | undefined,
  root: CertificatesRoot,
): ManifestEntry {
  const subject = isFactItem(item) ? { fact_ref: refOf(item) } : { decision_id: decisionOf(item) }
  if (outcome !== 'erased') {
    assert(outcome === 'held' || outcome === 'absent', 'a request is closed with open items')
    return { ...subject, outcome, certificate_id: null, certificate_digest: null }
  }
  assert(record !== undefined && certificate_id !== null, 'an erased item has no certificate')
  const bytes = certificateBytes(readRecord(record))
  root.add(bytes)
  return { ...subject, outcome, certificate_id, certificate_digest: hex(sha256(bytes)) }
}

async function statementOf(
  { kernel, tenant_id, request_id, words }: Work,
  row: RequestRow,
  { entries, root, outcomes }: Listed,
  completed_us: number,
): Promise<ErasureManifest> {
  const head = await kernel.db.read(tenant_id, findHead)
  const missed = words === null ? [WORDS_GONE] : []
  const looked = words && { ...words, matcher: matcherOf(words.find) }
  return {
    record_kind: 'erasure_manifest',
    request_id,
    tenant_id,
    kind: 'erase',
    status: outcomes.held > 0 ? 'done_with_holds' : 'done',
    find_label: hex(row.find_label),
    found_digest: hex(row.found_digest),
    found: foundOf(row),
    found_later: entries.length - row.facts - row.decisions_naming,
    searched_again: words !== null,
    not_searched: [...missed, ...notSearched(looked)],
    received_at: formatTime(row.received_us),
    due_at: formatTime(row.due_us),
    started_at: formatTime(row.started_us ?? row.created_us),
    completed_at: formatTime(completed_us),
    origin: originOf(kernel, tenant_id, head?.generation ?? 0),
    log_seq: row.log_seq,
    searched_to_seq: row.searched_seq,
    certificates: root.count,
    certificates_root: root.hex(),
    entries,
  }
}

interface Signed {
  readonly manifest: SignedManifest
  /** Lower hex SHA-256 of the signed bytes: what the log carries. */
  readonly record_digest: string
}

/** Verified before anybody sees it. Of a long one each step takes a while: others come between. */
async function signManifest(kernel: Kernel, statement: ErasureManifest): Promise<Signed> {
  const signer = erasureSigner(kernel)
  const message = manifestBytes(statement)
  await nextTurn()
  const manifest: SignedManifest = {
    ...statement,
    signature: signer.sign(message).toString('base64'),
    public_key: signer.public_key.toString('base64'),
    key_id: signer.key_id,
  }
  const record_digest = hex(sha256(message))
  await nextTurn()
  const verdict = await verifyManifest(manifest, kernel.keyring.publishedKeys())
  assert(verdict.valid, `a manifest that does not verify was made: ${verdict.reason}`)
  await nextTurn()
  return { manifest, record_digest }
}
