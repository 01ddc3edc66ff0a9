// POST /v1/stores/{store_id}/ingest: the turns of a conversation become memories, word for word,
// and where it is asked for, facts that a model finds in them.

import type { InputOf, memoryIngestion, WriteRequest } from '@custos/contract'
import { parseTime } from '../../../platform/clock.ts'
import type { Handler } from '../../../platform/kernel/call.ts'
import { writeAll } from '../../memory/index.ts'
import { extract } from './extract.ts'

type Ingest = (typeof memoryIngestion)['ingest']

export const ingest: Handler<Ingest> = async (call, { params, body }) => {
  const { messages, session_id, metadata, namespace, tenant_id } = body
  const shared = { ...metadata, ...(session_id != null && { session_id }) }
  const place = { namespace: namespace ?? null, tenant_id: tenant_id ?? null }
  const now_us = call.kernel.clock.now()
  const items = messages.map((message) => ({ ...place, ...toMemory(message, shared, now_us) }))
  if (body.mode === 'extract') return extract(call, { ...params, body, items })
  if (body.model_id != null)
    return call.refuse('rejected', 'model_id is for the mode extract: verbatim asks no model')
  return writeAll(call, { ...params, items, loc: ['body', 'messages'] })
}

/** A message of the future is a wrong clock: its memory is not hidden until then. */
function toMemory(
  {
    content,
    role,
    speaker,
    name,
    timestamp,
    message_id,
  }: InputOf<Ingest>['body']['messages'][number],
  shared: Readonly<Record<string, unknown>>,
  now_us: number,
): WriteRequest {
  // The names under which retrieval looks for them.
  const said = { speaker: speaker ?? name, role, timestamp, message_id }
  const known = Object.entries(said).filter(([, value]) => value != null)
  // The schema has checked the timestamp.
  const isPast = timestamp != null && (parseTime(timestamp) ?? now_us) < now_us
  return {
    content,
    metadata: { ...shared, ...Object.fromEntries(known) },
    ...(isPast && { valid_from: timestamp }),
  }
}
