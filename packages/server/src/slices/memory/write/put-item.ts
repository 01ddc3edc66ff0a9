// Makes a prepared fact the current version of its name, inside a unit of work.

import type { Tx } from '../../../platform/db/tenant-db.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { ERASING, findFact } from '../facts/facts.sql.ts'
import type { digestName } from '../facts/item-name.ts'
import {
  endItemHead,
  findItemHead,
  findLatestVersion,
  findPlaces,
  type ItemRow,
  insertItem,
} from '../facts/items.sql.ts'
import type { PreparedFact } from '../facts/prepare-facts.ts'
import { findExpired } from '../stores/expiries.sql.ts'
import type { StoreHead } from '../stores/store-heads.ts'
import { insertFacts } from './insert-facts.ts'
import { linkSuccessor } from './supersede.ts'

export interface PreparedItem extends ReturnType<typeof digestName> {
  readonly fact: PreparedFact
  /** If set, the put is refused unless this version is the current one. */
  readonly if_ref?: number | undefined
}

export interface StoredItem {
  readonly [key: string]: unknown
  readonly ref: number
  readonly created: boolean
  readonly created_us: number
  readonly updated_us: number
  readonly log_seq: number
}

/**
 * Units of work of a tenant run one after another, so two puts of one name form one chain. Refuses
 * `item_changed`, `erasing` and `quota_exceeded`.
 */
export async function putItem(
  kernel: Kernel,
  tx: Tx,
  target: StoreHead,
  item: PreparedItem,
): Promise<StoredItem> {
  const { fact, if_ref, ...digests } = item
  const { store_id } = target
  const name = { store_id, name_mac: digests.name_mac }
  const head = await findItemHead(tx, name)
  const isExpired = head !== undefined && (await findExpired(tx, [head.ref], tx.now())).size > 0
  const current = isExpired ? undefined : head
  if (if_ref !== undefined && if_ref !== current?.ref)
    throw new Refusal('item_changed', undefined, { members: { head: current?.ref ?? null } })

  const latest = head ?? (await findLatestVersion(tx, name))
  const { log_seq, written_us } = await writeVersion(kernel, tx, { target, latest, fact })
  const created_us = current?.created_us ?? written_us
  const order = current ?? (await findPlaces(tx, store_id, digests.namespace_mac))
  if (head) await endItemHead(tx, head.ref)
  const { item_no, namespace_no } = order
  await insertItem(tx, {
    store_id,
    ...digests,
    item_no,
    namespace_no,
    created_us,
    version: (latest?.version ?? 0) + 1,
    ref: fact.ref,
    head: 1,
    written_seq: log_seq,
  })
  const updated_us = written_us
  return { ref: fact.ref, created: current === undefined, created_us, updated_us, log_seq }
}

/** Appends to the chain of the last version of the name, if that version is the chain's end. */
async function writeVersion(
  kernel: Kernel,
  tx: Tx,
  { target, latest, fact }: { target: StoreHead; latest: ItemRow | undefined; fact: PreparedFact },
) {
  const old = latest && (await findFact(tx, latest.ref))
  if (old?.state === ERASING) throw new Refusal('erasing')
  const interval = { valid_from_us: null, valid_until_us: null }
  if (!old || old.superseded_by !== null)
    return insertFacts(kernel, tx, target, [{ fact, interval }])
  // An imported version may be valid only from a later time than now.
  const valid_from_us = old.valid_from_us >= tx.now() ? old.valid_from_us + 1 : null
  const timed = { ...interval, valid_from_us }
  return linkSuccessor(kernel, tx, { head: target, old, fact, interval: timed })
}

interface ImportedVersion extends ReturnType<typeof digestName> {
  readonly store_id: string
  readonly ref: number
  /** Whether no version has replaced or ended this one. */
  readonly is_current: boolean
  readonly created_us: number
  readonly log_seq: number
}

/**
 * Adds an imported version to its name. If the version is current, it replaces the item's current
 * version, whose ref is returned.
 */
export async function addImportedVersion(
  tx: Tx,
  version: ImportedVersion,
): Promise<number | undefined> {
  const { store_id, name_mac, namespace_mac, ref, is_current, created_us, log_seq } = version
  const head = await findItemHead(tx, { store_id, name_mac })
  const latest = await findLatestVersion(tx, { store_id, name_mac })
  const order = latest ?? (await findPlaces(tx, store_id, namespace_mac))
  if (head && is_current) await endItemHead(tx, head.ref)
  const { item_no, namespace_no } = order
  await insertItem(tx, {
    store_id,
    name_mac,
    namespace_mac,
    item_no,
    namespace_no,
    version: (latest?.version ?? 0) + 1,
    ref,
    head: is_current ? 1 : 0,
    // Imported versions may be older than the stored ones.
    created_us: Math.min(created_us, latest?.created_us ?? created_us),
    written_seq: log_seq,
  })
  return is_current ? head?.ref : undefined
}
