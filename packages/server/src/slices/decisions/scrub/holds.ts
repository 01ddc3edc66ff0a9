// Legal holds on decisions: a decision of a held store, or that used its memory, keeps its own
// text.
//
// Check inside `runErasure`: a hold is placed in a run of its own, so that none comes between the
// check and the ledger row from which a redaction can only be finished.

import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { listStoresOfFacts, loadHeldStores } from '../../memory/index.ts'
import { findDecision, findFactInStores, findUseInStores } from '../trail/decisions.sql.ts'

const holdRefusal = () =>
  new Refusal(
    'legal_hold',
    'a legal hold is on the store of the decision, or on a store that it used',
  )

/**
 * Refuses `legal_hold` where taking the ref out of decisions would remove what a hold keeps: its
 * memory is in a held store, or a decision of one shows it.
 * @param reach the only stores whose decisions are changed; empty: every store. A caller that
 * reaches no decision that used the ref, nor its memory, removes nothing and is not told of a hold.
 */
export async function refuseHeldUses(
  db: TenantDb,
  ref: number,
  at_us: number,
  reach: readonly string[] = [],
): Promise<void> {
  const stores = await loadHeldStores(db, at_us)
  if (stores.size === 0) return
  const within = (store_id: string) => reach.length === 0 || reach.includes(store_id)
  const [store_id] = await listStoresOfFacts(db, [ref])
  if (store_id !== undefined && stores.has(store_id))
    if (within(store_id) || (await findUseInStores(db, ref, reach))) throw holdRefusal()
  const reached = [...stores].filter(within)
  if (reached.length > 0 && (await findUseInStores(db, ref, reached))) throw holdRefusal()
}

/** Refuses `legal_hold` for a decision of a held store, and for one that used its memory. */
export async function refuseHeldDecision(
  db: TenantDb,
  decision_id: string,
  at_us: number,
): Promise<void> {
  const stores = await loadHeldStores(db, at_us)
  if (stores.size === 0) return
  const row = await findDecision(db, Buffer.from(decision_id, 'hex'))
  if (!row) return
  if (stores.has(row.store_id) || (await findFactInStores(db, row.seq, [...stores])))
    throw holdRefusal()
}
