// Legal holds: while one stands on a store, nothing in it is erased.
//
// The look and the mark that begins an erasure are one unit of work, so that a hold is either
// there before the mark, and refuses it, or comes after it and says how much was marked by then.

import type { TenantDb, Tx } from '../../platform/db/tenant-db.ts'
import { Refusal } from '../../platform/refusal.ts'
import { findFactHeads } from './facts.sql.ts'
import { listHeldStores } from './holds.sql.ts'

/**
 * Stores with a hold that stands at `at_us`: neither released nor past its end. In a unit of work
 * give `tx.now()`; no hold comes between the look and the commit.
 */
export async function heldStores(db: TenantDb, at_us: number): Promise<ReadonlySet<string>> {
  return new Set((await listHeldStores(db, at_us)).map(({ store_id }) => store_id))
}

/** Refuses `legal_hold` when one stands on the store. */
export async function refuseHeldStore(db: TenantDb, store_id: string, at_us: number) {
  if ((await heldStores(db, at_us)).has(store_id)) throw held(store_id)
}

/** Stores of those refs that are facts, each once. */
export async function factStores(db: TenantDb, refs: readonly number[]): Promise<string[]> {
  return [...new Set((await findFactHeads(db, refs)).map(({ store_id }) => store_id))]
}

/** Refuses `legal_hold` when any of the facts is in a store on which one stands. */
export async function refuseHeldFacts(tx: Tx, refs: readonly number[]): Promise<void> {
  const stores = await heldStores(tx, tx.now())
  if (stores.size === 0) return
  const found = (await factStores(tx, refs)).find((store_id) => stores.has(store_id))
  if (found !== undefined) throw held(found)
}

const held = (store_id: string) =>
  new Refusal('legal_hold', 'a legal hold stands on the store', { members: { store_id } })
