// The metrics of a process for Prometheus: closed names and labels, never a tenant or a text.

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { CompatMetrics, type CompatValues } from './compat-metrics.ts'
import type { MeasuredRoute, RouteMeter } from './route-meter.ts'

/** Buckets of request durations, in seconds. */
const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
const COMMIT_SECONDS = [0.0005, ...REQUEST_SECONDS]
const BATCH_UNITS = [1, 2, 4, 8, 16, 32, 64, 128, 256]

const STATUS_CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx']

/** Values read when the metrics are asked for, with the meaning that `# HELP` states. */
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

/** Undefined: it could not be read, and has no sample. */
type GaugeValues = Readonly<Record<(typeof GAUGES)[number]['name'], number | undefined>>

/** Of the process, whatever it serves; collected from the first time they are asked for. */
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

  /** @param compat also under the names that the reference service uses */
  constructor({ compat = false }: { readonly compat?: boolean } = {}) {
    this.#compat = compat ? new CompatMetrics(this.#registry) : null
    // A result that has not occurred is 0: a rate over it is then 0 too, and not absent.
    for (const result of ['allowed', 'denied', 'escalated']) this.#evaluations.inc({ result }, 0)
    for (const outcome of ['erased', 'already_absent', 'nothing_found'])
      this.#certificates.inc({ outcome }, 0)
    for (const result of ['delivered', 'retrying', 'failed']) this.#deliveries.inc({ result }, 0)
  }

  get type(): string {
    return this.#registry.contentType
  }

  /** The meter of an operation; its labels are looked up once, here. */
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

  /** The text format of Prometheus, version 0.0.4. */
  async render(values: GaugeValues, around: CompatValues): Promise<string> {
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
