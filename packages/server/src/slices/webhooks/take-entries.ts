// Advances an endpoint's cursor along the log, and creates deliveries for matching entries.

import { type EventType, WEBHOOK_ALIASES } from '@custos/contract'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Ids } from '../../platform/ids.ts'
import { readLogPage, restoredGeneration } from '../gcrumbs/index.ts'
import { eventsOf, logSize } from './endpoint.ts'
import { matchEvent } from './payload.ts'
import {
  type DeliveryRow,
  insertDeliveries,
  updateWebhook,
  type WebhookRow,
} from './webhooks.sql.ts'

const ENTRIES_AT_ONCE = 500
const ID_BYTES = 12

type Position = Pick<DeliveryRow, 'previous_seq' | 'generation'>

interface LogWalk {
  readonly events: readonly string[]
  /** The position before the first entry. */
  readonly position: Position
  readonly first_seq: number
  /** Exclusive. */
  readonly end_seq: number
}

interface MatchedEntry extends Position {
  readonly seq: number
  readonly event_type: string
}

/** The event types that may match, or `null` for all. */
function eventTypesOf(events: readonly string[]): EventType[] | null {
  if (events.includes('*')) return null
  const aliases: Readonly<Record<string, { event: EventType }>> = WEBHOOK_ALIASES
  // The names were checked against the list when they were stored.
  const natural = events.map((event) => aliases[event]?.event ?? (event as EventType))
  return [...new Set([...natural, 'log.restored' as const])]
}

/** Reads a bounded number of entries from `first_seq`. Returns the matching ones with positions. */
export async function walkEntries(
  tx: Tx,
  walk: LogWalk,
): Promise<{
  readonly matched: readonly MatchedEntry[]
  readonly position: Position
  readonly next_seq: number
}> {
  const { events, first_seq, end_seq } = walk
  const page = await readLogPage(tx, {
    first_seq,
    limit: ENTRIES_AT_ONCE,
    events: eventTypesOf(events),
  })
  let { position } = walk
  const matched: MatchedEntry[] = []
  for (const entry of page.entries) {
    if (entry.seq >= end_seq) break
    if (entry.event_type === 'log.restored')
      position = { ...position, generation: restoredGeneration(entry) }
    const event_type = matchEvent(events, JSON.parse(entry.record))
    if (event_type === null) continue
    matched.push({ ...position, seq: entry.seq, event_type })
    position = { ...position, previous_seq: entry.seq }
  }
  return { matched, position, next_seq: Math.min(page.next_seq, end_seq) }
}

/** Creates a delivery that is due now. */
export const newDelivery = (
  { ids }: { readonly ids: Ids },
  tx: Tx,
  given: Pick<DeliveryRow, 'webhook_id' | 'kind' | 'job_id'> & MatchedEntry,
): DeliveryRow => {
  const now_us = tx.now()
  return {
    ...given,
    delivery_id: ids.hex(ID_BYTES),
    status: 'pending',
    attempts: 0,
    next_us: now_us,
    response_code: null,
    error: null,
    created_us: now_us,
    completed_us: null,
  }
}

/** Creates deliveries and advances the cursor in one unit of work, so that both agree. */
export async function takeEntries(
  parts: { readonly ids: Ids },
  tx: Tx,
  row: WebhookRow,
): Promise<void> {
  const { webhook_id } = row
  const size = await logSize(tx)
  const { matched, position, next_seq } = await walkEntries(tx, {
    events: eventsOf(row),
    position: { previous_seq: row.previous_seq, generation: row.generation },
    // The log was replaced by a shorter one, whose newest entry says so.
    first_seq: row.cursor_seq > size ? size - 1 : row.cursor_seq,
    end_seq: size,
  })
  const given = { webhook_id, kind: 'log', job_id: null } as const
  await insertDeliveries(
    tx,
    matched.map((entry) => newDelivery(parts, tx, { ...given, ...entry })),
  )
  const { previous_seq, generation } = position
  await updateWebhook(tx, webhook_id, { cursor_seq: next_seq, previous_seq, generation })
}
