// Seals and opens a report's document and title, under a record secret of its own.

import type { Kernel } from '../../platform/kernel/kernel.ts'
import { sealedColumn, textPayload } from '../../platform/kernel/sealed-column.ts'
import { textSource } from '../../platform/kernel/text-source.ts'
import { Refusal } from '../../platform/refusal.ts'
import {
  findReport,
  listSealedReports,
  type ReportRow,
  updateRedactedReport,
} from './reports.sql.ts'

interface ReportColumn {
  readonly column: 'title' | 'document'
  readonly report_id: string
}

export const reportColumns = sealedColumn({
  domain: 'report',
  ids: (tenant_id, { column, report_id }: ReportColumn) => [column, tenant_id, report_id],
  payload: textPayload,
})

/** Seals the title under a new secret, which the whole report uses. */
export async function sealTitle(
  kernel: Kernel,
  tenant_id: string,
  { report_id, title }: { report_id: string; title: string },
): Promise<{ readonly secret_no: number; readonly sealed_title: Uint8Array }> {
  const column = { column: 'title', report_id } as const
  const { secret_no, sealed } = await reportColumns.sealNew(kernel, tenant_id, column, title)
  return { secret_no, sealed_title: sealed }
}

/** Seals the document under the secret of the title. */
export async function sealDocument(
  kernel: Kernel,
  tenant_id: string,
  { report_id, secret_no, text }: { report_id: string; secret_no: number; text: string },
): Promise<Buffer> {
  const column = { column: 'document', report_id, secret_no } as const
  const sealed = await reportColumns.sealAgain(kernel, tenant_id, column, text)
  if (!sealed) throw new Refusal('unavailable')
  return sealed
}

export interface Part extends ReportColumn {
  readonly secret_no: number
  readonly sealed: Uint8Array | null
}

/** Opens parts in the order given. `null` for each that is missing or cannot be opened. */
export const openReports = (
  kernel: Pick<Kernel, 'keyring'>,
  tenant_id: string,
  parts: readonly Part[],
): Promise<(string | null)[]> => reportColumns.openAll(kernel, tenant_id, parts)

/** The signed report contains its title, so redacting the title deletes the content too. */
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
