// A composition as it is shown: its row, and what was asked for or signed.

import { type Composition, LISTED_COMPOSITION_BYTES_MAX } from '@custos/contract'
import type {
  CompositionDocument,
  CompositionRequest,
  LicenseVerdict,
  ProposedMember,
} from '@custos/proof'
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
    members: members.map(showMember),
    license_verdict: verdict === null ? null : showVerdict(verdict),
    ...showRow(record, tenant_id),
  }
}

const BYTES_PER_BASE64_CHAR = 3 / 4

/** In a list: two hundred documents of two hundred members are no page. */
export function showListed(record: OpenRecord, tenant_id: string): Composition {
  const shown = showComposition(record, tenant_id)
  const signed = String(record.document?.['signed_bytes'] ?? '')
  const large = signed.length * BYTES_PER_BASE64_CHAR > LISTED_COMPOSITION_BYTES_MAX
  return large ? { ...shown, document: null, license_verdict: null, members: [] } : shown
}

const showMember = ({ found, ...member }: ProposedMember) => ({
  ...member,
  found: found === null ? null : { ...found, licenses: [...found.licenses] },
})

const showVerdict = ({ terms, reasons, reported, ...verdict }: LicenseVerdict) => ({
  ...verdict,
  terms: [...terms],
  reasons: reasons.map(({ members, licenses, ...reason }) => ({
    ...reason,
    ...{ members: [...members], licenses: [...licenses] },
  })),
  reported: reported.map(({ members, ...rest }) => ({ ...rest, members: [...members] })),
})
