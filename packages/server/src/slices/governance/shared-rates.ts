// Rate limits where several processes count: each takes small quotas out of shared rows.

import type { Kernel } from '../../platform/kernel.ts'
import { deleteSlots, listSlotsOf, saveSlot } from './evaluations.sql.ts'
import type { LimitOf, Rates } from './rate-limits.ts'
import { countedAfter, slotOf } from './rate-window.ts'

/** A quota is at most this part of the maximum; of a maximum up to it, one request. */
const QUOTAS_PER_MAX = 100
const KEPT_MAX = 10_000

interface Quota {
  /** It is for requests of this slot and lost with it. */
  slot_us: number
  left: number
  /** Requests that wait for the next quota. */
  waiting: number
  fetching: Promise<boolean> | null
}

/**
 * Never more than the maximum in any window, over all processes. A process holds back at most a
 * hundredth of it that others cannot use, for a 60th of the window.
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
      return rows.reduce((sum, { count }) => sum + count, 0) < limit.max_requests
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
    const taken = await this.#kernel.db.transact(tenant_id, async (tx) => {
      const now_us = tx.now()
      const after_us = countedAfter(now_us, limit)
      const rows = await listSlotsOf(tx, policy_id, after_us)
      const used = rows.reduce((sum, { count }) => sum + count, 0)
      const granted = Math.min(wanted, max_requests - used)
      const slot_us = slotOf(now_us, limit)
      if (granted <= 0) return { granted: 0, slot_us }
      const here = rows.find((row) => row.slot_us === slot_us)?.count ?? 0
      if (here === 0) await deleteSlots(tx, policy_id, after_us)
      await saveSlot(tx, { policy_id, slot_us, count: here + granted })
      return { granted, slot_us }
    })
    const same = quota.slot_us === taken.slot_us
    quota.left = (same ? quota.left : 0) + taken.granted
    quota.slot_us = taken.slot_us
    return taken.granted > 0
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

function takeFrom(quota: Quota, slot_us: number): boolean {
  if (quota.left === 0 || quota.slot_us !== slot_us) return false
  quota.left -= 1
  return true
}
