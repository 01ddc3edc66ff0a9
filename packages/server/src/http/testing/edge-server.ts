// A real server for tests of the edge: chosen routes, real database and keyring, one directory.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  keys,
  memory,
  monitoring,
  type OperationSpec,
  operation,
  platform,
  tenants,
} from '@custos/contract'
import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { openKernel } from '../../app/open/open-kernel.ts'
import { parseConfig } from '../../config/config.ts'
import { eventStream, type Handler, type HandlersOf, streamed } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { memoryHandlers } from '../../slices/memory/index.ts'
import { monitoringHandlers, platformHandlers } from '../../slices/monitoring/index.ts'
import { ensureTenant, keysHandlers, meter, tenantsHandlers } from '../../slices/tenants/index.ts'
import { buildServer, type RequestDeadlines } from '../bind.ts'
import type { Route } from '../endpoint.ts'

export const OPERATOR_KEY = 'operator-key-for-tests-0123456789'

/** Carries the types of a group and its handlers together, once both agree. */
const routesOf = <C extends Readonly<Record<string, OperationSpec>>>(
  group: C,
  handlers: HandlersOf<C>,
): Route[] =>
  Object.entries(group).map(([verb, spec]) => ({
    operation: spec,
    handler: handlers[verb as keyof C] as unknown as Handler<OperationSpec>,
  }))

const Items = Type.Array(
  Type.Object({
    content: Type.String({ minLength: 1, maxLength: 8 }),
    weight: Type.Optional(Type.Integer({ minimum: 0, default: 7 })),
  }),
  { maxItems: 3 },
)

const Label = Type.Object({ label: Type.String(), colour: Type.Optional(Type.String()) })
const Pair = Type.Object({ left: Type.Integer(), right: Type.Integer() })

/** Operations that show every habit of the edge. */
const probes = {
  echo: operation({
    id: 'probe.echo',
    method: 'POST',
    path: '/probe/stores/{store_id}/echo',
    summary: 'Answers what arrived',
    access: 'tenant',
    scope: 'memory:write',
    params: Type.Object({ store_id: Type.String() }),
    query: Type.Object({
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10, default: 5 })),
      full: Type.Optional(Type.Boolean()),
      from: Type.Optional(Type.String({ format: 'timestamp' })),
    }),
    body: Type.Object({
      items: Type.Optional(Items),
      flag: Type.Optional(Type.Boolean()),
      note: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
      label: Type.Optional(Type.String({ format: 'label' })),
      free: Type.Optional(Type.Unknown()),
      options: Type.Optional(Type.Object({ depth: Type.Integer({ default: 2 }) })),
      either: Type.Optional(Type.Union([Type.String(), Label, Pair])),
    }),
    tolerated: ['query.app', 'body.signing_key', 'body.options.app', 'body.items[].app'],
    body_bytes_max: 4_096,
    status: 200,
    reply: Type.Unknown(),
    refuses: [],
  }),
  add: operation({
    id: 'probe.add',
    method: 'POST',
    path: '/probe/add',
    summary: 'Counts in the usage table, once a key',
    access: 'tenant',
    namespaced: true,
    body: Type.Object({ by: Type.Optional(Type.Integer({ default: 1 })) }),
    body_optional: true,
    status: 201,
    reply: Type.Object({ added: Type.Integer(), run: Type.Integer() }),
    refuses: ['rejected'],
    idempotent: true,
  }),
  remove: operation({
    id: 'probe.remove',
    method: 'DELETE',
    path: '/probe/things/{id}',
    summary: 'Answers which id arrived',
    access: 'tenant',
    params: Type.Object({ id: Type.String({ pattern: '^[0-9a-f]{4}$' }) }),
    status: 200,
    reply: Type.Unknown(),
    refuses: [],
  }),
  things: operation({
    id: 'probe.things',
    method: 'GET',
    path: '/probe/things/stats',
    summary: 'Has a path that is also that of a thing',
    access: 'tenant',
    status: 200,
    reply: Type.Unknown(),
    refuses: [],
  }),
  lines: operation({
    id: 'probe.lines',
    method: 'GET',
    path: '/probe/lines',
    summary: 'Streams lines and may break off',
    access: 'tenant',
    query: Type.Object({
      count: Type.Integer(),
      fail_at: Type.Optional(Type.Integer()),
    }),
    status: 200,
    reply: Type.Unknown(),
    reply_type: 'application/x-ndjson',
    refuses: [],
  }),
  upload: operation({
    id: 'probe.upload',
    method: 'POST',
    path: '/probe/upload',
    summary: 'Counts the bytes of a stream',
    access: 'tenant',
    body_type: 'application/x-ndjson',
    body_bytes_max: 100_000,
    status: 200,
    reply: Type.Object({ bytes: Type.Integer() }),
    refuses: [],
  }),
  signed: operation({
    id: 'probe.signed',
    method: 'POST',
    path: '/probe/signed',
    summary: 'Answers the bytes that arrived, and a header',
    access: 'public',
    headers: { 'x-signature': 'A signature over the body' },
    raw_body: true,
    body_bytes_max: 1_000,
    status: 200,
    reply: Type.Object({ hex: Type.String(), signature: Type.Union([Type.String(), Type.Null()]) }),
    refuses: [],
  }),
  events: operation({
    id: 'probe.events',
    method: 'GET',
    path: '/probe/events',
    summary: 'Sends frames without end to its reader',
    access: 'public',
    query: Type.Object({ bytes: Type.Integer() }),
    status: 200,
    reply: Type.Unknown(),
    reply_type: 'text/event-stream',
    refuses: [],
  }),
  broken: operation({
    id: 'probe.broken',
    method: 'GET',
    path: '/probe/broken',
    summary: 'Fails in a way nobody foresaw, or with a detail object',
    access: 'tenant',
    query: Type.Object({ how: Type.Optional(Type.String()) }),
    status: 200,
    reply: Type.Unknown(),
    refuses: ['capability_not_supported'],
  }),
} as const

let runs = 0

/** The stream of `/probe/events` that was opened last. */
export const eventProbe = { sent: 0, cut: () => {}, left: () => {} }

const probeHandlers: HandlersOf<typeof probes> = {
  echo: async (_call, input) => input,

  add: (call, { body }) =>
    call.once({
      async run(tx) {
        if (body.by === 13) throw new Refusal('rejected', 'not thirteen')
        meter(tx, 'probe.add', body.by ?? 1)
        runs += 1
        return {
          reply: { added: body.by ?? 1, run: runs },
          ids: { added: body.by ?? 1, run: runs },
        }
      },
      async replay(_tx, ids) {
        return { added: Number(ids['added']), run: Number(ids['run']) }
      },
    }),

  remove: async (_call, input) => input,
  things: async (_call, input) => input,

  lines: async (_call, { query }) =>
    streamed({
      filename: 'lines "1".ndjson',
      stream: (async function* () {
        for (let i = 0; i < query.count; i += 1) {
          if (i === query.fail_at) throw new Error('a secret word')
          yield `${JSON.stringify({ i, pad: 'x'.repeat(200) })}\n`
        }
      })(),
    }),

  async upload(_call, { body }) {
    let bytes = 0
    for await (const chunk of body) bytes += chunk.length
    return { bytes }
  },

  async signed(call, { body }) {
    return { hex: Buffer.from(body).toString('hex'), signature: call.header('x-signature') }
  },

  async events(call, { query }) {
    const cut = new AbortController()
    const { gone } = call
    eventProbe.cut = () => cut.abort()
    eventProbe.sent = 0
    const frames = async function* () {
      try {
        while (!gone.aborted) {
          eventProbe.sent += query.bytes
          yield `data: ${'x'.repeat(query.bytes - 8)}\n\n`
          // The thread that reads is the one that is read from.
          await new Promise((resolve) => setImmediate(resolve))
        }
      } finally {
        eventProbe.left()
      }
    }
    return eventStream({ frames: frames(), cut: cut.signal })
  },

  async broken(call, { query }) {
    if (query.how === 'detail')
      return call.refuse('capability_not_supported', undefined, {
        detail: { error: 'capability_not_supported', capability: 'x' },
        members: { capability: 'x' },
        retry_after_s: 1.2,
      })
    throw new TypeError(`content in a message: ${query.how}`)
  },
}

export interface TestServer {
  readonly kernel: Kernel
  readonly server: FastifyInstance
  readonly url: string
  stop(): Promise<void>
}

interface TestServerOptions {
  /** Further settings. */
  readonly env?: Readonly<Record<string, string>>
  readonly auth?: 'local' | 'required'
  readonly allowed_hosts?: readonly string[]
  readonly cors_origins?: readonly string[]
  readonly patience?: RequestDeadlines
}

/** Listens on a free loopback port until stopped. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const data_dir = mkdtempSync(join(tmpdir(), 'custos-edge-'))
  const auth = options.auth ?? 'required'
  const config = parseConfig({
    CUSTOS_DATA_DIR: data_dir,
    CUSTOS_AUTH: auth,
    CUSTOS_LOG_LEVEL: 'silent',
    ...options.env,
  })
  const { kernel, close } = await openKernel(config)
  if (auth === 'local') await ensureTenant(kernel)
  const { server } = await buildServer({
    kernel,
    metrics: { ...config.metrics, epoch_seconds: config.epoch_seconds },
    auth,
    operator_key: OPERATOR_KEY,
    allowed_hosts: options.allowed_hosts ?? [],
    cors_origins: options.cors_origins ?? [],
    local_tenant: 'local',
    ...(options.patience ? { patience: options.patience } : {}),
    routes: [
      ...routesOf(platform, platformHandlers),
      ...routesOf(tenants, tenantsHandlers),
      ...routesOf(keys, keysHandlers),
      ...routesOf(monitoring, monitoringHandlers),
      ...routesOf(
        { create_store: memory.create_store },
        { create_store: memoryHandlers.create_store },
      ),
      ...routesOf(probes, probeHandlers),
    ],
  })
  const url = await server.listen({ host: '127.0.0.1', port: 0 })
  const stop = async () => {
    await server.close()
    await close()
    rmSync(data_dir, { recursive: true, force: true })
  }
  return { kernel, server, url, stop }
}

export interface Sent {
  readonly key?: string
  readonly body?: unknown
  /** Sent as it is instead of `body`. */
  readonly raw?: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
}

interface Got {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Untyped, as a parser gives it: tests look into bodies of every shape. */
  readonly body: ReturnType<typeof JSON.parse>
}

/** One request; a body is JSON unless the headers say otherwise. */
export async function send(url: string, method: string, sent: Sent = {}): Promise<Got> {
  const headers = new Headers(sent.headers)
  if (sent.key !== undefined) headers.set('authorization', `Bearer ${sent.key}`)
  const text = sent.raw ?? (sent.body === undefined ? undefined : JSON.stringify(sent.body))
  if (text !== undefined && !headers.has('content-type'))
    headers.set('content-type', 'application/json')
  const response = await fetch(url, {
    method,
    headers,
    ...(text === undefined ? {} : { body: text }),
  })
  const answer = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    text: answer,
    body: isJson(response.headers) && answer !== '' ? JSON.parse(answer) : undefined,
  }
}

const isJson = (headers: Headers): boolean =>
  /^application\/(problem\+)?json/.test(headers.get('content-type') ?? '')

/** A tenant made through the API by the bootstrap operator. */
export async function makeTenant(url: string): Promise<{ tenant_id: string; api_key: string }> {
  const { body } = await send(`${url}/v1/cloud/tenants`, 'POST', { key: OPERATOR_KEY, body: {} })
  return { tenant_id: String(body.tenant_id), api_key: String(body.api_key) }
}

/** Stores of the tenant with these ids. */
export async function makeStores(url: string, key: string, store_ids: string[]): Promise<void> {
  for (const store_id of store_ids)
    await send(`${url}/v1/stores`, 'POST', { key, body: { store_id } })
}
