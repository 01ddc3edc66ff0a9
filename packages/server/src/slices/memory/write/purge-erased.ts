// Drops from this process what other processes have erased, also while nobody asks for anything.

import { PLATFORM } from '../../../platform/db/database.ts'
import { listDestroyedIds } from '../../../platform/db/destructions.sql.ts'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import { type Kernel, perKernel } from '../../../platform/kernel.ts'
import { findHead } from '../../gcrumbs/index.ts'
import { runningEmbeddings } from '../facts/embeddings.ts'
import { listErasedSince } from '../facts/facts.sql.ts'
import { openedFactCache } from '../facts/opened-fact-cache.ts'
import { storeIndexes } from '../index/store-indexes.ts'
import { findStore } from '../stores/stores.sql.ts'

/** Before the first entry of any log. */
const NEVER = -1

/**
 * A read that began on an older snapshot may bring a fact in after it was dropped: what was erased
 * so long ago is purgePositions at again.
 */
const OVERLAP_MS = 90_000

/** Log positions the erasures of a held store have been purgePositions at up to, and when that was. */
interface PurgePosition {
  readonly from: number
  readonly seq: number
  readonly at_ms: number
}

const purgePositions = perKernel(() => new Map<string, PurgePosition>())

const keyOf = (tenant_id: string, store_id: string): string => `${tenant_id}\n${store_id}`

/**
 * One look at every store this process holds facts of. For processes that share a database: a
 * read looks at its snapshot and shows nothing erased anyway; this clears the memory.
 */
export async function purgeErased(kernel: Kernel): Promise<void> {
  await dropDestroyed(kernel)
  const held = listStoresInMemory(kernel)
  const seen = purgePositions(kernel)
  for (const key of seen.keys()) if (!held.has(key)) seen.delete(key)
  for (const [tenant_id, stores] of Map.groupBy(held.values(), ([tenant_id]) => tenant_id))
    await kernel.db.read(tenant_id, (db) => purgeTenant(kernel, db, stores))
}

/** All there is of tenants that were off-boarded. */
async function dropDestroyed(kernel: Kernel): Promise<void> {
  const held = [...listStoresInMemory(kernel).values()]
  if (held.length === 0) return
  const destroyed = new Set(await kernel.db.read(PLATFORM, listDestroyedIds))
  for (const [tenant_id, store_id] of held) {
    if (!destroyed.has(tenant_id)) continue
    storeIndexes(kernel).drop(tenant_id, store_id)
    openedFactCache(kernel).removeStore(tenant_id, store_id)
    runningEmbeddings(kernel).interruptStore(tenant_id, store_id)
  }
}

async function purgeTenant(
  kernel: Kernel,
  db: TenantDb,
  stores: readonly (readonly [string, string])[],
): Promise<void> {
  const { tenant_id } = db
  const seen = purgePositions(kernel)
  const seq = ((await findHead(db))?.size ?? 0) - 1
  for (const [, store_id] of stores) {
    const key = keyOf(tenant_id, store_id)
    const before = seen.get(key) ?? { from: NEVER, seq: NEVER, at_ms: performance.now() }
    const { from } = before
    if (from === seq) continue
    const refs = (await listErasedSince(db, store_id, from)).map(({ ref }) => ref)
    openedFactCache(kernel).remove(tenant_id, refs)
    storeIndexes(kernel).removeFacts(tenant_id, store_id, refs)
    runningEmbeddings(kernel).interrupt(tenant_id, refs)
    if (!(await findStore(db, store_id))) storeIndexes(kernel).drop(tenant_id, store_id)
    seen.set(key, advance(before, seq))
  }
}

function advance(before: PurgePosition, seq: number): PurgePosition {
  const now = performance.now()
  if (now - before.at_ms < OVERLAP_MS) return { ...before, seq: Math.max(seq, before.seq) }
  return { from: before.seq, seq, at_ms: now }
}

function listStoresInMemory(kernel: Kernel): Map<string, readonly [string, string]> {
  const held = new Map<string, readonly [string, string]>()
  const add = (tenant_id: string, store_id: string) =>
    held.set(keyOf(tenant_id, store_id), [tenant_id, store_id])
  for (const [tenant_id, store_id] of storeIndexes(kernel).stores()) add(tenant_id, store_id)
  for (const [tenant_id, store_id] of openedFactCache(kernel).stores()) add(tenant_id, store_id)
  for (const [tenant_id, store_id] of runningEmbeddings(kernel).stores()) add(tenant_id, store_id)
  return held
}
