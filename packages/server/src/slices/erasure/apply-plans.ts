// Step 4: decision records are replaced, rows become tombstones, version chains close.

import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
import type { LedgerEntry } from '../../platform/keys/keyring.ts'
import { applyScrubParts, type Redaction, scrubNow } from '../decisions/index.ts'
import { appendCrumb, nextSeq } from '../gcrumbs/index.ts'
import { entomb } from '../memory/index.ts'
import type { FactPlan } from './plan.ts'
import type { Known } from './plan-facts.ts'
import {
  deleteHeldNumbers,
  findPlaces,
  findTombstones,
  insertBareTombstone,
} from './subjects.sql.ts'

const LATE_ROUNDS = 3

/** Every plan's parts, once where entries share them; what is replaced, by the ref used. */
export async function applyParts(
  kernel: Kernel,
  tenant_id: string,
  entries: readonly LedgerEntry[],
): Promise<Map<number, readonly Redaction[]>> {
  const distinct = new Map(
    entries.flatMap(({ parts }) => (parts ? [[parts.parts_id, parts] as const] : [])),
  )
  const redactions = new Map<number, readonly Redaction[]>()
  for (const parts of distinct.values()) {
    const applied = await applyScrubParts(kernel, tenant_id, parts)
    for (const [ref, done] of applied.redactions) redactions.set(ref, done)
  }
  return redactions
}

/**
 * Replaces the rows in one unit; a ref that has its tombstone is passed over.
 * @returns ref to the seq of its `memory.erased` entry
 */
export function replaceRows(
  kernel: Kernel,
  tenant_id: string,
  plans: readonly FactPlan[],
): Promise<Map<number, number>> {
  return kernel.db.transact(tenant_id, async (tx) => {
    const refs = plans.map(({ ref }) => ref)
    await deleteHeldNumbers(tx, refs)
    const seqs = new Map<number, number>()
    for (const { ref, erased_seq } of await findTombstones(tx, refs)) seqs.set(ref, erased_seq)
    const due = plans.filter(({ ref }) => !seqs.has(ref))
    const rows = await findPlaces(
      tx,
      due.map(({ ref }) => ref),
    )
    const stores = new Map(rows.map(({ ref, store_id }) => [ref, store_id]))
    for (const plan of due)
      seqs.set(plan.ref, await replaceRow(tx, plan, stores.get(plan.ref) ?? null))
    return seqs
  })
}

/** @param row_store_id the store of the fact's row; null when there is no row here */
async function replaceRow(
  tx: Tx,
  { ref, store_id, certificate_id }: FactPlan,
  row_store_id: string | null,
): Promise<number> {
  const seq = await nextSeq(tx)
  let predecessor: number | null = null
  if (row_store_id === null) await insertBareTombstone(tx, { ref, store_id, seq, us: tx.now() })
  else {
    // The tombstone names its certificate once there is one.
    const burial = { ref, store_id: row_store_id, certificate_id: null, seq }
    predecessor = (await entomb(tx, burial)).predecessor
  }
  await appendCrumb(tx, {
    event_type: 'memory.erased',
    subject: certificate_id,
    payload: { ref, predecessor },
  })
  return seq
}

/**
 * A decision naming a ref can arrive between plan and tombstone. From the tombstone on contents
 * for the ref are refused, so a second look finds the last of them.
 */
export async function scrubLate(
  kernel: Kernel,
  tenant_id: string,
  plans: readonly FactPlan[],
  known: ReadonlyMap<number, Known>,
): Promise<void> {
  const subjects = plans.map(({ ref }) => ({ ref, content: known.get(ref)?.content ?? null }))
  for (let round = 0; round < LATE_ROUNDS; round += 1)
    if ((await scrubNow(kernel, tenant_id, { subjects, erased: true })).length === 0) return
}
