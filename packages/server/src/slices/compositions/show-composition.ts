// A composition as it is shown: its row, and what was asked for or signed.

import type { Composition } from '@custos/contract'
import type { CompositionDocument, CompositionRequest, LicenseVerdict } from '@custos/proof'
import { type OpenRecord, showRow } from '../records/index.ts'

/** As it was proposed. The one place where a stored request is given its type again. */
export const requestOf = ({ request }: OpenRecord): CompositionRequest =>
  request as CompositionRequest

/** As it was signed; null where nothing was. */
export const documentOf = ({ document }: OpenRecord): CompositionDocument | null =>
  document as CompositionDocument | null

export function showComposition(record: OpenRecord, tenant_id: string): Composition {
  const { members, ...asked } = requestOf(record)
  const verdict = documentOf(record)?.license_verdict ?? null
  return {
    ...asked,
    composition_id: record.row.record_id,
    member_count: members.length,
    members: [...members],
    license_verdict: verdict === null ? null : showVerdict(verdict),
    ...showRow(record, tenant_id),
  }
}

const showVerdict = ({ terms, reasons, reported, ...verdict }: LicenseVerdict) => ({
  ...verdict,
  terms: [...terms],
  reasons: reasons.map(({ members, licenses, ...reason }) => ({
    ...reason,
    ...{ members: [...members], licenses: [...licenses] },
  })),
  reported: reported.map(({ members, ...rest }) => ({ ...rest, members: [...members] })),
})
