// What erasure needs of memory: marks, tombstones, removal from this process, and a check of
// absence.

import type { TenantDb, Tx } from '../../../platform/db/tenant-db.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { removeFromChain } from '../facts/chain-repair.ts'
import { runningEmbeddings, STORE_REEMBED } from '../facts/embeddings.ts'
import {
  deleteFact,
  ERASING,
  findFact,
  findFactHeads,
  findFactStates,
  findTombstones,
  insertTombstone,
  LIVE,
  updateStates,
  updateTombstoneCertificate,
} from '../facts/facts.sql.ts'
import { loadLiveFacts, pageMemories } from '../facts/opened-fact.ts'
import { openedFactCache } from '../facts/opened-fact-cache.ts'
import { deleteRetrievedFact } from '../facts/retrieved-facts.sql.ts'
import { findCurrentValidity } from '../facts/validity.sql.ts'
import { storeIndexes } from '../index/store-indexes.ts'
import { deleteExpiry } from '../stores/expiries.sql.ts'
import { legalHoldRefusal, loadHeldStores } from '../stores/holds.ts'
import { advanceStoreHead } from '../stores/store-heads.ts'
import { settingsCache } from '../stores/store-settings.ts'
import { findStore } from '../stores/stores.sql.ts'

type FactState = 'live' | 'erasing' | 'erased'

/** States of the refs that are or were facts; the others are absent. */
export async function loadFactStates(
  db: TenantDb,
  refs: readonly number[],
): Promise<Map<number, FactState>> {
  const states = new Map<number, FactState>()
  for (const { ref, state } of await findFactStates(db, refs))
    states.set(ref, state === ERASING ? 'erasing' : 'live')
  // A ref has a row or a tombstone, never both.
  const others = refs.filter((ref) => !states.has(ref))
  if (others.length === 0) return states
  for (const { ref } of await findTombstones(db, others)) states.set(ref, 'erased')
  return states
}

/**
 * Hides facts from every read from this commit on and returns those that were live. Every erasure
 * begins here. Refuses `legal_hold` for all of them when one is in a store under a hold.
 */
export async function markErasing(tx: Tx, refs: readonly number[]): Promise<number[]> {
  await refuseHeldFacts(tx, refs)
  return updateStates(tx, refs, { before: LIVE, after: ERASING })
}

/** Shows facts again after an erasure that was undone before anything was destroyed. */
export const unmarkErasing = (tx: Tx, refs: readonly number[]) =>
  updateStates(tx, refs, { before: ERASING, after: LIVE })

/**
 * Requests the vectors that facts have missed while they were hidden. Always a new job: one that is
 * running may have passed these facts.
 */
export async function enqueueMissingVectors(kernel: Kernel, tx: Tx, refs: readonly number[]) {
  const heads = await findFactHeads(tx, refs)
  for (const [store_id, facts] of Map.groupBy(heads, (head) => head.store_id)) {
    const store = await findStore(tx, store_id)
    const space = store?.state === 'active' ? kernel.embedders.spaceOf(store.embedder) : null
    if (space && facts.some(({ space_mark }) => space_mark !== space.mark))
      await kernel.jobs.enqueue(tx, STORE_REEMBED, { store_id })
  }
}

interface NewTombstone {
  readonly ref: number
  readonly store_id: string
  readonly certificate_id: string | null
  /** Log position of the erasure. */
  readonly seq: number
}

/** Replaces the fact's row by a tombstone and repairs its version chain. */
export async function writeTombstone(
  tx: Tx,
  { ref, store_id, certificate_id, seq }: NewTombstone,
): Promise<{ predecessor: number | null }> {
  const fact = await findFact(tx, ref)
  const version = await findCurrentValidity(tx, ref)
  await deleteFact(tx, ref)
  await deleteRetrievedFact(tx, store_id, ref)
  await deleteExpiry(tx, ref)
  await insertTombstone(tx, {
    ref,
    store_id,
    written_seq: fact?.written_seq ?? null,
    erased_seq: seq,
    erased_us: tx.now(),
    certificate_id,
  })
  const predecessor = version ? await removeFromChain(tx, version, seq) : null
  await advanceStoreHead(tx, store_id, seq)
  return { predecessor }
}

export const setTombstoneCertificate = (tx: Tx, ref: number, certificate_id: string) =>
  updateTombstoneCertificate(tx, ref, certificate_id)

/** Removes facts from the memory of this process; no refs: the whole store. */
export function dropCached(
  kernel: Kernel,
  tenant_id: string,
  store_id: string,
  refs: readonly number[],
): void {
  if (refs.length === 0) {
    settingsCache(kernel).forget(tenant_id, store_id)
    storeIndexes(kernel).drop(tenant_id, store_id)
    openedFactCache(kernel).removeStore(tenant_id, store_id)
    runningEmbeddings(kernel).interruptStore(tenant_id, store_id)
  } else {
    storeIndexes(kernel).removeFacts(tenant_id, store_id, refs)
    openedFactCache(kernel).remove(tenant_id, refs)
    runningEmbeddings(kernel).interrupt(tenant_id, refs)
  }
}

/** Memories read around the ref on a page. */
const PROBED_MEMORIES = 8

/** Checks every path of this slice that could show the fact. */
export async function probeErasedFact(
  kernel: Kernel,
  tenant_id: string,
  { ref, store_id }: { readonly ref: number; readonly store_id: string | null },
): Promise<{ path: string; result: string }[]> {
  const found = await kernel.db.read(tenant_id, async (db) => {
    const byRef = (await loadLiveFacts(kernel, db, [ref])).has(ref)
    const store = store_id === null ? undefined : await findStore(db, store_id)
    if (!store || store_id === null) return { byRef, listed: null, store: undefined }
    // Lists, audits and exports use the same page function.
    const page = await pageMemories(
      kernel,
      db,
      { store_id },
      {
        after: ref - 1,
        limit: PROBED_MEMORIES,
      },
    )
    return { byRef, listed: page.memories.some((memory) => memory.ref === ref), store }
  })
  const { store } = found
  const indexed = store
    ? storeIndexes(kernel).has(tenant_id, store.store_id, ref)
    : storeIndexes(kernel).hasAnywhere(tenant_id, ref)
  const cached =
    openedFactCache(kernel).has(tenant_id, ref) || runningEmbeddings(kernel).has(tenant_id, ref)
  // Without a store there are no lists to check, and the certificate says so.
  const result = (present: boolean | null) =>
    present === null ? 'not_applicable' : present ? 'present' : 'absent'
  return [
    { path: 'memory.memory', result: result(found.byRef) },
    { path: 'memory.memories', result: result(found.listed) },
    { path: 'memory.audit', result: result(found.listed) },
    { path: 'memory.export', result: result(found.listed) },
    { path: 'memory.retrieve', result: result(indexed || cached) },
  ]
}

/** Stores of the refs that are facts, each once. */
export async function listStoresOfFacts(db: TenantDb, refs: readonly number[]): Promise<string[]> {
  return [...new Set((await findFactHeads(db, refs)).map(({ store_id }) => store_id))]
}

/** Refuses `legal_hold` when any of the facts is in a store under one. */
async function refuseHeldFacts(tx: Tx, refs: readonly number[]): Promise<void> {
  const stores = await loadHeldStores(tx, tx.now())
  if (stores.size === 0) return
  const found = (await listStoresOfFacts(tx, refs)).find((store_id) => stores.has(store_id))
  if (found !== undefined) throw legalHoldRefusal(found)
}
