// The payment provider of a process: Stripe, or the loopback provider that runs inside it.

import { createHmac, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { lookupKeyOf, METER_EVENT, openProvider, type PaymentProvider } from './provider.ts'

/** The key that the loopback provider accepts; it protects no money. */
const LOOPBACK_KEY = 'sk_test_loopback'

class Payments {
  readonly #kernel: Kernel
  #opened: Promise<PaymentProvider> | undefined
  #loopback: LoopbackProvider | undefined

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  provider(): Promise<PaymentProvider> {
    this.#opened ??= this.#open()
    return this.#opened
  }

  get loopback(): LoopbackProvider | undefined {
    return this.#loopback
  }

  async stop(): Promise<void> {
    await this.#loopback?.stop()
  }

  /** Makes the loopback provider send its events to this service. */
  async sendEventsTo(url: string): Promise<void> {
    const { billing } = this.#kernel.settings
    if (billing?.provider !== 'loopback') return
    await this.provider()
    const [secret] = billing.webhook_secrets
    if (secret !== undefined)
      this.#loopback?.sendEventsTo({ url: `${url}/v1/cloud/billing/webhook`, secret })
  }

  async #open(): Promise<PaymentProvider> {
    const { billing } = this.#kernel.settings
    if (billing === null) throw new Refusal('billing_not_configured')
    const { provider, secret_key } = billing
    if (provider === 'stripe') return openProvider(secret_key ?? '')
    const now_s = () => Math.floor(this.#kernel.clock.now() / 1_000_000)
    this.#loopback = await LoopbackProvider.start(now_s)
    return openProvider(secret_key ?? LOOPBACK_KEY, this.#loopback.address)
  }
}

const payments = perKernel((kernel) => new Payments(kernel))

/** Refuses `billing_not_configured`. Throws OperatorError if a package is missing. */
export const paymentProvider = (kernel: Kernel): Promise<PaymentProvider> =>
  payments(kernel).provider()

/** Runs before the service listens, so that a missing package aborts the start. */
export async function openPayments(kernel: Kernel): Promise<void> {
  if (kernel.settings.billing !== null) await paymentProvider(kernel)
}

/** Makes the loopback provider send its events to this service. */
export const sendPaymentEventsTo = (kernel: Kernel, url: string): Promise<void> =>
  payments(kernel).sendEventsTo(url)

/** The loopback provider of this process, if it runs one. */
export const loopbackOf = (kernel: Kernel): LoopbackProvider | undefined =>
  payments(kernel).loopback

export const stopPayments = (kernel: Kernel): Promise<void> => payments(kernel).stop()

type Fields = Readonly<Record<string, unknown>>

const DAY_S = 86_400
const MONTH_S = 30 * DAY_S
const BODY_BYTES_MAX = 64 * 1024
/** How long the identifier of a usage event deduplicates. */
const IDENTIFIER_S = DAY_S
/** Older usage is rejected. */
const EVENT_AGE_MAX_S = 35 * DAY_S

/**
 * A payment provider in this process, for trying out: it speaks the wire of Stripe on a loopback
 * address (checkouts, subscriptions, prices, meters and their events, the portal), takes no money
 * and forgets everything when the process ends.
 */
export class LoopbackProvider {
  readonly #server: Server
  readonly #now_s: () => number
  readonly #checkouts = new Map<string, Fields>()
  readonly #subscriptions = new Map<string, Fields>()
  readonly #identifiers = new Map<string, number>()
  readonly #usage: { customer: string; value: number; at_s: number }[] = []
  readonly #deleted = new Set<string>()
  #target: { readonly url: string; readonly secret: string } | null = null

  private constructor(server: Server, now_s: () => number) {
    this.#server = server
    this.#now_s = now_s
  }

  static async start(now_s: () => number): Promise<LoopbackProvider> {
    const server = createServer((request, response) => {
      provider.#serve(request, response).catch(() => response.destroy())
    })
    const provider = new LoopbackProvider(server, now_s)
    server.listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    server.unref()
    return provider
  }

  get address() {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('it does not listen')
    return { host: '127.0.0.1', port: address.port }
  }

  sendEventsTo(target: { readonly url: string; readonly secret: string }): void {
    this.#target = target
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  /** The total usage of a customer. */
  usageOf(customer: string): number {
    const own = this.#usage.filter((event) => event.customer === customer)
    return own.reduce((sum, { value }) => sum + value, 0)
  }

  deleteCustomer(customer: string): void {
    this.#deleted.add(customer)
  }

  checkout(id: string): Fields | undefined {
    return this.#checkouts.get(id)
  }

  subscription(id: string): Fields | undefined {
    return this.#subscriptions.get(id)
  }

  /** Pays a checkout like its page does, and returns the id of the subscription. */
  async pay(session_id: string): Promise<string> {
    const session = this.#checkouts.get(session_id)
    if (!session) throw new Error('no such checkout')
    if (typeof session['subscription'] === 'string') return session['subscription']
    if (session['status'] !== 'open') throw new Error('the checkout is closed')
    const customer = session['customer'] ?? newId('cus')
    const subscription = newId('sub')
    const start = this.#now_s()
    const period = { current_period_start: start, current_period_end: start + MONTH_S }
    this.#subscriptions.set(subscription, {
      id: subscription,
      object: 'subscription',
      customer,
      status: 'active',
      cancel_at_period_end: false,
      items: listOf([{ id: newId('si'), object: 'subscription_item', ...period }]),
    })
    const paid = { ...session, customer, subscription, status: 'complete' }
    this.#checkouts.set(session_id, paid)
    await this.#send('checkout.session.completed', paid)
    return subscription
  }

  /** Changes a subscription, like a failed payment or an end does, and sends the event. */
  async change(subscription_id: string, changes: Fields): Promise<void> {
    const before = this.#subscriptions.get(subscription_id)
    if (!before) throw new Error('no such subscription')
    const after = { ...before, ...changes }
    this.#subscriptions.set(subscription_id, after)
    const ended = after['status'] === 'canceled'
    await this.#send(`customer.subscription.${ended ? 'deleted' : 'updated'}`, after)
  }

  /** The body of an event as it is sent. */
  event(type: string, object: Fields): string {
    const head = { id: newId('evt'), object: 'event', type, created: this.#now_s() }
    return JSON.stringify({ ...head, data: { object } })
  }

  async #send(type: string, object: Fields): Promise<void> {
    if (this.#target === null) return
    const body = this.event(type, object)
    const { url, secret } = this.#target
    const headers = { 'stripe-signature': signEvent(body, secret, this.#now_s()) }
    // If an event is lost, the reconciliation timer still finds the change.
    await fetch(url, { method: 'POST', headers, body }).catch(() => {})
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1')
    const form = new URLSearchParams(await readForm(request))
    const answer = await this.#answer(`${request.method} ${url.pathname}`, form, url.searchParams)
    const code = answer === null ? 'resource_missing' : answer['refused']
    const status = answer === null ? 404 : code === undefined ? 200 : 400
    const body = status === 200 ? answer : { error: { type: 'invalid_request_error', code } }
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  }

  async #answer(
    asked: string,
    form: URLSearchParams,
    query: URLSearchParams,
  ): Promise<Fields | null> {
    const [, method = '', path = '', id = '', act = ''] = REQUEST.exec(asked) ?? []
    switch (`${method} ${path}${act}`) {
      case 'GET /v1/prices':
        return listOf(pricesOf(query))
      case 'POST /v1/checkout/sessions':
        return this.#openCheckout(form)
      case 'GET /v1/checkout/sessions':
        return this.#checkouts.get(id) ?? null
      case 'POST /v1/checkout/sessions/expire':
        return this.#expire(id)
      case 'GET /pay':
        return this.#checkouts.has(id) ? { paid: await this.pay(id) } : null
      case 'GET /v1/subscriptions':
        return this.#subscriptions.get(id) ?? null
      case 'POST /v1/subscriptions':
        return this.#update(id, {
          cancel_at_period_end: form.get('cancel_at_period_end') === 'true',
        })
      case 'DELETE /v1/subscriptions':
        return this.#subscriptions.get(id)?.['status'] === 'canceled'
          ? null
          : this.#update(id, { status: 'canceled' })
      case 'POST /v1/billing_portal/sessions':
        return { id: newId('bps'), object: 'billing_portal.session', url: this.#page('portal') }
      case 'POST /v1/billing/meter_events':
        return this.#count(form)
      case 'GET /v1/billing/meters':
        return id === '' ? listOf([METER]) : listOf([this.#summarize(query)])
      default:
        return null
    }
  }

  #openCheckout(form: URLSearchParams): Fields {
    const id = newId('cs')
    const session = {
      id,
      object: 'checkout.session',
      url: this.#page(`pay/${id}`),
      status: 'open',
      customer: form.get('customer'),
      subscription: null,
      client_reference_id: form.get('client_reference_id'),
      expires_at: this.#now_s() + DAY_S,
    }
    this.#checkouts.set(id, session)
    return session
  }

  #expire(id: string): Fields | null {
    const session = this.#checkouts.get(id)
    if (!session) return null
    const expired = { ...session, status: 'expired' }
    this.#checkouts.set(id, expired)
    return expired
  }

  async #update(id: string, changes: Fields): Promise<Fields | null> {
    if (!this.#subscriptions.has(id)) return null
    await this.change(id, changes)
    return this.#subscriptions.get(id) ?? null
  }

  #count(form: URLSearchParams): Fields {
    const identifier = form.get('identifier') ?? newId('me')
    const customer = form.get('payload[stripe_customer_id]') ?? ''
    const at_s = Number(form.get('timestamp'))
    const now_s = this.#now_s()
    if (now_s - at_s > EVENT_AGE_MAX_S) return { refused: 'timestamp_too_far_in_past' }
    if (this.#deleted.has(customer)) return { refused: 'meter_event_customer_not_found' }
    const seen = this.#identifiers.get(identifier)
    if (seen !== undefined && now_s - seen < IDENTIFIER_S)
      return { refused: 'duplicate_meter_event' }
    this.#identifiers.set(identifier, now_s)
    this.#usage.push({ customer, value: Number(form.get('payload[value]')), at_s })
    return { object: 'billing.meter_event', identifier, event_name: METER_EVENT }
  }

  #summarize(query: URLSearchParams): Fields {
    const [from_s, until_s] = ['start_time', 'end_time'].map((name) => Number(query.get(name)))
    const own = this.#usage.filter(
      ({ customer, at_s }) =>
        customer === query.get('customer') && at_s >= (from_s ?? 0) && at_s < (until_s ?? 0),
    )
    const aggregated_value = own.reduce((sum, { value }) => sum + value, 0)
    return { id: newId('mtrusg'), object: 'billing.meter_event_summary', aggregated_value }
  }

  #page(path: string): string {
    const { host, port } = this.address
    return `http://${host}:${port}/${path}`
  }
}

/** Matches the method, the path and the id at the path's end. */
const REQUEST = new RegExp(
  '^(\\w+) (/pay|/v1/[a-z_/]*?[a-z_]+)' +
    '(?:/([a-z]+_[0-9a-f]+)(?:/event_summaries|(/expire))?)?$',
)

const METER = { id: 'mtr_0', object: 'billing.meter', event_name: METER_EVENT, status: 'active' }

const newId = (prefix: string): string => `${prefix}_${randomBytes(12).toString('hex')}`

const listOf = (data: readonly Fields[]): Fields => ({ object: 'list', data, has_more: false })

const pricesOf = (query: URLSearchParams): Fields[] =>
  [...query.values()].includes(lookupKeyOf('pro'))
    ? [{ id: 'price_pro', object: 'price', lookup_key: lookupKeyOf('pro') }]
    : []

/** The header that signs an event; see `isSigned`. */
export function signEvent(body: string, secret: string, now_s: number): string {
  const mac = createHmac('sha256', secret).update(`${now_s}.${body}`).digest('hex')
  return `t=${now_s},v1=${mac}`
}

async function readForm(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) throw new Error('the body is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
