// The job of an erasure request: erases its memories and decisions, searches again for what was
// written meanwhile, signs the manifest, and closes the request.

import assert from 'node:assert/strict'
import { setImmediate as yieldToOthers } from 'node:timers/promises'
import {
  CertificatesRoot,
  certificateBytes,
  type ErasureManifest,
  type ManifestEntry,
  manifestBytes,
  type SignedManifest,
  verifyManifest,
} from '@custos/proof'
import { fromHex, sha256, toHex } from '../../platform/bytes.ts'
import { formatTime } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { JobContext, JobPause, JobRunner } from '../../platform/jobs/queue.ts'
import { beginJobChunk, type Kernel, NEXT_CHUNK } from '../../platform/kernel/kernel.ts'
import { failureOf, Refusal } from '../../platform/refusal.ts'
import { yieldBetweenChunks } from '../../platform/yield-between-chunks.ts'
import {
  eraseFacts,
  erasureSigner,
  fillReasons,
  findCertificates,
  parseCertificate,
  redactDecision,
  redactText,
  UnprovenErasure,
} from '../erasure/index.ts'
import { appendCrumb, findHead, originOf } from '../gcrumbs/index.ts'
import { findFactHeads, loadHeldStores } from '../memory/index.ts'
import { buildMatcher } from './matcher.ts'
import { openPayload, type RequestPayload } from './sealed-request.ts'
import { listAdjacentVersions, searchAll } from './search.ts'
import {
  countFindings,
  DECISIONS,
  decisionOf,
  FACTS,
  itemOfDecision,
  itemOfFact,
  itemOfText,
  refOf,
  subjectOf,
  TEXTS,
  textOf,
} from './show.ts'
import { listNotSearched } from './subject-query.ts'
import {
  findKnownItems,
  findRequest,
  type ItemRow,
  insertItems,
  listItems,
  listOpenItems,
  type RequestRow,
  setItemOutcome,
  updateOpenRequest,
} from './subjects.sql.ts'

export const SUBJECT_ERASE = 'subject.erase'

async function reportStep(
  kernel: Kernel,
  step: 'begun' | 'erased' | 'recorded' | 'redacted' | 'searched' | 'signed' | 'closed',
): Promise<void> {
  await kernel.step(`subject:${step}`)
}

/** After this many retries by the queue the job pauses ever longer, but never gives up. */
const ATTEMPTS_BEFORE_PAUSE = 8
const PAUSE_MS = 60_000
const PAUSE_MAX_MS = 600_000
/** More failures than this have a common cause: the job fails without trying the rest. */
const UNPROVEN_MAX = 500

/** An open request that the job works on. */
interface EraseTask {
  readonly kernel: Kernel
  readonly tenant_id: string
  readonly request_id: string
  readonly row: RequestRow
  /** `null` if the payload's secret is destroyed, in restored data from before the end. */
  readonly search: RequestPayload | null
}

export function subjectEraser(kernel: Kernel): JobRunner {
  // Items, by job, that could not be verified as erased in this attempt; the rest of it skips them.
  // A process that does not know them only tries them once more.
  const unproven = new Map<string, Set<string>>()
  return async (context) => {
    const { job_id } = context.job
    try {
      const open = unproven.get(job_id) ?? new Set()
      unproven.set(job_id, open)
      const pause = await eraseRequest(kernel, context, open)
      if (!pause) unproven.delete(job_id)
      return pause
    } catch (error) {
      unproven.delete(job_id)
      return pauseOrThrow(kernel, context, error)
    }
  }
}

function pauseOrThrow(kernel: Kernel, { job }: JobContext, error: unknown): JobPause {
  if (job.attempts < ATTEMPTS_BEFORE_PAUSE) throw error
  const reason = failureOf(error)
  kernel.logger.error('subject.erase_waits', { job_id: job.job_id, reason })
  const again_ms = Math.min(PAUSE_MAX_MS, PAUSE_MS * 2 ** (job.attempts - ATTEMPTS_BEFORE_PAUSE))
  return { again_ms, error: reason }
}

/** Safe to run again from the start: every step checks what is left to do. */
async function eraseRequest(
  kernel: Kernel,
  context: JobContext,
  unproven: Set<string>,
): Promise<JobPause | undefined> {
  const { tenant_id, payload } = context.job
  const request_id = String(payload['request_id'])
  const row = await kernel.db.read(tenant_id, (db) => findRequest(db, fromHex(request_id)))
  if (!row) return undefined
  const { secret_no, sealed } = row
  if (row.completed_us === null) {
    const search = await openPayload(kernel, tenant_id, { request_id, secret_no, sealed })
    const task: EraseTask = { kernel, tenant_id, request_id, row, search }
    await markRunning(task)
    const end = await eraseAll(task, context, unproven)
    if (end === 'stopped') return undefined
    if (end === 'turn_over') return NEXT_CHUNK
    await closeRequest(task)
  }
  // Runs after the end is durable, so that an open request can always read its payload.
  await kernel.keyring.destroySecrets(tenant_id, 'decision', [secret_no])
  await reportStep(kernel, 'closed')
  return undefined
}

async function markRunning({ kernel, tenant_id, request_id, row }: EraseTask): Promise<void> {
  if (row.started_us !== null) return
  await kernel.db.transact(tenant_id, (tx) =>
    updateOpenRequest(tx, fromHex(request_id), { status: 'running', started_us: tx.now() }),
  )
  await reportStep(kernel, 'begun')
}

/** Erases until nothing is left, including what was written during the job. */
async function eraseAll(
  task: EraseTask,
  context: JobContext,
  unproven: Set<string>,
): Promise<'done' | 'stopped' | 'turn_over'> {
  const isOver = beginJobChunk(task.kernel)
  const left = () => (context.stopping ? 'stopped' : isOver() ? 'turn_over' : null)
  for (;;) {
    while (await eraseNextBatch(task, unproven)) {
      await showProgress(task, context)
      if (unproven.size > UNPROVEN_MAX) throw new UnprovenErasure()
      const end = left()
      if (end) return end
    }
    for (const prefix of [DECISIONS, TEXTS])
      while (await redactNext(task, { prefix, unproven })) {
        await showProgress(task, context)
        const end = left()
        if (end) return end
      }
    await showProgress(task, context)
    if (context.stopping) return 'stopped'
    // All other items are done. The next attempt retries these and searches again afterwards.
    if (unproven.size > 0) throw new UnprovenErasure()
    if ((await searchAgain(task)) === 'nothing') return 'done'
  }
}

async function showProgress({ kernel, tenant_id, request_id }: EraseTask, context: JobContext) {
  const row = await kernel.db.read(tenant_id, (db) => findRequest(db, fromHex(request_id)))
  if (row) await context.progress(row.items_done, row.items)
}

/** Returns false if no decision and no other record is left except those in `unproven`. */
async function redactNext(
  task: EraseTask,
  { prefix, unproven }: { readonly prefix: string; readonly unproven: Set<string> },
): Promise<boolean> {
  const [item] = await openItems(task, { prefix, limit: 1, unproven })
  if (item === undefined) return false
  const outcome = await redactUnlessHeld(task, item)
  if (outcome === 'unproven') {
    unproven.add(item)
    return true
  }
  await reportStep(task.kernel, 'redacted')
  await recordOutcomes(task, [{ item, ...outcome }])
  return true
}

async function redactUnlessHeld({ kernel, tenant_id, search }: EraseTask, item: string) {
  const reasons = search?.reasons ?? fillReasons({})
  try {
    const certificate_id = item.startsWith(TEXTS)
      ? await redactText(kernel, tenant_id, { ...textOf(item), reasons })
      : await redactDecision(kernel, tenant_id, { decision_id: decisionOf(item), reasons })
    return { outcome: certificate_id === null ? 'absent' : 'erased', certificate_id }
  } catch (error) {
    if (error instanceof UnprovenErasure) return 'unproven'
    if (!(error instanceof Refusal && error.code === 'legal_hold')) throw error
    return { outcome: 'held', certificate_id: null }
  }
}

async function recordOutcomes(
  { kernel, tenant_id, request_id }: Pick<EraseTask, 'kernel' | 'tenant_id' | 'request_id'>,
  outcomes: readonly Omit<Parameters<typeof setItemOutcome>[1], 'request_id'>[],
): Promise<void> {
  const id = fromHex(request_id)
  await kernel.db.transact(tenant_id, async (tx) => {
    let changed = 0
    for (const outcome of outcomes) {
      const settled = await setItemOutcome(tx, { request_id: id, ...outcome })
      // Items that a legal hold blocks do not count as done.
      if (outcome.outcome !== 'held') changed += settled
    }
    const row = await findRequest(tx, id)
    if (row) await updateOpenRequest(tx, id, { items_done: row.items_done + changed })
  })
  await reportStep(kernel, 'recorded')
}

/** Same as for the deletion of stores: a unit of this size delays other writers by under 0.1 s. */
const FACTS_PER_BATCH = 200

/**
 * Erases the next memories. Returns false if none is left except those in `unproven`. Adds failures
 * to `unproven`; they stay open and do not delay the others.
 */
async function eraseNextBatch(task: EraseTask, unproven: Set<string>): Promise<boolean> {
  const { kernel, tenant_id, search } = task
  const items = await openItems(task, { prefix: FACTS, limit: FACTS_PER_BATCH, unproven })
  if (items.length === 0) return false
  const done = await eraseFacts(kernel, tenant_id, {
    refs: items.map(refOf),
    reasons: search?.reasons ?? fillReasons({}),
    listExempt: (tx, refs) => listHeld(tx, task, refs),
  })
  await reportStep(kernel, 'erased')
  const outcomes: Parameters<typeof recordOutcomes>[1][number][] = []
  for (const item of items) {
    const ref = refOf(item)
    const certificate_id = done.certificates.get(ref) ?? null
    const otherwise = done.exempt.has(ref) ? 'held' : 'absent'
    if (certificate_id === null && done.unproven.has(ref)) unproven.add(item)
    else
      outcomes.push({
        item,
        outcome: certificate_id === null ? otherwise : 'erased',
        certificate_id,
      })
  }
  await recordOutcomes(task, outcomes)
  return true
}

/** The next items without an outcome, but those in `unproven`. */
async function openItems(
  { kernel, tenant_id, request_id }: EraseTask,
  { prefix, limit, unproven }: { prefix: string; limit: number; unproven: ReadonlySet<string> },
): Promise<string[]> {
  const most = limit + unproven.size
  const items = await kernel.db.read(tenant_id, (db) =>
    listOpenItems(db, fromHex(request_id), { prefix, limit: most }),
  )
  return items.filter((item) => !unproven.has(item)).slice(0, limit)
}

// Runs in the unit that hides the memories: from then on no version supersedes one of them, and no
// hold can be placed.
async function listHeld(
  tx: Tx,
  { request_id }: EraseTask,
  refs: readonly number[],
): Promise<ReadonlySet<number>> {
  const heads = await findFactHeads(tx, refs)
  await addItems(tx, request_id, heads.flatMap(listAdjacentVersions).map(itemOfFact))
  const held = await loadHeldStores(tx, tx.now())
  return new Set(heads.flatMap(({ ref, store_id }) => (held.has(store_id) ? [ref] : [])))
}

/** Adds items to the request; returns how many are new. */
async function addItems(tx: Tx, request_id: string, items: readonly string[]): Promise<number> {
  const id = fromHex(request_id)
  const known = await findKnownItems(tx, id, items)
  const fresh = [...new Set(items)].filter((item) => !known.has(item))
  if (fresh.length === 0) return 0
  const added = await insertItems(tx, id, fresh)
  const row = await findRequest(tx, id)
  if (row) await updateOpenRequest(tx, id, { items: row.items + added })
  return added
}

/** A writer may go on writing about the person; the manifest states how far was searched. */
const ROUNDS_MAX = 5

/**
 * Searches what was written during the erasure. Returns `found` if there are new items, `nothing`
 * at the end.
 */
async function searchAgain(task: EraseTask): Promise<'found' | 'nothing'> {
  const { kernel, tenant_id, request_id, search } = task
  const id = fromHex(request_id)
  const row = await kernel.db.read(tenant_id, (db) => findRequest(db, id))
  if (!row || search === null || row.rounds >= ROUNDS_MAX) return 'nothing'
  const { find, store_ids, namespace, include_decisions, include_records = false } = search
  const { facts, naming, texts, log_seq } = await searchAll(kernel, tenant_id, {
    matcher: buildMatcher(find),
    store_ids,
    namespace,
    include_decisions,
    include_records,
    since_seq: row.searched_seq,
  })
  const items = [
    ...facts.map(({ ref }) => itemOfFact(ref)),
    ...naming.map(({ decision_id }) => itemOfDecision(decision_id)),
    ...texts.map(itemOfText),
  ]
  const added = await kernel.db.transact(tenant_id, async (tx) => {
    const change = { searched_seq: log_seq, rounds: row.rounds + 1 }
    await updateOpenRequest(tx, id, change)
    return addItems(tx, request_id, items)
  })
  await reportStep(kernel, 'searched')
  return added === 0 ? 'nothing' : 'found'
}

const ITEMS_AT_ONCE = 200
const NOT_SEARCHED_AGAIN =
  'what was written after the request: data from before its end were restored, and the words of ' +
  'the search are destroyed'

async function closeRequest(task: EraseTask): Promise<void> {
  const { kernel, tenant_id, request_id } = task
  const id = fromHex(request_id)
  const row = await kernel.db.read(tenant_id, (db) => findRequest(db, id))
  if (!row || row.completed_us !== null) return
  const listed = await listEntries(kernel, tenant_id, id)
  const completed_us = kernel.clock.now()
  const statement = await buildManifest(task, row, listed, completed_us)
  const { manifest, record_digest } = await signManifest(kernel, statement)
  const text = JSON.stringify(manifest)
  await reportStep(kernel, 'signed')
  const { status, certificates_root, found_later } = manifest
  await kernel.db.transact(tenant_id, async (tx) => {
    const closing = { status, completed_us, sealed: null, sealed_reason: null }
    // Another process may have closed it; then its manifest is the valid one.
    if ((await updateOpenRequest(tx, id, { ...closing, manifest: text })) === 0) return
    const { erased, held, absent } = listed.outcomes
    await appendCrumb(tx, {
      event_type: 'subject.erased',
      subject: request_id,
      payload: { erased, held, absent, found_later, certificates_root, record_digest },
    })
  })
}

/** Lists every item with its outcome, and the root over the certificates in their order. */
async function listEntries(kernel: Kernel, tenant_id: string, id: Uint8Array) {
  const entries: ManifestEntry[] = []
  const root = new CertificatesRoot(sha256)
  const outcomes = { erased: 0, held: 0, absent: 0 }
  const pace = yieldBetweenChunks()
  for (let after = ''; ; ) {
    const at = after
    const { items, records } = await kernel.db.read(tenant_id, async (db) => {
      const items = await listItems(db, id, { after: at, limit: ITEMS_AT_ONCE })
      const ids = items.flatMap(({ certificate_id }) => certificate_id ?? [])
      const rows = ids.length === 0 ? [] : await findCertificates(db, ids)
      return { items, records: new Map(rows.map((row) => [row.certificate_id, row.record])) }
    })
    for (const item of items) {
      const entry = buildEntry(item, records.get(item.certificate_id ?? ''), root)
      entries.push(entry)
      outcomes[entry.outcome] += 1
      await pace()
    }
    const last = items.at(-1)
    if (!last || items.length < ITEMS_AT_ONCE) return { entries, root, outcomes }
    after = last.item
  }
}

function buildEntry(
  { item, outcome, certificate_id }: ItemRow,
  record: string | undefined,
  root: CertificatesRoot,
): ManifestEntry {
  const subject = subjectOf(item)
  if (outcome !== 'erased') {
    assert(outcome === 'held' || outcome === 'absent', 'a request is closed with open items')
    return { ...subject, outcome }
  }
  assert(record !== undefined && certificate_id !== null, 'an erased item has no certificate')
  const bytes = certificateBytes(parseCertificate(record))
  root.add(bytes)
  return { ...subject, outcome, certificate_id, certificate_digest: toHex(sha256(bytes)) }
}

async function buildManifest(
  { kernel, tenant_id, request_id, search }: EraseTask,
  row: RequestRow,
  { entries, root, outcomes }: Awaited<ReturnType<typeof listEntries>>,
  completed_us: number,
): Promise<ErasureManifest> {
  const head = await kernel.db.read(tenant_id, findHead)
  const missed = search === null ? [NOT_SEARCHED_AGAIN] : []
  const scope = search && {
    ...search,
    include_records: search.include_records ?? false,
    matcher: buildMatcher(search.find),
  }
  return {
    record_kind: 'erasure_manifest',
    request_id,
    tenant_id,
    kind: 'erase',
    status: outcomes.held > 0 ? 'done_with_holds' : 'done',
    find_label: toHex(row.find_label),
    found_digest: toHex(row.found_digest),
    found: countFindings(row),
    found_later: entries.length - row.facts - row.decisions_naming - (row.texts ?? 0),
    searched_again: search !== null,
    not_searched: [...missed, ...listNotSearched(scope)],
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

/**
 * Signs and verifies a manifest before anybody sees it; yields to other requests, as a long one
 * takes time. `record_digest`: lower-case hex SHA-256 of the signed bytes, for the log.
 */
async function signManifest(
  kernel: Kernel,
  statement: ErasureManifest,
): Promise<{ manifest: SignedManifest; record_digest: string }> {
  const signer = erasureSigner(kernel)
  const message = manifestBytes(statement)
  await yieldToOthers()
  const manifest: SignedManifest = {
    ...statement,
    signature: signer.sign(message).toString('base64'),
    public_key: signer.public_key.toString('base64'),
    key_id: signer.key_id,
  }
  const record_digest = toHex(sha256(message))
  await yieldToOthers()
  const verdict = await verifyManifest(manifest, kernel.keyring.publishedKeys())
  assert(verdict.valid, `a new manifest does not verify: ${verdict.reason}`)
  await yieldToOthers()
  return { manifest, record_digest }
}
