// Synchronises a tenant's subscription with the payment provider. Events, timers and operations
// only trigger a query of the provider; its answer is the single source of truth.

import { bindObject } from '../../platform/db/payment-objects.sql.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { JobRunner } from '../../platform/jobs/queue.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { changePlan, loadTenant, markPeriod } from '../tenants/index.ts'
import { findSubscription, saveSubscription } from './billing.sql.ts'
import { decideSubscription, planInForce, type SubscriptionRow } from './decide-subscription.ts'
import { paymentProvider } from './payment-provider.ts'
import type { PaymentProvider, ProviderSubscription } from './provider.ts'
import { boundUsage } from './usage-reports.ts'

/** Job that queries the provider about the subscription of its tenant. */
export const BILLING_SYNC = 'billing.sync'

export const subscriptionSync =
  (kernel: Kernel): JobRunner =>
  async ({ job, finishIn }) => {
    await syncSubscription(kernel, job.tenant_id, finishIn)
    return undefined
  }

/**
 * Queries the provider and stores the result. Refuses `payment_unavailable`.
 * @param also runs in the same unit of work
 */
export async function syncSubscription(
  kernel: Kernel,
  tenant_id: string,
  also: (tx: Tx) => Promise<void> = async () => {},
): Promise<void> {
  const stored = await kernel.db.read(tenant_id, findSubscription)
  if (!stored) return kernel.db.transact(tenant_id, also)
  const asked_us = kernel.clock.now()
  const answer = await fetchSubscription(await paymentProvider(kernel), stored)
  await kernel.db.transact(tenant_id, async (tx) => {
    await also(tx)
    const before = await findSubscription(tx)
    // Another process queried the provider later but stored its result earlier.
    if (!before || before.fetched_us > asked_us || answer === 'unpaid') return
    await storeAnswer(kernel, tx, before, { answer, asked_us })
  })
}

/** `null`: the provider no longer knows it. `unpaid`: the checkout is not paid yet. */
async function fetchSubscription(
  provider: PaymentProvider,
  { subscription_id, session_id }: SubscriptionRow,
): Promise<ProviderSubscription | null | 'unpaid'> {
  if (subscription_id !== null) return provider.findSubscription(subscription_id)
  if (session_id === null) return null
  const checkout = await provider.findCheckout(session_id)
  if (checkout === null || checkout.expired) return null
  if (checkout.subscription_id === null) return 'unpaid'
  return provider.findSubscription(checkout.subscription_id)
}

async function storeAnswer(
  kernel: Kernel,
  tx: Tx,
  before: SubscriptionRow,
  { answer, asked_us }: { answer: ProviderSubscription | null; asked_us: number },
): Promise<void> {
  // The ids come from our own row and the provider's answer, never from an event.
  for (const id of answer === null ? [] : [answer.subscription_id, answer.customer_id]) {
    if (await bindObject(tx, id)) continue
    kernel.logger.error('billing.conflict', { tenant_id: tx.tenant_id })
    await saveSubscription(tx, { ...before, fetched_us: asked_us })
    await appendCrumb(tx, { event_type: 'billing.conflict', subject: tx.tenant_id, payload: {} })
    return
  }
  const after = decideSubscription(before, answer, asked_us)
  await boundUsage(tx, { before, after })
  await saveSubscription(tx, after)
  if (after.period_start_us !== null) await markPeriod(tx, after.period_start_us)
  await applyPlan(kernel, tx, { before, after })
  if (after.status === before.status) return
  await appendCrumb(tx, {
    event_type: 'billing.subscription_changed',
    subject: tx.tenant_id,
    payload: { from: before.status, to: after.status, plan: after.plan },
  })
}

/**
 * Changes the tenant's plan if the plan its subscription grants has changed. A plan that an
 * operator has set in the meantime stays.
 */
async function applyPlan(
  kernel: Kernel,
  tx: Tx,
  { before, after }: { readonly before: SubscriptionRow; readonly after: SubscriptionRow },
): Promise<void> {
  const previous = planInForce(before, before.fetched_us)
  const plan = planInForce(after, kernel.clock.now())
  const { plan: current } = await loadTenant(tx)
  if (plan !== previous && current === previous) await changePlan(kernel, tx, plan)
}

/** Ends the grace period of a tenant whose payment failed, without a query of the provider. */
export const endGrace = (kernel: Kernel, tenant_id: string): Promise<void> =>
  kernel.db.transact(tenant_id, async (tx) => {
    const row = await findSubscription(tx)
    if (row?.status !== 'past_due') return
    await applyPlan(kernel, tx, { before: row, after: row })
    // The next query compares its plan with the plan in force at this time.
    await saveSubscription(tx, { ...row, fetched_us: tx.now() })
  })
