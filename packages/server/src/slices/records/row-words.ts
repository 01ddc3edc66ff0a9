// Words of a record's row, as the closed lists they are written from.

import { RECORD_STATUSES, type RecordStatus } from '@custos/contract'
import { RECORD_KINDS, type RecordKind } from '@custos/proof'

/** Throws for what this service did not write. */
export function kindOf({ kind }: { readonly kind: string }): RecordKind {
  const found = RECORD_KINDS.find((known) => known === kind)
  if (found === undefined) throw new Error('a record of an unknown kind')
  return found
}

export function statusOf({ status }: { readonly status: string }): RecordStatus {
  const found = RECORD_STATUSES.find((known) => known === status)
  if (found === undefined) throw new Error('a record of an unknown status')
  return found
}
