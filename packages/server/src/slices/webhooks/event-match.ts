// Pure: which log entries an endpoint gets, and what a request may subscribe to.

import { WEBHOOK_ALIASES, WEBHOOK_EVENTS } from '@custos/contract'

/** A log entry as far as subscriptions look at it. */
interface LoggedEvent {
  readonly event_type: string
  readonly payload: Readonly<Record<string, unknown>>
}

const known = new Set([...WEBHOOK_EVENTS, '*'])

/**
 * The name under which an entry goes to an endpoint; null: it does not. An alias counts where the
 * endpoint does not subscribe to the event itself.
 */
export function matchEvent(
  events: readonly string[],
  { event_type, payload }: LoggedEvent,
): string | null {
  if (events.includes('*') || events.includes(event_type)) return event_type
  for (const [alias, { event, status }] of Object.entries(WEBHOOK_ALIASES))
    if (
      event === event_type &&
      events.includes(alias) &&
      (status === null || payload['status'] === status)
    )
      return alias
  return null
}

/** The positions of names that are no events, each with the nearest name that is one. */
export const findUnknownEvents = (
  events: readonly string[],
): { readonly position: number; readonly nearest: string }[] =>
  events.flatMap((event, position) =>
    known.has(event) ? [] : [{ position, nearest: nearestEvent(event) }],
  )

function nearestEvent(name: string): string {
  const ranked = WEBHOOK_EVENTS.map((event) => ({ event, distance: editDistance(name, event) }))
  return ranked.reduce((best, next) => (next.distance < best.distance ? next : best)).event
}

/** Levenshtein distance of two short texts. */
function editDistance(one: string, other: string): number {
  let previous = Array.from({ length: other.length + 1 }, (_, i) => i)
  for (const [i, character] of [...one].entries()) {
    const next = [i + 1]
    for (let j = 0; j < other.length; j += 1) {
      const replaced = (previous[j] ?? 0) + (character === other[j] ? 0 : 1)
      next.push(Math.min(replaced, (previous[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    previous = next
  }
  return previous[other.length] ?? 0
}
