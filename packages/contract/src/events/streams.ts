// Event streams: the audit log and runs as server-sent events, and the tickets with which a browser
// opens one.

import Type, { type Static } from 'typebox'
import { about, boolean, Hex16, text, time } from '../core/common.ts'
import { limits } from '../core/limits.ts'
import { operation } from '../core/operation.ts'
import { eventPayloads } from './events.ts'
import { Breadcrumb } from './gcrumbs.ts'

const EVENTS_PATH = '/v1/events/stream'
const RUN_PATH = '/v1/orchestrator/runs/{run_id}/stream'
const WORKFLOW_PATH = '/v1/orchestrator/workflows/{workflow_id}/stream'

const format = Type.Optional(
  Type.Enum(['named', 'message'], {
    description: '`message`: omits `event:`, so that all frames reach `onmessage`',
    default: 'named',
  }),
)
const ticket = Type.Optional(text('A ticket in place of an API key', { maxLength: 100 }))

const runQuery = Type.Object({
  from: Type.Optional(
    text('Id of the last frame received; absent: from the first event of the run', {
      pattern: '^\\d{1,15}\\.(-1|\\d{1,15})$',
    }),
  ),
  deltas: Type.Optional(
    boolean('Whether to stream the text of answers (`step.delta`); needs `decisions:read`'),
  ),
  format,
  ticket,
})

const eventsExample = Object.keys(eventPayloads)
  .filter((event) => event.startsWith('memory.'))
  .slice(0, 2)
  .join(',')

const StreamedEntry = Type.Object(
  { type: text('Same as `event_type`'), ...Breadcrumb.properties },
  { title: 'StreamedEntry', description: 'The `data` of a frame: an entry of the audit log' },
)

const StepDelta = Type.Object(
  {
    type: Type.Literal('step.delta', { description: 'Not a log entry; its frame has no id' }),
    run_id: Hex16,
    step_id: Hex16,
    text: text('Text that the model generated since the previous frame'),
  },
  { title: 'StepDelta', description: 'A part of an answer; sent once and not stored' },
)
export type StepDelta = Static<typeof StepDelta>

const StreamTicket = Type.Object({
  ticket: text('Opens one stream; shown once'),
  expires_at: time('When it can no longer be used'),
})

const { ticket_ttl_s } = limits

export const streams = {
  events: operation({
    id: 'streams.events',
    method: 'GET',
    path: EVENTS_PATH,
    summary: 'Streams the entries of the audit log as server-sent events',
    description:
      'Use it to react to what happens in a tenant: each entry is one frame with the id ' +
      '`<generation>.<seq>`, in order and without gaps. A client that reconnects with ' +
      '`Last-Event-ID` continues after that frame. A stream ends after an hour at most, when ' +
      'its credential ends, and when its reader falls too far behind.',
    access: 'tenant',
    scope: 'gcrumbs:read',
    headers: { 'last-event-id': 'Id of the last frame received; takes precedence over `from`' },
    query: Type.Object({
      events: Type.Optional(
        text('Kinds of events, separated by commas; absent: all', {
          maxLength: limits.event_names_chars,
          examples: [eventsExample],
        }),
      ),
      from: Type.Optional(
        text(
          'Where to begin: `head` (what is appended from now on), `start`, the position of the ' +
            'first entry, or the id of the last frame received',
          { pattern: '^(head|start|\\d{1,15}|\\d{1,15}\\.(-1|\\d{1,15}))$', default: 'head' },
        ),
      ),
      format,
      ticket,
    }),
    status: 200,
    reply: StreamedEntry,
    reply_type: 'text/event-stream',
    refuses: [],
  }),
  run: operation({
    id: 'streams.run',
    method: 'GET',
    path: RUN_PATH,
    summary: 'Streams what happens in a run, from its first event to its end',
    description:
      'Use it to follow a run: each entry of the audit log about the run, its steps and its ' +
      'calls is one frame, without texts. The stream ends after the end of the run; of a run ' +
      'that has ended everything is sent. A client that reconnects with `Last-Event-ID` ' +
      'continues after that frame, and gets 204 once there is nothing after it.',
    access: 'tenant',
    scope: 'orchestrator:run',
    headers: { 'last-event-id': 'Id of the last frame received; takes precedence over `from`' },
    params: Type.Object({ run_id: about(Hex16, 'Id of the run') }),
    query: runQuery,
    status: 200,
    reply: Type.Union([StreamedEntry, StepDelta]),
    reply_type: 'text/event-stream',
    ends: true,
    refuses: ['run_not_found'],
  }),
  workflow: operation({
    id: 'streams.workflow',
    method: 'GET',
    path: WORKFLOW_PATH,
    summary: 'Streams the events of the newest run of a workflow, from the first to the last',
    description:
      'Use it when only the workflow id is known; the frames are those of `streams.run`. It ' +
      'does not start a run.',
    access: 'tenant',
    scope: 'orchestrator:run',
    headers: { 'last-event-id': 'Id of the last frame received; takes precedence over `from`' },
    params: Type.Object({ workflow_id: about(Hex16, 'Id of the workflow') }),
    query: runQuery,
    status: 200,
    reply: Type.Union([StreamedEntry, StepDelta]),
    reply_type: 'text/event-stream',
    ends: true,
    refuses: ['workflow_not_found', 'wrong_state'],
  }),
  ticket: operation({
    id: 'streams.ticket',
    method: 'POST',
    path: '/v1/events/tickets',
    summary: 'Makes a ticket that opens one event stream',
    description:
      'Use it for browsers, whose `EventSource` sends no API key: add `?ticket=` to the path. ' +
      'The stream has the rights of the key that made the ticket and ends with that key.',
    access: 'tenant',
    body: Type.Object({
      path: text('The stream it opens: `/v1/events/stream`, or that of a run or workflow', {
        pattern: '^/v1/(events|orchestrator/(runs|workflows)/[0-9a-f]{32})/stream$',
        examples: [EVENTS_PATH],
      }),
      ttl_s: Type.Optional(
        Type.Integer({
          minimum: ticket_ttl_s.min,
          maximum: ticket_ttl_s.max,
          default: ticket_ttl_s.default,
          description: 'Seconds it can be used',
        }),
      ),
    }),
    example: { path: EVENTS_PATH },
    status: 201,
    reply: StreamTicket,
    refuses: [],
  }),
} as const
