// Legal holds: while a store is under one, nothing in it is erased.
//
// The check for holds and the mark that begins an erasure are in one unit of work: a hold either
// precedes the mark and refuses it, or follows it and reports how many facts were already marked.

import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { listHeldStores } from './holds.sql.ts'

/**
 * Stores under a legal hold at `at_us`: one that is neither released nor past its end. Inside a
 * unit of work pass `tx.now()`; no hold is placed between this read and the commit.
 */
export async function loadHeldStores(db: TenantDb, at_us: number): Promise<ReadonlySet<string>> {
  return new Set((await listHeldStores(db, at_us)).map(({ store_id }) => store_id))
}

/** Refuses `legal_hold` when the store is under one. */
export async function refuseHeldStore(db: TenantDb, store_id: string, at_us: number) {
  if ((await loadHeldStores(db, at_us)).has(store_id)) throw legalHoldRefusal(store_id)
}

export const legalHoldRefusal = (store_id: string) =>
  new Refusal('legal_hold', 'the store is under a legal hold', { members: { store_id } })
