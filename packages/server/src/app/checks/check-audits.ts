// Audits of conformance: each verifies, is what the log recorded, and none is missing.

import { createHash } from 'node:crypto'
import { isObject, type JsonObject, signedBytes, verifyConformanceResult } from '@custos/proof'
import type { CheckContext, CheckFinding } from './check-context.ts'
import { listAuditRows } from './fsck.sql.ts'

const CHUNK = 50
const MILLION = 1_000_000

/** After `summariseLog`. */
export async function* checkAudits(check: CheckContext): AsyncGenerator<CheckFinding> {
  const missing = new Map(check.log.audited)
  for (let after = -1; ; ) {
    const rows = await listAuditRows(check.db, after, CHUNK)
    for (const row of rows) {
      for (const what of await problemsOf(check, row))
        yield { kind: 'audit', id: row.audit_id, what }
      missing.delete(row.audit_id)
    }
    after = rows.at(-1)?.seq ?? after
    if (rows.length < CHUNK) break
  }
  for (const [id] of missing) yield { kind: 'audit', id, what: 'logged, and not here' }
}

async function problemsOf(
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
  if (logged && logged.digest !== digestOf(record))
    problems.push('the log recorded another audit under this id')
  return problems
}

const digestOf = (record: JsonObject): string =>
  createHash('sha256').update(signedBytes('conformance_result', record)).digest('hex')

function parse(record: string): JsonObject | null {
  try {
    const parsed: unknown = JSON.parse(record)
    return isObject(parsed) ? parsed : null
  } catch {
    return null
  }
}
