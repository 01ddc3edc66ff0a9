// Destroys what recorded erasure plans name: secrets, text in decisions, rows, cached copies.
//
// Every step depends on the ledger row alone and is idempotent, so that the next erasure or the
// next start can run it after a crash.

import assert from 'node:assert/strict'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import type { LedgerEntry } from '../../platform/keys/keyring.ts'
import {
  applyScrubParts,
  destroyTextsUsing,
  type Redaction,
  scrubDecisions,
} from '../decisions/index.ts'
import { appendCrumb, nextSeq } from '../gcrumbs/index.ts'
import { destroySnapshots, dropCached, writeTombstones } from '../memory/index.ts'
import { releaseMemories } from '../tenants/index.ts'
import { isSelfTest } from './certificate.ts'
import {
  deleteReservations,
  findFactRows,
  findTombstones,
  insertBareTombstone,
} from './erasure.sql.ts'
import type { FactPlan } from './plan.ts'
import { reportStep } from './plan.ts'
import type { RecordedErasure } from './prepare.ts'

/** Most searches for decisions that arrive during the erasure. */
const LATE_ROUNDS = 3

export interface AppliedPlans {
  /** What was replaced in decisions, by used ref. */
  readonly redactions: ReadonlyMap<number, readonly Redaction[]>
  /** Log position of the `memory.erased` entry, by ref. */
  readonly seqs: ReadonlyMap<number, number>
}

/** After this the memories are unreadable in every copy of the data and of the indexes. */
export async function destroyKeys(
  kernel: Kernel,
  tenant_id: string,
  {
    refs,
    snapshots,
  }: { refs: readonly number[]; snapshots: Parameters<typeof destroySnapshots>[2] },
): Promise<void> {
  await kernel.keyring.destroySecrets(tenant_id, 'fact', refs)
  await destroySnapshots(kernel, tenant_id, snapshots)
  await reportStep(kernel, 'key_destroyed')
}

export async function applyPlans(
  kernel: Kernel,
  tenant_id: string,
  { pending, known }: RecordedErasure,
): Promise<AppliedPlans> {
  const plans = pending.map(({ plan }) => plan)
  const entries = pending.map(({ entry }) => entry)
  const redactions = await applyPlanParts(kernel, tenant_id, entries)
  const seqs = await replaceRows(kernel, tenant_id, plans)
  await scrubLateDecisions(kernel, tenant_id, plans, known)
  await reportStep(kernel, 'applied')

  for (const { ref, store_id } of plans)
    if (store_id !== null) dropCached(kernel, tenant_id, store_id, [ref])
  await reportStep(kernel, 'caches_dropped')
  return { redactions, seqs }
}

/** Scrubs decisions by the parts of every plan; parts that entries share are applied once. */
export async function applyPlanParts(
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
 * Replaces rows by tombstones and closes version chains, in one unit of work. Skips refs that have
 * a tombstone.
 * @returns the log position of the `memory.erased` entry, by ref
 */
export function replaceRows(
  kernel: Kernel,
  tenant_id: string,
  plans: readonly FactPlan[],
): Promise<Map<number, number>> {
  return kernel.db.transact(tenant_id, async (tx) => {
    const refs = plans.map(({ ref }) => ref)
    await deleteReservations(tx, refs)
    await destroyTextsUsing(tx, refs)
    const seqs = new Map<number, number>()
    for (const { ref, erased_seq } of await findTombstones(tx, refs)) seqs.set(ref, erased_seq)
    const due = plans.filter(({ ref }) => !seqs.has(ref))
    const stores = new Map(
      (
        await findFactRows(
          tx,
          due.map(({ ref }) => ref),
        )
      ).map(({ ref, store_id }) => [ref, store_id]),
    )
    // Each erasure appends one entry, from this position on.
    const first = await nextSeq(tx)
    const erased: { ref: number; store_id: string; seq: number }[] = []
    for (const [i, { ref, store_id }] of due.entries()) {
      const seq = first + i
      const row_store_id = stores.get(ref)
      if (row_store_id !== undefined) erased.push({ ref, store_id: row_store_id, seq })
      else tx.needs(insertBareTombstone(tx, { ref, store_id, seq, us: tx.now() }))
      seqs.set(ref, seq)
    }
    const predecessors = await writeTombstones(kernel, tx, erased)
    for (const { ref, certificate_id, ...reasons } of due) {
      const predecessor = predecessors.get(ref) ?? null
      const { seq } = await appendCrumb(tx, {
        event_type: 'memory.erased',
        subject: certificate_id,
        payload: { ref, predecessor, ...(isSelfTest(reasons) && { self_test: true as const }) },
      })
      assert(seq === seqs.get(ref), 'the log entry of an erasure is not the one its rows name')
    }
    const last = Math.max(...erased.map(({ seq }) => seq))
    if (erased.length > 0) await releaseMemories(kernel, tx, { count: erased.length, seq: last })
    return seqs
  })
}

/**
 * A decision naming a ref can arrive between plan and tombstone. Once there is a tombstone,
 * contents for the ref are refused, so a second search finds the last of them.
 */
async function scrubLateDecisions(
  kernel: Kernel,
  tenant_id: string,
  plans: readonly FactPlan[],
  known: RecordedErasure['known'],
): Promise<void> {
  const subjects = plans.map(({ ref }) => ({ ref, content: known.get(ref)?.content ?? null }))
  for (let round = 0; round < LATE_ROUNDS; round += 1)
    if ((await scrubDecisions(kernel, tenant_id, { subjects, erased: true })).length === 0) return
}
