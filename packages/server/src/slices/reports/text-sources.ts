// Titles of reports: how requests of data subjects reach them.

import { textSource } from '../../platform/kernel/text-source.ts'
import {
  findReport,
  listSealedReports,
  type ReportRow,
  updateRedactedReport,
} from './reports.sql.ts'
import { openReports } from './sealed-report.ts'

/** A title is a part of the signed report: its content goes too, as when a report is deleted. */
export const reportTextSource = textSource<ReportRow, { readonly title: string }>({
  kind: 'report',
  list: (db, after, limit) => listSealedReports(db, after?.seq ?? -1, limit),
  find: (db, id) => findReport(db, Buffer.from(id, 'hex')),
  idOf: ({ report_id }) => Buffer.from(report_id).toString('hex'),
  createdUs: ({ created_us }) => created_us,
  async open(kernel, tenant_id, rows) {
    const parts = rows.map(({ report_id, secret_no, sealed_title: sealed }) => {
      const id = Buffer.from(report_id).toString('hex')
      return { column: 'title', report_id: id, secret_no, sealed } as const
    })
    const titles = await openReports(kernel, tenant_id, parts)
    return titles.map((title) => (title === null ? null : { title }))
  },
  redact: async () => [Buffer.alloc(0)],
  update: (tx, { report_id }) => updateRedactedReport(tx, report_id),
})
