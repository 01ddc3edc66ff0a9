// Pure: the new state of a subscription, from the stored row and the provider's current answer.

import type { PlanName, SubscriptionStatus } from '@custos/contract'
import type { Row } from '../../platform/db/schema/tables.ts'
import type { ProviderSubscription } from './provider.ts'

export type SubscriptionRow = Row<'subscriptions'>

/** Grace period: how long a plan stays in force after a payment failed. */
const GRACE_US = 7 * 86_400_000_000

/** The plan of a tenant without a subscription. */
const FREE: PlanName = 'starter'

/** The subscription status for each status of the provider. */
const STATUSES: Readonly<Record<string, SubscriptionStatus>> = {
  trialing: 'trialing',
  active: 'active',
  past_due: 'past_due',
  unpaid: 'unpaid',
  paused: 'unpaid',
  incomplete: 'checkout_open',
  incomplete_expired: 'canceled',
  canceled: 'canceled',
}

/**
 * The subscription's row after a query of the provider. The status depends on that answer alone, so
 * events may arrive in any order and repeatedly.
 * @param fetched `null` if the provider no longer knows the subscription
 */
export function decideSubscription(
  stored: SubscriptionRow,
  fetched: ProviderSubscription | null,
  now_us: number,
): SubscriptionRow {
  const status = statusOf(fetched)
  const past_due_us = status === 'past_due' ? (stored.past_due_us ?? now_us) : null
  if (fetched === null) return { ...stored, status, past_due_us, fetched_us: now_us }
  const { subscription_id, customer_id, period_start_us, period_end_us } = fetched
  return {
    ...stored,
    status,
    subscription_id,
    customer_id,
    period_start_us,
    period_end_us,
    past_due_us,
    fetched_us: now_us,
  }
}

function statusOf(fetched: ProviderSubscription | null): SubscriptionStatus {
  if (fetched === null) return 'canceled'
  const status = STATUSES[fetched.status] ?? 'unpaid'
  return status === 'active' && fetched.cancel_at_period_end ? 'canceling' : status
}

/** The end of the grace period, or `null` if no payment has failed. */
export const graceUntil = ({ past_due_us }: Pick<SubscriptionRow, 'past_due_us'>): number | null =>
  past_due_us === null ? null : past_due_us + GRACE_US

/** The plan that a subscription grants at the given time. */
export function planInForce(row: SubscriptionRow, now_us: number): PlanName {
  const { status, plan } = row
  if (status === 'trialing' || status === 'active' || status === 'canceling') return plan
  return status === 'past_due' && now_us < (graceUntil(row) ?? 0) ? plan : FREE
}

/** Whether the tenant already pays, so that a second checkout would charge it twice. */
export const isPaidFor = ({ status }: SubscriptionRow): boolean =>
  ['trialing', 'active', 'canceling', 'past_due', 'unpaid'].includes(status)
