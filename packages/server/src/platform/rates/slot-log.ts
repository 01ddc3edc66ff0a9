// Writes counts of rate limits to their rows in batches, within a second.

import { findDestruction } from '../db/destructions.sql.ts'
import { type Kernel, perKernel } from '../kernel/kernel.ts'
import { deleteSlots, saveSlot } from './slots.sql.ts'

const FLUSH_MS = 200

/** The current count of a slot of a rate limit. */
interface SlotNote {
  readonly limit_id: string
  readonly slot_us: number
  readonly count: number
  /** Start of the newest slot that has left the window. */
  readonly old_us: number
}

/** Notes of one tenant, by slot. */
type Notes = Map<string, SlotNote>

class SlotLog {
  readonly #kernel: Kernel
  #waiting = new Map<string, Notes>()
  #flushing: Promise<void> = Promise.resolve()
  #timer: ReturnType<typeof setTimeout> | undefined
  #stopped = false

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  note(tenant_id: string, note: SlotNote): void {
    let notes = this.#waiting.get(tenant_id)
    if (!notes) {
      notes = new Map()
      this.#waiting.set(tenant_id, notes)
    }
    notes.set(slotKey(note), note)
    this.#schedule()
  }

  /** Writes everything pending. Throws if a row cannot be written; its count stays pending. */
  flush(): Promise<void> {
    const flushed = this.#flushing.then(() => this.#write())
    this.#flushing = flushed.catch(() => {})
    return flushed
  }

  /** Call it before the database is closed. */
  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#flushInBackground()
  }

  #schedule(): void {
    if (this.#timer || this.#stopped) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      void this.#flushInBackground()
    }, FLUSH_MS)
    this.#timer.unref()
  }

  async #flushInBackground(): Promise<void> {
    try {
      await this.flush()
    } catch {
      this.#kernel.logger.warn('rates.not_written', { tenants: this.#waiting.size })
      this.#schedule()
    }
  }

  async #write(): Promise<void> {
    const waiting = this.#waiting
    this.#waiting = new Map()
    let failed: unknown
    for (const [tenant_id, notes] of waiting)
      try {
        await this.#writeTenant(tenant_id, [...notes.values()])
      } catch (error) {
        failed = error
        // A newer note of the same slot has a higher count.
        const newer = this.#waiting.get(tenant_id) ?? []
        this.#waiting.set(tenant_id, new Map([...notes, ...newer]))
      }
    if (failed !== undefined) throw failed
  }

  #writeTenant(tenant_id: string, notes: readonly SlotNote[]): Promise<void> {
    return this.#kernel.db.transact(tenant_id, async (tx) => {
      // Write no rows of a tenant that was off-boarded meanwhile.
      if (await findDestruction(tx, tenant_id)) return
      for (const { limit_id, slot_us, count, old_us } of notes) {
        await saveSlot(tx, { limit_id, slot_us, count })
        await deleteSlots(tx, limit_id, old_us)
      }
    })
  }
}

const slotKey = ({ limit_id, slot_us }: SlotNote): string => `${limit_id} ${slot_us}`

export const slotLog = perKernel((kernel) => new SlotLog(kernel))

/** Stops writing in the background and writes what is left. */
export const flushRates = (kernel: Kernel): Promise<void> => slotLog(kernel).stop()
