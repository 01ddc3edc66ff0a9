// Retention of a store's memories, and the legal holds that keep them from being erased.

import Type, { type Static } from 'typebox'
import { Cursor, Hex16, Label, Limit, Nullable, Offset, page, Timestamp } from './common.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'

const POLICY_REFUSALS = ['policy_denied', 'approval_required'] as const
const Count = Type.Integer({ minimum: 0 })
const StoreParams = Type.Object({ store_id: Label })
const HoldParams = Type.Object({ store_id: Label, hold_id: Hex16 })
const Words = Type.String({ minLength: 1, maxLength: limits.reason_chars, format: 'label' })
const JobId = Type.String({ pattern: '^[0-9a-f]{24}$' })

/**
 * `retain_days` of 24 hours each, counted for each memory from when it was written, also for one
 * that was superseded since. Null: for good.
 */
export const Retention = Type.Object({
  store_id: Type.String(),
  retain_days: Nullable(Type.Integer()),
  basis: Nullable(Type.String()),
  set_at: Nullable(Timestamp),
  set_by: Nullable(Type.String()),
  /** Memories older than that now. */
  due: Count,
  /** Standing holds: while there is one, nothing is erased. */
  holds: Count,
  /** The run under way. */
  run: Nullable(
    Type.Object({ job_id: Type.String(), started_at: Timestamp, erased: Count, due: Count }),
  ),
  /** The last run that ended. */
  last_run: Nullable(Type.Object({ ended_at: Timestamp, erased: Count })),
})
export type Retention = Static<typeof Retention>

export const Hold = Type.Object({
  hold_id: Hex16,
  store_id: Type.String(),
  reason: Type.String(),
  matter: Nullable(Type.String()),
  placed_at: Timestamp,
  placed_by: Type.String(),
  /** It stands up to this time, which it does not include. Null: until it is released. */
  until: Nullable(Timestamp),
  released_at: Nullable(Timestamp),
  released_by: Nullable(Type.String()),
  release_reason: Nullable(Type.String()),
  /** Neither released nor past its end. */
  standing: Type.Boolean(),
  log_seq: Count,
})
export type Hold = Static<typeof Hold>

export const retention = {
  get: operation({
    id: 'retention.get',
    method: 'GET',
    path: '/v1/stores/{store_id}/retention',
    summary: 'How long a store keeps its memories, and how many are due now',
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
      'What is older is erased within the hour, with a certificate each, or at once by ' +
      '`POST …/retention/run`. A run under way goes on by what it began with, unless the time ' +
      'was lengthened or taken away. Nothing is erased while a legal hold stands.',
    access: 'tenant',
    scope: 'memory:admin',
    params: StoreParams,
    body: Type.Object({
      retain_days: Nullable(
        Type.Integer({ minimum: limits.retain_days.min, maximum: limits.retain_days.max }),
      ),
      basis: Type.Optional(Nullable(Words)),
    }),
    status: 200,
    reply: Retention,
    refuses: [...POLICY_REFUSALS, 'store_not_found', 'store_deleting'],
  }),
  run: operation({
    id: 'retention.run',
    method: 'POST',
    path: '/v1/stores/{store_id}/retention/run',
    summary: 'Erases what is older than the retention of the store, as a job',
    description: 'Asked again while a run is under way, it answers that one.',
    access: 'tenant',
    scope: 'memory:admin',
    params: StoreParams,
    status: 202,
    reply: Type.Object({
      job_id: JobId,
      store_id: Type.String(),
      retain_days: Type.Integer(),
      due: Count,
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
    summary: 'Places a legal hold: nothing in the store is erased while it stands',
    description:
      'Writing and superseding go on: they keep what was there. `already_erasing` counts ' +
      'memories whose erasure had begun before the hold and cannot be stopped any more. A store ' +
      'that is being deleted cannot be held.',
    access: 'tenant',
    scope: 'compliance:admin',
    params: StoreParams,
    body: Type.Object({
      reason: Words,
      matter: Type.Optional(Nullable(Label)),
      until: Type.Optional(Nullable(Timestamp)),
    }),
    status: 201,
    reply: Type.Object({ ...Hold.properties, already_erasing: Count }),
    refuses: ['store_not_found', 'store_deleting', 'rejected', 'idempotency_key_reused'],
    idempotent: true,
  }),
  holds: operation({
    id: 'retention.holds',
    method: 'GET',
    path: '/v1/stores/{store_id}/holds',
    summary: 'The legal holds of a store, newest first, released ones included',
    access: 'tenant',
    scope: 'compliance:read',
    params: StoreParams,
    query: Type.Object({
      standing: Type.Optional(
        Type.Boolean({ description: 'Only those that stand now', default: false }),
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
    description: 'Repeating it answers the hold as it was released.',
    access: 'tenant',
    scope: 'compliance:admin',
    params: HoldParams,
    body: Type.Object({ reason: Type.Optional(Nullable(Words)) }),
    body_optional: true,
    status: 200,
    reply: Hold,
    refuses: ['store_not_found', 'store_deleting', 'hold_not_found'],
  }),
} as const
