// Which slots hold a fact that is valid at a time, kept for the times that see the same ones.
import { grown } from './grown.ts'
import type { SlotColumns } from './slot-columns.ts'

/** Beyond this many changes a new pass over all slots is cheaper. */
const CHANGES_MAX = 4_096

/**
 * Most searches ask for now: between two moments at which a fact begins or ends they see the same
 * facts. So the flags of one pass serve every time between two such moments, and only the slots
 * that changed since are looked at again.
 */
export class Visibility {
  readonly #columns: SlotColumns
  #flags = new Uint8Array(0)
  /** The flags hold for #from <= at < #until, but for the changed slots. */
  #from = 0
  #until = 0
  #changed: number[] = []

  constructor(columns: SlotColumns) {
    this.#columns = columns
  }

  /** By slot: 1 where valid_from <= at_us < valid_until. Not to be written, nor kept. */
  at(at_us: number): Uint8Array {
    if (at_us < this.#from || at_us >= this.#until) this.#lookAtAll(at_us)
    else for (const slot of this.#changed) this.#look(slot, at_us)
    return this.#flags
  }

  /** To be told when the validity of a slot has changed. */
  changed(slot: number): void {
    this.#flags = grown(this.#flags, slot)
    if (this.#changed.push(slot) < CHANGES_MAX) return
    this.#changed = []
    this.#until = this.#from
  }

  bytes(): number {
    return this.#flags.length
  }

  #look(slot: number, at_us: number): void {
    const from = this.#columns.validFrom[slot] ?? 0
    const until = this.#columns.validUntil[slot] ?? 0
    this.#flags[slot] = from <= at_us && at_us < until ? 1 : 0
  }

  #lookAtAll(at_us: number): void {
    const { validFrom, validUntil, used } = this.#columns
    const flags = this.#flags
    let latest = Number.NEGATIVE_INFINITY
    let earliest = Number.POSITIVE_INFINITY
    for (let slot = 0; slot < used; slot++) {
      // A free slot has an empty validity, from 0 to 0.
      const from = validFrom[slot] ?? 0
      const until = validUntil[slot] ?? 0
      if (from > at_us) earliest = Math.min(earliest, from)
      else latest = Math.max(latest, from)
      if (until > at_us) earliest = Math.min(earliest, until)
      else latest = Math.max(latest, until)
      flags[slot] = from <= at_us && at_us < until ? 1 : 0
    }
    this.#from = latest
    this.#until = earliest
    this.#changed = []
  }
}
