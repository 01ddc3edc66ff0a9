// The tables of webhooks: no payload and no answer of a receiver is stored.

import type {
  DELIVERY_KINDS,
  DELIVERY_STATUSES,
  WEBHOOK_DISABLED_REASONS,
  WEBHOOK_SIGNATURES,
  WEBHOOK_STATES,
} from '@custos/contract'
import { blob, integer, nullable, tenantId, text } from './columns.ts'

export const webhookTables = {
  webhooks: {
    tenant_id: tenantId,
    webhook_id: text('minted', 'random id'),
    state: text<(typeof WEBHOOK_STATES)[number]>('enum', 'states of an endpoint'),
    disabled_reason: nullable(
      text<(typeof WEBHOOK_DISABLED_REASONS)[number]>('enum', 'why it is disabled'),
    ),
    signature: text<(typeof WEBHOOK_SIGNATURES)[number]>('enum', 'kinds of signatures'),
    compatibility: integer,
    /** JSON list, as subscribed to. */
    events: text('enum', 'names of events'),
    /** Log position of the next entry to look at. */
    cursor_seq: integer,
    /** That of the last entry it was meant to get. */
    previous_seq: nullable(integer),
    /** Of the log before the cursor. */
    generation: integer,
    /** In a row. */
    failures: integer,
    failing_since_us: nullable(integer),
    /** While it is failing: when the next delivery is tried. */
    next_probe_us: integer,
    last_success_us: nullable(integer),
    /** Delivers to it. */
    job_id: text('minted', 'job id'),
    secret_no: integer,
    /** Null: redacted. */
    sealed: nullable(
      blob('sealed', 'URL, description and signing secrets; the secret goes with the endpoint'),
    ),
    created_us: integer,
  },
  /** Under way, or ended in the last 30 days. */
  webhook_deliveries: {
    tenant_id: tenantId,
    webhook_id: text('minted', 'random id'),
    delivery_id: text('minted', 'random id'),
    kind: text<(typeof DELIVERY_KINDS)[number]>('enum', 'why it is sent'),
    event_type: text('enum', 'names of events'),
    /** Null: a test. */
    seq: nullable(integer),
    previous_seq: nullable(integer),
    generation: integer,
    status: text<(typeof DELIVERY_STATUSES)[number]>('enum', 'states of a delivery'),
    attempts: integer,
    /** Null: it has ended, or is a test. */
    next_us: nullable(integer),
    response_code: nullable(integer),
    error: nullable(text('enum', 'classes of errors, never text of a peer')),
    /** The replay that made it. */
    job_id: nullable(text('minted', 'job id')),
    created_us: integer,
    completed_us: nullable(integer),
  },
}
