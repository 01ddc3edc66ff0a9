// Exact duplicates among the current facts of a store and namespace: reported, never merged.

import type { Kernel } from '../../platform/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import type { FactDraft } from './prepare-facts.ts'
import { storeIndexes } from './store-indexes.ts'
import { findStore } from './stores.sql.ts'

/** For each draft the smallest ref that holds the same content now, or null. */
export async function findDuplicates(
  kernel: Kernel,
  where: { readonly tenant_id: string; readonly store_id: string },
  drafts: readonly FactDraft[],
): Promise<(number | null)[]> {
  const { tenant_id, store_id } = where
  const store = await kernel.db.read(tenant_id, (db) => findStore(db, store_id))
  if (!store) return drafts.map(() => null)
  const now_us = kernel.clock.now()
  try {
    const index = await storeIndexes(kernel).current(tenant_id, store_id, store.head_seq)
    return drafts.map(({ content, namespace }) => index.duplicateOf(content, namespace, now_us))
  } catch (error) {
    // A write does not wait for a large index; its answer then reports no duplicate.
    if (error instanceof Refusal && error.code === 'index_building') return drafts.map(() => null)
    throw error
  }
}
