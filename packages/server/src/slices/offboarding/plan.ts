// The plan of an off-boarding, as the ledger keeps it: enough to finish it on any copy of the data.

import assert from 'node:assert/strict'
import Type, { type Static } from 'typebox'
import { Compile } from 'typebox/compile'

const Count = Type.Integer({ minimum: 0 })

const Counts = Type.Object({
  stores: Count,
  facts: Count,
  decisions: Count,
  records: Count,
  certificates: Count,
  /** Erasures that had begun and were never certified: their memories go with the rest. */
  open_erasures: Count,
})
export type Counts = Static<typeof Counts>

const TenantPlan = Type.Object({
  version: Type.Literal(1),
  kind: Type.Literal('tenant'),
  certificate_id: Type.String(),
  counts: Counts,
  legal_basis: Type.String(),
  requested_by: Type.Union([Type.String(), Type.Null()]),
})
export type TenantPlan = Static<typeof TenantPlan>

const plans = Compile(TenantPlan)

/** Parses a ledger row's plan; the row may have come from a ledger copy on disk. */
export function readPlan(value: unknown): TenantPlan {
  assert(plans.Check(value), 'the ledger row of a tenant carries a plan this version does not know')
  return value
}

export interface Reasons {
  readonly legal_basis: string
  readonly requested_by: string | null
}

const DEFAULTS: Reasons = {
  legal_basis: 'End of the contract (GDPR Article 28(3)(g))',
  requested_by: 'operator',
}

export const reasonsOf = (given: {
  readonly legal_basis?: string | null
  readonly requested_by?: string | null
}): Reasons => ({
  legal_basis: given.legal_basis ?? DEFAULTS.legal_basis,
  requested_by: given.requested_by ?? DEFAULTS.requested_by,
})

/** Of the row that marked the tenant. */
export function readReasons(text: string): Reasons {
  const { legal_basis, requested_by } = JSON.parse(text)
  return reasonsOf({ legal_basis, requested_by })
}
