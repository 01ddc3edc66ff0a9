// Pure: the effect of a receiver's answer on a delivery and its endpoint.

import type { EgressReply } from '../../platform/egress/connection.ts'
import type { DeliveryRow, WebhookRow } from './webhooks.sql.ts'

const SECOND_US = 1_000_000
const MINUTE_US = 60 * SECOND_US
const HOUR_US = 60 * MINUTE_US

/** The delay after the previous attempt. The first attempt is made at once. */
const SCHEDULE_US = [
  0,
  5 * SECOND_US,
  5 * MINUTE_US,
  30 * MINUTE_US,
  2 * HOUR_US,
  5 * HOUR_US,
  10 * HOUR_US,
  14 * HOUR_US,
  20 * HOUR_US,
  24 * HOUR_US,
] as const
const RETRY_AFTER_MAX_US = 24 * HOUR_US
/** Consecutive failures after which the endpoint is probed with one delivery at a time. */
const FAILING_AFTER = 5
const DISABLED_AFTER_US = 5 * 24 * HOUR_US
/** The relative jitter of each delay, so that receivers that fail together are retried apart. */
const SPREAD = 0.2

const HTTP_GONE = 410

interface Attempt {
  readonly webhook: Pick<WebhookRow, 'state' | 'failures' | 'failing_since_us'>
  readonly delivery: Pick<DeliveryRow, 'attempts'>
  readonly reply: EgressReply
  /** Whether the delivery was sent alone because the endpoint was failing. */
  readonly probe: boolean
  readonly now_us: number
  /** A random number from 0 to 1. */
  readonly chance: number
}

export function decideOutcome(attempt: Attempt): {
  readonly delivery: Partial<DeliveryRow>
  readonly webhook: Partial<WebhookRow>
} {
  const { delivery, reply, now_us } = attempt
  const attempts = delivery.attempts + 1
  if ('status' in reply && reply.status >= 200 && reply.status < 300)
    return {
      delivery: {
        status: 'delivered',
        attempts,
        response_code: reply.status,
        error: null,
        next_us: null,
        completed_us: now_us,
      },
      webhook: {
        state: 'active',
        failures: 0,
        failing_since_us: null,
        next_probe_us: 0,
        last_success_us: now_us,
      },
    }
  const delay_us = delayAfter(attempt, attempts)
  const failed = {
    attempts,
    response_code: 'status' in reply ? reply.status : null,
    error: 'status' in reply ? `status_${reply.status}` : reply.fault,
  }
  const left = delay_us !== null
  return {
    delivery: left
      ? { ...failed, status: 'retrying', next_us: now_us + delay_us }
      : { ...failed, status: 'failed', next_us: null, completed_us: now_us },
    webhook: decideEndpoint(attempt),
  }
}

function decideEndpoint(attempt: Attempt): Partial<WebhookRow> {
  const { webhook, reply, probe, now_us } = attempt
  const failing_since_us = webhook.failing_since_us ?? now_us
  if ('status' in reply && reply.status === HTTP_GONE)
    return { state: 'disabled', disabled_reason: 'gone', failing_since_us }
  if (now_us - failing_since_us >= DISABLED_AFTER_US)
    return { state: 'disabled', disabled_reason: 'failing', failing_since_us }
  // An answer that was in flight when the endpoint began to fail adds no information.
  if (webhook.state === 'failing' && !probe) return {}
  const failures = webhook.failures + 1
  if (failures < FAILING_AFTER) return { failures, failing_since_us }
  const probes = failures - FAILING_AFTER + 1
  const delay_us = delayAfter(attempt, Math.min(probes, SCHEDULE_US.length - 1)) ?? 0
  return { state: 'failing', failures, failing_since_us, next_probe_us: now_us + delay_us }
}

/** Returns `null` after the last attempt. */
function delayAfter({ reply, chance }: Attempt, attempts: number): number | null {
  const planned = SCHEDULE_US[attempts]
  if (planned === undefined) return null
  const spread = Math.round(planned * (1 - SPREAD + 2 * SPREAD * chance))
  const asked_us = 'status' in reply ? (reply.retry_after_s ?? 0) * SECOND_US : 0
  return Math.max(spread, Math.min(asked_us, RETRY_AFTER_MAX_US))
}
