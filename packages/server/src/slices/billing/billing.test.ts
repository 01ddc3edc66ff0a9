// Paying for a plan, by Stripe's own client and the loopback provider: whatever events come, in any
// order, the subscription is what the provider says; nothing forged changes anything.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { DEFAULT_PLANS } from '../../platform/kernel/plan-limits.ts'
import {
  type Answer,
  OPERATOR_KEY,
  startTestService,
  type TestService,
} from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { movedClock } from '../../testing/skewed-clock.ts'
import { reconcileBilling } from './index.ts'
import { loopbackOf, signEvent } from './payment-provider.ts'

const SECRETS = ['whsec_now', 'whsec_before']
const ORIGIN = 'https://console.example'
const BILLING = { provider: 'loopback', secret_key: null, webhook_secrets: SECRETS } as const

let service: TestService
const clock = movedClock()
before(async () => {
  const config = { billing: BILLING, console_origins: [ORIGIN], plans: DEFAULT_PLANS }
  service = await startTestService({ config, clock })
})
after(() => service.stop())

const provider = () => loopbackOf(service.kernel) ?? assert.fail('there is no loopback provider')

interface Payer {
  readonly tenant_id: string
  readonly api_key: string
  ask(method: string, path: string, body?: unknown): Promise<Answer>
  subscription(): Promise<Answer['body']>
}

async function makePayer(): Promise<Payer> {
  const { tenant_id, api_key } = await service.createTenant()
  const ask: Payer['ask'] = (method, path, body) =>
    service.request(method, `/v1${path}`, {
      key: api_key,
      ...(body === undefined ? {} : { body }),
    })
  const subscription = async () => {
    await service.kernel.jobs.idle()
    return (await ask('GET', `/cloud/billing/subscription/${tenant_id}`)).body
  }
  return { tenant_id, api_key, ask, subscription }
}

async function open(payer: Payer): Promise<string> {
  const { status, body, text } = await payer.ask('POST', '/cloud/billing/checkout', {
    plan: 'pro',
    success_url: `${ORIGIN}/paid`,
  })
  assert.equal(status, 200, text)
  return body.session_id
}

/** A tenant with a paid plan; its subscription. */
async function subscribe(): Promise<{ payer: Payer; subscription_id: string }> {
  const payer = await makePayer()
  const subscription_id = await provider().pay(await open(payer))
  assert.equal((await payer.subscription()).status, 'active')
  return { payer, subscription_id }
}

const now_s = () => Math.floor(service.kernel.clock.now() / 1_000_000)

const deliver = (raw: string, signature: string | null, name = 'stripe-signature') =>
  service.request('POST', '/v1/cloud/billing/webhook', {
    raw,
    headers: signature === null ? {} : { [name]: signature },
  })

const signed = (raw: string) => deliver(raw, signEvent(raw, 'whsec_now', now_s()))

test("of several 'billing.checkout' at once one opens a page, which counts", async () => {
  const payer = await makePayer()
  const checkout = () => payer.ask('POST', '/cloud/billing/checkout', {})
  const answers = await Promise.all([checkout(), checkout(), checkout(), checkout()])
  const opened = answers.filter(({ status }) => status === 200)
  const refused = answers.filter(({ body }) => body.error === 'wrong_state')
  assert.deepEqual([opened.length, refused.length], [1, 3])
  await provider().pay(opened[0]?.body.session_id)
  const { status, plan } = await payer.subscription()
  assert.deepEqual([status, plan], ['active', 'pro'])
})

test("a plan is in force from 'billing.checkout' and payment to 'billing.cancel'", async () => {
  const payer = await makePayer()
  assert.deepEqual(
    [(await payer.subscription()).status, (await payer.subscription()).plan],
    ['none', 'starter'],
  )
  const session_id = await open(payer)
  assert.equal((await payer.subscription()).status, 'checkout_open')
  const subscription_id = await provider().pay(session_id)
  const paid = await payer.subscription()
  assert.deepEqual([paid.status, paid.plan], ['active', 'pro'])
  assert.deepEqual(
    [paid.subscription_id, paid.stripe_subscription_id],
    [subscription_id, subscription_id],
  )
  assert.ok(paid.current_period_end > paid.current_period_start)
  const usage = await payer.ask('GET', '/usage/current')
  assert.deepEqual([usage.body.plan, usage.body.period.source], ['pro', 'subscription'])
  assert.equal((await payer.ask('POST', '/cloud/billing/checkout', {})).status, 409)

  const path = `/cloud/billing/cancel/${payer.tenant_id}`
  assert.equal((await payer.ask('POST', path)).body.status, 'canceling')
  assert.deepEqual(
    [(await payer.subscription()).plan, (await payer.subscription()).cancel_at_period_end],
    ['pro', true],
  )
  assert.equal((await payer.ask('POST', path, { at: 'now' })).body.status, 'canceled')
  assert.equal((await payer.subscription()).plan, 'starter')
  assert.equal((await payer.ask('POST', path)).status, 404)
  const portal = await payer.ask('POST', `/cloud/billing/portal/${payer.tenant_id}`)
  assert.match(portal.body.portal_url, /^http:\/\/127\.0\.0\.1:\d+\/portal$/)
})

test("in every order and number, events of 'billing.webhook' lead to the same end", async () => {
  const { payer, subscription_id } = await subscribe()
  const types = [
    'checkout.session.completed',
    'customer.subscription.created',
    'customer.subscription.updated',
    'invoice.payment_failed',
    'invoice.payment_succeeded',
    'customer.subscription.deleted',
  ]
  const stored = async () => {
    const { current_period_start: _, ...rest } = await payer.subscription()
    return rest
  }
  const end = await stored()
  for (const [round, order] of permutationsOf(types).entries()) {
    // Every 24th of the 720 orders, beginning elsewhere each time.
    if (round % 24 !== 7) continue
    for (const [at, type] of order.entries()) {
      const raw = provider().event(type, { id: subscription_id, object: 'subscription' })
      for (let times = 0; times <= (round + at) % 3; times += 1)
        assert.equal((await signed(raw)).status, 200)
    }
    assert.deepEqual(await stored(), end)
  }
})

function permutationsOf<T>(items: readonly T[]): T[][] {
  if (items.length <= 1) return [[...items]]
  return items.flatMap((item, at) =>
    permutationsOf(items.toSpliced(at, 1)).map((rest) => [item, ...rest]),
  )
}

test('a repeated event is taken once, an event of nobody is kept and changes nothing', async () => {
  const { subscription_id } = await subscribe()
  const raw = provider().event('customer.subscription.updated', { id: subscription_id })
  assert.deepEqual((await signed(raw)).body, {
    status: 'ok',
    event_type: 'customer.subscription.updated',
  })
  assert.equal((await signed(raw)).status, 200)
  const { id } = JSON.parse(raw)
  const rows = await rawSql(service, 'select event_id from billing_events where event_id = ?', [id])
  assert.equal(rows.length, 1)
  const stray = provider().event('customer.subscription.updated', { id: 'sub_unknown' })
  assert.equal((await signed(stray)).status, 200)
})

test('forged, stale and unsigned events are refused alike and change nothing', async () => {
  const { subscription_id } = await subscribe()
  const raw = provider().event('customer.subscription.deleted', { id: subscription_id })
  const good = signEvent(raw, 'whsec_now', now_s())
  const rowsBefore = await rawSql(service, 'select count(*) as n from billing_events', [])
  const refused: [raw: string, signature: string | null][] = [
    [raw, null],
    [raw, ''],
    [raw, 'v1=00'],
    [raw, signEvent(raw, 'whsec_other', now_s())],
    [raw, signEvent(raw, 'whsec_now', now_s() - 301)],
    [raw, signEvent(raw, 'whsec_now', now_s() + 310)],
    [raw.replace('deleted', 'updated'), good],
    [`${raw} `, good],
    [raw, good.replace(/t=\d+/, 't=1')],
    [raw, good.toUpperCase()],
    ['not json', signEvent('not json', 'whsec_now', now_s())],
    ['{}', signEvent('{}', 'whsec_now', now_s())],
    ['', signEvent('', 'whsec_now', now_s())],
  ]
  for (const [body, signature] of refused) {
    const answer = await deliver(body, signature)
    assert.equal(answer.status, 400, `${signature} ${answer.text}`)
    assert.equal(answer.body.error, 'payment_signature_invalid')
  }
  const both = await service.request('POST', '/v1/cloud/billing/webhook', {
    raw,
    headers: {
      'stripe-signature': good,
      'payment-signature': signEvent(raw, 'whsec_before', now_s()),
    },
  })
  assert.equal(both.status, 400)
  assert.deepEqual(
    await rawSql(service, 'select count(*) as n from billing_events', []),
    rowsBefore,
  )
  // A secret that is being replaced signs too, under either name, among other signatures.
  const older = signEvent(raw, 'whsec_before', now_s())
  assert.equal(
    (await deliver(raw, `${older},v1=${'0'.repeat(64)}`, 'payment-signature')).status,
    200,
  )
})

test("a second tenant's checkout never gets the subscription of the first", async () => {
  const { payer, subscription_id } = await subscribe()
  const other = await makePayer()
  const session_id = await open(other)
  await rawSql(service, 'update subscriptions set subscription_id = ? where tenant_id = ?', [
    subscription_id,
    other.tenant_id,
  ])
  assert.equal(
    (await signed(provider().event('checkout.session.completed', { id: session_id }))).status,
    200,
  )
  const { status, plan } = await other.subscription()
  assert.deepEqual([status, plan], ['checkout_open', 'starter'])
  assert.equal((await payer.subscription()).plan, 'pro')
})

test("'billing.subscription' shows a week of grace after a failed payment", async () => {
  const { payer, subscription_id } = await subscribe()
  await provider().change(subscription_id, { status: 'past_due' })
  const late = await payer.subscription()
  assert.deepEqual([late.status, late.plan], ['past_due', 'pro'])
  assert.ok(late.grace_until > late.current_period_start)
  clock.forward(8 * 86_400_000_000)
  await reconcileBilling(service.kernel)
  assert.equal((await payer.subscription()).plan, 'starter')
  await provider().change(subscription_id, { status: 'active' })
  assert.equal((await payer.subscription()).plan, 'pro')
  await provider().change(subscription_id, { status: 'unpaid' })
  assert.deepEqual(
    [(await payer.subscription()).status, (await payer.subscription()).plan],
    ['unpaid', 'starter'],
  )
})

test('what was used is told once, also after a lost answer and past the window', async () => {
  const { payer } = await subscribe()
  const decide = async (count: number) => {
    for (let n = 0; n < count; n += 1) {
      const body = { store_id: 'default', model_id: 'm', query: `q ${n}`, output: 'o' }
      assert.equal((await payer.ask('POST', '/decisions/log', body)).status, 200)
    }
  }
  const [{ customer_id } = { customer_id: '' }] = await rawSql(
    service,
    'select customer_id from subscriptions where tenant_id = ?',
    [payer.tenant_id],
  )
  const told = () => provider().usageOf(String(customer_id))
  await decide(3)
  await reconcileBilling(service.kernel)
  assert.equal(told(), 3)
  await reconcileBilling(service.kernel)
  assert.equal(told(), 3)

  // As if the process had ended between sending and confirming: within the window of the provider,
  // and after it.
  for (const hours of [1, 30]) {
    await decide(2)
    await reconcileBilling(service.kernel)
    const sum = told()
    await rawSql(
      service,
      `update meter_reports set state = 'prepared' where tenant_id = ? and to_total =
        (select max(to_total) from meter_reports where tenant_id = ?)`,
      [payer.tenant_id, payer.tenant_id],
    )
    clock.forward(hours * 3_600_000_000)
    await reconcileBilling(service.kernel)
    assert.equal(told(), sum)
  }
  assert.equal(told(), 7)
})

const customerOf = async ({ tenant_id }: Payer): Promise<string> => {
  const rows = await rawSql(service, 'select customer_id from subscriptions where tenant_id = ?', [
    tenant_id,
  ])
  return String(rows[0]?.['customer_id'])
}

async function decide(payer: Payer, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const body = { store_id: 'default', model_id: 'm', query: `q ${n}`, output: 'o' }
    assert.equal((await payer.ask('POST', '/decisions/log', body)).status, 200)
  }
}

test('use is billed up to the end of a subscription, and not again until the next', async () => {
  const { payer } = await subscribe()
  const customer = await customerOf(payer)
  await decide(payer, 2)
  const path = `/cloud/billing/cancel/${payer.tenant_id}`
  assert.equal((await payer.ask('POST', path, { at: 'now' })).body.status, 'canceled')
  await decide(payer, 4)
  await reconcileBilling(service.kernel)
  assert.equal(provider().usageOf(customer), 2)
  await provider().pay(await open(payer))
  assert.equal((await payer.subscription()).status, 'active')
  await decide(payer, 3)
  const later = await customerOf(payer)
  await reconcileBilling(service.kernel)
  await reconcileBilling(service.kernel)
  assert.equal(provider().usageOf(customer) + (later === customer ? 0 : told(later)), 5)
})

const told = (customer: string): number => provider().usageOf(customer)

test('a report of the minute that a window begins in is not taken for a later one', async () => {
  const MINUTE_US = 60_000_000
  clock.forward(MINUTE_US - (service.kernel.clock.now() % MINUTE_US) + 1_000_000)
  const { payer } = await subscribe()
  const customer = await customerOf(payer)
  await decide(payer, 5)
  await reconcileBilling(service.kernel)
  const reports = () =>
    rawSql(service, 'select to_total, at_us from meter_reports where tenant_id = ?', [
      payer.tenant_id,
    ])
  const [first] = await reports()
  const [total, first_us] = [Number(first?.['to_total']), Number(first?.['at_us'])]
  await decide(payer, 2)
  // As if the process had ended before it sent this one, a day and 20 seconds later.
  const at_us = first_us + 24 * 60 * MINUTE_US + 20_000_000
  await rawSql(
    service,
    `insert into meter_reports
      (tenant_id, meter, to_total, from_total, at_us, prepared_us, identifier, state)
      values (?, 'governed_decisions', ?, ?, ?, ?, 'lost', 'prepared')`,
    [payer.tenant_id, total + 2, total, at_us, at_us],
  )
  clock.forward(46 * 60 * MINUTE_US)
  await reconcileBilling(service.kernel)
  assert.equal(told(customer), 7)
})

test('a report that the provider never takes does not hold up later ones', async () => {
  const { payer } = await subscribe()
  const customer = await customerOf(payer)
  await decide(payer, 1)
  await reconcileBilling(service.kernel)
  await decide(payer, 2)
  const states = async () => {
    const rows = await rawSql(
      service,
      'select state from meter_reports where tenant_id = ? order by to_total',
      [payer.tenant_id],
    )
    return rows.map(({ state }) => state)
  }
  // As if it had waited 36 days.
  await reconcileBilling(service.kernel)
  await rawSql(
    service,
    `update meter_reports set state = 'prepared', at_us = at_us - ?, identifier = 'old'
      where tenant_id = ? and to_total =
        (select max(to_total) from meter_reports where tenant_id = ?)`,
    [36 * 86_400_000_000, payer.tenant_id, payer.tenant_id],
  )
  await decide(payer, 1)
  await reconcileBilling(service.kernel)
  assert.deepEqual(await states(), ['confirmed', 'refused', 'confirmed'])
  assert.equal(told(customer), 4)
  provider().deleteCustomer(customer)
  await decide(payer, 1)
  await reconcileBilling(service.kernel)
  assert.deepEqual((await states()).at(-1), 'refused')
})

test('an event with a time beyond all numbers is refused', async () => {
  const { subscription_id } = await subscribe()
  const raw = provider().event('customer.subscription.updated', { id: subscription_id })
  for (const created of ['1e300', '9007199254740993', '-1']) {
    const answer = await signed(raw.replace(/"created":\d+/, `"created":${created}`))
    assert.equal(answer.status, 400, answer.text)
  }
})

test("'billing.cancel' of what has ended at the provider answers as one that ends it", async () => {
  const { payer, subscription_id } = await subscribe()
  await service.kernel.jobs.idle()
  provider().sendEventsTo({ url: 'http://127.0.0.1:9/', secret: 'whsec_now' })
  await provider().change(subscription_id, { status: 'canceled' })
  provider().sendEventsTo({
    url: `${service.url}/v1/cloud/billing/webhook`,
    secret: 'whsec_now',
  })
  const path = `/cloud/billing/cancel/${payer.tenant_id}`
  const { status, body } = await payer.ask('POST', path, { at: 'now' })
  assert.deepEqual([status, body.status], [200, 'canceled'])
})

test('addresses, plans and tenants that are not the caller’s are refused', async () => {
  const payer = await makePayer()
  const other = await makePayer()
  const path = '/cloud/billing/checkout'
  const wrong: [body: unknown, status: number][] = [
    [{ plan: 'enterprise' }, 422],
    [{ plan: 'gold' }, 422],
    [{ success_url: 'https://evil.example/' }, 422],
    [{ success_url: `${ORIGIN}.evil.example/` }, 422],
    [{ cancel_url: 'javascript:alert(1)' }, 422],
    [{ success_url: ORIGIN.replace('//', '//user:password@') }, 422],
    [{ success_url: `${ORIGIN}/\r\nx: y` }, 422],
    [{ success_url: null, cancel_url: null, tenant_id: null }, 200],
    [{ tenant_id: other.tenant_id }, 404],
    [{ tenant: other.tenant_id }, 422],
  ]
  for (const [body, status] of wrong)
    assert.equal((await payer.ask('POST', path, body)).status, status, JSON.stringify(body))
  for (const verb of ['subscription', 'cancel', 'portal']) {
    const method = verb === 'subscription' ? 'GET' : 'POST'
    const answer = await payer.ask(method, `/cloud/billing/${verb}/${other.tenant_id}`)
    assert.equal(answer.status, 404, verb)
  }
  const byOperator = await service.request('POST', `/v1${path}`, {
    key: OPERATOR_KEY,
    body: { tenant_id: payer.tenant_id },
  })
  assert.equal(byOperator.status, 200, byOperator.text)
  assert.equal((await payer.ask('POST', `/cloud/billing/cancel/${payer.tenant_id}`)).status, 404)
})

test('a tenant that was off-boarded pays no longer', async () => {
  const { payer, subscription_id } = await subscribe()
  const gone = await service.request('POST', `/v1/admin/tenants/${payer.tenant_id}/destroy-key`, {
    key: OPERATOR_KEY,
    body: { confirm: `destroy ${payer.tenant_id}`, legal_basis: 'contract ended' },
  })
  assert.ok(gone.status < 300, gone.text)
  await reconcileBilling(service.kernel)
  assert.equal(provider().subscription(subscription_id)?.['status'], 'canceled')
  const left = `select object_id from billing_objects where tenant_id = ? and object_id >= 'sub_'`
  assert.deepEqual(await rawSql(service, left, [payer.tenant_id]), [])
})

test('off-boarding closes the open page of payment, and events of it are of nobody', async () => {
  const payer = await makePayer()
  const session_id = await open(payer)
  const gone = await service.request('POST', `/v1/admin/tenants/${payer.tenant_id}/destroy-key`, {
    key: OPERATOR_KEY,
    body: { confirm: `destroy ${payer.tenant_id}`, legal_basis: 'contract ended' },
  })
  assert.ok(gone.status < 300, gone.text)
  const raw = provider().event('checkout.session.completed', { id: session_id })
  assert.equal((await signed(raw)).status, 200)
  const rows = await rawSql(service, 'select tenant_id from billing_events where event_id = ?', [
    JSON.parse(raw).id,
  ])
  assert.deepEqual(
    rows.map(({ tenant_id }) => tenant_id),
    [null],
  )
  await reconcileBilling(service.kernel)
  assert.equal(provider().checkout(session_id)?.['status'], 'expired')
})

test("where the provider is away 'billing.portal' is 503, and nothing changes", async () => {
  const { payer } = await subscribe()
  await provider().stop()
  for (const verb of ['cancel', 'portal']) {
    const { status, body } = await payer.ask('POST', `/cloud/billing/${verb}/${payer.tenant_id}`)
    assert.deepEqual([status, body.error], [503, 'payment_unavailable'])
  }
  assert.equal((await payer.subscription()).status, 'active')
})
