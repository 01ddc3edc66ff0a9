// The metrics of a process for Prometheus: closed names and labels, never a tenant or a text.

import type { OperationSpec } from '@custos/contract'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** The labels of a request: a row of the contract, or a route outside of it. */
type MeasuredRoute = Pick<OperationSpec, 'id' | 'method' | 'path'>

/** Counts the requests of one operation. */
export interface RouteMeter {
  begin(): void
  /**
   * An answer was sent, or its sending was cut off.
   * @param answer.seconds null: a stream that stays open says nothing about speed
   * @param answer.bytes of the body; null: unknown
   */
  end(answer: {
    readonly status: number
    readonly seconds: number | null
    readonly bytes: number | null
  }): void
}

/** Buckets of request durations, in seconds. */
const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
const COMMIT_SECONDS = [0.0005, ...REQUEST_SECONDS]
const BATCH_UNITS = [1, 2, 4, 8, 16, 32, 64, 128, 256]

const STATUS_CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx']

/** Values read on each scrape, with the meaning that `# HELP` states. */
const GAUGES = [
  { name: 'custos_approvals_pending', help: 'Approval requests that wait for a person' },
  { name: 'custos_approval_oldest_seconds', help: 'Age of the oldest of them; 0: there are none' },
  {
    name: 'custos_approval_expires_seconds',
    help: 'Time until the next of them expires; no sample: there are none',
  },
  {
    name: 'custos_subject_requests_overdue',
    help: 'Requests of data subjects that are open after their due date',
  },
  { name: 'custos_log_size', help: 'Entries of the audit logs of all tenants' },
  {
    name: 'custos_checkpoint_age_seconds',
    help: 'Age of the oldest log entry that no checkpoint covers; 0: every entry is covered',
  },
  {
    name: 'custos_checkpoint_interval_seconds',
    help: 'Seconds between checkpoints; 0: none are made by time',
  },
  { name: 'custos_index_bytes', help: 'Memory of the search indexes of this process' },
  {
    name: 'custos_index_build_seconds',
    help: 'How long the longest build of an index has been running; 0: none',
  },
  {
    name: 'custos_storage_ok',
    help: '1: a row could be written and read back; 0: it could not, or the disk is full',
  },
] as const

/** Metrics of the process, independent of the server. Collected from the first scrape on. */
let processRegistry: Registry | undefined

function processMetrics(): Registry {
  if (processRegistry) return processRegistry
  processRegistry = new Registry()
  collectDefaultMetrics({ register: processRegistry })
  return processRegistry
}

export class Metrics {
  readonly #registry = new Registry()
  readonly #compat: CompatMetrics | null
  readonly #registers = { registers: [this.#registry] }
  readonly #requests = new Counter({
    ...this.#registers,
    name: 'custos_http_requests_total',
    help: 'Requests by operation and status class',
    labelNames: ['operation', 'status'],
  })
  readonly #durations = new Histogram({
    ...this.#registers,
    name: 'custos_http_request_duration_seconds',
    help: 'Time from the headers of a request to the end of its answer; no event streams',
    labelNames: ['operation'],
    buckets: REQUEST_SECONDS,
  })
  readonly #batches = new Histogram({
    ...this.#registers,
    name: 'custos_commit_batch_size',
    help: 'Units of work in one commit',
    buckets: BATCH_UNITS,
  })
  readonly #commits = new Histogram({
    ...this.#registers,
    name: 'custos_commit_seconds',
    help: 'Time from the begin of a commit batch until it is durable',
    buckets: COMMIT_SECONDS,
  })
  readonly #evaluations = new Counter({
    ...this.#registers,
    name: 'custos_governance_evaluations_total',
    help: 'Requests that policies decided on, by result',
    labelNames: ['result'],
  })
  readonly #certificates = new Counter({
    ...this.#registers,
    name: 'custos_erasure_certificates_total',
    help: 'Erasure certificates issued, by outcome',
    labelNames: ['outcome'],
  })
  readonly #tokens = new Counter({
    ...this.#registers,
    name: 'custos_retrieve_tokens_total',
    help: 'Tokens of the memories that retrievals returned',
  })
  readonly #deliveries = new Counter({
    ...this.#registers,
    name: 'custos_webhook_deliveries_total',
    help: 'Attempts to deliver to a webhook, by what became of the delivery',
    labelNames: ['result'],
  })
  readonly #gauges = GAUGES.map(({ name, help }) => ({
    name,
    gauge: new Gauge({ ...this.#registers, name, help }),
  }))

  /** @param compat whether to publish the names of the reference service too */
  constructor({ compat = false }: { readonly compat?: boolean } = {}) {
    this.#compat = compat ? new CompatMetrics(this.#registry) : null
    // A result that has not occurred yet is 0, so that a rate over it is 0 and not absent.
    for (const result of ['allowed', 'denied', 'escalated']) this.#evaluations.inc({ result }, 0)
    for (const outcome of ['erased', 'already_absent', 'nothing_found'])
      this.#certificates.inc({ outcome }, 0)
    for (const result of ['delivered', 'retrying', 'failed']) this.#deliveries.inc({ result }, 0)
  }

  get type(): string {
    return this.#registry.contentType
  }

  /** The meter of an operation, which looks up its labels once. */
  routeMeter(route: MeasuredRoute): RouteMeter {
    const classes = STATUS_CLASSES.map((status) => this.#requests.labels(route.id, status))
    const durations = this.#durations.labels(route.id)
    const compat = this.#compat?.routeMeter(route)
    return {
      begin: () => compat?.begin(),
      end(answer) {
        const { status, seconds } = answer
        classes[Math.floor(status / 100) - 1]?.inc()
        if (seconds !== null) durations.observe(seconds)
        compat?.end(answer)
      },
    }
  }

  observeCommit(units: number, seconds: number): void {
    this.#batches.observe(units)
    this.#commits.observe(seconds)
  }

  countEvaluation(result: 'allowed' | 'denied' | 'escalated'): void {
    this.#evaluations.inc({ result })
    this.#compat?.countEvaluation(result)
  }

  countCertificate(outcome: 'erased' | 'already_absent' | 'nothing_found'): void {
    this.#certificates.inc({ outcome })
    this.#compat?.countCertificate()
  }

  countRetrievedTokens(tokens: number): void {
    this.#tokens.inc(tokens)
  }

  countDelivery(result: 'delivered' | 'retrying' | 'failed', event_type: string): void {
    this.#deliveries.inc({ result })
    this.#compat?.countDelivery(result, event_type)
  }

  /**
   * The text format of Prometheus, version 0.0.4.
   * @param values undefined: it could not be read, and has no sample
   */
  async render(
    values: Readonly<Record<(typeof GAUGES)[number]['name'], number | undefined>>,
    around: CompatValues,
  ): Promise<string> {
    for (const { name, gauge } of this.#gauges) {
      const value = values[name]
      if (value === undefined) gauge.remove()
      else gauge.set(value)
    }
    this.#compat?.set(around)
    const [own, ofProcess] = [await this.#registry.metrics(), await processMetrics().metrics()]
    return `${own}\n${ofProcess}`
  }
}

const COMPAT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const COMPAT_BYTES = [100, 500, 1_000, 5_000, 10_000, 50_000, 100_000, 500_000]

const COMPAT_RESULTS = { allowed: 'allow', denied: 'deny', escalated: 'escalate' } as const

const COMPAT_GAUGES = [
  { name: 'grafomem_db_pool_size', help: 'Open connections to the database' },
  { name: 'grafomem_db_pool_available', help: 'Open connections to the database that are free' },
  { name: 'grafomem_db_pool_waiting', help: 'Callers that wait for a connection' },
  { name: 'grafomem_stores_active', help: 'Stores of all tenants' },
  { name: 'grafomem_uptime_seconds', help: 'Seconds since the process started' },
] as const

/** A value is undefined if it could not be read; it then has no sample. */
type CompatValues = Readonly<Record<(typeof COMPAT_GAUGES)[number]['name'], number | undefined>>

class CompatMetrics {
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
      buckets: COMPAT_SECONDS,
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
      buckets: COMPAT_BYTES,
    })
    this.#evaluations = counter('grafomem_governance_evaluations_total', 'Evaluations', ['result'])
    // Without a label for the model, whose id is text of the caller.
    this.#decisions = counter('grafomem_decisions_logged_total', 'Decisions logged')
    const memory = 'grafomem_memory_operations_total'
    this.#memory = counter(memory, 'Memory operations', ['operation'])
    this.#certificates = counter('grafomem_erasure_certificates_total', 'Erasure certificates')
    const webhooks = 'grafomem_webhooks_dispatched_total'
    this.#webhooks = counter(webhooks, 'Attempts to deliver', ['event_type', 'success'])
    this.#gauges = COMPAT_GAUGES.map(({ name, help }) => ({
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

  countEvaluation(result: keyof typeof COMPAT_RESULTS): void {
    this.#evaluations.inc({ result: COMPAT_RESULTS[result] })
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
