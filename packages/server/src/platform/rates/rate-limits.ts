// Counts requests against rate limits: exact in one process, by small quotas on a shared database.

import type { Tx } from '../db/tenant-db.ts'
import { type Kernel, perKernel } from '../kernel/kernel.ts'
import { slotLog } from './slot-log.ts'
import { deleteSlots, listSlots, listSlotsOf, type SlotRow, saveSlot } from './slots.sql.ts'

export interface LimitOf extends Window {
  readonly tenant_id: string
  readonly limit_id: string
}

interface Rates {
  /** Counts a request; returns false if the maximum is reached. Async if it asks the database. */
  take(limit: LimitOf): boolean | Promise<boolean>
  /** What `take` would return; counts nothing. */
  peek(limit: LimitOf): boolean | Promise<boolean>
  /** How many more requests are allowed now, as far as this process knows. */
  left(limit: LimitOf): number
  /** Whole seconds until `take` may succeed if no other request comes; at least 1. */
  secondsUntilRoom(limit: LimitOf): Promise<number>
  /** Call it when a limit was deleted. */
  forget(of: { tenant_id: string; limit_id: string }): void
}

export const rateLimits = perKernel(
  (kernel: Kernel): Rates => (kernel.db.shared ? new SharedRates(kernel) : new OwnRates(kernel)),
)

/** Slots per window: a request counts for up to a 60th of the window too long. */
const SLOTS = 60

interface Window {
  readonly window_us: number
  readonly max_requests: number
}

/** Start of the slot that a time lies in. */
export function slotOf(now_us: number, { window_us }: Pick<Window, 'window_us'>): number {
  const width = widthOf(window_us)
  return Math.floor(now_us / width) * width
}

/**
 * Slots that begin after this time overlap the window. A slot that overlaps counts in full, so that
 * no window of that length ever holds more than its maximum.
 */
export const countedAfter = (now_us: number, { window_us }: Pick<Window, 'window_us'>): number =>
  now_us - window_us - widthOf(window_us)

const widthOf = (window_us: number): number => Math.max(1, Math.ceil(window_us / SLOTS))

/** Number of requests by the start of their slot. */
export type Slots = Map<number, number>

/** Number of requests in the window; deletes the slots that have left it. */
export function countIn(slots: Slots, now_us: number, window: Window): number {
  const after = countedAfter(now_us, window)
  let sum = 0
  for (const [slot_us, count] of slots) {
    if (slot_us <= after) slots.delete(slot_us)
    else sum += count
  }
  return sum
}

/** Whole seconds until enough slots have left the window; at least 1. */
export function secondsUntilRoom(
  slots: Iterable<readonly [slot_us: number, count: number]>,
  now_us: number,
  window: Window,
): number {
  const counted = [...slots].toSorted(([a], [b]) => a - b)
  let excess = counted.reduce((sum, [, count]) => sum + count, 0) - window.max_requests
  for (const [slot_us, count] of counted) {
    excess -= count
    if (excess >= 0) continue
    const free_us = slot_us + window.window_us + widthOf(window.window_us)
    return Math.max(1, Math.ceil((free_us - now_us) / 1_000_000))
  }
  return 1
}

const LONGEST_WINDOW_US = 86_400_000_000
/** Tenants whose counts stay in memory; those of others are read from rows again. */
const TENANTS_MAX = 10_000

type SlotsByLimit = Map<string, Slots>

/** Exact while the process lives; after a kill, counts of the last second may be lost. */
class OwnRates implements Rates {
  readonly #kernel: Kernel
  readonly #tenants = new Map<string, SlotsByLimit>()
  readonly #loading = new Map<string, Promise<SlotsByLimit>>()

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  take(limit: LimitOf): boolean | Promise<boolean> {
    const counted = this.#tenants.get(limit.tenant_id)
    if (counted) return this.#take(limit, counted)
    return this.#load(limit.tenant_id).then((loaded) => this.#take(limit, loaded))
  }

  peek(limit: LimitOf): boolean | Promise<boolean> {
    const counted = this.#tenants.get(limit.tenant_id)
    if (counted) return this.#hasRoom(limit, counted)
    return this.#load(limit.tenant_id).then((loaded) => this.#hasRoom(limit, loaded))
  }

  left(limit: LimitOf): number {
    const slots = this.#tenants.get(limit.tenant_id)?.get(limit.limit_id) ?? new Map()
    return Math.max(0, limit.max_requests - countIn(slots, this.#kernel.clock.now(), limit))
  }

  async secondsUntilRoom(limit: LimitOf): Promise<number> {
    const { tenant_id, limit_id } = limit
    const counted = this.#tenants.get(tenant_id) ?? (await this.#load(tenant_id))
    return secondsUntilRoom(slotsOf(counted, limit_id), this.#kernel.clock.now(), limit)
  }

  forget({ tenant_id, limit_id }: { tenant_id: string; limit_id: string }): void {
    this.#tenants.get(tenant_id)?.delete(limit_id)
  }

  #take(limit: LimitOf, counted: SlotsByLimit): boolean {
    if (!this.#hasRoom(limit, counted)) return false
    const { tenant_id, limit_id } = limit
    const now_us = this.#kernel.clock.now()
    const slots = slotsOf(counted, limit_id)
    const slot_us = slotOf(now_us, limit)
    const count = (slots.get(slot_us) ?? 0) + 1
    slots.set(slot_us, count)
    const old_us = countedAfter(now_us, limit)
    slotLog(this.#kernel).note(tenant_id, { limit_id, slot_us, count, old_us })
    return true
  }

  #hasRoom(limit: LimitOf, counted: SlotsByLimit): boolean {
    const now_us = this.#kernel.clock.now()
    return countIn(slotsOf(counted, limit.limit_id), now_us, limit) < limit.max_requests
  }

  #load(tenant_id: string): Promise<SlotsByLimit> {
    const loading = this.#loading.get(tenant_id) ?? this.#read(tenant_id)
    this.#loading.set(tenant_id, loading)
    return loading
  }

  async #read(tenant_id: string): Promise<SlotsByLimit> {
    try {
      await this.#makeRoom()
      const after_us = this.#kernel.clock.now() - 2 * LONGEST_WINDOW_US
      const rows = await this.#kernel.db.read(tenant_id, (db) => listSlots(db, after_us))
      const counted: SlotsByLimit = new Map()
      for (const { limit_id, slot_us, count } of rows)
        slotsOf(counted, limit_id).set(slot_us, count)
      this.#tenants.set(tenant_id, counted)
      return counted
    } finally {
      this.#loading.delete(tenant_id)
    }
  }

  async #makeRoom(): Promise<void> {
    if (this.#tenants.size < TENANTS_MAX) return
    // All counted requests must be in the rows first.
    await slotLog(this.#kernel).flush()
    this.#tenants.clear()
  }
}

function slotsOf(counted: SlotsByLimit, limit_id: string): Slots {
  let slots = counted.get(limit_id)
  if (!slots) {
    slots = new Map()
    counted.set(limit_id, slots)
  }
  return slots
}

/** A quota is at most this fraction of the maximum, and at least one request. */
const QUOTAS_PER_MAX = 100
const KEPT_MAX = 10_000

interface Quota {
  /** The slot that the quota was taken in. Its rest is returned when the next quota is taken. */
  slot_us: number
  left: number
  /** How many requests other quotas could still take when this quota was taken. */
  unreserved: number
  /** Number of requests that wait for the next quota. */
  waiting: number
  fetching: Promise<boolean> | null
}

/**
 * Never allows more than the maximum in any window, over all processes. A process reserves at most
 * a hundredth of it that others cannot use, until its next request or the end of the window.
 */
class SharedRates implements Rates {
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
      const rows = await listSlotsOf(db, limit.limit_id, countedAfter(now_us, limit))
      const unused = rows.some((row) => row.slot_us === slot_us) ? left : 0
      return sumOf(rows) - unused < limit.max_requests
    })
  }

  left(limit: LimitOf): number {
    const { left, unreserved } = this.#quotaOf(limit)
    return left + unreserved
  }

  async secondsUntilRoom(limit: LimitOf): Promise<number> {
    const now_us = this.#kernel.clock.now()
    const rows = await this.#kernel.db.read(limit.tenant_id, (db) =>
      listSlotsOf(db, limit.limit_id, countedAfter(now_us, limit)),
    )
    const slots = rows.map(({ slot_us, count }) => [slot_us, count] as const)
    return secondsUntilRoom(slots, now_us, limit)
  }

  forget({ tenant_id, limit_id }: { tenant_id: string; limit_id: string }): void {
    this.#quotas.delete(`${tenant_id}\n${limit_id}`)
  }

  async #await(limit: LimitOf, quota: Quota): Promise<boolean> {
    quota.waiting += 1
    try {
      for (;;) {
        quota.fetching ??= this.#fetch(limit, quota).finally(() => {
          quota.fetching = null
        })
        if (!(await quota.fetching)) return false
        // This request waited for the quota, so it counts even if the slot is over by now.
        if (takeFrom(quota, quota.slot_us)) return true
      }
    } finally {
      quota.waiting -= 1
    }
  }

  /** Takes a new quota from the database; returns whether any was left. */
  async #fetch(limit: LimitOf, quota: Quota): Promise<boolean> {
    const { tenant_id, limit_id, max_requests } = limit
    // The quota serves the callers that wait now; it reserves nothing for others.
    await Promise.resolve()
    const wanted = Math.max(quota.waiting, Math.floor(max_requests / QUOTAS_PER_MAX))
    const before = { slot_us: quota.slot_us, left: quota.left }
    // Zero, so that the rest is neither used while it is returned nor returned twice.
    quota.left = 0
    const taken = await this.#kernel.db.transact(tenant_id, async (tx) => {
      const now_us = tx.now()
      const after_us = countedAfter(now_us, limit)
      const slot_us = slotOf(now_us, limit)
      const rows = await listSlotsOf(tx, limit_id, after_us)
      if (before.slot_us !== slot_us) await returnUnused(tx, rows, before)
      const room = max_requests - sumOf(rows)
      const granted = Math.min(wanted, room)
      if (granted <= 0) return { granted: 0, unreserved: 0, slot_us }
      const here = rows.find((row) => row.slot_us === slot_us)?.count ?? 0
      if (here === 0) await deleteSlots(tx, limit_id, after_us)
      await saveSlot(tx, { limit_id, slot_us, count: here + granted })
      return { granted, unreserved: room - granted, slot_us }
    })
    const same = before.slot_us === taken.slot_us
    quota.left = (same ? before.left : 0) + taken.granted
    quota.slot_us = taken.slot_us
    quota.unreserved = taken.unreserved
    return quota.left > 0
  }

  #quotaOf({ tenant_id, limit_id }: LimitOf): Quota {
    const key = `${tenant_id}\n${limit_id}`
    let quota = this.#quotas.get(key)
    if (!quota) {
      // Forgetting a quota loses the requests left in it and never counts them twice.
      if (this.#quotas.size >= KEPT_MAX) this.#quotas.clear()
      quota = { slot_us: 0, left: 0, unreserved: 0, waiting: 0, fetching: null }
      this.#quotas.set(key, quota)
    }
    return quota
  }
}

const sumOf = (rows: readonly SlotRow[]): number => rows.reduce((sum, { count }) => sum + count, 0)

/** Subtracts the unused part of a slot, in its row and in `rows`. */
async function returnUnused(
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
