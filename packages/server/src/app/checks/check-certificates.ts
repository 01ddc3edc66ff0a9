// Certificates: each verifies, is what the log recorded and what the ledger keeps; none is missing.

import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  canonicalize,
  certificateBytes,
  type JsonObject,
  verifyCertificate,
  verifyTenantErasure,
} from '@custos/proof'
import { findDestruction } from '../../platform/db/destructions.sql.ts'
import { countRows, listPresent } from '../../platform/db/migrations/tenant-tables.sql.ts'
import { removedTables } from '../../slices/offboarding/index.ts'
import { type CheckContext, type CheckFinding, subjectKey } from './check-context.ts'
import { checkLog } from './check-log.ts'
import { findCertificateSubject, findStandingRecord, listCertificateRows } from './fsck.sql.ts'

const CHUNK = 200

export async function* checkCertificates(check: CheckContext): AsyncGenerator<CheckFinding> {
  const { db, counts } = check
  for (let after = ''; ; ) {
    const rows = await listCertificateRows(db, after, CHUNK)
    for (const row of rows)
      for (const what of await problemsOf(check, row))
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

async function problemsOf(
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
  if (logged && logged.digest !== digestOf(record))
    problems.push('the log recorded another certificate under this id')
  const { stands, subject_kind, subject } = row
  const kept = check.ledger.get(subjectKey(subject_kind, subject))
  if (stands === 1 && kept?.certificate && kept.certificate !== canonicalize(record))
    problems.push('the ledger keeps another certificate for its subject')
  return problems
}

// From the other side: what the ledger or the log knows and the table does not.
async function* missing({ db, ledger, log }: CheckContext): AsyncGenerator<CheckFinding> {
  for (const [key, { state }] of ledger) {
    const [kind = '', subject = ''] = key.split(' ')
    // A store has none, its memories have; a scrub erases nothing.
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
    const isRecord = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
    // Parsed from JSON, so what it holds is JSON.
    return isRecord ? (parsed as JsonObject) : null
  } catch {
    return null
  }
}

function subjectOf(record: JsonObject): string {
  const { fact_ref = null, decision_id = null, subject_kind, subject_id } = record
  if (subject_kind !== undefined) return `${subject_kind}/${subject_id}`
  return String(fact_ref ?? decision_id)
}

function digestOf(record: JsonObject): string {
  try {
    return createHash('sha256').update(certificateBytes(record)).digest('hex')
  } catch {
    // No canonical form: verifyCertificate has said so.
    return ''
  }
}

/** Instead of all other checks: without its keys nothing can be opened. */
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
  // Until the job has ended there may be rows.
  if (row.removed_us === null) return
  for (const table of await listPresent(db, removedTables()))
    if ((await countRows(db, table, 1)) > 0)
      yield { kind: 'certificate', id: table.name, what: 'rows of a destroyed tenant are here' }
}
