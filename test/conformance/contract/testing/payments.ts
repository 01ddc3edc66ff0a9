// A service that takes payments, at the loopback provider, and a tenant that pays.

import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { limits } from '@custos/contract'
import type { PlanLimits } from '../../../../packages/server/src/platform/kernel/plan-limits.ts'
import { SSO_EGRESS } from '../../../../packages/server/src/slices/identity/testing/sso-scene.ts'
import {
  startTestService,
  type TestOptions,
  type TestService,
} from '../../../../packages/server/src/testing/harness.ts'
import {
  providerOf,
  signPayment,
} from '../../../../packages/server/src/testing/loopback-payments.ts'
import { CONSOLE, startWithProvider } from './single-sign-on.ts'
import type { Sent } from './table.ts'
import { send, type Tenant } from './tenant.ts'

const SECRET = 'whsec_contract'
const BILLING = { provider: 'loopback', secret_key: null, webhook_secrets: [SECRET] } as const

const FREE: PlanLimits = {
  memories: null,
  stores: null,
  requests_per_minute: null,
  governed_decisions: { included: null, ceiling: null },
  model_tokens: null,
  runs: 16,
  webhooks: limits.webhooks_per_tenant,
  streams: null,
}
const USED_UP = { memories: 0, stores: 0, governed_decisions: { included: null, ceiling: 0 } }
const PLANS = new Map([
  ['starter', FREE],
  ['pro', FREE],
  ['enterprise', { ...FREE, ...USED_UP }],
])

/** A service that every operation can succeed at; the plan `enterprise` allows nothing. */
export const startContractService = (options: TestOptions = {}): Promise<TestService> =>
  startWithProvider((names) =>
    startTestService({
      ...options,
      config: {
        billing: BILLING,
        console_origins: [CONSOLE],
        plans: PLANS,
        egress: SSO_EGRESS,
        ...names,
        ...options.config,
      },
    }),
  )

/**
 * A subscription whose first payment is under way: it can be cancelled, and another checkout can be
 * opened. A service without a provider leaves the tenant without one: then its id is empty.
 */
export async function subscribe({ service, ...tenant }: Tenant): Promise<string> {
  if (service.kernel.settings.billing === null) return ''
  const key = tenant.api_key
  const checkout = await send(service, 'billing.checkout', {}, { key })
  assert.equal(checkout.status, 200, checkout.text)
  const subscription_id = await providerOf(service).pay(checkout.body.session_id)
  await providerOf(service).change(subscription_id, { status: 'incomplete' })
  await seen({ service, ...tenant }, ({ status, subscription_id }) => {
    return status === 'checkout_open' && subscription_id !== null
  })
  return subscription_id
}

interface SeenSubscription {
  readonly status: string
  readonly subscription_id: string | null
}

/** Waits until the service has been told. */
export async function seen(
  { service, tenant_id, api_key: key }: Pick<Tenant, 'service' | 'tenant_id' | 'api_key'>,
  isIt: (subscription: SeenSubscription) => boolean,
): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt += 1) {
    const sent = { params: { tenant_id } }
    const { body } = await send(service, 'billing.subscription', sent, { key })
    if (isIt(body)) return
    await delay(10)
  }
  assert.fail('the subscription was not seen')
}

/** An event that the provider has signed. */
export function paymentEvent(): Sent {
  const raw = JSON.stringify({ id: 'evt_1', type: 'invoice.paid', created: 1, data: {} })
  return { raw, headers: { 'stripe-signature': signPayment(raw, SECRET) } }
}
