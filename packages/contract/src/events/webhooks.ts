// Webhooks: send entries of the audit log to endpoints of the tenant as they are appended.

import Type, { type Static } from 'typebox'
import {
  about,
  boolean,
  Count,
  Cursor,
  count,
  Hex12,
  integer,
  Limit,
  label,
  Nullable,
  Offset,
  OptionalNullable,
  page,
  Timestamp,
  text,
  time,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'
import { operation } from '../core/operation.ts'
import type { Scope } from '../core/scopes.ts'
import { type EventType, eventPayloads } from './events.ts'

/** Event names of earlier clients. With `status`, only check runs that ended with that status. */
export const WEBHOOK_ALIASES = {
  'assurance.drift': { event: 'assurance.completed', status: 'drift' },
  'assurance.fail': { event: 'assurance.completed', status: 'fail' },
  'erasure.issued': { event: 'erasure.certified', status: null },
  'governance.denied': { event: 'evaluation.denied', status: null },
  'governance.escalated': { event: 'evaluation.escalated', status: null },
} as const satisfies Readonly<
  Record<string, { readonly event: EventType; readonly status: string | null }>
>

/** Every name that an endpoint may subscribe to, besides `*`. */
export const WEBHOOK_EVENTS: readonly string[] = [
  ...Object.keys(eventPayloads),
  ...Object.keys(WEBHOOK_ALIASES),
].toSorted()

/** The scope that may read the records of an event, by the first word of the event's name. */
const EVENT_SCOPES: Readonly<Record<string, Scope>> = {
  store: 'memory:read',
  retention: 'memory:read',
  memory: 'memory:read',
  decision: 'decisions:read',
  erasure: 'erasure:execute',
  policy: 'governance:read',
  evaluation: 'governance:read',
  governance: 'governance:read',
  artifact: 'artifacts:read',
  world_type: 'artifacts:read',
  action: 'artifacts:read',
  corpus: 'artifacts:read',
  composition: 'artifacts:read',
  landing: 'compliance:read',
  approval: 'compliance:read',
  approver: 'compliance:read',
  hold: 'compliance:read',
  text: 'compliance:read',
  report: 'compliance:read',
  assurance: 'compliance:read',
  conformance: 'compliance:read',
  subject: 'compliance:read',
  cgr: 'cgr:read',
  webhook: 'webhooks:admin',
  agent: 'orchestrator:run',
  agent_action: 'orchestrator:run',
  provider: 'llm:admin',
  run: 'orchestrator:run',
  step: 'orchestrator:run',
  tool: 'orchestrator:run',
}

/** The scope that a key needs to subscribe to an event, unless it may read the whole audit log. */
export const scopeOfEvent = (event: string): Scope =>
  EVENT_SCOPES[event.split('.')[0] ?? ''] ?? 'gcrumbs:read'

export const WEBHOOK_STATES = ['active', 'failing', 'disabled'] as const
/** `redacted`: an erasure removed its URL. `unreadable`: its secret is not in the keyring. */
export const WEBHOOK_DISABLED_REASONS = [
  'requested',
  'gone',
  'failing',
  'redacted',
  'unreadable',
] as const
export const WEBHOOK_SIGNATURES = ['v1', 'v1a'] as const
export const DELIVERY_STATUSES = ['pending', 'retrying', 'delivered', 'failed'] as const
export const DELIVERY_KINDS = ['log', 'replay', 'retry', 'test'] as const

const Signature = Type.Enum(WEBHOOK_SIGNATURES, {
  title: 'WebhookSignature',
  description: 'Standard Webhooks: `v1` HMAC-SHA256 with a secret, `v1a` Ed25519 with a public key',
})
const State = Type.Enum(WEBHOOK_STATES, {
  title: 'WebhookState',
  description: '`failing`: 5 failures in a row; one delivery at a time probes the endpoint',
})
const DisabledReason = Type.Enum(WEBHOOK_DISABLED_REASONS, {
  title: 'WebhookDisabledReason',
  description: '`gone`: it answered 410. `failing`: 5 days without a success',
})
const Status = Type.Enum(DELIVERY_STATUSES, {
  title: 'WebhookDeliveryStatus',
  description: 'State of a delivery',
})
const Url = text('Where deliveries are sent: https, no user name, no fragment', {
  minLength: 1,
  maxLength: limits.webhook_url_chars,
})
const Events = Type.Array(Type.String({ maxLength: 64, pattern: '^[a-z_.*]+$' }), {
  title: 'WebhookEvents',
  description: 'Names of events, see `/v1/webhooks/events/types`; `*`: every entry',
  minItems: 1,
  maxItems: limits.webhook_events,
})
const Description = about(label({ minLength: 0, maxLength: limits.name_chars }), 'What it is for')

export const Webhook = Type.Object(
  {
    webhook_id: Hex12,
    url: text('Where deliveries are sent; empty once it was erased'),
    events: about(Events, 'Names of events'),
    enabled: boolean('Whether deliveries are sent'),
    description: text('What it is for'),
    signature: about(Signature, 'How deliveries are signed'),
    compatibility: boolean('Whether `X-Grafomem-*` headers are sent too'),
    state: about(State, 'State of the endpoint'),
    disabled_reason: Nullable(about(DisabledReason, 'Why it is disabled')),
    cursor_seq: count('Log position of the next entry to look at'),
    lag: count('Log entries after that position'),
    last_success_at: Nullable(time('When a delivery last succeeded')),
    failing_since: Nullable(time('When the failures in a row began')),
    created_at: Timestamp,
  },
  { title: 'Webhook', description: 'An endpoint that log entries are sent to' },
)
export type Webhook = Static<typeof Webhook>

export const WebhookDelivery = Type.Object(
  {
    delivery_id: Hex12,
    webhook_id: Hex12,
    event_type: text('Event as it was sent'),
    seq: Nullable(about(Count, 'Log position of the entry; null: a test')),
    kind: Type.Enum(DELIVERY_KINDS, { description: 'Why it was sent' }),
    status: about(Status, 'State of the delivery'),
    attempts: count('Requests sent so far'),
    response_code: Nullable(integer('Status of the last answer')),
    error: Nullable(
      text(
        'Why the last attempt failed: `refused_address`, `dns`, `connect`, `tls`, `timeout`, ' +
          '`redirect` or `status_<n>`',
      ),
    ),
    created_at: Timestamp,
    next_attempt_at: Nullable(time('When it is sent again')),
    completed_at: Nullable(time('When it was delivered or given up')),
  },
  { title: 'WebhookDelivery', description: 'An entry on its way to an endpoint' },
)
export type WebhookDelivery = Static<typeof WebhookDelivery>

const secret = {
  secret: Nullable(text('`whsec_…`, shown only once; null for `v1a` and in a repeated reply')),
  public_key: Nullable(text('`whpk_…` for `v1a`: the key of this service that signs')),
}

const params = Type.Object({ webhook_id: Hex12 })
const admin = { access: 'tenant', scope: 'webhooks:admin' } as const
const path = '/v1/webhooks'
const endpoint = `${path}/{webhook_id}` as const

export const webhooks = {
  create: operation({
    ...admin,
    id: 'webhooks.create',
    method: 'POST',
    path,
    summary: 'Creates an endpoint that log entries are sent to',
    description:
      'Use it to be told instead of asking. Events need the scope that reads their records, or ' +
      '`gcrumbs:read`. See docs/webhooks.md for verifying. A key limited to stores is refused.',
    body: Type.Object({
      url: Url,
      events: about(Events, 'Names of events'),
      description: OptionalNullable(Description),
      signature: Type.Optional(about({ ...Signature, default: 'v1' }, 'How deliveries are signed')),
      compatibility: Type.Optional(
        Type.Boolean({ default: false, description: 'Sends `X-Grafomem-*` headers too' }),
      ),
      from_seq: OptionalNullable(count('First log position to send; default: the next entry')),
    }),
    example: {
      url: 'https://hooks.example.com/custos',
      events: ['memory.erased', 'approval.requested'],
    },
    status: 201,
    reply: Type.Object({ ...Webhook.properties, ...secret }),
    refuses: ['url_refused', 'rejected', 'too_many', 'idempotency_key_reused'],
    idempotent: true,
  }),
  list: operation({
    ...admin,
    id: 'webhooks.list',
    method: 'GET',
    path,
    summary: 'Lists the endpoints, oldest first',
    description: 'Use it to see which endpoints fail.',
    query: Type.Object({ limit: Limit(limits.page), offset: Offset, cursor: Cursor }),
    status: 200,
    reply: page('webhooks', Webhook),
    refuses: ['rejected'],
  }),
  event_types: operation({
    id: 'webhooks.event_types',
    method: 'GET',
    path: `${path}/events/types`,
    access: 'tenant',
    summary: 'Lists the names of events',
    description: 'Use it to choose the events of an endpoint.',
    status: 200,
    reply: Type.Object({
      event_types: Type.Array(Type.String(), { description: 'Names in alphabetical order' }),
    }),
    refuses: [],
  }),
  get: operation({
    ...admin,
    id: 'webhooks.get',
    method: 'GET',
    path: endpoint,
    summary: 'Returns one endpoint',
    description: 'Use it to see how far it is behind.',
    params,
    status: 200,
    reply: Webhook,
    refuses: ['webhook_not_found'],
  }),
  update: operation({
    ...admin,
    id: 'webhooks.update',
    method: 'PUT',
    path: endpoint,
    summary: 'Changes an endpoint',
    description:
      'Use it to pause or move an endpoint. Fields that are absent or null stay the same. ' +
      'Enabling starts at the next log entry; a replay sends those before it.',
    params,
    body: Type.Object({
      url: OptionalNullable(Url),
      events: OptionalNullable(about(Events, 'Names of events')),
      description: OptionalNullable(Description),
      enabled: OptionalNullable(boolean('Whether deliveries are sent')),
    }),
    example: { enabled: false },
    status: 200,
    reply: Webhook,
    refuses: ['webhook_not_found', 'url_refused', 'rejected', 'wrong_state'],
  }),
  delete: operation({
    ...admin,
    id: 'webhooks.delete',
    method: 'DELETE',
    path: endpoint,
    summary: 'Deletes an endpoint with its deliveries; its URL and secrets are destroyed',
    description: 'Use it when the receiver no longer exists.',
    params,
    status: 200,
    reply: Type.Object({
      deleted: Type.Literal(true, { description: 'Always true' }),
      webhook_id: Hex12,
    }),
    refuses: ['webhook_not_found'],
  }),
  rotate_secret: operation({
    ...admin,
    id: 'webhooks.rotate_secret',
    method: 'POST',
    path: `${endpoint}/rotate-secret`,
    summary: 'Replaces the secret; both sign until the overlap ends',
    description:
      'Use it when a secret may have leaked. At most five secrets sign at once: a sixth ends the ' +
      'oldest before its time. Not available for `v1a`.',
    params,
    body: Type.Object({
      overlap_hours: Type.Optional(
        integer('Hours for which the old secret also signs', {
          minimum: limits.webhook_overlap_h.min,
          maximum: limits.webhook_overlap_h.max,
          default: limits.webhook_overlap_h.default,
        }),
      ),
    }),
    body_optional: true,
    example: { overlap_hours: 24 },
    status: 200,
    reply: Type.Object({
      webhook_id: Hex12,
      secret: text('The new `whsec_…`, shown only once'),
      previous_valid_until: time('Until when the old secret also signs'),
    }),
    refuses: ['webhook_not_found', 'wrong_state'],
  }),
  deliveries: operation({
    ...admin,
    id: 'webhooks.deliveries',
    method: 'GET',
    path: `${endpoint}/deliveries`,
    summary: 'Lists deliveries of the last 30 days, newest first',
    description:
      'Use it to find failed deliveries. Neither payloads nor response bodies are stored.',
    params,
    query: Type.Object({
      status: Type.Optional(about(Status, 'Only those in this state')),
      event: Type.Optional(text('Only those of this event', { maxLength: 64 })),
      limit: Limit(limits.deliveries_page),
      offset: Offset,
      cursor: Cursor,
    }),
    status: 200,
    reply: page('deliveries', WebhookDelivery),
    refuses: ['webhook_not_found', 'rejected'],
  }),
  retry: operation({
    ...admin,
    id: 'webhooks.retry',
    method: 'POST',
    path: `${endpoint}/deliveries/{delivery_id}/retry`,
    summary: 'Sends an entry again, as a new delivery',
    description: 'Use it after the receiver has been repaired. The `webhook-id` stays the same.',
    params: Type.Object({ webhook_id: Hex12, delivery_id: Hex12 }),
    status: 202,
    reply: Type.Object({
      retried: Type.Literal(true, { description: 'Always true' }),
      delivery: about(WebhookDelivery, 'The new delivery'),
    }),
    refuses: ['webhook_not_found', 'delivery_not_found', 'wrong_state'],
  }),
  replay: operation({
    ...admin,
    id: 'webhooks.replay',
    method: 'POST',
    path: `${endpoint}/replay`,
    summary: 'Starts a job that sends a part of the audit log again',
    description: `Use it to fill a gap: at most ${limits.webhook_replay_entries} entries a time.`,
    params,
    body: Type.Object({
      from_seq: OptionalNullable(count('First log position; or name `since`')),
      since: OptionalNullable(time('Entries after this time')),
      to_seq: OptionalNullable(count('Last log position; default: the last entry')),
      events: OptionalNullable(about(Events, 'Names of events; default: those of the endpoint')),
    }),
    example: { from_seq: 0 },
    status: 202,
    reply: Type.Object({
      job_id: Hex12,
      webhook_id: Hex12,
      from_seq: count('First log position'),
      to_seq: Type.Integer({ minimum: -1, description: 'Last log position' }),
    }),
    refuses: ['webhook_not_found', 'rejected', 'wrong_state'],
  }),
  test: operation({
    ...admin,
    id: 'webhooks.test',
    method: 'POST',
    path: `${endpoint}/test`,
    summary: 'Sends a test event and waits up to 10 seconds for the answer',
    description: 'Use it to check URL and signature. One at a time, 10 a minute.',
    params,
    status: 200,
    reply: Type.Object({
      test: Type.Literal(true, { description: 'Always true' }),
      delivery: about(WebhookDelivery, 'The delivery; `pending` if the answer is late'),
    }),
    refuses: ['webhook_not_found', 'wrong_state'],
  }),
} as const
