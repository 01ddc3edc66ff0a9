// The interface to payment providers, and its Stripe implementation. The loopback provider speaks
// Stripe's API, so Stripe's client library is used for both.

import type Stripe from 'stripe'
import { loadOnce } from '../../platform/concurrency.ts'
import { OperatorError } from '../../platform/operator-error.ts'
import { Refusal } from '../../platform/refusal.ts'

/** The usage event that a meter at the provider sums up by customer. */
export const METER_EVENT = 'custos_governed_decisions'
/** The lookup key of a plan's price at the provider. */
export const lookupKeyOf = (plan: string): string => `custos_${plan}`

export interface ProviderSubscription {
  readonly subscription_id: string
  readonly customer_id: string
  /** The status as the provider names it. */
  readonly status: string
  readonly cancel_at_period_end: boolean
  readonly period_start_us: number | null
  readonly period_end_us: number | null
}

interface ProviderCheckout {
  readonly session_id: string
  readonly customer_id: string | null
  /** `null` if the checkout is not paid yet. */
  readonly subscription_id: string | null
  readonly expired: boolean
}

interface NewCheckout {
  readonly tenant_id: string
  readonly plan: string
  /** `null` makes the provider create one. */
  readonly customer_id: string | null
  readonly success_url: string
  readonly cancel_url: string
}

interface UsageReport {
  readonly customer_id: string
  /** Deduplicates: for 24 hours, another report with the same identifier is not counted. */
  readonly identifier: string
  readonly value: number
  readonly at_us: number
}

/** Every method refuses `payment_unavailable` if the call to the provider fails. */
export interface PaymentProvider {
  openCheckout(
    checkout: NewCheckout,
  ): Promise<{ readonly session_id: string; readonly url: string; readonly expires_us: number }>
  findCheckout(session_id: string): Promise<ProviderCheckout | null>
  /** Expires the checkout page, so that nobody can pay there. False: somebody already has. */
  closeCheckout(session_id: string): Promise<boolean>
  findSubscription(subscription_id: string): Promise<ProviderSubscription | null>
  cancel(subscription_id: string, at: 'period_end' | 'now'): Promise<void>
  openPortal(customer_id: string, return_url: string): Promise<string>
  /** Returns false if the provider rejects the report for good. A duplicate counts as accepted. */
  reportUsage(report: UsageReport): Promise<boolean>
  /** The reported usage of a customer in a period, whose bounds are whole minutes. */
  sumReported(customer_id: string, from_us: number, until_us: number): Promise<number>
}

const TIMEOUT_MS = 20_000
const RETRIES = 2

const loadStripe = loadOnce(async () => {
  const name: string = 'stripe'
  try {
    const loaded: { default: typeof Stripe } = await import(name)
    return loaded.default
  } catch {
    throw new OperatorError('CUSTOS_BILLING needs the package stripe: npm install stripe')
  }
})

/** Throws OperatorError if the package is missing. `address` selects a loopback provider. */
export async function openProvider(
  secret_key: string,
  address?: { readonly host: string; readonly port: number },
): Promise<PaymentProvider> {
  const Client = await loadStripe()
  const client = new Client(secret_key, {
    timeout: TIMEOUT_MS,
    maxNetworkRetries: RETRIES,
    telemetry: false,
    ...(address && { ...address, protocol: 'http' as const }),
  })
  return new StripeProvider(client)
}

class StripeProvider implements PaymentProvider {
  readonly #client: Stripe

  constructor(client: Stripe) {
    this.#client = client
  }

  openCheckout({ tenant_id, plan, customer_id, success_url, cancel_url }: NewCheckout) {
    return refuseFailure(async () => {
      const price = await this.#findPrice(plan)
      const session = await this.#client.checkout.sessions.create({
        mode: 'subscription',
        line_items: [{ price, quantity: 1 }],
        client_reference_id: tenant_id,
        success_url,
        cancel_url,
        ...(customer_id === null ? {} : { customer: customer_id }),
      })
      if (session.url === null) throw new Error('the checkout has no page')
      const { id: session_id, url, expires_at } = session
      return { session_id, url, expires_us: expires_at * 1_000_000 }
    })
  }

  findCheckout(session_id: string) {
    return nullIfMissing(async () => {
      const session = await this.#client.checkout.sessions.retrieve(session_id)
      return {
        session_id,
        customer_id: idOf(session.customer),
        subscription_id: idOf(session.subscription),
        expired: session.status === 'expired',
      }
    })
  }

  closeCheckout(session_id: string) {
    return refuseFailure(async () => {
      const { sessions } = this.#client.checkout
      const { status } = await sessions.retrieve(session_id)
      if (status === 'open') await sessions.expire(session_id)
      return status !== 'complete'
    })
  }

  findSubscription(subscription_id: string) {
    return nullIfMissing(async () => {
      const one = await this.#client.subscriptions.retrieve(subscription_id)
      const [item] = one.items.data
      return {
        subscription_id,
        customer_id: idOf(one.customer) ?? '',
        status: one.status,
        cancel_at_period_end: one.cancel_at_period_end,
        period_start_us: item ? item.current_period_start * 1_000_000 : null,
        period_end_us: item ? item.current_period_end * 1_000_000 : null,
      }
    })
  }

  cancel(subscription_id: string, at: 'period_end' | 'now') {
    return refuseFailure(async () => {
      const { subscriptions } = this.#client
      try {
        if (at === 'now') await subscriptions.cancel(subscription_id)
        else await subscriptions.update(subscription_id, { cancel_at_period_end: true })
      } catch (error) {
        // Cancelling a subscription that has already ended fails, but the goal is reached.
        const left = await this.findSubscription(subscription_id)
        if (left !== null && left.status !== 'canceled') throw error
      }
    })
  }

  openPortal(customer: string, return_url: string) {
    return refuseFailure(async () => {
      const { url } = await this.#client.billingPortal.sessions.create({ customer, return_url })
      return url
    })
  }

  reportUsage({ customer_id, identifier, value, at_us }: UsageReport) {
    return refuseFailure(async () => {
      const event = {
        event_name: METER_EVENT,
        identifier,
        timestamp: Math.floor(at_us / 1_000_000),
        payload: { stripe_customer_id: customer_id, value: String(value) },
      }
      try {
        await this.#client.billing.meterEvents.create(event)
        return true
      } catch (error) {
        const answer = meterAnswerOf(error)
        if (answer === null) throw error
        return answer === 'duplicate'
      }
    })
  }

  sumReported(customer: string, from_us: number, until_us: number) {
    return refuseFailure(async () => {
      const { data } = await this.#client.billing.meters.list({ status: 'active', limit: 100 })
      const meter = data.find(({ event_name }) => event_name === METER_EVENT)
      if (!meter) throw new Error('the provider has no such meter')
      const summaries = await this.#client.billing.meters.listEventSummaries(meter.id, {
        customer,
        start_time: from_us / 1_000_000,
        end_time: until_us / 1_000_000,
      })
      return summaries.data.reduce((sum, { aggregated_value }) => sum + aggregated_value, 0)
    })
  }

  async #findPrice(plan: string): Promise<string> {
    const { data } = await this.#client.prices.list({ lookup_keys: [lookupKeyOf(plan)], limit: 1 })
    const [price] = data
    if (!price) throw new Error('the provider has no price for the plan')
    return price.id
  }
}

const idOf = (given: string | { readonly id: string } | null): string | null =>
  typeof given === 'string' ? given : (given?.id ?? null)

/** Hides the provider's error text, which can name a payer, behind a refusal. */
async function refuseFailure<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch {
    throw new Refusal('payment_unavailable', undefined, { retry_after_s: 30 })
  }
}

/** Returns `null` if the provider knows no such object. */
async function nullIfMissing<T>(ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask()
  } catch (error) {
    if (isMissing(error)) return null
    throw new Refusal('payment_unavailable', undefined, { retry_after_s: 30 })
  }
}

/** Whether a meter event is a duplicate or rejected for good. `null` if a retry can succeed. */
function meterAnswerOf(error: unknown): 'duplicate' | 'refused' | null {
  if (!(error instanceof Error) || !('statusCode' in error)) return null
  const { statusCode } = error
  if (statusCode !== 400 && statusCode !== 404 && statusCode !== 409) return null
  const code = 'code' in error ? String(error.code) : ''
  if (DUPLICATE_EVENT.test(code) || DUPLICATE_EVENT.test(error.message)) return 'duplicate'
  return REFUSED_EVENTS.includes(code) ? 'refused' : null
}

const DUPLICATE_EVENT = /already[ _]exists|^duplicate/
const REFUSED_EVENTS: readonly string[] = [
  'timestamp_too_far_in_past',
  'meter_event_customer_not_found',
  'resource_missing',
]

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'statusCode' in error && error.statusCode === 404
