// Heads of stores within a group commit: read once, and written once for all its units of work.

import type { Database } from '../../../platform/db/database.ts'
import type { SharedSlot, TenantDb, Tx } from '../../../platform/db/tenant-db.ts'
import { LruCache } from '../../../platform/lru-cache.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { deleteHolds, deleteRetention, listHeldStores } from './holds.sql.ts'
import {
  deleteSelfTestStore,
  deleteStore,
  findStore,
  insertStore,
  type StoreRow,
  updateEmbedder,
  updateHeadSeq,
  updateStoreState,
} from './stores.sql.ts'

export interface StoreHead {
  readonly store_id: string
  readonly capabilities: string
  readonly tokenizer: string
  readonly embedder: string
  readonly languages: string | null
  readonly digest_after_s: number | null
  readonly state: string
  /** Position of the last log entry that changed the store. */
  readonly head_seq: number
  /** Log position that is stored in the row until the commit. */
  readonly saved_seq: number
}

/** By store id; null: the store was removed. */
const slot: SharedSlot<ReadonlyMap<string, StoreHead | null>> = {
  name: 'memory.stores',
  async flush(tx, heads) {
    for (const head of heads.values())
      if (head && head.head_seq !== head.saved_seq)
        await updateHeadSeq(tx, head.store_id, head.head_seq)
  },
  committed(tenant_id, heads, db) {
    const positions = committedPositions(db)
    for (const [store_id, head] of heads) {
      const key = `${tenant_id}\n${store_id}`
      if (head) positions.set(key, head.head_seq)
      else positions.delete(key)
    }
  },
}

const POSITIONS_MAX = 10_000

/** Log positions by tenant and store; see `findCommittedPosition`. */
const positionsOf = new WeakMap<object, LruCache<string, number>>()

function committedPositions(db: object): LruCache<string, number> {
  const known = positionsOf.get(db)
  if (known) return known
  const fresh = new LruCache<string, number>({ max: POSITIONS_MAX })
  positionsOf.set(db, fresh)
  return fresh
}

/**
 * Returns the log position of a store without reading it. Returns undefined if it must be read:
 * positions are known only if no other process writes the data and this one has changed the store.
 */
export const findCommittedPosition = (
  db: Database,
  tenant_id: string,
  store_id: string,
): number | undefined =>
  db.shared ? undefined : committedPositions(db).get(`${tenant_id}\n${store_id}`)

/** Returns the store as earlier units of this commit have left it. */
export async function loadStoreHead(tx: Tx, store_id: string): Promise<StoreHead | undefined> {
  const known = tx.shared.get(slot)?.get(store_id)
  if (known) return known
  const row = await findStore(tx, store_id)
  return row && keep(tx, { ...row, saved_seq: row.head_seq })
}

export async function addStore(tx: Tx, row: StoreRow): Promise<StoreHead> {
  await insertStore(tx, row)
  return keep(tx, { ...row, saved_seq: row.head_seq })
}

/** Every unit that changes a store must record its log position here; indexes rely on it. */
export async function advanceStoreHead(tx: Tx, store_id: string, seq: number): Promise<void> {
  const head = await loadStoreHead(tx, store_id)
  if (head) keep(tx, { ...head, head_seq: seq })
}

/**
 * From this commit on the store accepts no writes and no reads; its facts still exist. Refuses
 * `legal_hold`; once the store is marked, no hold can be placed.
 */
export async function markStoreDeleting(
  tx: Tx,
  store_id: string,
): Promise<'marked' | 'already' | 'unknown'> {
  const head = await loadStoreHead(tx, store_id)
  if (!head) return 'unknown'
  if (head.state === 'deleting') return 'already'
  await refuseHeldStore(tx, store_id, tx.now())
  await updateStoreState(tx, store_id, 'deleting')
  keep(tx, { ...head, state: 'deleting' })
  return 'marked'
}

/** From this commit on, writes and reads use the new embedder. */
export async function changeEmbedder(
  tx: Tx,
  head: StoreHead,
  change: { embedder: string; sent_out: boolean; seq: number },
): Promise<void> {
  const { embedder, sent_out, seq } = change
  await updateEmbedder(tx, head.store_id, { embedder, sent_out })
  keep(tx, { ...head, embedder, head_seq: seq })
}

/**
 * Removes the row with its retention rule and its holds, which are sealed under its secret. Its
 * facts must have been erased before; versions and tombstones stay.
 */
export async function removeStoreRow(tx: Tx, store_id: string): Promise<void> {
  await deleteStore(tx, store_id)
  await deleteSelfTestStore(tx, store_id)
  await deleteHolds(tx, store_id)
  await deleteRetention(tx, store_id)
  tx.shared.set(slot, new Map(tx.shared.get(slot)).set(store_id, null))
}

function keep(tx: Tx, head: StoreHead): StoreHead {
  tx.shared.set(slot, new Map(tx.shared.get(slot)).set(head.store_id, head))
  return head
}

/**
 * Returns stores with a legal hold that is neither released nor past its end at `at_us`. Inside a
 * unit of work pass `tx.now()`; no hold can be placed between this read and the commit.
 */
export async function loadHeldStores(db: TenantDb, at_us: number): Promise<ReadonlySet<string>> {
  return new Set((await listHeldStores(db, at_us)).map(({ store_id }) => store_id))
}

/** Refuses `legal_hold` if the store is under a hold. */
export async function refuseHeldStore(db: TenantDb, store_id: string, at_us: number) {
  if ((await loadHeldStores(db, at_us)).has(store_id)) throw legalHoldRefusal(store_id)
}

export const legalHoldRefusal = (store_id: string) =>
  new Refusal('legal_hold', 'the store is under a legal hold', { members: { store_id } })
