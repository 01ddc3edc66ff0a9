// Rate limits where several processes count: each takes small quotas out of shared rows.

import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { deleteSlots, listSlotsOf, type SlotRow, saveSlot } from './evaluations.sql.ts'
import type { LimitOf, Rates } from './rate-limits.ts'
import { countedAfter, slotOf } from './rate-window.ts'

/** A quota is at most this part of the maximum; of a maximum up to it, one request. */
const QUOTAS_PER_MAX = 100
const KEPT_MAX = 10_000

interface Quota {
  /** It is for requests of this slot. What is left then is given back with the next quota. */
  slot_us: number
  left: number
  /** Requests that wait for the next quota. */
  waiting: number
  fetching: Promise<boolean> | null
}

/**
 * Never more than the maximum in any window, over all processes. A process holds back at most a
 * hundredth of it that others cannot use: until its next request, or until the window is over.
 */
export class SharedRates implements Rates {
  readonly #kernel: Kernel
  readonly #quotas = new Map<string, Quota>()

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  take(limit: LimitOf): boolean | Promise<boolean> {
    const quota = this.#quotaOf(limit)
    return takeFrom(quota, slotOf(this.#kernel.clock.now(), limit)) || this.#await(limit, quota)
  }

  peek(limit: LimitOf): boolean | Promise<boolean> {
    const now_us = this.#kernel.clock.now()
    const { slot_us, left } = this.#quotaOf(limit)
    if (left > 0 && slot_us === slotOf(now_us, limit)) return true
    return this.#kernel.db.read(limit.tenant_id, async (db) => {
      const rows = await listSlotsOf(db, limit.policy_id, countedAfter(now_us, limit))
      const unused = rows.some((row) => row.slot_us === slot_us) ? left : 0
      return sumOf(rows) - unused < limit.max_requests
    })
  }

  forget({ tenant_id, policy_id }: { tenant_id: string; policy_id: string }): void {
    this.#quotas.delete(`${tenant_id}\n${policy_id}`)
  }

  async #await(limit: LimitOf, quota: Quota): Promise<boolean> {
    quota.waiting += 1
    try {
      for (;;) {
        quota.fetching ??= this.#fetch(limit, quota).finally(() => {
          quota.fetching = null
        })
        if (!(await quota.fetching)) return false
        // It waited while the quota was counted: also when the slot is over by now.
        if (takeFrom(quota, quota.slot_us)) return true
      }
    } finally {
      quota.waiting -= 1
    }
  }

  /** Whether there was anything left to take. */
  async #fetch(limit: LimitOf, quota: Quota): Promise<boolean> {
    const { tenant_id, policy_id, max_requests } = limit
    // Whoever waits now is served by this quota, and nobody else's share is held back for it.
    await Promise.resolve()
    const wanted = Math.max(quota.waiting, Math.floor(max_requests / QUOTAS_PER_MAX))
    const before = { slot_us: quota.slot_us, left: quota.left }
    // Not to be taken while it may be given back, and not to be given back twice.
    quota.left = 0
    const taken = await this.#kernel.db.transact(tenant_id, async (tx) => {
      const now_us = tx.now()
      const after_us = countedAfter(now_us, limit)
      const slot_us = slotOf(now_us, limit)
      const rows = await listSlotsOf(tx, policy_id, after_us)
      if (before.slot_us !== slot_us) await giveBack(tx, rows, before)
      const granted = Math.min(wanted, max_requests - sumOf(rows))
      if (granted <= 0) return { granted: 0, slot_us }
      const here = rows.find((row) => row.slot_us === slot_us)?.count ?? 0
      if (here === 0) await deleteSlots(tx, policy_id, after_us)
      await saveSlot(tx, { policy_id, slot_us, count: here + granted })
      return { granted, slot_us }
    })
    const same = before.slot_us === taken.slot_us
    quota.left = (same ? before.left : 0) + taken.granted
    quota.slot_us = taken.slot_us
    return quota.left > 0
  }

  #quotaOf({ tenant_id, policy_id }: LimitOf): Quota {
    const key = `${tenant_id}\n${policy_id}`
    let quota = this.#quotas.get(key)
    if (!quota) {
      // A quota that is forgotten is lost, not doubled.
      if (this.#quotas.size >= KEPT_MAX) this.#quotas.clear()
      quota = { slot_us: 0, left: 0, waiting: 0, fetching: null }
      this.#quotas.set(key, quota)
    }
    return quota
  }
}

const sumOf = (rows: readonly SlotRow[]): number => rows.reduce((sum, { count }) => sum + count, 0)

/** What was not used of a slot, in its row and in `rows`. */
async function giveBack(
  tx: Tx,
  rows: SlotRow[],
  { slot_us, left }: Pick<Quota, 'slot_us' | 'left'>,
): Promise<void> {
  const i = rows.findIndex((row) => row.slot_us === slot_us)
  const row = rows[i]
  if (left === 0 || !row) return
  const kept = { ...row, count: Math.max(0, row.count - left) }
  rows[i] = kept
  await saveSlot(tx, kept)
}

function takeFrom(quota: Quota, slot_us: number): boolean {
  if (quota.left === 0 || quota.slot_us !== slot_us) return false
  quota.left -= 1
  return true
}
