// Drops from this process what other processes have erased, also while nobody asks for anything.

import { PLATFORM } from '../../platform/db/database.ts'
import { listDestroyedIds } from '../../platform/db/destructions.sql.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import { type Kernel, perKernel } from '../../platform/kernel.ts'
import { findHead } from '../gcrumbs/index.ts'
import { embeddings } from './embeddings.ts'
import { listErasedSince } from './facts.sql.ts'
import { openedFacts } from './opened-facts.ts'
import { storeIndexes } from './store-indexes.ts'
import { findStore } from './stores.sql.ts'

/** Before the first entry of any log. */
const NEVER = -1

/**
 * A read that began on an older snapshot may bring a fact in after it was dropped: what was erased
 * so long ago is looked at again.
 */
const OVERLAP_MS = 90_000

/** Log positions the erasures of a held store have been looked at up to, and when that was. */
interface Looked {
  readonly from: number
  readonly seq: number
  readonly at_ms: number
}

const looked = perKernel(() => new Map<string, Looked>())

const keyOf = (tenant_id: string, store_id: string): string => `${tenant_id}\n${store_id}`

/**
 * One look at every store this process holds facts of. For processes that share a database: a
 * read looks at its snapshot and shows nothing erased anyway; this clears the memory.
 */
export async function purgeErased(kernel: Kernel): Promise<void> {
  await dropDestroyed(kernel)
  const held = heldStores(kernel)
  const seen = looked(kernel)
  for (const key of seen.keys()) if (!held.has(key)) seen.delete(key)
  for (const [tenant_id, stores] of Map.groupBy(held.values(), ([tenant_id]) => tenant_id))
    await kernel.db.read(tenant_id, (db) => purgeTenant(kernel, db, stores))
}

/** All there is of tenants that were off-boarded. */
async function dropDestroyed(kernel: Kernel): Promise<void> {
  const held = [...heldStores(kernel).values()]
  if (held.length === 0) return
  const destroyed = new Set(await kernel.db.read(PLATFORM, listDestroyedIds))
  for (const [tenant_id, store_id] of held) {
    if (!destroyed.has(tenant_id)) continue
    storeIndexes(kernel).drop(tenant_id, store_id)
    openedFacts(kernel).forgetStore(tenant_id, store_id)
    embeddings(kernel).interruptStore(tenant_id, store_id)
  }
}

async function purgeTenant(
  kernel: Kernel,
  db: TenantDb,
  stores: readonly (readonly [string, string])[],
): Promise<void> {
  const { tenant_id } = db
  const seen = looked(kernel)
  const seq = ((await findHead(db))?.size ?? 0) - 1
  for (const [, store_id] of stores) {
    const key = keyOf(tenant_id, store_id)
    const before = seen.get(key) ?? { from: NEVER, seq: NEVER, at_ms: performance.now() }
    const { from } = before
    if (from === seq) continue
    const refs = (await listErasedSince(db, store_id, from)).map(({ ref }) => ref)
    openedFacts(kernel).forget(tenant_id, refs)
    storeIndexes(kernel).forget(tenant_id, store_id, refs)
    embeddings(kernel).interrupt(tenant_id, refs)
    if (!(await findStore(db, store_id))) storeIndexes(kernel).drop(tenant_id, store_id)
    seen.set(key, advance(before, seq))
  }
}

function advance(before: Looked, seq: number): Looked {
  const now = performance.now()
  if (now - before.at_ms < OVERLAP_MS) return { ...before, seq: Math.max(seq, before.seq) }
  return { from: before.seq, seq, at_ms: now }
}

function heldStores(kernel: Kernel): Map<string, readonly [string, string]> {
  const held = new Map<string, readonly [string, string]>()
  const add = (tenant_id: string, store_id: string) =>
    held.set(keyOf(tenant_id, store_id), [tenant_id, store_id])
  for (const [tenant_id, store_id] of storeIndexes(kernel).held()) add(tenant_id, store_id)
  for (const [tenant_id, store_id] of openedFacts(kernel).held()) add(tenant_id, store_id)
  for (const [tenant_id, store_id] of embeddings(kernel).held()) add(tenant_id, store_id)
  return held
}
