// Requests of many items: collapsed by what they are about, and answered alike on a retry.

import type { ReplayIds } from '../../platform/kernel/call.ts'

/** Items by key, the last of each, in the order of the first. */
export function collapse<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  const last = new Map<string, T>()
  for (const item of items) last.set(keyOf(item), item)
  return [...last.values()]
}

/** The result of one item. */
type Fate = 'new' | 'superseded' | 'idempotent'

/** How a retry finds what became of each item: numbers and letters, no words of the caller. */
export interface BatchIds extends ReplayIds {
  /** The time of items without a date of their own. */
  readonly now_us: number
  /** A letter for each item. */
  readonly fates: string
  /** Effective times of idempotent items, by position. */
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

/** @param given_us the item's own date */
export function fateAt(ids: BatchIds, at: number, given_us: number | null): ItemFate {
  const letter = ids.fates.charAt(at)
  if (letter === LETTERS.idempotent)
    return { fate: 'idempotent', event_us: ids.kept_us[at] ?? ids.now_us }
  const fate = letter === LETTERS.superseded ? 'superseded' : 'new'
  return { fate, event_us: given_us ?? ids.now_us }
}
