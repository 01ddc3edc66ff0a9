// The face of the billing slice: operations, the job that follows the provider, and its timers.

import { listServedIds } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import {
  deleteEventsBefore,
  deleteObject,
  listLeftObjects,
} from '../../platform/db/payment-objects.sql.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { findSubscription } from './billing.sql.ts'
import { paymentProvider } from './payment-provider.ts'
import type { PaymentProvider } from './provider.ts'
import { BILLING_SYNC, endGrace, subscriptionSync, syncSubscription } from './subscriptions.ts'
import { reportUsage } from './usage-reports.ts'

export { billingHandlers } from './operations.ts'
export { openPayments, sendPaymentEventsTo, stopPayments } from './payment-provider.ts'

export function registerBillingJobs(kernel: Kernel): void {
  kernel.jobs.register(BILLING_SYNC, subscriptionSync(kernel), { queue: 'outbound' })
}

const HOUR_US = 3_600_000_000
const RECONCILED_EVERY_US = 6 * HOUR_US
const EVENTS_KEPT_US = 30 * 24 * HOUR_US

/** Asks about subscriptions that nothing was heard of for hours, and reports usage. */
export async function reconcileBilling(kernel: Kernel): Promise<void> {
  if (kernel.settings.billing === null) return
  const now_us = kernel.clock.now()
  await kernel.db.transact(PLATFORM, (tx) => deleteEventsBefore(tx, now_us - EVENTS_KEPT_US))
  await cancelLeft(kernel)
  for (const tenant_id of await kernel.db.read(PLATFORM, listServedIds))
    try {
      await reconcileTenant(kernel, tenant_id, now_us)
    } catch (error) {
      // The next round asks again; what fails for one tenant holds up no other.
      kernel.logger.warn('billing.not_reconciled', { tenant_id, code: codeOf(error) })
    }
}

/** A tenant that was off-boarded pays no longer, also where the provider was away then. */
async function cancelLeft(kernel: Kernel): Promise<void> {
  const left = await kernel.db.read(PLATFORM, async (db) => [
    ...(await listLeftObjects(db, 'cs')),
    ...(await listLeftObjects(db, 'sub')),
  ])
  for (const { object_id, tenant_id } of left)
    try {
      const provider = await paymentProvider(kernel)
      const end = object_id.startsWith('cs_') ? endCheckout : endSubscription
      await end(provider, object_id)
      await kernel.db.transact(PLATFORM, (tx) => deleteObject(tx, object_id))
    } catch (error) {
      kernel.logger.warn('billing.not_cancelled', { tenant_id, code: codeOf(error) })
    }
}

async function endSubscription(provider: PaymentProvider, subscription_id: string): Promise<void> {
  const left = await provider.findSubscription(subscription_id)
  if (left !== null && left.status !== 'canceled') await provider.cancel(subscription_id, 'now')
}

/** Nobody pays on its page any longer; what somebody has paid for there ends. */
async function endCheckout(provider: PaymentProvider, session_id: string): Promise<void> {
  const known = await provider.findCheckout(session_id)
  if (known === null || known.expired || (await provider.closeCheckout(session_id))) return
  const paid = await provider.findCheckout(session_id)
  if (paid?.subscription_id) await endSubscription(provider, paid.subscription_id)
}

async function reconcileTenant(kernel: Kernel, tenant_id: string, now_us: number): Promise<void> {
  const row = await kernel.db.read(tenant_id, findSubscription)
  if (!row || row.status === 'none') return
  const isOver = row.status === 'canceled'
  if (!isOver && now_us - row.fetched_us > RECONCILED_EVERY_US)
    await syncSubscription(kernel, tenant_id)
  if (row.status === 'past_due') await endGrace(kernel, tenant_id)
  await reportUsage(kernel, tenant_id)
}

const codeOf = (error: unknown): string => (error instanceof Refusal ? error.code : 'internal')
