// Steps 2 and 3 of an erasure: plan, ledger row, secret destroyed. From there it can only go on.

import { renewTurn, requestInTurn, requireTurn } from '../../platform/erasure-turn.ts'
import type { Kernel } from '../../platform/kernel.ts'
import type { LedgerParts } from '../../platform/keys/keyring.ts'
import { Refusal } from '../../platform/refusal.ts'
import { dropScrubParts, untilCurrent } from '../decisions/index.ts'
import { requestMissed, unmarkErasing } from '../memory/index.ts'
import { type Finished, finishFacts } from './finish-facts.ts'
import type { Pending } from './plan.ts'
import {
  type FactErasure,
  type Known,
  ledgerRow,
  type Marked,
  type Planned,
  planFacts,
} from './plan-facts.ts'
import { passed } from './steps.ts'
import { deleteHeldNumbers } from './subjects.sql.ts'

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
  let parts: LedgerParts | null = null
  try {
    await passed(kernel, '1')
    const planned = await untilCurrent(kernel, tenant_id, {
      plan: async () => {
        const made = await planFacts(kernel, tenant_id, erasure)
        parts = made.parts
        await passed(kernel, '2')
        return made
      },
      planned_from: (made) => made.parts?.planned_from ?? new Map(),
      drop: async (made) => {
        if (made.parts) await dropScrubParts(kernel, made.parts)
      },
    })
    const pending = await request(kernel, tenant_id, { ...planned, ...erasure })
    return { pending, known: planned.known }
  } catch (error) {
    await undo(kernel, tenant_id, { marked: erasure.marked, parts }).catch((failure: unknown) => {
      // The marks are then another's to take back: with its turn, or a minute later.
      if (!(failure instanceof Refusal)) throw failure
      kernel.logger.warn('erasure.not_undone', { tenant_id })
    })
    throw error
  }
}

async function request(
  kernel: Kernel,
  tenant_id: string,
  { plans, parts, requested_us }: Planned & FactErasure,
): Promise<Pending[]> {
  const entries = await requestInTurn(
    kernel,
    tenant_id,
    plans.map((plan) => ledgerRow(tenant_id, plan, { requested_us, parts })),
  )
  // Rows from before keep their own parts; when all are, nobody has claimed these.
  if (parts) await kernel.keyring.ledger.dropParts(parts.parts_id)
  const bySubject = new Map(entries.map((entry) => [entry.subject, entry]))
  return plans.flatMap((plan) => {
    const entry = bySubject.get(String(plan.ref))
    return entry ? [{ entry, plan }] : []
  })
}

interface Undoing {
  readonly marked: readonly Marked[]
  readonly parts: LedgerParts | null
}

// A ledger row may be durable although asking for it failed: then the next turn finishes it, and
// the fact stays hidden until it does.
async function undo(kernel: Kernel, tenant_id: string, { marked, parts }: Undoing): Promise<void> {
  await kernel.step('erasure:undo')
  if (parts) await kernel.keyring.ledger.dropParts(parts.parts_id)
  const refs = marked.map(({ ref }) => ref)
  await showAgain(kernel, tenant_id, refs)
}

/**
 * Takes back step 1 for those of the refs that the ledger knows nothing of. Refuses `unavailable`
 * when another has the turn: a memory shown while that one erases it could be named by a decision
 * that its plan has not seen, and which then opens for nobody.
 */
export async function showAgain(
  kernel: Kernel,
  tenant_id: string,
  refs: readonly number[],
): Promise<void> {
  if (refs.length === 0) return
  await renewTurn(kernel, tenant_id)
  const undone: number[] = []
  for (const ref of refs)
    if (!(await kernel.keyring.ledger.find(tenant_id, 'fact', String(ref)))) undone.push(ref)
  if (undone.length === 0) return
  await kernel.db.transact(tenant_id, async (tx) => {
    await requireTurn(kernel, tx)
    await unmarkErasing(tx, undone)
    await requestMissed(kernel, tx, undone)
    await deleteHeldNumbers(tx, undone)
  })
}
