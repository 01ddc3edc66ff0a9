// The first step: from this commit on nobody acts for the tenant, and its log takes nothing more.

import { endJobs, findDestruction, insertDestruction } from '../../platform/db/destructions.sql.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import { requireTurn } from '../../platform/erasure-turn.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { heldStores } from '../memory/index.ts'
import { revokeKeysOfTenant } from '../tenants/index.ts'
import type { Reasons } from './plan.ts'

export interface Marking {
  readonly certificate_id: string
  readonly requested_us: number
  readonly reasons: Reasons
  /** On older data that were restored the keys are gone already, whatever is held. */
  readonly despite_holds: boolean
}

/** How many keys were revoked; refuses `legal_hold` while one stands on any store. */
export async function markDestroyed(kernel: Kernel, tx: Tx, marking: Marking): Promise<number> {
  await requireTurn(kernel, tx)
  const { tenant_id } = tx
  const { certificate_id, requested_us, reasons, despite_holds } = marking
  if (await findDestruction(tx, tenant_id)) return 0
  const held = despite_holds ? 0 : (await heldStores(tx, tx.now())).size
  if (held > 0) throw new Refusal('legal_hold', `legal holds stand on ${held} stores of the tenant`)
  await insertDestruction(tx, {
    certificate_id,
    requested_us,
    reasons: JSON.stringify(reasons),
  })
  await endJobs(tx)
  return revokeKeysOfTenant(kernel, tx)
}
