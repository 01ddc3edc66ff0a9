// The erasure slice: reads of certificates, handlers of three operation groups, recovery at start,
// and what other slices use to erase. memory.delete_store hides a store from readers at once; a job
// erases its memories, then its row.

import { type decisionErasure, type erasure, limits, type memoryErasure } from '@custos/contract'
import { verifyCertificate } from '@custos/proof'
import { formatTime, parseTime } from '../../platform/clock.ts'
import { countRows } from '../../platform/db/database.ts'
import { listNewestJobs } from '../../platform/db/jobs.sql.ts'
import type { TenantDb, Tx } from '../../platform/db/tenant-db.ts'
import type { JobContext, JobRunner } from '../../platform/jobs/queue.ts'
import { type Call, fileReply, type Handler, type HandlersOf } from '../../platform/kernel/call.ts'
import { requireErasureLease, runErasure } from '../../platform/kernel/erasure-queue.ts'
import { beginJobChunk, type Kernel, NEXT_CHUNK } from '../../platform/kernel/kernel.ts'
import { type Page, pageOf } from '../../platform/page.ts'
import { admit } from '../governance/index.ts'
import { printPdf } from '../jobs/index.ts'
import { findStore, listRefsOfStore, markErasing, markStoreDeleting } from '../memory/index.ts'
import { meter } from '../tenants/index.ts'
import {
  certificateDigest,
  type ErasureReasons,
  erasureSigner,
  fillReasons,
  isSelfTest,
  parseCertificate,
  type StoredCertificate,
  showCertificate,
} from './certificate.ts'
import { UnprovenErasure } from './certify.ts'
import { deleteMemory, eraseMarkedFacts, issue } from './erase.ts'
import {
  countByOutcome,
  countFacts,
  countSelfTests,
  findCertificate,
  findStandingCertificate,
  listCertificates,
} from './erasure.sql.ts'
import { finishStoreErasure, requestStoreErasure } from './finish-store.ts'
import { finishPendingErasures } from './recover.ts'
import { redact } from './redact.ts'

const STORE_ERASE = 'store.erase'

/** Deliberately below the limit: a unit of this size delays other writers by less than 0.1 s. */
const FACTS_PER_BATCH = Math.min(200, limits.store_delete_facts_per_transaction)

interface StoreErasure {
  readonly store_id: string
  /** Number of the secret that the store's description is sealed under. */
  readonly secret_no: number
  readonly facts: number
  readonly reasons: ErasureReasons
}

/** Only this file writes these payloads. */
function parsePayload(payload: Readonly<Record<string, unknown>>): StoreErasure {
  const { store_id, secret_no, facts, legal_basis, requested_by } = payload
  return {
    store_id: String(store_id),
    secret_no: Number(secret_no),
    facts: Number(facts),
    reasons: fillReasons({
      legal_basis: typeof legal_basis === 'string' ? legal_basis : null,
      requested_by: typeof requested_by === 'string' ? requested_by : null,
    }),
  }
}

/** Safe to run again from the start: erased memories are no longer listed. */
const storeEraser =
  (kernel: Kernel): JobRunner =>
  async (context) => {
    const { tenant_id } = context.job
    const erasure = parsePayload(context.job.payload)
    const isOver = beginJobChunk(kernel)
    for (;;) {
      if (context.stopping) return undefined
      const left = await eraseBatch(kernel, tenant_id, erasure)
      if (left === 0) break
      await reportProgress(kernel, context, erasure)
      if (isOver()) return NEXT_CHUNK
    }
    await removeStore(kernel, tenant_id, erasure)
    await context.progress(erasure.facts, erasure.facts)
    return undefined
  }

async function reportProgress(
  kernel: Kernel,
  { job, progress }: JobContext,
  erasure: StoreErasure,
): Promise<void> {
  const left = await kernel.db.read(job.tenant_id, (db) => countFacts(db, erasure.store_id))
  await progress(Math.max(0, erasure.facts - left), erasure.facts)
}

/** Returns how many memories were erased; 0 if none is left. */
async function eraseBatch(
  kernel: Kernel,
  tenant_id: string,
  { store_id, reasons }: StoreErasure,
): Promise<number> {
  erasureSigner(kernel)
  return runErasure(kernel, tenant_id, async () => {
    const requested_us = kernel.clock.now()
    await finishPendingErasures(kernel, tenant_id)
    const refs = await kernel.db.read(tenant_id, (db) =>
      listRefsOfStore(db, store_id, -1, FACTS_PER_BATCH),
    )
    if (refs.length === 0) return 0
    await kernel.db.transact(tenant_id, async (tx) => {
      await requireErasureLease(kernel, tx)
      await markErasing(tx, refs)
    })
    const facts = refs.map((ref) => ({ ref, store_id }))
    const marked = { facts, reasons, requested_us }
    const unproven = await eraseMarkedFacts(kernel, tenant_id, marked)
    if (unproven.length > 0) throw new UnprovenErasure()
    return refs.length
  })
}

async function removeStore(
  kernel: Kernel,
  tenant_id: string,
  { store_id, secret_no, facts }: StoreErasure,
): Promise<void> {
  await runErasure(kernel, tenant_id, async () => {
    const plan = { version: 1, kind: 'store', store_id, secret_no, facts } as const
    await finishStoreErasure(kernel, tenant_id, await requestStoreErasure(kernel, tenant_id, plan))
  })
}

/** While a job is open, further requests return that job; after a failed job, a new one is made. */
const deleteStore: Handler<(typeof memoryErasure)['delete_store']> = async (call, { params }) => {
  const { store_id } = params
  erasureSigner(call.kernel)
  if (!(await call.read((db) => findStore(db, store_id)))) return call.refuse('store_not_found')
  await admit(call, 'memory.delete', { store_id })
  return call.transact(async (tx) => {
    meter(tx, call.operation.id)
    return (await startStoreDeletion(call.kernel, tx, store_id)) ?? call.refuse('store_not_found')
  })
}

/** Returns `null` if there is no such store. */
export async function startStoreDeletion(kernel: Kernel, tx: Tx, store_id: string) {
  const store = await findStore(tx, store_id)
  if (!store) return null
  const facts = await countFacts(tx, store_id)
  const answer = { store_id, state: 'deleting', facts } as const
  if ((await markStoreDeleting(tx, store_id)) === 'already') {
    const open = await findOpenJob(tx, store_id)
    if (open !== null) return { job_id: open, ...answer }
  }
  const payload = { store_id, secret_no: store.secret_no, facts }
  const job = await kernel.jobs.enqueue(tx, STORE_ERASE, payload)
  return { job_id: job.job_id, ...answer }
}

async function findOpenJob(db: TenantDb, store_id: string): Promise<string | null> {
  const jobs = await listNewestJobs(db, STORE_ERASE)
  // `startStoreDeletion` above wrote the payload.
  const ofStore = jobs.filter((job) => JSON.parse(job.payload).store_id === store_id)
  const open = ofStore.find(({ state }) => state === 'queued' || state === 'running')
  return open?.job_id ?? null
}

const PAGE_DEFAULT = 50
const SCAN_ROWS = 500

/** A credential limited to stores sees only the certificates of memories in these stores. */
function isVisible(call: Pick<Call, 'principal'>, { store_id }: StoredCertificate): boolean {
  const { allowed_stores } = call.principal
  return allowed_stores.length === 0 || (store_id !== null && allowed_stores.includes(store_id))
}

async function findVisible(
  call: Pick<Call, 'principal' | 'read'>,
  certificate_id: string,
): Promise<StoredCertificate | null> {
  const row = await call.read((db) => findCertificate(db, certificate_id))
  if (!row) return null
  const stored = parseCertificate(row.record)
  return isVisible(call, stored) ? stored : null
}

const get: Handler<typeof erasure.get> = async (call, { params, query }) => {
  const stored = await findVisible(call, params.certificate_id)
  if (!stored) return call.refuse('certificate_not_found')
  const shown = await showCertificate(stored, call.kernel.keyring.publishedKeys())
  if (query.format !== 'pdf') return shown
  // Loaded on first use.
  const { certificateDocument } = await import('@custos/report-files')
  const file = await printPdf(call, certificateDocument(shown, certificateDigest(stored)))
  const filename = `erasure_certificate_${stored.certificate_id}.pdf`
  return fileReply({ file, type: 'application/pdf', filename })
}

const byFact: Handler<typeof erasure.by_fact> = async (call, { params }) => {
  const row = await call.read((db) => findStandingCertificate(db, 'fact', String(params.fact_ref)))
  const stored = row && parseCertificate(row.record)
  if (!stored || !isVisible(call, stored)) return call.refuse('certificate_not_found')
  return showCertificate(stored, call.kernel.keyring.publishedKeys())
}

const verify: Handler<typeof erasure.verify> = async (call, { params }) => {
  const stored = await findVisible(call, params.certificate_id)
  if (!stored) return call.refuse('certificate_not_found')
  const verdict = await verifyCertificate(stored, call.kernel.keyring.publishedKeys())
  return {
    valid: verdict.valid,
    certificate_id: stored.certificate_id,
    detail: verdict.valid
      ? 'The signature is authentic and the certificate is unchanged'
      : `The certificate does not verify: ${verdict.reason ?? 'unknown reason'}`,
    key_id: stored.key_id,
    checks: verdict.checks.map((check) => ({ ...check })),
  }
}

const list: Handler<typeof erasure.list> = async (call, { query }) => {
  const page = pageOf(query, PAGE_DEFAULT, call.operation.id)
  const found = await call.read((db) =>
    call.principal.allowed_stores.length === 0 ? listParsed(db, page) : scanVisible(call, db, page),
  )
  const keys = call.kernel.keyring.publishedKeys()
  const shown = await Promise.all(found.map(({ stored }) => showCertificate(stored, keys)))
  return page.envelope('certificates', shown, found.at(-1)?.place)
}

async function listParsed(db: TenantDb, page: Pick<Page, 'limit' | 'offset' | 'after'>) {
  const rows = await listCertificates(db, page)
  return rows.map(({ record, completed_us, certificate_id }) => ({
    stored: parseCertificate(record),
    place: { at: completed_us, id: certificate_id },
  }))
}

// The store is inside the signed record, so a limited credential's page requires reading records.
async function scanVisible(
  call: Pick<Call, 'principal'>,
  db: TenantDb,
  { limit, offset, after }: Pick<Page, 'limit' | 'offset' | 'after'>,
): ReturnType<typeof listParsed> {
  const found: Awaited<ReturnType<typeof listParsed>> = []
  let skip = after === null ? offset : 0
  let scanned = after
  while (found.length < limit) {
    const rows = await listParsed(db, { limit: SCAN_ROWS, offset: 0, after: scanned })
    const visible = rows.filter(({ stored }) => isVisible(call, stored))
    const skipped = Math.min(skip, visible.length)
    skip -= skipped
    found.push(...visible.slice(skipped, skipped + limit - found.length))
    if (rows.length < SCAN_ROWS) break
    scanned = rows.at(-1)?.place ?? null
  }
  return found
}

const stats: Handler<typeof erasure.stats> = async (call) => {
  const { kernel, tenant_id, principal } = call
  const { rows, self_tests } =
    principal.allowed_stores.length === 0
      ? {
          rows: await kernel.db.sums(tenant_id, countByOutcome),
          self_tests: await countRows(kernel.db, tenant_id, countSelfTests),
        }
      : await countVisible(call)
  const count = (fits: (row: OutcomeCount) => boolean): number =>
    rows.filter(fits).reduce((sum, row) => sum + Number(row.count), 0)
  const total = count(() => true)
  return {
    total,
    signed_count: total,
    erased: count(({ subject_kind, outcome }) => subject_kind === 'fact' && outcome === 'erased'),
    already_absent: count(({ outcome }) => outcome === 'already_absent'),
    nothing_found: count(({ outcome }) => outcome === 'nothing_found'),
    redactions: count(({ subject_kind }) => subject_kind === 'decision'),
    redacted_texts: count(({ subject_kind }) => subject_kind === 'text'),
    self_tests,
    first_erasure: timeOf(rows.map((row) => row.first_us).reduce(least, Number.POSITIVE_INFINITY)),
    last_erasure: timeOf(rows.map((row) => row.last_us).reduce(most, Number.NEGATIVE_INFINITY)),
  }
}

const least = (a: number, b: number): number => Math.min(a, b)
const most = (a: number, b: number): number => Math.max(a, b)
const timeOf = (us: number): string | null => (Number.isFinite(us) ? formatTime(us) : null)

type OutcomeCount = Awaited<ReturnType<ReturnType<typeof countByOutcome>['execute']>>[number]

// The columns do not name the store of a certificate, so every row is read and counted.
async function countVisible(
  call: Pick<Call, 'principal' | 'read'>,
): Promise<{ rows: OutcomeCount[]; self_tests: number }> {
  return call.read(async (db) => {
    const everything = { limit: Number.MAX_SAFE_INTEGER, offset: 0, after: null }
    const visible = await scanVisible(call, db, everything)
    const counted = visible.map(({ stored }) => stored).filter((stored) => !isSelfTest(stored))
    const rows = counted.map(({ outcome, fact_ref, erasure_completed_at }) => {
      const at = parseTime(erasure_completed_at) ?? 0
      const subject_kind = fact_ref === null ? 'decision' : 'fact'
      return { subject_kind, outcome, count: 1, first_us: at, last_us: at }
    })
    return { rows, self_tests: visible.length - counted.length }
  })
}

export {
  type ErasureReasons,
  erasureSigner,
  fillReasons,
  parseCertificate,
  showCertificate,
} from './certificate.ts'
export { UnprovenErasure } from './certify.ts'
export { eraseFacts, eraseListed, eraseMarkedFacts } from './erase.ts'
export { findCertificates, findStandingCertificate } from './erasure.sql.ts'

export {
  finishPendingErasures,
  reconcileErasures,
  recoverErasures,
  recoverInterrupted,
} from './recover.ts'
export { redactDecision, redactText } from './redact.ts'

export const erasureHandlers = {
  issue,
  stats,
  get,
  verify,
  by_fact: byFact,
  list,
} satisfies HandlersOf<typeof erasure>

export const memoryErasureHandlers = {
  delete: deleteMemory,
  delete_store: deleteStore,
} satisfies HandlersOf<typeof memoryErasure>

export const decisionErasureHandlers = { redact } satisfies HandlersOf<typeof decisionErasure>

/** Call this before the worker starts, as it resumes deletions that the last stop interrupted. */
export function registerErasureJobs(kernel: Kernel): void {
  kernel.jobs.register(STORE_ERASE, storeEraser(kernel))
}
