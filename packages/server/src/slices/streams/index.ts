// The face of the streams slice: its handlers, tickets for the edge, and the end of all streams.

import type { EventType, streams } from '@custos/contract'
import { eventStream, type Handler, type HandlersOf } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { validationDetail } from '../../platform/validation.ts'
import { isEvent } from './frames.ts'
import { openStreams } from './open-streams.ts'
import { streamRun, streamWorkflow } from './run-stream.ts'
import { createTicket } from './tickets.ts'

export { redeemTicket, sweepTickets } from './tickets.ts'

const events: Handler<typeof streams.events> = async (call, { query }) => {
  const stream = openStreams(call.kernel).open(
    {
      principal: call.principal,
      tenant_id: call.tenant_id,
      events: query.events === undefined ? null : parseEvents(query.events),
      format: query.format ?? 'named',
      from: query.from ?? 'head',
      last_event_id: call.header('last-event-id'),
      run: null,
    },
    call.gone,
  )
  return eventStream({ frames: stream.frames(), cut: stream.cut })
}

/** In order, so that streams that ask for the same share what they read. */
function parseEvents(text: string): readonly EventType[] {
  const names = [...new Set(text.split(',').map((name) => name.trim()))].sort()
  if (names.every(isEvent)) return names
  throw validationDetail(['query', 'events'], 'names an event that does not exist', 'value_error')
}

export const streamsHandlers: HandlersOf<typeof streams> = {
  events,
  run: streamRun,
  workflow: streamWorkflow,
  ticket: createTicket,
}

/** Ends every open stream of the process and opens none from then on. */
export const stopStreams = (kernel: Kernel): void => openStreams(kernel).stop()
