// A service with a tenant, and receivers that keep what they were sent.

import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import {
  startTlsServer,
  trustTestCertificate,
  writeTestCertificate,
} from '../../../platform/egress/testing/tls-server.ts'
import {
  type Answer,
  startTestService,
  type TestOptions,
  type TestService,
} from '../../../testing/harness.ts'

export { writeTestCertificate }

export interface ReceivedDelivery {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Receiver {
  readonly url: string
  readonly received: ReceivedDelivery[]
  /** How it answers from now on; undefined: never. */
  answer: (delivery: ReceivedDelivery) => number | undefined
  /** Resolves once there are as many deliveries. */
  until(count: number): Promise<void>
}

export const bodyOf = ({ body }: ReceivedDelivery) => JSON.parse(body)

/** The signatures of a delivery that a secret verifies. */
export function verifiedBy(secret: string, { headers, body }: ReceivedDelivery): number {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const message = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  const expected = `v1,${createHmac('sha256', key).update(message).digest('base64')}`
  return (headers['webhook-signature'] ?? '').split(' ').filter((one) => one === expected).length
}

/** Of all that came, and none of it twice. */
export function sequenceOf({ received }: Pick<Receiver, 'received'>): number[] {
  const seqs = received.map((one): number => bodyOf(one).seq).toSorted((a, b) => a - b)
  assert.equal(new Set(seqs).size, seqs.length, 'sent twice')
  return seqs
}

export async function startReceiver(t: Pick<TestContext, 'after'>): Promise<Receiver> {
  trustTestCertificate()
  const received: ReceivedDelivery[] = []
  const { port } = await startTlsServer(t, (request, reply) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const delivery = {
        headers: Object.fromEntries(
          Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
        ),
        body: Buffer.concat(chunks).toString(),
      }
      received.push(delivery)
      const status = receiver.answer(delivery)
      if (status !== undefined) reply.writeHead(status).end('words of the receiver')
    })
  })
  const receiver: Receiver = {
    url: `https://127.0.0.1:${port}/hooks`,
    received,
    answer: () => 204,
    until: (count) => poll(() => received.length >= count),
  }
  return receiver
}

export async function poll(check: () => boolean | Promise<boolean>, wait_ms = 30_000) {
  for (const end = performance.now() + wait_ms; performance.now() < end; ) {
    if (await check()) return
    await delay(20)
  }
  throw new Error('it did not come to pass')
}

export interface WebhookScene {
  readonly service: TestService
  readonly tenant_id: string
  readonly key: string
  ok(method: string, path: string, body?: unknown): Promise<Answer['body']>
  ask(method: string, path: string, body?: unknown): ReturnType<TestService['request']>
  /** Appends one entry `store.created` to the log. */
  append(): Promise<void>
  create(receiver: Pick<Receiver, 'url'>, more?: object): Promise<Answer['body']>
}

export const ALLOW_LOOPBACK = { egress: { allow: ['127.0.0.1'], proxy: null } } as const

/** Loopback is allowed, as a private network is by an operator. */
export async function startScene(
  t: Pick<TestContext, 'after'>,
  options: TestOptions = {},
): Promise<WebhookScene> {
  const config = { ...ALLOW_LOOPBACK, ...options.config }
  const service = await startTestService({ ...options, config })
  t.after(() => service.stop())
  return sceneOf(service)
}

export async function sceneOf(service: TestService): Promise<WebhookScene> {
  const { tenant_id, api_key: key } = await service.createTenant()
  const ask: WebhookScene['ask'] = (method, path, body) =>
    service.request(method, path, body === undefined ? { key } : { key, body })
  const ok: WebhookScene['ok'] = async (method, path, body) => {
    const { status, text, body: replied } = await ask(method, path, body)
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`)
    return replied
  }
  return {
    ...{ service, tenant_id, key, ask, ok },
    append: () => ok('POST', '/v1/stores', {}).then(() => {}),
    create: ({ url }, more = {}) => ok('POST', '/v1/webhooks', { url, events: ['*'], ...more }),
  }
}
