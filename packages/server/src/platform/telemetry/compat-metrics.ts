// The metrics under the names that dashboards of the reference service read.

import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { MeasuredRoute, RouteMeter } from './route-meter.ts'

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const BYTES = [100, 500, 1_000, 5_000, 10_000, 50_000, 100_000, 500_000]

const RESULTS = { allowed: 'allow', denied: 'deny', escalated: 'escalate' } as const

const GAUGES = [
  { name: 'grafomem_db_pool_size', help: 'Open connections to the database' },
  { name: 'grafomem_db_pool_available', help: 'Open connections to the database that are free' },
  { name: 'grafomem_db_pool_waiting', help: 'Callers that wait for a connection' },
  { name: 'grafomem_stores_active', help: 'Stores of all tenants' },
  { name: 'grafomem_uptime_seconds', help: 'Seconds since the process started' },
] as const

/** Undefined: it could not be read, and has no sample. */
export type CompatValues = Readonly<Record<(typeof GAUGES)[number]['name'], number | undefined>>

export class CompatMetrics {
  readonly #requests: Counter
  readonly #durations: Histogram
  readonly #running: Gauge
  readonly #sizes: Histogram
  readonly #evaluations: Counter
  readonly #decisions: Counter
  readonly #memory: Counter
  readonly #certificates: Counter
  readonly #webhooks: Counter
  readonly #gauges: readonly { name: keyof CompatValues; gauge: Gauge }[]

  constructor(registry: Registry) {
    const registers = [registry]
    const counter = (name: string, help: string, labelNames: string[] = []) =>
      new Counter({ registers, name, help, labelNames })
    const byRoute = ['method', 'path_template', 'status']
    this.#requests = counter('grafomem_http_requests_total', 'Requests by route', byRoute)
    this.#durations = new Histogram({
      registers,
      name: 'grafomem_http_request_duration_seconds',
      help: 'Duration of requests',
      labelNames: byRoute,
      buckets: SECONDS,
    })
    this.#running = new Gauge({
      registers,
      name: 'grafomem_http_requests_in_progress',
      help: 'Requests under way',
      labelNames: ['method'],
    })
    this.#sizes = new Histogram({
      registers,
      name: 'grafomem_http_response_size_bytes',
      help: 'Size of the bodies of answers that are not streamed',
      labelNames: ['method', 'path_template'],
      buckets: BYTES,
    })
    this.#evaluations = counter('grafomem_governance_evaluations_total', 'Evaluations', ['result'])
    // Without the model, whose id is a text of the caller.
    this.#decisions = counter('grafomem_decisions_logged_total', 'Decisions logged')
    const memory = 'grafomem_memory_operations_total'
    this.#memory = counter(memory, 'Memory operations', ['operation'])
    this.#certificates = counter('grafomem_erasure_certificates_total', 'Erasure certificates')
    const webhooks = 'grafomem_webhooks_dispatched_total'
    this.#webhooks = counter(webhooks, 'Attempts to deliver', ['event_type', 'success'])
    this.#gauges = GAUGES.map(({ name, help }) => ({
      name,
      gauge: new Gauge({ registers, name, help }),
    }))
  }

  routeMeter({ id, method, path }: MeasuredRoute): RouteMeter {
    const [group = '', verb = ''] = id.split('.')
    return {
      begin: () => this.#running.inc({ method }),
      end: ({ status, seconds, bytes }) => {
        const labels = { method, path_template: path, status }
        this.#running.dec({ method })
        this.#requests.inc(labels)
        if (seconds !== null) this.#durations.observe(labels, seconds)
        if (bytes !== null) this.#sizes.observe({ method, path_template: path }, bytes)
        if (status >= 300) return
        if (group === 'memory') this.#memory.inc({ operation: verb })
        if (id === 'decisions.log') this.#decisions.inc()
      },
    }
  }

  countEvaluation(result: keyof typeof RESULTS): void {
    this.#evaluations.inc({ result: RESULTS[result] })
  }

  countCertificate(): void {
    this.#certificates.inc()
  }

  countDelivery(result: string, event_type: string): void {
    this.#webhooks.inc({ event_type, success: String(result === 'delivered') })
  }

  set(values: CompatValues): void {
    for (const { name, gauge } of this.#gauges) {
      const value = values[name]
      if (value === undefined) gauge.remove()
      else gauge.set(value)
    }
  }
}
