// Events of the payment provider as they come in bulk: repeated, late, forged and out of order.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { DEFAULT_PLANS } from '../../platform/kernel/plan-limits.ts'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { roundsOf } from '../../testing/sweep.ts'
import { loopbackOf, signEvent } from './payment-provider.ts'

const EVENTS = roundsOf(1_000, 10_000)
const SENT_AT_ONCE = 16
/** Events between two changes at the provider. */
const CHANGED_EVERY = 50
const SECRET = 'whsec_now'
const TYPES = ['customer.subscription.updated', 'invoice.paid', 'customer.subscription.deleted']
const STATES = ['past_due', 'unpaid', 'active']

let service: TestService
before(async () => {
  const billing = { provider: 'loopback', secret_key: null, webhook_secrets: [SECRET] } as const
  const console_origins = ['https://console.example']
  service = await startTestService({ config: { billing, console_origins, plans: DEFAULT_PLANS } })
})
after(() => service.stop())

const provider = () => loopbackOf(service.kernel) ?? assert.fail('there is no loopback provider')
const itemOf = <T>(items: readonly T[], at: number): T =>
  items[at % items.length] ?? assert.fail('there is no item')

interface SubscribedTenant {
  readonly subscription_id: string
  subscription(): Promise<{ readonly status: string; readonly plan: string }>
}

async function subscribe(): Promise<SubscribedTenant> {
  const { tenant_id, api_key: key } = await service.createTenant()
  const path = '/v1/cloud/billing'
  const { body } = await service.request('POST', `${path}/checkout`, { key, body: {} })
  const subscription_id = await provider().pay(body.session_id)
  const subscription = async () =>
    (await service.request('GET', `${path}/subscription/${tenant_id}`, { key })).body
  return { subscription_id, subscription }
}

async function send(raw: string, { secret = SECRET, age_s = 0 } = {}): Promise<number> {
  const now_s = Math.floor(service.kernel.clock.now() / 1_000_000)
  const headers = { 'stripe-signature': signEvent(raw, secret, now_s - age_s) }
  const answer = await service.request('POST', '/v1/cloud/billing/webhook', { raw, headers })
  return answer.status
}

/** What is sent: a new event or one that was sent before, and how it is signed. */
const planned = fc.record({
  at: fc.nat(),
  type: fc.nat(),
  how: fc.constantFrom('new', 'repeated', 'repeated', 'new', 'forged', 'stale'),
})

test('of thousands of events only what the provider says when it is asked counts', async (t) => {
  const seed = Number(process.env['CUSTOS_TEST_SEED'] ?? Date.now() % 2 ** 31)
  t.diagnostic(`CUSTOS_TEST_SEED=${seed}`)
  const tenants = [await subscribe(), await subscribe(), await subscribe()]
  await service.kernel.jobs.idle()
  // The provider changes without a word: only events that are sent here say that it did.
  provider().sendEventsTo({ url: 'http://127.0.0.1:9/', secret: SECRET })
  const taken = async () =>
    (await rawSql(service, 'select event_id from billing_events')).map(({ event_id }) => event_id)
  const known = new Set<unknown>(await taken())
  const sent: string[] = []
  const act = async ({ at, type, how }: (typeof plans)[number]) => {
    const object = { id: itemOf(tenants, at).subscription_id }
    const isNew = how === 'new' || sent.length === 0
    const raw = isNew ? provider().event(itemOf(TYPES, type), object) : itemOf(sent, at)
    if (how === 'forged') assert.equal(await send(raw, { secret: 'whsec_other' }), 400)
    else if (how === 'stale') assert.equal(await send(raw, { age_s: 301 }), 400)
    else {
      sent.push(raw)
      known.add(JSON.parse(raw).id)
      assert.equal(await send(raw), 200)
    }
  }
  const plans = fc.sample(planned, { numRuns: EVENTS, seed })
  for (let first = 0; first < EVENTS; first += SENT_AT_ONCE) {
    await Promise.all(plans.slice(first, first + SENT_AT_ONCE).map(act))
    if (first % CHANGED_EVERY >= SENT_AT_ONCE) continue
    const { subscription_id } = itemOf(tenants, first)
    await provider().change(subscription_id, { status: itemOf(STATES, first / SENT_AT_ONCE) })
  }
  for (const { subscription_id } of tenants) {
    const raw = provider().event('invoice.paid', { id: subscription_id })
    known.add(JSON.parse(raw).id)
    assert.equal(await send(raw), 200)
  }
  await service.kernel.jobs.idle()
  for (const { subscription_id, subscription } of tenants) {
    const { status, plan } = await subscription()
    assert.equal(status, provider().subscription(subscription_id)?.['status'])
    assert.equal(plan, status === 'unpaid' ? 'starter' : 'pro')
  }
  assert.deepEqual(new Set(await taken()), known)
})
