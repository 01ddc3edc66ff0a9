// Reports: the catalogue, statistics, lists, one report, and its files. Also the handlers and the
// job.

import {
  type FileReply,
  REPORT_FRAMEWORKS,
  type Report,
  type ReportFormat,
  type ReportType,
  type reports,
} from '@custos/contract'
import { canonicalize, type JsonObject } from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import { type Call, fileReply, type Handler, type HandlersOf } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { pageOf } from '../../platform/page.ts'
import { printPdf } from '../jobs/index.ts'
import { CATALOGUE_VERSION, catalogueRows, FRAMEWORKS, FULL_AUDIT } from './catalogue/catalogue.ts'
import { EVIDENCE } from './catalogue/evidence-kinds.ts'
import { generate, REPORT_TRAITS, remove, reportMaker } from './generate.ts'
import { REPORT_GENERATE, refuseLimited } from './order.ts'
import { openReport, showSummaries } from './report-record.ts'
import { countReports, findReport, listReports } from './reports.sql.ts'

const frameworks: Handler<typeof reports.frameworks> = async () => ({
  frameworks: [
    ...REPORT_FRAMEWORKS.map((type) => {
      const { name, regulation, articles } = FRAMEWORKS[type]
      const rows = catalogueRows(FRAMEWORKS[type])
      return { type, name, regulation, articles: articles.map(labelOf), catalogue: rows }
    }),
    { type: 'full_audit' as const, ...FULL_AUDIT, articles: [], catalogue: [] },
  ],
  catalogue_version: CATALOGUE_VERSION,
  evidence: Object.fromEntries(Object.entries(EVIDENCE).map(([name, { about }]) => [name, about])),
})

const labelOf = ({ article, title }: { article: string; title: string }) => `${article} ${title}`

const stats: Handler<typeof reports.stats> = async (call) => {
  refuseLimited(call)
  const rows = await call.read(countReports)
  const sum = (pick: (row: (typeof rows)[number]) => number) =>
    rows.reduce((soFar, row) => soFar + pick(row), 0)
  const total = sum(({ count }) => Number(count))
  const deleted = sum(({ deleted: gone }) => Number(gone))
  const newest = Math.max(0, ...rows.map(({ newest_us }) => Number(newest_us)))
  return {
    total_reports: total - deleted,
    complete: total - deleted,
    deleted,
    // Written by `writeReport` only.
    frameworks_used: rows.map(({ report_type }) => report_type as ReportType),
    last_report: newest === 0 ? null : formatTime(newest),
  }
}

const list: Handler<typeof reports.list> = async (call, { query }) => {
  refuseLimited(call)
  const page = pageOf(query, 50, call.operation.id)
  const include_deleted = query?.include_deleted ?? false
  const rows = await call.read((db) => listReports(db, { ...page, include_deleted }))
  const last = rows.at(-1)
  const end = last ? { at: last.seq, id: '' } : null
  return page.envelope('reports', await showSummaries(call.kernel, call.tenant_id, rows), end)
}

async function find(
  call:
    | Call<typeof reports.get>
    | Call<typeof reports.download>
    | Call<typeof reports.download_format>,
  report_id: string,
): Promise<Report> {
  refuseLimited(call)
  const row = await call.read((db) => findReport(db, Buffer.from(report_id, 'hex')))
  if (!row || row.deleted_us !== null) return call.refuse('report_not_found')
  return openReport(call.kernel, call.tenant_id, row)
}

const get: Handler<typeof reports.get> = (call, { params }) => find(call, params.report_id)

const download: Handler<typeof reports.download> = async (call, { params, query }) =>
  makeFile(call, await find(call, params.report_id), query?.format ?? 'json')

const downloadFormat: Handler<typeof reports.download_format> = async (call, { params }) =>
  makeFile(call, await find(call, params.report_id), params.format)

async function makeFile(
  call: Parameters<typeof printPdf>[0],
  report: Report,
  format: ReportFormat,
): Promise<FileReply> {
  const day = report.generated_at.slice(0, 'YYYY-MM-DD'.length).replaceAll('-', '')
  const name = `custos_${report.report_type}_${day}`
  // The canonical form, which the signature covers.
  const signed = canonicalize(report as unknown as JsonObject)
  switch (format) {
    // Loaded on first use.
    case 'html': {
      const { htmlReport } = await import('@custos/report-files')
      return fileReply({ file: htmlReport(report), type: HTML, filename: `${name}.html` })
    }
    case 'pdf': {
      const file = await printPdf(call, report)
      return fileReply({ file, type: 'application/pdf', filename: `${name}.pdf` })
    }
    case 'oscal': {
      const { oscalReport } = await import('@custos/report-files')
      const file = oscalReport(report, signed)
      return fileReply({ file, type: JSON_TYPE, filename: `${name}.oscal.json` })
    }
    default:
      return fileReply({ file: signed, type: JSON_TYPE, filename: `${name}.json` })
  }
}

const HTML = 'text/html; charset=utf-8'
const JSON_TYPE = 'application/json; charset=utf-8'

export { reportTextSource } from './sealed-report.ts'
export const reportsHandlers = {
  stats,
  frameworks,
  generate,
  list,
  get,
  download,
  download_format: downloadFormat,
  delete: remove,
} satisfies HandlersOf<typeof reports>

/** Must run before the jobs start. */
export function registerReportJobs(kernel: Kernel): void {
  kernel.jobs.register(REPORT_GENERATE, reportMaker(kernel), REPORT_TRAITS)
}
