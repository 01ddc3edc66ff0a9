// Signed documents: certificates, manifests of bulk erasures and conformance audits. Checks that
// each verifies, agrees with the log and the ledger, and that none is missing. Also checks the
// tombstones that certificates are for.

import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  canonicalize,
  certificateBytes,
  isObject,
  type JsonObject,
  manifestBytes,
  signedBytes,
  verifyCertificate,
  verifyConformanceResult,
  verifyManifest,
  verifyTenantErasure,
} from '@custos/proof'
import { toHex } from '../../platform/bytes.ts'
import { findDestruction } from '../../platform/db/destructions.sql.ts'
import { countRows, listPresent } from '../../platform/db/migrations/tenant-tables.sql.ts'
import { removedTables } from '../../slices/offboarding/index.ts'
import { type CheckContext, type CheckFinding, subjectKey } from './check-context.ts'
import { checkLog, parseRecord } from './check-log.ts'
import {
  findCertificateSubject,
  findManifest,
  findRecord,
  findStandingRecord,
  listAuditRows,
  listCertificateRows,
  listRequestRows,
  listTombstoneRows,
} from './fsck.sql.ts'

const CHUNK = 200

export async function* checkCertificates(check: CheckContext): AsyncGenerator<CheckFinding> {
  const { db, counts } = check
  for (let after = ''; ; ) {
    const rows = await listCertificateRows(db, after, CHUNK)
    for (const row of rows)
      for (const what of await findCertificateProblems(check, row))
        yield { kind: 'certificate', id: row.certificate_id, what }
    counts.certificates += rows.length
    check.progress(`certificate ${counts.certificates}`)
    const last = rows.at(-1)
    if (!last || rows.length < CHUNK) break
    after = last.certificate_id
    await nextTurn()
  }
  yield* missing(check)
}

async function findCertificateProblems(
  check: CheckContext,
  row: Awaited<ReturnType<typeof listCertificateRows>>[number],
): Promise<string[]> {
  const record = parse(row.record)
  if (record === null) return ['the record does not read']
  const problems: string[] = []
  const verdict = await verifyCertificate(record, check.keys)
  if (!verdict.valid) problems.push(`does not verify: ${verdict.reason ?? 'unknown'}`)
  if (record['tenant_id'] !== check.db.tenant_id) problems.push('is of another tenant')
  if (record['certificate_id'] !== row.certificate_id || record['outcome'] !== row.outcome)
    problems.push('the row differs from the record in it')
  if (row.stands === 1 && subjectOf(record) !== row.subject)
    problems.push('stands for another subject than its record names')
  const logged = check.log.certified.get(row.certificate_id)
  if (logged?.seq !== row.log_seq) problems.push('the log has no entry at its place')
  if (logged && logged.digest !== certificateDigest(record))
    problems.push('the log recorded another certificate under this id')
  const { stands, subject_kind, subject } = row
  const kept = check.ledger.get(subjectKey(subject_kind, subject))
  if (stands === 1 && kept?.certificate && kept.certificate !== canonicalize(record))
    problems.push('the ledger keeps another certificate for its subject')
  return problems
}

// The opposite direction: finds documents that the ledger or the log has but the table lacks.
async function* missing({ db, ledger, log }: CheckContext): AsyncGenerator<CheckFinding> {
  for (const [key, { state }] of ledger) {
    const [kind = '', subject = ''] = key.split(' ')
    // Stores have no certificate (their memories do), and a scrub erases nothing.
    if (state !== 'completed' || kind === 'store' || kind === 'scrub') continue
    if (kind === 'tenant') continue
    if (await findStandingRecord(db, kind, subject)) continue
    yield { kind: 'certificate', id: key, what: 'completed in the ledger, no certificate is here' }
  }
  for (const [id, { seq }] of log.certified)
    if (!(await findCertificateSubject(db, id)))
      yield { kind: 'certificate', id, what: `recorded by entry ${seq} of the log, not here` }
}

function parse(record: string): JsonObject | null {
  try {
    const parsed: unknown = JSON.parse(record)
    return isObject(parsed) ? parsed : null
  } catch {
    return null
  }
}

function subjectOf(record: JsonObject): string {
  const { fact_ref = null, decision_id = null, subject_kind, subject_id } = record
  if (subject_kind !== undefined) return `${subject_kind}/${subject_id}`
  return String(fact_ref ?? decision_id)
}

function certificateDigest(record: JsonObject): string {
  try {
    return digestOf(certificateBytes(record))
  } catch {
    // It has no canonical form, which `verifyCertificate` has reported.
    return ''
  }
}

const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** Replaces all other checks, because nothing can be opened without the keys. */
export async function* checkDestroyed(check: CheckContext): AsyncGenerator<CheckFinding> {
  yield* checkLog(check)
  yield* checkCertificates(check)
  const { db, keys } = check
  const { tenant_id } = db
  const row = await findDestruction(db, tenant_id)
  if (!row || row.record === null) {
    const what = 'its keys are destroyed and it has no certificate: start the service once'
    yield { kind: 'certificate', id: tenant_id, what }
    return
  }
  const verdict = await verifyTenantErasure(JSON.parse(row.record), keys)
  if (!verdict.valid)
    yield { kind: 'certificate', id: tenant_id, what: `does not verify: ${verdict.reason}` }
  // Rows may remain until the job has ended.
  if (row.removed_us === null) return
  for (const table of await listPresent(db, removedTables()))
    if ((await countRows(db, table, 1)) > 0)
      yield { kind: 'certificate', id: table.name, what: 'rows of a destroyed tenant are here' }
}

/** Must run after `summariseLog`. */
export async function* checkManifests(check: CheckContext): AsyncGenerator<CheckFinding> {
  const missing = new Set(check.log.manifests.keys())
  for (let after = -1; ; ) {
    const rows = await listRequestRows(check.db, after, CHUNK)
    for (const row of rows) {
      const id = toHex(row.request_id)
      missing.delete(id)
      for (const what of await findManifestProblems(check, id, row))
        yield { kind: 'manifest', id, what }
      await nextTurn()
    }
    after = rows.at(-1)?.seq ?? after
    if (rows.length < CHUNK) break
  }
  for (const id of missing) yield { kind: 'manifest', id, what: 'logged, its request is not here' }
}

async function findManifestProblems(
  { db, keys, log }: CheckContext,
  id: string,
  row: Awaited<ReturnType<typeof listRequestRows>>[number],
): Promise<string[]> {
  const logged = log.manifests.get(id)
  const ended = row.completed_us !== null && row.kind === 'erase'
  if (ended && logged === undefined) return ['ended, and the log does not say so']
  if (!ended) return logged === undefined ? [] : ['ended by the log, and not here']
  const { manifest } = (await findManifest(db, row.request_id)) ?? {}
  const record = typeof manifest === 'string' ? parse(manifest) : null
  if (record === null) return ['the manifest does not read']
  const verdict = await verifyManifest(record, keys)
  if (!verdict.valid) return [`does not verify: ${verdict.reason ?? 'unknown'}`]
  const problems: string[] = []
  if (record['tenant_id'] !== db.tenant_id) problems.push('is of another tenant')
  if (record['request_id'] !== id || record['status'] !== row.status)
    problems.push('the row differs from the manifest in it')
  if (logged !== digestOf(manifestBytes(record))) problems.push('the log recorded another manifest')
  return problems
}

const AUDITS_READ = 50
const MILLION = 1_000_000

/** Must run after `summariseLog`. */
export async function* checkAudits(check: CheckContext): AsyncGenerator<CheckFinding> {
  const missing = new Map(check.log.audited)
  for (let after = -1; ; ) {
    const rows = await listAuditRows(check.db, after, AUDITS_READ)
    for (const row of rows) {
      for (const what of await findAuditProblems(check, row))
        yield { kind: 'audit', id: row.audit_id, what }
      missing.delete(row.audit_id)
    }
    after = rows.at(-1)?.seq ?? after
    if (rows.length < AUDITS_READ) break
  }
  for (const [id] of missing) yield { kind: 'audit', id, what: 'logged, and not here' }
}

async function findAuditProblems(
  { keys, db, log }: CheckContext,
  row: Awaited<ReturnType<typeof listAuditRows>>[number],
): Promise<string[]> {
  const record = parse(row.record)
  if (record === null) return ['the record does not read']
  const verdict = await verifyConformanceResult(record, keys)
  if (!verdict.valid) return [`does not verify: ${verdict.reason ?? 'unknown'}`]
  const problems: string[] = []
  if (record['tenant_id'] !== db.tenant_id) problems.push('is of another tenant')
  const rate_e6 = Math.round(Number(record['conformance_rate']) * MILLION)
  if (record['audit_id'] !== row.audit_id || rate_e6 !== row.rate_e6)
    problems.push('the row differs from the record in it')
  const logged = log.audited.get(row.audit_id)
  if (logged?.seq !== row.seq) problems.push('the log has no entry at its place')
  if (logged && logged.digest !== digestOf(signedBytes('conformance_result', record)))
    problems.push('the log recorded another audit under this id')
  return problems
}

const TOMBSTONES_CHUNK = 500

/** Checks that the secret is destroyed, the log has the erasure, and a certificate is for it. */
export async function* checkTombstones(check: CheckContext): AsyncGenerator<CheckFinding> {
  const { db, kernel, counts, log } = check
  for (let after = -1; ; ) {
    const rows = await listTombstoneRows(db, after, TOMBSTONES_CHUNK)
    const refs = rows.map(({ ref }) => ref)
    for (const ref of refs) log.erased.delete(ref)
    const secrets = await kernel.keyring.secrets(db.tenant_id, 'fact', refs)
    for (const row of rows) {
      const found = (what: string): CheckFinding => ({
        kind: 'tombstone',
        id: String(row.ref),
        what,
      })
      const secret = secrets.get(row.ref)
      if (secret) {
        secret.fill(0)
        yield found('its secret is alive')
      }
      for await (const what of findTombstoneProblems(check, row)) yield found(what)
    }
    counts.tombstones += rows.length
    check.progress(`tombstone ${counts.tombstones}`)
    const last = rows.at(-1)
    if (!last || rows.length < TOMBSTONES_CHUNK) break
    after = last.ref
    await nextTurn()
  }
  for (const [ref, seq] of log.erased)
    yield {
      kind: 'tombstone',
      id: String(ref),
      what: `erased by entry ${seq}, no tombstone is here`,
    }
}

async function* findTombstoneProblems(
  check: CheckContext,
  row: Awaited<ReturnType<typeof listTombstoneRows>>[number],
): AsyncGenerator<string> {
  const { ref, erased_seq, certificate_id } = row
  const record = await findRecord(check.db, erased_seq)
  const { event_type, payload = {} } = parseRecord(record?.record ?? '')
  if (event_type !== 'memory.erased' || payload['ref'] !== ref)
    yield `entry ${erased_seq} of the log does not say that it was erased`
  if (!(await isInLedger(check, ref))) yield 'the ledger knows nothing of it'
  const certificate = certificate_id && (await findCertificateSubject(check.db, certificate_id))
  const stands =
    certificate &&
    certificate.stands === 1 &&
    certificate.subject_kind === 'fact' &&
    certificate.subject === String(ref)
  // If only requested, the certificate is the next step of the erasure.
  const completed = check.ledger.get(subjectKey('fact', String(ref)))?.state === 'completed'
  if (!stands && completed) yield 'no certificate stands for it'
}

async function isInLedger({ ledger, kernel, db }: CheckContext, ref: number): Promise<boolean> {
  if (ledger.has(subjectKey('fact', String(ref)))) return true
  // The erasure began after the ledger was read and before the snapshot was taken.
  return (await kernel.keyring.ledger.find(db.tenant_id, 'fact', String(ref))) !== null
}
