// What erasure needs of memory: marks, tombstones, removal from this process, and a check of
// absence. What other processes have erased is removed from this one too, even while it is idle.

import { PLATFORM } from '../../../platform/db/database.ts'
import { listDestroyedIds } from '../../../platform/db/destructions.sql.ts'
import { listMovedIds } from '../../../platform/db/moves.sql.ts'
import type { TenantDb, Tx } from '../../../platform/db/tenant-db.ts'
import { type Kernel, perKernel } from '../../../platform/kernel/kernel.ts'
import { findHead } from '../../gcrumbs/index.ts'
import { removeFromChain } from '../facts/chain-repair.ts'
import { runningEmbeddings, STORE_REEMBED } from '../facts/embeddings.ts'
import {
  deleteFacts,
  ERASING,
  findFactHeads,
  findFactStates,
  findTombstones,
  insertTombstones,
  LIVE,
  listErasedSince,
  updateStates,
  updateTombstoneCertificate,
} from '../facts/facts.sql.ts'
import { deleteItems, findItemRefs } from '../facts/items.sql.ts'
import { loadLiveFacts, pageMemories } from '../facts/opened-fact.ts'
import { noteHiddenFacts, openedFactCache } from '../facts/opened-fact-cache.ts'
import { deleteRetrievedFacts } from '../facts/retrieved-facts.sql.ts'
import { listDigestsUsing } from '../facts/session-digests.sql.ts'
import { endDigests, removeSessionFacts } from '../facts/sessions.ts'
import {
  closeVersion,
  findCurrentValidity,
  listCurrentValidities,
  type ValidityRow,
} from '../facts/validity.sql.ts'
import { removeSnapshot } from '../index/index-snapshots.ts'
import { storeIndexes } from '../index/store-indexes.ts'
import { deleteExpiries } from '../stores/expiries.sql.ts'
import {
  advanceStoreHead,
  legalHoldRefusal,
  loadHeldStores,
  loadStoreHead,
} from '../stores/store-heads.ts'
import { settingsCache } from '../stores/store-settings.ts'
import { findStore } from '../stores/stores.sql.ts'

/** States of the refs that are or were facts. Other refs are missing from the map. */
export async function loadFactStates(db: TenantDb, refs: readonly number[]) {
  const states = new Map<number, 'live' | 'erasing' | 'erased'>()
  for (const { ref, state } of await findFactStates(db, refs))
    states.set(ref, state === ERASING ? 'erasing' : 'live')
  // A ref has a row or a tombstone, never both.
  const others = refs.filter((ref) => !states.has(ref))
  if (others.length === 0) return states
  for (const { ref } of await findTombstones(db, others)) states.set(ref, 'erased')
  return states
}

/**
 * Hides facts from every read from this commit on; returns those that were live. Every erasure
 * begins here. Refuses `legal_hold` for all facts if one of them is in a store under a hold.
 */
export async function markErasing(tx: Tx, refs: readonly number[]): Promise<number[]> {
  await refuseHeldFacts(tx, refs)
  tx.afterCommit(() => noteHiddenFacts(tx.tenant_id))
  return updateStates(tx, refs, { before: LIVE, after: ERASING })
}

/** Makes facts visible again after an erasure was undone before anything was destroyed. */
export const unmarkErasing = (tx: Tx, refs: readonly number[]) =>
  updateStates(tx, refs, { before: ERASING, after: LIVE })

/**
 * Requests the vectors that facts missed while they were hidden. Always enqueues a new job: a
 * running job may have passed these facts.
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

interface ErasedFact {
  readonly ref: number
  readonly store_id: string
  /** Log position of the erasure. */
  readonly seq: number
}

/**
 * Replaces the facts' rows by tombstones and repairs their version chains, in the order given.
 * Erasing the current version of an item removes the item, and erasing a digest removes the digest:
 * no earlier version becomes current again.
 * @returns the predecessor of each fact that had one
 */
export async function writeTombstones(
  kernel: Kernel,
  tx: Tx,
  erased: readonly ErasedFact[],
): Promise<Map<number, number>> {
  const refs = refsOf(erased)
  const heads = new Map((await findFactHeads(tx, refs)).map((head) => [head.ref, head]))
  const versions = new Map(
    (await listCurrentValidities(tx, refs)).map((version) => [version.ref, version]),
  )
  const erased_us = tx.now()
  // Nothing else in this unit reads the rows of these tables.
  tx.needs(deleteFacts(tx, refs))
  tx.needs(deleteExpiries(tx, refs))
  const last_seq = Math.max(0, ...erased.map(({ seq }) => seq))
  const digests = await removeSessionFacts(tx, refs, last_seq)
  const named = await findItemRefs(tx, refs)
  if (named.size > 0) tx.needs(deleteItems(tx, refs))
  const stores = [...Map.groupBy(erased, ({ store_id }) => store_id)]
  for (const [store_id, own] of stores) tx.needs(deleteRetrievedFacts(tx, store_id, refsOf(own)))
  tx.needs(
    insertTombstones(
      tx,
      erased.map(({ ref, store_id, seq }) => ({
        ref,
        store_id,
        written_seq: heads.get(ref)?.written_seq ?? null,
        erased_seq: seq,
        erased_us,
        // Set once there is a certificate.
        certificate_id: null,
      })),
    ),
  )
  if (digests.size === 0 && refs.every((ref) => isAlone(versions.get(ref))))
    for (const [store_id, own] of stores) await followErasure(kernel, tx, store_id, own)
  const predecessors = new Map<number, number>()
  for (const { ref, store_id, seq } of erased) {
    const known = versions.get(ref)
    if (isAlone(known)) tx.needs(closeVersion(tx, known, seq))
    else {
      // Removing a neighbour may have changed the version.
      const version = known && (await findCurrentValidity(tx, ref))
      const predecessor = version
        ? await removeFromChain(tx, version, { seq, reopens: !named.has(ref) && !digests.has(ref) })
        : null
      if (predecessor !== null) predecessors.set(ref, predecessor)
    }
    await advanceStoreHead(tx, store_id, seq)
  }
  // A predecessor that is current again belongs in the digest of its session.
  await endDigests(tx, [...predecessors.values()], last_seq)
  return predecessors
}

/** Whether the fact has neither a predecessor nor a successor. */
const isAlone = (version: ValidityRow | undefined): version is ValidityRow =>
  version?.predecessor === null && version.superseded_by === null

const refsOf = (erased: readonly ErasedFact[]): number[] => erased.map(({ ref }) => ref)

/** Applies the erasure to the index directly: nothing but these facts changes in the store. */
async function followErasure(
  kernel: Kernel,
  tx: Tx,
  store_id: string,
  erased: readonly ErasedFact[],
): Promise<void> {
  const head = await loadStoreHead(tx, store_id)
  if (!head) return
  const change = {
    tenant_id: tx.tenant_id,
    store_id,
    from_seq: head.head_seq,
    to_seq: Math.max(...erased.map(({ seq }) => seq)),
    facts: [],
    closed: [],
    removed: refsOf(erased),
  }
  tx.afterCommit(() => storeIndexes(kernel).applyChange(change))
}

export const setTombstoneCertificate = (tx: Tx, ref: number, certificate_id: string) =>
  updateTombstoneCertificate(tx, ref, certificate_id)

/** Removes facts, or without `refs` the whole store, from the memory of this process. */
export function dropCached(
  kernel: Kernel,
  tenant_id: string,
  store_id: string,
  refs: readonly number[],
): void {
  if (refs.length === 0) {
    // The secret is destroyed already; removing the file only frees disk space.
    removeSnapshot(kernel, tenant_id, store_id).catch(() => {})
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

/** Probes every path of this slice that could show one of the facts; returns results per fact. */
export async function probeErasedFacts(
  kernel: Kernel,
  tenant_id: string,
  facts: readonly { readonly ref: number; readonly store_id: string | null }[],
): Promise<(fact: (typeof facts)[number]) => { path: string; result: string }[]> {
  const refs = facts.map(({ ref }) => ref)
  const byRef = await kernel.db.read(tenant_id, (db) => listTold(kernel, db, refs))
  const listed = new Map<string, ReadonlySet<number>>()
  for (const [store_id, own] of Map.groupBy(facts, (fact) => fact.store_id)) {
    if (store_id === null) continue
    const shown = await listShown(
      kernel,
      tenant_id,
      store_id,
      own.map(({ ref }) => ref),
    )
    if (shown) listed.set(store_id, shown)
  }
  return ({ ref, store_id }) => {
    const shown = listed.get(store_id ?? '')
    const indexed = shown
      ? storeIndexes(kernel).has(tenant_id, store_id ?? '', ref)
      : storeIndexes(kernel).hasAnywhere(tenant_id, ref)
    const cached =
      openedFactCache(kernel).has(tenant_id, ref) || runningEmbeddings(kernel).has(tenant_id, ref)
    const result = (present: boolean) => (present ? 'present' : 'absent')
    // Without a store there are no lists to probe, which the certificate states.
    const list = shown ? result(shown.has(ref)) : 'not_applicable'
    return [
      { path: 'memory.memory', result: result(byRef.has(ref)) },
      { path: 'memory.memories', result: list },
      { path: 'memory.audit', result: list },
      { path: 'memory.export', result: list },
      { path: 'memory.retrieve', result: result(indexed || cached) },
    ]
  }
}

/** Returns the refs that can still be read, directly or through a digest. */
async function listTold(
  kernel: Kernel,
  db: TenantDb,
  refs: readonly number[],
): Promise<Set<number>> {
  const uses = await listDigestsUsing(db, refs)
  const digests = uses.map(({ digest_ref }) => digest_ref)
  const live = await loadLiveFacts(kernel, db, [...new Set([...refs, ...digests])])
  const retold = uses.filter(({ digest_ref }) => live.has(digest_ref)).map(({ ref }) => ref)
  return new Set([...refs.filter((ref) => live.has(ref)), ...retold])
}

/** Memories per probed page. */
const PROBED_MEMORIES = 8

/**
 * Returns the refs that a list of the store shows, using the page function of lists, audits and
 * exports; `null` if there is no store. A page covers every ref up to its last memory.
 */
async function listShown(
  kernel: Kernel,
  tenant_id: string,
  store_id: string,
  refs: readonly number[],
): Promise<Set<number> | null> {
  const shown = new Set<number>()
  return kernel.db.read(tenant_id, async (db) => {
    if (!(await findStore(db, store_id))) return null
    let told = 0
    for (const ref of refs.toSorted((a, b) => a - b)) {
      if (ref <= told) continue
      const page = { after: ref - 1, limit: PROBED_MEMORIES }
      const { memories, next } = await pageMemories(kernel, db, { store_id }, page)
      for (const memory of memories) shown.add(memory.ref)
      told = next ?? Number.POSITIVE_INFINITY
    }
    return shown
  })
}

/** Stores of the refs that are facts, without repeats. */
export async function listStoresOfFacts(db: TenantDb, refs: readonly number[]): Promise<string[]> {
  return [...new Set((await findFactHeads(db, refs)).map(({ store_id }) => store_id))]
}

/** Refuses `legal_hold` if any of the facts is in a store under a hold. */
async function refuseHeldFacts(tx: Tx, refs: readonly number[]): Promise<void> {
  const stores = await loadHeldStores(tx, tx.now())
  if (stores.size === 0) return
  const found = (await listStoresOfFacts(tx, refs)).find((store_id) => stores.has(store_id))
  if (found !== undefined) throw legalHoldRefusal(found)
}

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
