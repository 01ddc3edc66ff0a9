// Rate limits of a process that has its data alone: counted in memory, kept within a second.

import type { Kernel } from '../../platform/kernel/kernel.ts'
import { evaluationLog } from './evaluation-log.ts'
import { listSlots } from './evaluations.sql.ts'
import type { LimitOf, Rates } from './rate-limits.ts'
import { countedAfter, countIn, type Slots, slotOf } from './rate-window.ts'

const LONGEST_WINDOW_US = 86_400_000_000
/** Tenants whose counts are in memory; those of another are read again. */
const TENANTS_MAX = 10_000

type Counted = Map<string, Slots>

/** Exact while the process lives; after a kill it may have forgotten the last second. */
export class OwnRates implements Rates {
  readonly #kernel: Kernel
  readonly #tenants = new Map<string, Counted>()
  readonly #loading = new Map<string, Promise<Counted>>()

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

  forget({ tenant_id, policy_id }: { tenant_id: string; policy_id: string }): void {
    this.#tenants.get(tenant_id)?.delete(policy_id)
  }

  #take(limit: LimitOf, counted: Counted): boolean {
    if (!this.#hasRoom(limit, counted)) return false
    const { tenant_id, policy_id } = limit
    const now_us = this.#kernel.clock.now()
    const slots = slotsOf(counted, policy_id)
    const slot_us = slotOf(now_us, limit)
    const count = (slots.get(slot_us) ?? 0) + 1
    slots.set(slot_us, count)
    const old_us = countedAfter(now_us, limit)
    evaluationLog(this.#kernel).noteSlot(tenant_id, { policy_id, slot_us, count, old_us })
    return true
  }

  #hasRoom(limit: LimitOf, counted: Counted): boolean {
    const now_us = this.#kernel.clock.now()
    return countIn(slotsOf(counted, limit.policy_id), now_us, limit) < limit.max_requests
  }

  #load(tenant_id: string): Promise<Counted> {
    const loading = this.#loading.get(tenant_id) ?? this.#read(tenant_id)
    this.#loading.set(tenant_id, loading)
    return loading
  }

  async #read(tenant_id: string): Promise<Counted> {
    try {
      await this.#makeRoom()
      const after_us = this.#kernel.clock.now() - 2 * LONGEST_WINDOW_US
      const rows = await this.#kernel.db.read(tenant_id, (db) => listSlots(db, after_us))
      const counted: Counted = new Map()
      for (const { policy_id, slot_us, count } of rows)
        slotsOf(counted, policy_id).set(slot_us, count)
      this.#tenants.set(tenant_id, counted)
      return counted
    } finally {
      this.#loading.delete(tenant_id)
    }
  }

  async #makeRoom(): Promise<void> {
    if (this.#tenants.size < TENANTS_MAX) return
    // Everything that was counted has to be in the rows first.
    await evaluationLog(this.#kernel).flushAll()
    this.#tenants.clear()
  }
}

function slotsOf(counted: Counted, policy_id: string): Slots {
  let slots = counted.get(policy_id)
  if (!slots) {
    slots = new Map()
    counted.set(policy_id, slots)
  }
  return slots
}
