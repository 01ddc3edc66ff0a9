// The erasure slice: reads of certificates, handlers, recovery at startup, the job that deletes
// stores, and the functions that other slices use to erase.

import type { decisionErasure, erasure, memoryErasure } from '@custos/contract'
import { verifyCertificate } from '@custos/proof'
import { formatTime, parseTime } from '../../platform/clock.ts'
import { countRows } from '../../platform/db/database.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import { type Call, fileReply, type Handler, type HandlersOf } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { type Page, pageOf } from '../../platform/page.ts'
import { printPdf } from '../jobs/index.ts'
import {
  certificateDigest,
  isSelfTest,
  parseCertificate,
  type StoredCertificate,
  showCertificate,
} from './certificate.ts'
import { deleteStore, STORE_ERASE, storeEraser } from './delete-store.ts'
import { deleteMemory, issue } from './erase.ts'
import {
  countByOutcome,
  countSelfTests,
  findCertificate,
  findStandingCertificate,
  listCertificates,
} from './erasure.sql.ts'
import { redact } from './redact.ts'

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
export { startStoreDeletion } from './delete-store.ts'
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
