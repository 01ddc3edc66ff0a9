// Billing: its operations (interface 4.2), the handling of provider events, and its timers.

import { createHmac, timingSafeEqual } from 'node:crypto'
import type { billing as contract } from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import { findTenant, listServedIds } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import {
  bindObject,
  deleteEventsBefore,
  deleteObject,
  findOwner,
  insertEvent,
  listLeftObjects,
} from '../../platform/db/payment-objects.sql.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Call, HandlersOf } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { loadTenant } from '../tenants/index.ts'
import { findSubscription, saveSubscription } from './billing.sql.ts'
import { graceUntil, isPaidFor, type SubscriptionRow } from './decide-subscription.ts'
import { paymentProvider } from './payment-provider.ts'
import type { PaymentProvider } from './provider.ts'
import { BILLING_SYNC, endGrace, subscriptionSync, syncSubscription } from './subscriptions.ts'
import { reportUsage } from './usage-reports.ts'

const NEW: SubscriptionRow = {
  status: 'none',
  plan: 'pro',
  session_id: null,
  customer_id: null,
  subscription_id: null,
  period_start_us: null,
  period_end_us: null,
  past_due_us: null,
  fetched_us: 0,
}

export const billingHandlers: HandlersOf<typeof contract> = {
  async checkout(call, { body }) {
    const { kernel, principal } = call
    const tenant_id = body.tenant_id ?? call.tenant_id
    if (tenant_id === '') throw new Refusal('rejected', 'an operator names the tenant')
    // The same reply for another tenant and for one that does not exist.
    if (principal.kind !== 'operator' && tenant_id !== call.tenant_id)
      throw new Refusal('tenant_not_found')
    const { plan = 'pro' } = body
    const provider = await paymentProvider(kernel)
    const stored = await kernel.db.read(tenant_id, async (db) => {
      await requireLive(db)
      return (await findSubscription(db)) ?? NEW
    })
    if (isPaidFor(stored)) throw new Refusal('wrong_state', 'the tenant has a subscription already')
    // Two open checkout pages could both be paid. A known subscription has used up its page.
    const page = stored.subscription_id === null ? stored.session_id : null
    if (page !== null && !(await provider.closeCheckout(page))) {
      await syncSubscription(kernel, tenant_id)
      throw new Refusal('wrong_state', 'the tenant has paid on a page that was opened before')
    }
    const success_url = returnUrl(kernel, body.success_url)
    const cancel_url = returnUrl(kernel, body.cancel_url)
    const { customer_id } = stored
    const wanted = { tenant_id, plan, customer_id, success_url, cancel_url }
    const { session_id, url, expires_us } = await provider.openCheckout(wanted)
    await kernel.db.transact(tenant_id, async (tx) => {
      await requireLive(tx)
      const before = (await findSubscription(tx)) ?? NEW
      if (isPaidFor(before)) throw new Refusal('wrong_state', 'the tenant has a subscription now')
      // A payment on a page that is not recorded would be lost, so this page's URL is not returned.
      if (before.session_id !== stored.session_id)
        throw new Refusal('wrong_state', 'another page was opened meanwhile: ask again')
      if (!(await bindObject(tx, session_id))) throw new Refusal('payment_unavailable')
      const opened = { status: 'checkout_open', subscription_id: null, plan, session_id } as const
      await saveSubscription(tx, { ...before, ...opened, fetched_us: tx.now() })
    })
    return { checkout_url: url, session_id, expires_at: formatTime(expires_us) }
  },

  async webhook(call, { body }) {
    const { kernel } = call
    const { billing } = kernel.settings
    if (billing === null || billing.webhook_secrets.length === 0)
      throw new Refusal('billing_not_configured')
    const signature = signatureOf(call)
    const now_s = Math.floor(kernel.clock.now() / 1_000_000)
    const { webhook_secrets: secrets } = billing
    if (signature === null || !isSigned(signature, body, { secrets, now_s }))
      throw new Refusal('payment_signature_invalid')
    const event = parseEvent(body)
    const tenant_id = await kernel.db.read(PLATFORM, (db) => findOwner(db, event.object_ids))
    await takeEvent(kernel, tenant_id, event)
    return { status: 'ok' as const, event_type: event.type }
  },

  subscription: (call) =>
    call.read(async (db) => {
      const tenant = await loadTenant(db)
      const row = await findSubscription(db)
      const configured = call.kernel.settings.billing !== null
      const { tenant_id, plan } = tenant
      return { tenant_id, plan, configured, ...showSubscription(row ?? NEW) }
    }),

  async cancel(call, { body }) {
    const { kernel, tenant_id } = call
    const row = await call.read(async (db) => {
      await loadTenant(db)
      return findSubscription(db)
    })
    if (!row?.subscription_id || row.status === 'canceled')
      throw new Refusal('subscription_not_found')
    const provider = await paymentProvider(kernel)
    await provider.cancel(row.subscription_id, body.at ?? 'period_end')
    await syncSubscription(kernel, tenant_id)
    const after = await call.read(findSubscription)
    return { tenant_id, status: after?.status ?? row.status }
  },

  async portal(call) {
    const row = await call.read(async (db) => {
      await loadTenant(db)
      return findSubscription(db)
    })
    if (!row?.customer_id) throw new Refusal('subscription_not_found')
    const provider = await paymentProvider(call.kernel)
    return { portal_url: await provider.openPortal(row.customer_id, returnUrl(call.kernel)) }
  },
}

/** Refuses `tenant_not_found` and `tenant_destroyed`. */
async function requireLive(db: TenantDb): Promise<void> {
  if ((await loadTenant(db)).requested_us !== null) throw new Refusal('tenant_destroyed')
}

/** Checks that a return URL is on a console origin. Defaults to the first console's root. */
function returnUrl({ settings }: Kernel, given: string | null = null): string {
  const { console_origins } = settings
  const [first] = console_origins
  if (given === null) {
    if (first !== undefined) return `${first}/`
    throw new Refusal('rejected', 'CUSTOS_CONSOLE_ORIGINS is not set: payment leads back nowhere')
  }
  const url = URL.parse(given)
  const isPlain = url !== null && url.username === '' && url.password === '' && !/\s/.test(given)
  if (isPlain && console_origins.includes(url.origin)) return url.href
  throw new Refusal('rejected', 'a page of payment leads back to an origin of a console only')
}

/** The signature from one of two headers. `null` if neither is sent, or they differ. */
function signatureOf(call: Pick<Call, 'header'>): string | null {
  const [own, stripe] = [call.header('payment-signature'), call.header('stripe-signature')]
  return own !== null && stripe !== null && own !== stripe ? null : (own ?? stripe)
}

/** Takes an event. A repeated event changes nothing; one without a tenant is only recorded. */
async function takeEvent(
  kernel: Kernel,
  tenant_id: string | null,
  { event_id, type, created_us, object_ids: [object_id = ''] }: ReturnType<typeof parseEvent>,
): Promise<void> {
  const row = { event_id, type, object_id, created_us }
  const isTaken =
    tenant_id !== null &&
    (await kernel.db.transact(tenant_id, async (tx) => {
      // Nothing is written for a tenant that is being off-boarded, or was.
      const tenant = await findTenant(tx, tenant_id)
      if (!tenant || tenant.requested_us !== null) return false
      if ((await insertEvent(tx, { ...row, tenant_id })) > 0)
        await kernel.jobs.enqueue(tx, BILLING_SYNC, {})
      return true
    }))
  if (isTaken) return
  await kernel.db.transact(PLATFORM, (tx) => insertEvent(tx, { ...row, tenant_id: null }))
  kernel.logger.warn('billing.unmatched_event', { type })
}

function showSubscription(row: SubscriptionRow) {
  const time = (us: number | null) => (us === null ? null : formatTime(us))
  return {
    status: row.status,
    subscription_id: row.subscription_id,
    stripe_subscription_id: row.subscription_id,
    current_period_start: time(row.period_start_us),
    current_period_end: time(row.period_end_us),
    cancel_at_period_end: row.status === 'canceling',
    grace_until: time(graceUntil(row)),
  }
}

const TOLERANCE_S = 300
/** The most signatures accepted in a header; no provider sends more. */
const SIGNATURES_MAX = 16

/** Whether the header signs the body with one of the secrets, within five minutes of `now_s`. */
function isSigned(
  header: string,
  body: Uint8Array,
  { secrets, now_s }: { readonly secrets: readonly string[]; readonly now_s: number },
): boolean {
  const parts = header.split(',').map((part) => part.trim().split('=', 2))
  const time = parts.find(([name]) => name === 't')?.[1] ?? ''
  if (!/^\d{1,12}$/.test(time) || Math.abs(now_s - Number(time)) > TOLERANCE_S) return false
  const given = parts.flatMap(([name, value = '']) => (name === 'v1' ? [value] : []))
  const signatures = given
    .filter((value) => /^[0-9a-f]{64}$/.test(value))
    .slice(0, SIGNATURES_MAX)
    .map((value) => Buffer.from(value, 'hex'))
  const expected = secrets.map((secret) =>
    createHmac('sha256', secret).update(`${time}.`).update(body).digest(),
  )
  // Compares every pair, so that the timing does not reveal which secret matched.
  const matches = signatures.flatMap((one) => expected.map((other) => timingSafeEqual(one, other)))
  return matches.includes(true)
}

const ID = /^[A-Za-z0-9_.:-]{1,255}$/

/**
 * With the ids of what it is about: the checkout, the subscription, the customer. Refuses
 * `payment_signature_invalid` where the signed bytes are no event.
 */
function parseEvent(body: Uint8Array) {
  const event = parseObject(Buffer.from(body).toString('utf8'))
  const data = memberOf(memberOf(event, 'data'), 'object')
  const { id, type, created } = event
  const isEvent = typeof id === 'string' && ID.test(id) && typeof type === 'string' && ID.test(type)
  if (!isEvent) throw new Refusal('payment_signature_invalid')
  const ids = [data['id'], data['subscription'], data['customer']]
  const object_ids = ids.filter((one) => typeof one === 'string').filter((one) => ID.test(one))
  const created_us = typeof created === 'number' ? Math.floor(created) * 1_000_000 : 0
  if (!Number.isSafeInteger(created_us) || created_us < 0)
    throw new Refusal('payment_signature_invalid')
  return { event_id: id, type, created_us, object_ids }
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    return memberOf({ parsed: JSON.parse(text) }, 'parsed')
  } catch {
    return {}
  }
}

function memberOf(of: Readonly<Record<string, unknown>>, name: string): Record<string, unknown> {
  const value = of[name]
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

export { openPayments, sendPaymentEventsTo, stopPayments } from './payment-provider.ts'

export function registerBillingJobs(kernel: Kernel): void {
  kernel.jobs.register(BILLING_SYNC, subscriptionSync(kernel), { queue: 'outbound' })
}

const HOUR_US = 3_600_000_000
const RECONCILED_EVERY_US = 6 * HOUR_US
const EVENTS_KEPT_US = 30 * 24 * HOUR_US

/** Queries the provider about subscriptions without news for hours, and reports usage. */
export async function reconcileBilling(kernel: Kernel, stopping?: AbortSignal): Promise<void> {
  if (kernel.settings.billing === null) return
  const now_us = kernel.clock.now()
  await kernel.db.transact(PLATFORM, (tx) => deleteEventsBefore(tx, now_us - EVENTS_KEPT_US))
  await cancelLeft(kernel)
  for (const tenant_id of await kernel.db.read(PLATFORM, listServedIds)) {
    if (stopping?.aborted) return
    try {
      await reconcileTenant(kernel, tenant_id, now_us)
    } catch (error) {
      // A failing tenant does not delay the others; the next round tries again.
      kernel.logger.warn('billing.not_reconciled', { tenant_id, code: codeOf(error) })
    }
  }
}

/** Ends the payments of off-boarded tenants that the provider could not end at the time. */
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

/** Closes a checkout page. If it was already paid, cancels the subscription. */
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
