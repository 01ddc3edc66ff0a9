// Step 4: rows become tombstones, version chains close, decision records are replaced.

import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { applyScrub, planScrub } from '../decisions/index.ts'
import { appendCrumb, nextSeq } from '../gcrumbs/index.ts'
import { entomb } from '../memory/index.ts'
import type { FactPlan } from './plan.ts'
import type { Known } from './plan-facts.ts'
import { findPlaces, findTombstones, insertBareTombstone } from './subjects.sql.ts'

const LATE_ROUNDS = 3

/**
 * Applies plans in one unit, once: a ref that has its tombstone is passed over, because its
 * documents may have been scrubbed further since.
 * @returns ref to the seq of its `memory.erased` entry
 */
export function applyPlans(
  kernel: Kernel,
  tenant_id: string,
  plans: readonly FactPlan[],
): Promise<Map<number, number>> {
  return kernel.db.transact(tenant_id, async (tx) => {
    const refs = plans.map(({ ref }) => ref)
    const seqs = new Map<number, number>()
    for (const { ref, erased_seq } of await findTombstones(tx, refs)) seqs.set(ref, erased_seq)
    const due = plans.filter(({ ref }) => !seqs.has(ref))
    const rows = await findPlaces(
      tx,
      due.map(({ ref }) => ref),
    )
    const stores = new Map(rows.map(({ ref, store_id }) => [ref, store_id]))
    for (const plan of due)
      seqs.set(plan.ref, await replaceRow(tx, plan, stores.get(plan.ref) ?? null))
    await scrub(tx, due)
    return seqs
  })
}

/** Writes the plan's documents whatever the rows say: a restored database takes them in order. */
export async function scrub(tx: Tx, plans: readonly FactPlan[]): Promise<void> {
  if (plans.length === 0) return
  await applyScrub(tx, {
    refs: plans.map(({ ref }) => ref),
    scrubbed: plans.flatMap(({ scrubbed }) => scrubbed),
  })
}

/** @param row_store_id the store of the fact's row; null when there is no row here */
export async function replaceRow(
  tx: Tx,
  { ref, store_id, certificate_id }: FactPlan,
  row_store_id: string | null,
): Promise<number> {
  const seq = await nextSeq(tx)
  let predecessor: number | null = null
  if (row_store_id === null) await insertBareTombstone(tx, { ref, store_id, seq, us: tx.now() })
  else {
    // The tombstone names its certificate once there is one.
    const burial = { ref, store_id: row_store_id, certificate_id: null, seq }
    predecessor = (await entomb(tx, burial)).predecessor
  }
  await appendCrumb(tx, {
    event_type: 'memory.erased',
    subject: certificate_id,
    payload: { ref, predecessor },
  })
  return seq
}

/**
 * A decision naming a ref that is no fact can arrive between plan and tombstone. From the
 * tombstone on contents for the ref are refused, so a second look finds the last of them.
 */
export async function scrubLate(
  kernel: Kernel,
  tenant_id: string,
  plans: readonly FactPlan[],
  known: ReadonlyMap<number, Known>,
): Promise<void> {
  const refs = plans.map(({ ref }) => ref)
  const subjects = refs.map((ref) => ({ ref, content: known.get(ref)?.content ?? null }))
  for (let round = 0; round < LATE_ROUNDS; round += 1) {
    const scrubbed = await planScrub(kernel, tenant_id, subjects)
    if (scrubbed.length === 0) return
    await kernel.db.transact(tenant_id, (tx) => applyScrub(tx, { refs, scrubbed }))
  }
}
