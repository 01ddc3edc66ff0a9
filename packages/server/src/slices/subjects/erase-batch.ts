// Erases the next memories of a request, and takes in versions they have been given meanwhile.

import type { Tx } from '../../platform/db/tenant-db.ts'
import { eraseMany, reasonsOf } from '../erasure/index.ts'
import { findFactHeads, heldStores } from '../memory/index.ts'
import type { Work } from './erase-job.ts'
import { FACTS, itemOfFact, refOf } from './items.ts'
import { versionsOf } from './search.ts'
import { type Outcome, settle } from './settle.ts'
import { bytesOf } from './show.ts'
import { findRequest, insertItems, knownItems, listOpenItems, updateOpen } from './subjects.sql.ts'

/** As for a store's deletion: a unit of this size keeps other writers waiting under 0.1 s. */
const FACTS_PER_BATCH = 200

/**
 * False: no memory is left but those in `unproven`, which it adds to: they stay open, and do not
 * keep the others waiting.
 */
export async function eraseBatch(work: Work, unproven: Set<string>): Promise<boolean> {
  const { kernel, tenant_id, words } = work
  const items = await openItems(work, { prefix: FACTS, limit: FACTS_PER_BATCH, unproven })
  if (items.length === 0) return false
  const done = await eraseMany(kernel, tenant_id, {
    refs: items.map(refOf),
    reasons: words?.reasons ?? reasonsOf({}),
    spare: (tx, refs) => spareHeld(tx, work, refs),
  })
  await kernel.step('subject:erased')
  const outcomes: Outcome[] = []
  for (const item of items) {
    const ref = refOf(item)
    const certificate_id = done.certificates.get(ref) ?? null
    const otherwise = done.spared.has(ref) ? 'held' : 'absent'
    if (certificate_id === null && done.unproven.has(ref)) unproven.add(item)
    else
      outcomes.push({
        item,
        outcome: certificate_id === null ? otherwise : 'erased',
        certificate_id,
      })
  }
  await settle(work, outcomes)
  return true
}

interface Wanted {
  readonly prefix: string
  readonly limit: number
  /** Without these. */
  readonly unproven: ReadonlySet<string>
}

export async function openItems(
  { kernel, tenant_id, request_id }: Work,
  { prefix, limit, unproven }: Wanted,
): Promise<string[]> {
  const most = limit + unproven.size
  const items = await kernel.db.read(tenant_id, (db) =>
    listOpenItems(db, bytesOf(request_id), { prefix, limit: most }),
  )
  return items.filter((item) => !unproven.has(item)).slice(0, limit)
}

// In the unit that hides them: from there on nothing takes the place of one of them, and no hold
// comes between.
async function spareHeld(
  tx: Tx,
  { request_id }: Work,
  refs: readonly number[],
): Promise<ReadonlySet<number>> {
  const heads = await findFactHeads(tx, refs)
  await addItems(tx, request_id, heads.flatMap(versionsOf).map(itemOfFact))
  const held = await heldStores(tx, tx.now())
  return new Set(heads.flatMap(({ ref, store_id }) => (held.has(store_id) ? [ref] : [])))
}

/** How many of them the request did not have. */
export async function addItems(
  tx: Tx,
  request_id: string,
  items: readonly string[],
): Promise<number> {
  const id = bytesOf(request_id)
  const known = await knownItems(tx, id, items)
  const fresh = [...new Set(items)].filter((item) => !known.has(item))
  if (fresh.length === 0) return 0
  const added = await insertItems(tx, id, fresh)
  const row = await findRequest(tx, id)
  if (row) await updateOpen(tx, id, { items: row.items + added })
  return added
}
