// Canaries through reports: the title is the only text a caller gives.

import { marks, type SendParts, twice } from './send-parts.ts'

export async function sendReports(parts: SendParts): Promise<void> {
  const { text, headers } = marks(parts, 'reports.generate')
  const body = { report_type: 'gdpr', title: text('body.title') }
  const { report_id } = await twice(
    parts,
    { status: 200, path: '/v1/reports/generate' },
    { body, headers: headers() },
  )
  parts.made.kept.push({ report_id })
  const later = { ...body, title: text('body.title'), background: true }
  const ordered = await twice(
    parts,
    { status: 202, path: '/v1/reports/generate' },
    { body: later, headers: headers() },
  )
  parts.made.kept.push({ report_id: ordered.report_id, job_id: ordered.job_id })
}
