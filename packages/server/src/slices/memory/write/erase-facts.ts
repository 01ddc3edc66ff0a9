// The part of an erasure that concerns memories: marks, tombstones, removal from this process, and
// probes for remaining content.

import type { TenantDb, Tx } from '../../../platform/db/tenant-db.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
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

type FactState = 'live' | 'erasing' | 'erased'

/** States of the refs that are or were facts. Other refs are missing from the map. */
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
