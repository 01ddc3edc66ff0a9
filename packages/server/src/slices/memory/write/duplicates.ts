// Exact duplicates among the current facts of a store and namespace: reported, never merged.

import { shareCalls } from '../../../platform/concurrency.ts'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import { type Kernel, perKernel } from '../../../platform/kernel/kernel.ts'
import { Refusal } from '../../../platform/refusal.ts'
import type { FactDraft } from '../facts/fact-document.ts'
import { findFactStates, LIVE } from '../facts/facts.sql.ts'
import type { PreparedFact } from '../facts/prepare-facts.ts'
import { storeIndexes } from '../index/store-indexes.ts'
import { findCommittedPosition } from '../stores/store-heads.ts'
import { findStore } from '../stores/stores.sql.ts'

/** Concurrent writes share the read of their store. */
const storeReads = perKernel((kernel) =>
  shareCalls((tenant_id: string, store_id: string) =>
    kernel.db.read(tenant_id, (db) => findStore(db, store_id)),
  ),
)

/**
 * Returns for each draft the smallest ref of a current fact with the same content, or null. The
 * facts may be hidden; see `withoutHidden`.
 */
export async function findDuplicates(
  kernel: Kernel,
  where: { readonly tenant_id: string; readonly store_id: string },
  drafts: readonly FactDraft[],
): Promise<(number | null)[]> {
  const { tenant_id, store_id } = where
  const head_seq =
    findCommittedPosition(kernel.db, tenant_id, store_id) ??
    (await storeReads(kernel)(tenant_id, store_id))?.head_seq
  if (head_seq === undefined) return drafts.map(() => null)
  const now_us = kernel.clock.now()
  try {
    const index = await storeIndexes(kernel).loadCurrent(tenant_id, store_id, head_seq)
    return drafts.map(({ content, namespace }) => index.findDuplicate(content, namespace, now_us))
  } catch (error) {
    // A write does not wait for a large index build; its reply then names no duplicate.
    if (error instanceof Refusal && error.code === 'index_building') return drafts.map(() => null)
    throw error
  }
}

/**
 * Adds duplicates within a batch to those `found` in the store. The duplicate is the first fact of
 * the batch that has the content in the same namespace and is current from the write on.
 */
export function findDuplicatesInBatch(
  facts: readonly Pick<PreparedFact, 'ref' | 'content_hash'>[],
  found: readonly (number | null)[],
  isCurrent: (index: number) => boolean,
): (number | null)[] {
  // The hash covers content and namespace.
  const first = new Map<string, number>()
  return facts.map(({ ref, content_hash }, i) => {
    const before = first.get(content_hash) ?? null
    if (before === null && isCurrent(i)) first.set(content_hash, ref)
    return found[i] ?? before
  })
}

/** Drops hidden facts inside the unit of work: replies do not name a fact being erased. */
export async function withoutHidden(
  db: TenantDb,
  found: readonly (number | null)[],
): Promise<readonly (number | null)[]> {
  const refs = found.filter((ref) => ref !== null)
  if (refs.length === 0) return found
  const rows = await findFactStates(db, refs)
  const live = new Set(rows.flatMap(({ ref, state }) => (state === LIVE ? [ref] : [])))
  return found.map((ref) => (ref !== null && live.has(ref) ? ref : null))
}
