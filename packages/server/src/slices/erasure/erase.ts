// Steps 2 and 3 of an erasure: plan, ledger row, secret destroyed. From there it can only go on.

import type { Kernel } from '../../platform/kernel.ts'
import { unmarkErasing } from '../memory/index.ts'
import { type Finished, finishFacts } from './finish-facts.ts'
import type { Pending } from './plan.ts'
import { type FactErasure, type Known, ledgerRow, planFacts } from './plan-facts.ts'
import { passed } from './steps.ts'

export interface Erased extends Finished {
  /** Salt and content of what was erased; only the first answer may show the salt. */
  readonly known: ReadonlyMap<number, Known>
}

/**
 * Erases 1..500 subjects of one tenant that step 1 has marked. The caller holds the tenant's
 * erasure turn. A failure before the ledger row is durable leaves everything as it was.
 */
export async function eraseMarked(
  kernel: Kernel,
  tenant_id: string,
  erasure: FactErasure,
): Promise<Erased> {
  const refs = erasure.marked.map(({ ref }) => ref)
  const { pending, known } = await planOrUndo(kernel, tenant_id, erasure)
  await passed(kernel, '3-ledger')
  await kernel.keyring.destroySecrets(tenant_id, 'fact', refs)
  await passed(kernel, '3')
  return { known, ...(await finishFacts(kernel, tenant_id, { pending, known })) }
}

async function planOrUndo(
  kernel: Kernel,
  tenant_id: string,
  erasure: FactErasure,
): Promise<{ pending: Pending[]; known: ReadonlyMap<number, Known> }> {
  try {
    await passed(kernel, '1')
    const { plans, known } = await planFacts(kernel, tenant_id, erasure)
    await passed(kernel, '2')
    const entries = await kernel.keyring.ledger.request(
      plans.map((plan) => ledgerRow(tenant_id, plan, erasure.requested_us)),
    )
    const bySubject = new Map(entries.map((entry) => [entry.subject, entry]))
    const pending = plans.flatMap((plan) => {
      const entry = bySubject.get(String(plan.ref))
      return entry ? [{ entry, plan }] : []
    })
    return { pending, known }
  } catch (error) {
    await undoMarks(kernel, tenant_id, erasure)
    throw error
  }
}

// A ledger row may be durable although asking for it failed: then the next turn finishes it, and
// the fact stays hidden until it does.
async function undoMarks(
  kernel: Kernel,
  tenant_id: string,
  { marked }: FactErasure,
): Promise<void> {
  await kernel.step('erasure:undo')
  const refs: number[] = []
  for (const { ref } of marked)
    if (!(await kernel.keyring.ledger.find(tenant_id, 'fact', String(ref)))) refs.push(ref)
  await kernel.db.transact(tenant_id, (tx) => unmarkErasing(tx, refs))
}
