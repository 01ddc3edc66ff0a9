// The plan of an off-boarding in the ledger, enough to finish it on any copy of the data; and the
// names of its steps.

import assert from 'node:assert/strict'
import Type, { type Static } from 'typebox'
import { Compile } from 'typebox/compile'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import type { ErasureReasons } from '../erasure/index.ts'

const Count = Type.Integer({ minimum: 0 })

const Counts = Type.Object({
  stores: Count,
  facts: Count,
  decisions: Count,
  records: Count,
  certificates: Count,
  /** Erasures that had begun but were not certified; their memories are destroyed with the rest. */
  open_erasures: Count,
})

const TenantPlan = Type.Object({
  version: Type.Literal(1),
  kind: Type.Literal('tenant'),
  certificate_id: Type.String(),
  counts: Counts,
  legal_basis: Type.String(),
  requested_by: Type.Union([Type.String(), Type.Null()]),
})
export type TenantPlan = Static<typeof TenantPlan>

const planSchema = Compile(TenantPlan)

/** For a tenant moved to another cluster: keys are destroyed here, the log continues there. */
const MovePlan = Type.Object({
  version: Type.Literal(1),
  kind: Type.Literal('move'),
  move_id: Type.String(),
  /** Base URL of the other cluster. */
  address: Type.String(),
  started_us: Count,
})
export type MovePlan = Static<typeof MovePlan>

const movePlanSchema = Compile(MovePlan)

export const isMove = (plan: unknown): plan is MovePlan => movePlanSchema.Check(plan)

/** Parses a ledger row's plan. The row may come from a ledger copy on disk. */
export function parsePlan(value: unknown): TenantPlan {
  assert(
    planSchema.Check(value),
    'the ledger row of a tenant carries a plan this version does not know',
  )
  return value
}

const DEFAULTS: ErasureReasons = {
  legal_basis: 'End of the contract (GDPR Article 28(3)(g))',
  requested_by: 'operator',
}

export const fillReasons = (given: {
  readonly legal_basis?: string | null
  readonly requested_by?: string | null
}): ErasureReasons => ({
  legal_basis: given.legal_basis ?? DEFAULTS.legal_basis,
  requested_by: given.requested_by ?? DEFAULTS.requested_by,
})

/** Parses the reasons from the row that marked the tenant. */
export function parseReasons(text: string): ErasureReasons {
  const { legal_basis, requested_by } = JSON.parse(text)
  return fillReasons({ legal_basis, requested_by })
}

/**
 * marked: the credentials are revoked, the log is closed; ledger: the plan is durable, the keys
 * still exist; key: the keys are destroyed; logged: the log has its last entry; checkpoint: it is
 * signed; certified: the certificate is stored; completed: it is in the ledger; removed: the rows
 * are deleted.
 */
export const OFFBOARDING_STEPS = [
  'marked',
  'ledger',
  'key',
  'logged',
  'checkpoint',
  'certified',
  'completed',
] as const

export async function reportStep(
  kernel: Kernel,
  step: (typeof OFFBOARDING_STEPS)[number],
): Promise<void> {
  await kernel.step(`offboarding:${step}`)
}
