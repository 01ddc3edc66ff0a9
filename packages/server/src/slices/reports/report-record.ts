// The signed document of a report, verified before it is stored, and what rows show of it.

import assert from 'node:assert/strict'
import type { Report, ReportSummary, ReportType } from '@custos/contract'
import { type JsonObject, REPORT_VERSION, reportBytes, verifyReport } from '@custos/proof'
import { sha256, toHex } from '../../platform/bytes.ts'
import { formatTime } from '../../platform/clock.ts'
import { findTenant } from '../../platform/db/control.sql.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { appendCrumb, nextSeq } from '../gcrumbs/index.ts'
import type { Subject } from './content.ts'
import type { GatheredReport } from './gather-worker.ts'
import { insertReport, type ReportRow, type SummaryRow } from './reports.sql.ts'
import { openReports, type Part, sealDocument, type sealTitle } from './sealed-report.ts'

export interface ReportDraft extends Awaited<ReturnType<typeof signReport>> {
  readonly row: Omit<ReportRow, 'seq'> & Pick<Report, 'report_type' | 'overall_finding'>
}

interface ReportInput {
  readonly report_id: string
  readonly subject: Subject
  readonly title: string
  /** The same title, sealed under the secret that the whole report will use. */
  readonly sealed: Awaited<ReturnType<typeof sealTitle>>
  readonly gathered: GatheredReport
  /** Microseconds. */
  readonly period: { readonly from_us: number; readonly to_us: number }
}

export const REPORT_ID_BYTES = 16

export async function writeReport(kernel: Kernel, writing: ReportInput): Promise<ReportDraft> {
  const { report_id, subject, title, sealed, gathered, period } = writing
  const { tenant_id, report_type } = subject
  const { secret_no } = sealed
  const created_us = kernel.clock.now()
  const { content_hash, file_size_bytes, overall_finding, log_seq } = gathered
  const tenant = await kernel.db.read(tenant_id, (db) => findTenant(db, tenant_id))
  const signed = await signReport(kernel, {
    record_kind: 'report',
    report_version: REPORT_VERSION,
    report_id,
    tenant_id,
    tenant_name: tenant?.name ?? tenant_id,
    report_type,
    framework: report_type,
    title,
    headline: gathered.headline,
    status: 'complete',
    overall_status: overall_finding,
    overall_finding,
    period_start: subject.period_start,
    period_end: subject.period_end,
    log_seq,
    content_hash,
    file_size_bytes,
    generated_at: formatTime(created_us),
    created_at: formatTime(created_us),
    sections: gathered.sections.map((section) => ({ ...section })),
    content: gathered.content,
  })
  const document = await sealDocument(kernel, tenant_id, {
    ...{ report_id, secret_no },
    text: JSON.stringify(signed.report),
  })
  const row = {
    report_id: Buffer.from(report_id, 'hex'),
    report_type,
    overall_finding,
    period_start_us: period.from_us,
    period_end_us: period.to_us,
    log_seq,
    content_hash: Buffer.from(content_hash, 'hex'),
    size_bytes: file_size_bytes,
    created_us,
    deleted_us: null,
    ...sealed,
    sealed: document,
  }
  return { ...signed, row }
}

/** Inserts the row and its log entry. Returns the report's id. */
export async function insertWritten(
  tx: Tx,
  { record_digest, row }: ReportDraft,
  generated_by: string,
): Promise<string> {
  const report_id = toHex(row.report_id)
  tx.needs(insertReport(tx, { ...row, seq: await nextSeq(tx) }))
  await appendCrumb(tx, {
    event_type: 'report.generated',
    subject: report_id,
    payload: {
      report_type: row.report_type,
      overall_finding: row.overall_finding,
      log_seq: row.log_seq,
      content_digest: toHex(row.content_hash),
      record_digest,
      generated_by,
    },
  })
  return report_id
}

/** Opens the document of a report that is not deleted. */
export async function openReport(
  kernel: Kernel,
  tenant_id: string,
  row: ReportRow,
): Promise<Report> {
  const part: Part = { ...partOf(row), column: 'document', sealed: row.sealed }
  const [text] = await openReports(kernel, tenant_id, [part])
  if (typeof text !== 'string') throw new Refusal('unavailable')
  // Authenticated by the seal, and written by `writeReport`.
  return JSON.parse(text) as Report
}

const partOf = ({ report_id, secret_no }: SummaryRow) => ({
  report_id: toHex(report_id),
  secret_no,
})

export async function showSummaries(
  kernel: Kernel,
  tenant_id: string,
  rows: readonly SummaryRow[],
): Promise<ReportSummary[]> {
  const parts = rows.map(
    (row): Part => ({ ...partOf(row), column: 'title', sealed: row.sealed_title }),
  )
  const titles = await openReports(kernel, tenant_id, parts)
  return rows.map((row, i) => ({ ...shownOf(row, tenant_id), title: titles[i] ?? null }))
}

function shownOf(row: SummaryRow, tenant_id: string): ReportSummary {
  // Written by `writeReport` only.
  const report_type = row.report_type as ReportType
  const overall_finding = row.overall_finding as ReportSummary['overall_finding']
  const created_at = formatTime(row.created_us)
  return {
    report_id: toHex(row.report_id),
    tenant_id,
    report_type,
    framework: report_type,
    title: null,
    status: row.deleted_us === null ? 'complete' : 'deleted',
    overall_status: overall_finding,
    overall_finding,
    period_start: formatTime(row.period_start_us),
    period_end: formatTime(row.period_end_us),
    log_seq: row.log_seq,
    content_hash: toHex(row.content_hash),
    file_size_bytes: row.size_bytes,
    generated_at: created_at,
    created_at,
    deleted_at: row.deleted_us === null ? null : formatTime(row.deleted_us),
  }
}

/** `record_digest`: lower hex SHA-256 of the signed bytes, what the log carries. */
async function signReport(kernel: Kernel, document: JsonObject) {
  const signer = kernel.keyring.signer('record')
  const message = reportBytes(document)
  const report: JsonObject = {
    ...document,
    signature: signer.sign(message).toString('base64'),
    public_key: signer.public_key.toString('base64'),
    key_id: signer.key_id,
  }
  const verdict = await verifyReport(report, kernel.keyring.publishedKeys())
  assert(verdict.valid, `a report that does not verify was made: ${verdict.reason}`)
  return { report, record_digest: Buffer.from(sha256(message)).toString('hex') }
}
