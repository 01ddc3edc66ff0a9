// Retention of a store's memories, and the legal holds that prevent their erasure.

import Type, { type Static } from 'typebox'
import {
  about,
  boolean,
  Count,
  Cursor,
  count,
  Hex12,
  Hex16,
  integer,
  Label,
  Limit,
  Nullable,
  Offset,
  page,
  text,
  time,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'
import { operation } from '../core/operation.ts'

const POLICY_REFUSALS = ['policy_denied', 'approval_required'] as const
const StoreParams = Type.Object({ store_id: Label })
const HoldParams = Type.Object({ store_id: Label, hold_id: Hex16 })
const GivenReason = Type.String({
  title: 'GivenReason',
  description: 'A text of 1 to 2,000 characters without control characters',
  minLength: 1,
  maxLength: limits.reason_chars,
  format: 'label',
})

/** The retention of a store: `retain_days` of 24 hours from when each memory was written. */
export const Retention = Type.Object(
  {
    store_id: Type.String(),
    retain_days: Nullable(integer('Days a memory is kept after it was written; null: no limit')),
    basis: Nullable(text('Why memories are kept this long')),
    set_at: Nullable(time('When the retention was set')),
    set_by: Nullable(text('Id of the key that set it')),
    due: count('Memories that are older than that now, superseded ones included'),
    expired: count('Memories past an expiry of their own that are not erased yet'),
    holds: count('Legal holds in force; while there is one, nothing is erased'),
    run: Nullable(
      Type.Object(
        {
          job_id: Type.String(),
          started_at: time('When the run started'),
          erased: count('Memories erased so far'),
          due: count('Memories to erase in all'),
        },
        { description: 'The run in progress' },
      ),
    ),
    last_run: Nullable(
      Type.Object(
        { ended_at: time('When the run ended'), erased: count('Memories erased') },
        { description: 'The last run that ended' },
      ),
    ),
  },
  { title: 'Retention', description: 'How long a store keeps its memories' },
)
export type Retention = Static<typeof Retention>

export const Hold = Type.Object(
  {
    hold_id: Hex16,
    store_id: Type.String(),
    reason: text('Why the hold was placed'),
    matter: Nullable(text('The legal matter, as given')),
    placed_at: time('When the hold was placed'),
    placed_by: text('Id of the key that placed it'),
    until: Nullable(time('End of the hold, not included; null: until it is released')),
    released_at: Nullable(time('When the hold was released')),
    released_by: Nullable(text('Id of the key that released it')),
    release_reason: Nullable(text('Why the hold was released')),
    standing: boolean('Whether the hold is in force: neither released nor past its end'),
    placed_log_seq: count('Log position of the placement'),
    released_log_seq: Nullable(count('Log position of the release')),
    log_seq: about(Count, 'Log position of the release, or else of the placement'),
  },
  { title: 'Hold', description: 'A legal hold on a store' },
)
export type Hold = Static<typeof Hold>

export const retention = {
  get: operation({
    id: 'retention.get',
    method: 'GET',
    path: '/v1/stores/{store_id}/retention',
    summary: 'Returns how long a store keeps its memories, and how many are due for erasure',
    description: 'Use it to check the retention of a store and the progress of a run.',
    access: 'tenant',
    scope: 'memory:read',
    params: StoreParams,
    status: 200,
    reply: Retention,
    refuses: ['store_not_found'],
  }),
  set: operation({
    id: 'retention.set',
    method: 'PUT',
    path: '/v1/stores/{store_id}/retention',
    summary: 'Sets how long a store keeps its memories',
    description:
      'Use it to erase memories automatically after a number of days. Older memories are erased ' +
      'within the hour, each with a certificate, or at once by `POST …/retention/run`. A run in ' +
      'progress keeps the period it started with, unless the period was extended or removed. ' +
      'Nothing is erased while a legal hold is in force.',
    access: 'tenant',
    scope: 'memory:admin',
    params: StoreParams,
    body: Type.Object({
      retain_days: Nullable(
        integer('Days to keep a memory after it was written; null: no limit', {
          minimum: limits.retain_days.min,
          maximum: limits.retain_days.max,
        }),
      ),
      basis: Type.Optional(Nullable(about(GivenReason, 'Why memories are kept this long'))),
    }),
    example: { retain_days: 365, basis: 'support contract' },
    status: 200,
    reply: Retention,
    refuses: [...POLICY_REFUSALS, 'store_not_found', 'store_deleting'],
  }),
  run: operation({
    id: 'retention.run',
    method: 'POST',
    path: '/v1/stores/{store_id}/retention/run',
    summary: 'Starts a job that erases the memories past the retention of a store',
    description:
      'Use it to erase at once rather than within the hour. While a run is in progress the reply ' +
      'names that run.',
    access: 'tenant',
    scope: 'memory:admin',
    params: StoreParams,
    status: 202,
    reply: Type.Object({
      job_id: Hex12,
      store_id: Type.String(),
      retain_days: integer('Days a memory is kept after it was written'),
      due: count('Memories to erase'),
    }),
    refuses: [
      ...POLICY_REFUSALS,
      'store_not_found',
      'store_deleting',
      'retention_not_set',
      'legal_hold',
      'no_signing_key',
    ],
  }),
  place_hold: operation({
    id: 'retention.place_hold',
    method: 'POST',
    path: '/v1/stores/{store_id}/holds',
    summary: 'Places a legal hold: nothing in the store is erased while it is in force',
    description:
      'Use it when memories must be preserved for a legal matter. Writing and superseding ' +
      'continue, since they keep earlier versions. A store that is being deleted cannot be held.',
    access: 'tenant',
    scope: 'compliance:admin',
    params: StoreParams,
    body: Type.Object({
      reason: about(GivenReason, 'Why the hold is placed'),
      matter: Type.Optional(Nullable(about(Label, 'The legal matter'))),
      until: Type.Optional(Nullable(time('End of the hold; default: until it is released'))),
    }),
    example: { reason: 'litigation', matter: 'case 12/2026' },
    status: 201,
    reply: Type.Object({
      ...Hold.properties,
      already_erasing: count(
        'Memories whose erasure began before the hold and can no longer be stopped',
      ),
    }),
    refuses: ['store_not_found', 'store_deleting', 'rejected', 'idempotency_key_reused'],
    idempotent: true,
  }),
  holds: operation({
    id: 'retention.holds',
    method: 'GET',
    path: '/v1/stores/{store_id}/holds',
    summary: 'Lists the legal holds of a store, newest first, including released ones',
    description: 'Use it to find out why a store cannot be erased.',
    access: 'tenant',
    scope: 'compliance:read',
    params: StoreParams,
    query: Type.Object({
      standing: Type.Optional(
        Type.Boolean({ description: 'Returns only holds that are in force', default: false }),
      ),
      limit: Limit(limits.page),
      offset: Offset,
      cursor: Cursor,
    }),
    status: 200,
    reply: page('holds', Hold),
    refuses: ['store_not_found', 'rejected'],
  }),
  release_hold: operation({
    id: 'retention.release_hold',
    method: 'DELETE',
    path: '/v1/stores/{store_id}/holds/{hold_id}',
    summary: 'Releases a legal hold',
    description:
      'Use it when the legal matter is closed. A repeated request returns the hold as it was ' +
      'released.',
    access: 'tenant',
    scope: 'compliance:admin',
    params: HoldParams,
    body: Type.Object({
      reason: Type.Optional(Nullable(about(GivenReason, 'Why the hold is released'))),
    }),
    body_optional: true,
    example: { reason: 'case closed' },
    status: 200,
    reply: Hold,
    refuses: ['store_not_found', 'store_deleting', 'hold_not_found'],
  }),
} as const
