// GET /metrics: the metrics of this process for Prometheus, to operators unless they are open.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { scopeCovers } from '@custos/contract'
import type { FastifyInstance } from 'fastify'
import type { Principal } from '../platform/kernel/call.ts'
import type { Kernel } from '../platform/kernel/kernel.ts'
import { Refusal } from '../platform/refusal.ts'
import { renderMetrics } from '../slices/monitoring/index.ts'
import { ANONYMOUS, type Authenticator } from './access/authenticate.ts'
import { answerHeaders, sendText } from './answer.ts'
import { listenOn } from './placeholder-server.ts'
import { asRefusal, renderRefusal } from './render-refusal.ts'
import { requestIds } from './request-id.ts'
import { sendUnrouted, servedMethods } from './unrouted.ts'

export const METRICS_PATH = '/metrics'

export interface MetricsOptions {
  /** An address of their own; null: they are served with everything else. */
  readonly address: { readonly host: string; readonly port: number } | null
  /** Whether they need no credential. */
  readonly open: boolean
  readonly epoch_seconds: number
}

export class MetricsRoute {
  readonly #kernel: Kernel
  readonly #authenticator: Authenticator
  readonly #options: MetricsOptions
  readonly #meter

  constructor(kernel: Kernel, authenticator: Authenticator, options: MetricsOptions) {
    this.#kernel = kernel
    this.#authenticator = authenticator
    this.#options = options
    const route = { id: 'metrics', method: 'GET', path: METRICS_PATH } as const
    this.#meter = kernel.metrics.routeMeter(route)
  }

  bind(server: FastifyInstance): void {
    server.route({
      method: servedMethods('GET'),
      url: METRICS_PATH,
      handler: (request, reply) => {
        reply.hijack()
        void this.#serve(request.raw, reply.raw)
      },
    })
  }

  /** A server of its own, which has nothing else. */
  async listen({ host, port }: { host: string; port: number }) {
    const server = createServer((request, response) => {
      const path = (request.url ?? '').split('?', 1)[0]
      const known = path === METRICS_PATH
      if (known && servedMethods('GET').includes(request.method ?? ''))
        return void this.#serve(request, response)
      const refusal = known
        ? new Refusal('method_not_allowed', undefined, { headers: { allow: 'GET, HEAD' } })
        : new Refusal('route_not_found')
      sendUnrouted(this.#kernel, request, response, refusal)
    })
    const { port: bound, close } = await listenOn(server, { host, port })
    const name = host.includes(':') ? `[${host}]` : host
    return { url: `http://${name}:${bound}${METRICS_PATH}`, close }
  }

  async #serve(raw: IncomingMessage, response: ServerResponse): Promise<void> {
    const request_id = requestIds(this.#kernel).of(raw.headers['x-request-id'])
    const started_ms = performance.now()
    this.#meter.begin()
    let principal = ANONYMOUS
    let status = 200
    let error: string | null = null
    try {
      if (!this.#options.open) {
        principal = await this.#authenticator.findByKey(raw.headers)
        assertOperator(principal)
      }
      const text = await renderMetrics(this.#kernel, this.#options.epoch_seconds)
      const { type } = this.#kernel.metrics
      sendText(response, status, answerHeaders(request_id, type), text)
    } catch (thrown) {
      const refusal = asRefusal(thrown, this.#kernel.logger, request_id)
      const rendered = renderRefusal(refusal, request_id)
      status = rendered.status
      error = refusal.code
      sendText(response, status, rendered.headers, rendered.text)
    }
    const seconds = (performance.now() - started_ms) / 1_000
    this.#meter.end({ status, seconds, bytes: null })
    const { key_id } = principal
    const fields = { method: raw.method, operation: 'metrics', status, error: error ?? undefined }
    const { logger } = this.#kernel
    if (error === null) logger.debug('request', { ...fields, request_id, key_id })
    else logger.info('request', { ...fields, request_id, key_id })
  }
}

function assertOperator({ kind, scopes }: Principal): void {
  if (kind !== 'operator') throw new Refusal('operator_required')
  if (!scopeCovers(scopes, 'admin:platform')) throw new Refusal('scope_missing')
}
