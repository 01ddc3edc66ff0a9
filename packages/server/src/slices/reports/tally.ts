// Counts the entries of a log in order: what happened in a period, and what is in force at its end.

import { REPORT_SAMPLES_MAX } from '@custos/contract'
import type { JsonObject } from '@custos/proof'

/** The members of a log entry that a report reads. */
export interface Entry {
  readonly seq: number
  readonly event_type: string
  readonly subject: string
  readonly created_at: string
  readonly payload: JsonObject
}

export interface Sample {
  readonly seq: number
  readonly id: string
}

/** The counts of one type of entry in the period. */
export interface EventCounts {
  entries: number
  /** The number of things the entries are about; an entry may be about several. */
  things: number
  first_seq: number
  last_seq: number
  /** The newest samples, in ascending order. */
  readonly samples: Sample[]
}

interface Day {
  readonly day: string
  entries: number
  decisions: number
  refused: number
}

/** Memory is bounded by the types of entries, the days, and the tenant's limits. */
export class Tally {
  readonly seen = new Map<string, EventCounts>()
  readonly days = new Map<string, Day>()
  readonly policies = new Map<
    string,
    { seq: number; action: string; policy_type: string; enabled: boolean }
  >()
  /** The log position at which each active approver was enrolled. */
  readonly approvers = new Map<string, number>()
  /** The log position at which each store was created. */
  readonly stores = new Map<string, number>()
  /** The log position of each store's retention limit, if it has one. */
  readonly timeLimits = new Map<string, number>()
  readonly #selfTestStores = new Set<string>()
  /** The number of entries in the period, and their range. */
  readonly counted: { count: number; first_seq: number | null; last_seq: number | null } = {
    count: 0,
    first_seq: null,
    last_seq: null,
  }
  readonly #from: string
  readonly #to: string

  /** @param period in the log's time format. `to` is exclusive. */
  constructor(period: { readonly from: string; readonly to: string }) {
    this.#from = period.from
    this.#to = period.to
  }

  take(entry: Entry): void {
    if (entry.created_at >= this.#to || this.#isSelfTest(entry)) return
    this.#keepState(entry)
    if (this.covers(entry.created_at)) this.#count(entry)
  }

  /** Whether a time is in the period. */
  covers(time: string): boolean {
    return time >= this.#from && time < this.#to
  }

  /** Whether an entry is about a store of a self-test, or an erasure in one. */
  #isSelfTest({ event_type, subject, payload }: Entry): boolean {
    if (payload['self_test'] === true && event_type === 'store.created')
      this.#selfTestStores.add(subject)
    if (payload['self_test'] === true) return true
    if (!ABOUT_STORES.test(event_type) || !this.#selfTestStores.has(subject)) return false
    if (event_type === 'store.deleted') this.#selfTestStores.delete(subject)
    return true
  }

  /** Follows the state from the beginning of the log, because it holds at the end of the period. */
  #keepState({ seq, event_type, subject, payload }: Entry): void {
    switch (event_type) {
      case 'policy.created':
      case 'policy.updated': {
        const { action, policy_type, enabled } = payload
        this.policies.set(subject, {
          seq,
          action: String(action),
          policy_type: String(policy_type),
          enabled: enabled === true,
        })
        return
      }
      case 'policy.deleted':
        this.policies.delete(subject)
        return
      case 'store.created':
        this.stores.set(subject, seq)
        return
      case 'store.deleted':
        this.stores.delete(subject)
        this.timeLimits.delete(subject)
        return
      case 'retention.set':
        if (payload['retain_days'] === null) this.timeLimits.delete(subject)
        else this.timeLimits.set(subject, seq)
        return
      case 'approver.enrolled':
      case 'approver.updated':
        if (payload['active'] === true) this.approvers.set(subject, seq)
        else this.approvers.delete(subject)
        return
      case 'approver.revoked':
        this.approvers.delete(subject)
    }
  }

  #count({ seq, event_type, subject, created_at, payload }: Entry): void {
    this.counted.count += 1
    this.counted.first_seq ??= seq
    this.counted.last_seq = seq
    const seen = this.#seenOf(event_type, seq)
    seen.entries += 1
    seen.things += thingsOf(event_type, payload)
    seen.last_seq = seq
    seen.samples.push({ seq, id: subject })
    // Trims in batches, because removing the first element of a list costs its length.
    if (seen.samples.length >= 8 * REPORT_SAMPLES_MAX)
      seen.samples.splice(0, seen.samples.length - REPORT_SAMPLES_MAX)
    const day = this.#dayOf(created_at.slice(0, DAY_CHARS))
    day.entries += 1
    if (event_type === 'decision.logged') day.decisions += 1
    if (REFUSED.has(event_type)) day.refused += 1
  }

  #seenOf(event_type: string, seq: number): EventCounts {
    let seen = this.seen.get(event_type)
    if (!seen) {
      seen = { entries: 0, things: 0, first_seq: seq, last_seq: seq, samples: [] }
      this.seen.set(event_type, seen)
    }
    return seen
  }

  #dayOf(name: string): Day {
    let day = this.days.get(name)
    if (!day) {
      day = { day: name, entries: 0, decisions: 0, refused: 0 }
      this.days.set(name, day)
    }
    return day
  }
}

/** Types of entries whose subject is the id of a store. */
const ABOUT_STORES = /^(?:memory|store|retention|hold)\./
/** `2026-01-31` */
const DAY_CHARS = 10
const REFUSED: ReadonlySet<string> = new Set(['evaluation.denied', 'evaluation.escalated'])

function thingsOf(event_type: string, { count }: JsonObject): number {
  return event_type === 'memory.written' && typeof count === 'number' ? count : 1
}
