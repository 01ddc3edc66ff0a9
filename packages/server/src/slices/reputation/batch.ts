// Batch requests: items are collapsed by key, and a retry gets the same reply.

import type { ReplayIds } from '../../platform/kernel/call.ts'

/** Keeps the last item of each key, in the order in which the keys first appear. */
export function collapse<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  const last = new Map<string, T>()
  for (const item of items) last.set(keyOf(item), item)
  return [...last.values()]
}

/** The result of one item. */
type Fate = 'new' | 'superseded' | 'idempotent'

/** The stored result of each item, for retries. Contains numbers and letters, no caller's text. */
export interface BatchIds extends ReplayIds {
  /** The time of items without their own date. */
  readonly now_us: number
  /** One letter per item. */
  readonly fates: string
  /** The effective times of idempotent items, by position. */
  readonly kept_us: Readonly<Record<string, number>>
}

const LETTERS: Readonly<Record<Fate, string>> = { new: 'n', superseded: 's', idempotent: 'i' }

export interface ItemFate {
  readonly fate: Fate
  readonly event_us: number
}

export function idsOf(now_us: number, items: readonly ItemFate[]): BatchIds {
  const kept = items.flatMap(({ fate, event_us }, at) =>
    fate === 'idempotent' ? [[at, event_us]] : [],
  )
  return {
    now_us,
    fates: items.map(({ fate }) => LETTERS[fate]).join(''),
    kept_us: Object.fromEntries(kept),
  }
}

export const readIds = (ids: ReplayIds): BatchIds => ({
  now_us: Number(ids['now_us']),
  fates: String(ids['fates']),
  kept_us: Object(ids['kept_us']),
})

/** @param given_us the item's own date, or `null` */
export function fateAt(ids: BatchIds, at: number, given_us: number | null): ItemFate {
  const letter = ids.fates.charAt(at)
  if (letter === LETTERS.idempotent)
    return { fate: 'idempotent', event_us: ids.kept_us[at] ?? ids.now_us }
  const fate = letter === LETTERS.superseded ? 'superseded' : 'new'
  return { fate, event_us: given_us ?? ids.now_us }
}
