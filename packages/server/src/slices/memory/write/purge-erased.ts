// Removes from this process's memory what other processes erased, even while the process is idle.

import { PLATFORM } from '../../../platform/db/database.ts'
import { listDestroyedIds } from '../../../platform/db/destructions.sql.ts'
import { listMovedIds } from '../../../platform/db/moves.sql.ts'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import { type Kernel, perKernel } from '../../../platform/kernel/kernel.ts'
import { findHead } from '../../gcrumbs/index.ts'
import { runningEmbeddings } from '../facts/embeddings.ts'
import { listErasedSince } from '../facts/facts.sql.ts'
import { openedFactCache } from '../facts/opened-fact-cache.ts'
import { storeIndexes } from '../index/store-indexes.ts'
import { findStore } from '../stores/stores.sql.ts'
import { dropCached } from './erase-facts.ts'

/** A position before the first log entry. */
const NEVER = -1

/**
 * A read on an older snapshot can load a fact after the purge removed it, so erasures of this last
 * period are read again.
 */
const OVERLAP_MS = 90_000

/** Log positions up to which the erasures of a store have been applied. */
interface PurgePosition {
  /** The next purge starts here. */
  readonly from: number
  /** Where the purge at `at_ms` ended. */
  readonly seq: number
  readonly at_ms: number
}

const purgePositions = perKernel(() => new Map<string, PurgePosition>())

const keyOf = (tenant_id: string, store_id: string): string => `${tenant_id}\n${store_id}`

/**
 * Purges every store of which this process holds facts. For processes that share a database. Reads
 * check their snapshot and never show an erased fact; the purge clears the memory.
 */
export async function purgeErased(kernel: Kernel): Promise<void> {
  await dropDestroyed(kernel)
  const stores = listStoresInMemory(kernel)
  const positions = purgePositions(kernel)
  for (const key of positions.keys()) if (!stores.has(key)) positions.delete(key)
  for (const [tenant_id, ofTenant] of Map.groupBy(stores.values(), ([tenant_id]) => tenant_id))
    await kernel.db.read(tenant_id, (db) => purgeTenant(kernel, db, ofTenant))
}

/** Drops all data of tenants that have been off-boarded or moved to another cluster. */
async function dropDestroyed(kernel: Kernel): Promise<void> {
  const stores = [...listStoresInMemory(kernel).values()]
  if (stores.length === 0) return
  const gone = new Set([
    ...(await kernel.db.read(PLATFORM, listDestroyedIds)),
    ...(await kernel.db.read(PLATFORM, listMovedIds)),
  ])
  for (const [tenant_id, store_id] of stores) {
    if (gone.has(tenant_id)) dropCached(kernel, tenant_id, store_id, [])
  }
}

async function purgeTenant(
  kernel: Kernel,
  db: TenantDb,
  stores: readonly (readonly [string, string])[],
): Promise<void> {
  const { tenant_id } = db
  const positions = purgePositions(kernel)
  const seq = ((await findHead(db))?.size ?? 0) - 1
  for (const [, store_id] of stores) {
    const key = keyOf(tenant_id, store_id)
    const before = positions.get(key) ?? { from: NEVER, seq: NEVER, at_ms: performance.now() }
    const { from } = before
    if (from === seq) continue
    const refs = (await listErasedSince(db, store_id, from)).map(({ ref }) => ref)
    if (refs.length > 0) dropCached(kernel, tenant_id, store_id, refs)
    if (!(await findStore(db, store_id))) storeIndexes(kernel).drop(tenant_id, store_id)
    positions.set(key, advance(before, seq))
  }
}

function advance(before: PurgePosition, seq: number): PurgePosition {
  const now = performance.now()
  if (now - before.at_ms < OVERLAP_MS) return { ...before, seq: Math.max(seq, before.seq) }
  return { from: before.seq, seq, at_ms: now }
}

function listStoresInMemory(kernel: Kernel): Map<string, readonly [string, string]> {
  const stores = new Map<string, readonly [string, string]>()
  const add = (tenant_id: string, store_id: string) =>
    stores.set(keyOf(tenant_id, store_id), [tenant_id, store_id])
  for (const [tenant_id, store_id] of storeIndexes(kernel).stores()) add(tenant_id, store_id)
  for (const [tenant_id, store_id] of openedFactCache(kernel).stores()) add(tenant_id, store_id)
  for (const [tenant_id, store_id] of runningEmbeddings(kernel).stores()) add(tenant_id, store_id)
  return stores
}
