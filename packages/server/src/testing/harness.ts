// A real service for tests: loopback, a free port, a fresh data directory, all stopped at the end.

import { type Service, startService } from '../app/start.ts'
import { type Config, parseConfig } from '../config/config.ts'
import type { ProcessClock } from '../platform/clock.ts'
import type { HostLookup } from '../platform/egress/egress.ts'
import type { Kernel } from '../platform/kernel/kernel.ts'
import type { Logger } from '../platform/telemetry/logger.ts'
import { openTestData, type TestData } from './test-data.ts'

/** An event stream that says nothing for so long has said what there was. */
const QUIET_MS = 500

export const OPERATOR_KEY = 'operator-key-for-tests-0123456789'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The parsed body, or undefined when it is not JSON. Tests read it freely. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into bodies of every shape
  readonly body: any
}

export interface RequestOptions {
  readonly body?: unknown
  /** Sent as it is instead of `body`. */
  readonly raw?: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  readonly key?: string
}

export interface TestService {
  readonly kernel: Kernel
  readonly url: string
  /** Null: metrics have no address of their own. */
  readonly metrics_url: string | null
  readonly data_dir: string
  readonly operator_key: string
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>
  createTenant(name?: string): Promise<{ tenant_id: string; api_key: string }>
  /** Stops the service and removes its directory unless told to keep it. */
  stop(options?: { keep?: boolean }): Promise<void>
}

export interface TestOptions {
  readonly data_dir?: string
  readonly config?: Partial<Config>
  readonly step?: (name: string) => void | Promise<void>
  readonly clock?: ProcessClock
  readonly logger?: Logger
  /** Of the URLs of webhooks; default: no name resolves. */
  readonly lookup?: HostLookup
}

/** `required` auth with a bootstrap operator key, unless the options say otherwise. */
export async function startTestService(options: TestOptions = {}): Promise<TestService> {
  const data = await openTestData('custos-test-', options.data_dir)
  const config: Config = {
    ...parseConfig({
      CUSTOS_TRUSTED_PROXIES: '127.0.0.1',
      ...data.env,
      CUSTOS_PORT: '0',
      CUSTOS_AUTH: 'required',
      CUSTOS_OPERATOR_KEY: OPERATOR_KEY,
      CUSTOS_LOG_LEVEL: 'silent',
      CUSTOS_EPOCH_SECONDS: '0',
    }),
    ...options.config,
  }
  const { step, clock, logger, lookup = noHosts } = options
  const service = await startService(config, {
    ...(step && { step }),
    ...(clock && { clock }),
    ...(logger && { logger }),
    lookup,
  })
  return asTestService(service, data)
}

const noHosts: HostLookup = async () => []

function asTestService(service: Service, { data_dir, remove }: TestData): TestService {
  const request: TestService['request'] = (method, path, options = {}) =>
    send(`${service.url}${path}`, method, options)
  return {
    kernel: service.kernel,
    url: service.url,
    metrics_url: service.metrics_url,
    data_dir,
    operator_key: OPERATOR_KEY,
    request,
    async createTenant(name = 'test') {
      const { status, body, text } = await request('POST', '/v1/cloud/tenants', {
        body: { name },
        key: OPERATOR_KEY,
      })
      if (status !== 201) throw new Error(`tenant not created: ${status} ${text}`)
      return body
    },
    async stop({ keep = false } = {}) {
      await service.stop()
      if (!keep) await remove()
    },
  }
}

async function send(url: string, method: string, options: RequestOptions): Promise<Answer> {
  const headers = new Headers(options.headers)
  if (options.key !== undefined) headers.set('authorization', `Bearer ${options.key}`)
  const payload =
    options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body))
  if (payload !== undefined && !headers.has('content-type'))
    headers.set('content-type', 'application/json')
  const response = await fetch(url, {
    method,
    // An answer that leads elsewhere is looked at.
    redirect: 'manual',
    headers,
    ...(payload === undefined ? {} : { body: payload }),
  })
  const isStream = response.headers.get('content-type') === 'text/event-stream'
  const text = isStream ? await readUntilQuiet(response) : await response.text()
  return { status: response.status, headers: response.headers, text, body: parse(text) }
}

/** What an event stream sends at once; it has no end to wait for. */
async function readUntilQuiet({ body }: Response): Promise<string> {
  if (body === null) return ''
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  for (let text = ''; ; ) {
    const quiet = new Promise<null>((resolve) => setTimeout(resolve, QUIET_MS, null))
    const read = await Promise.race([reader.read(), quiet])
    if (read === null) await reader.cancel()
    if (read === null || read.done) return text
    text += read.value
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
