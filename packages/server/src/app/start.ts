// Starts the service (data, recovery, background work, HTTP) and stops it in reverse order.

import { existsSync } from 'node:fs'
import type { Config, PostgresConfig } from '../config/config.ts'
import { buildServer } from '../http/bind.ts'
import { requireFreePort, startPlaceholderServer } from '../http/placeholder-server.ts'
import { loadOnce } from '../platform/concurrency.ts'
import { hasCredential } from '../platform/db/control.sql.ts'
import { databasePath, publishAddress } from '../platform/db/data-dir.ts'
import { type Database, PLATFORM } from '../platform/db/database.ts'
import type { Kernel } from '../platform/kernel/kernel.ts'
import { runUnderLease } from '../platform/kernel/leases.ts'
import { OperatorError } from '../platform/operator-error.ts'
import { flushRates } from '../platform/rates/slot-log.ts'
import { Refusal } from '../platform/refusal.ts'
import { describeError } from '../platform/telemetry/logger.ts'
import {
  awaitRuns,
  interruptAbandoned,
  setChecker,
  stopChecking,
} from '../slices/assurance/index.ts'
import {
  openPayments,
  registerBillingJobs,
  sendPaymentEventsTo,
  stopPayments,
} from '../slices/billing/index.ts'
import { reconcileErasures, registerErasureJobs } from '../slices/erasure/index.ts'
import { registerLogJobs } from '../slices/gcrumbs/index.ts'
import { flushEvaluations } from '../slices/governance/index.ts'
import { ownAddress } from '../slices/identity/index.ts'
import {
  flushRetrievedFacts,
  registerMemoryJobs,
  saveIndexes,
  sweepIndexes,
} from '../slices/memory/index.ts'
import { registerOffboardingJobs, resumeDestructions } from '../slices/offboarding/index.ts'
import { registerRunJobs } from '../slices/orchestrator/index.ts'
import { registerReportJobs } from '../slices/reports/index.ts'
import { registerRetentionJobs } from '../slices/retention/index.ts'
import { stopStreams } from '../slices/streams/index.ts'
import { registerSubjectJobs } from '../slices/subjects/index.ts'
import { ensureTenant, flushKeyUses, flushReadMeter } from '../slices/tenants/index.ts'
import { followEndpoints, registerWebhookJobs, stopFollowing } from '../slices/webhooks/index.ts'
import { AssuranceThreads } from './assurance/assurance-threads.ts'
import { type KernelOptions, type OpenKernel, openKernel } from './open/open-kernel.ts'
import { VERSION } from './open/version.ts'
import { allRoutes } from './routes.ts'
import { startTimers } from './timers.ts'

export interface Service {
  readonly url: string
  /** Null if metrics have no separate address. */
  readonly metrics_url: string | null
  readonly kernel: Kernel
  /**
   * Refuses new requests, finishes those in flight and closes everything. Throws DatabaseGone if
   * PostgreSQL stops responding meanwhile.
   */
  stop(): Promise<void>
}

export const LOCAL_TENANT = 'local'

/** Time limit for writing index snapshots at a stop. */
const SAVE_MS = 7_000

/** Processes that start at the same time reconcile one after another. */
const START_WAIT_MS = 3_600_000

/** Throws OperatorError or a listen error before it serves anything. */
export async function startService(config: Config, options: KernelOptions = {}): Promise<Service> {
  // Must come before the data directory is created.
  await requireFreePort(config)
  if (config.metrics.address) await requireFreePort(config.metrics.address, '--metrics-port')
  await requireCredential(config, null)
  const { open, port } = await openWhileAlive(config, options)
  const { kernel, close } = open
  const parts: RunningParts = {}
  try {
    const { url, metrics_url } = await serveKernel(kernel, { ...config, port }, parts)
    return {
      url,
      metrics_url,
      kernel,
      async stop() {
        kernel.logger.info('service.stopping')
        const stopped = stopParts(kernel, parts).then(close)
        await (config.postgres ? whileAnswered(config.postgres, stopped) : stopped)
        kernel.logger.info('service.stopped')
        kernel.logger.flush()
      },
    }
  } catch (error) {
    // Parts that were started must not run on without data. The first error is the one to report.
    const note = (other: unknown) => kernel.logger.error('start.not_undone', describeError(other))
    if (parts.timers) await stopParts(kernel, parts).catch(note)
    await close().catch(note)
    if (!(error instanceof Refusal)) throw error
    const why = error.cause instanceof Error ? ` (${error.cause.message})` : ''
    throw new OperatorError(`the start was refused: ${error.message}${why}`)
  }
}

/** Adds the parts that it starts to `parts`. */
async function serveKernel(
  kernel: Kernel,
  config: Config,
  parts: RunningParts,
): Promise<Pick<Service, 'url' | 'metrics_url'>> {
  await requireCredential(config, kernel.db)
  // On a restored copy, erasures must be repeated before anybody can read it.
  const reconcile = async () => {
    await reconcileErasures(kernel)
    await resumeDestructions(kernel)
  }
  await runUnderLease(kernel, 'start', reconcile, { wait_ms: START_WAIT_MS })
  if (config.auth === 'local') await ensureTenant(kernel, { tenant_id: LOCAL_TENANT })
  registerJobs(kernel)
  await openPayments(kernel)
  // Not awaited: it reads every tenant, and logs its own failure.
  sweepIndexes(kernel)
  const looker = new AssuranceThreads(config)
  setChecker(kernel, looker)
  if (!kernel.db.shared) await interruptAbandoned(kernel, true)
  kernel.jobs.start()
  parts.timers = startTimers(kernel, config)
  const { server, metrics_url } = await buildServer({
    kernel,
    routes: allRoutes(),
    auth: config.auth,
    operator_key: config.operator_key,
    allowed_hosts: config.allowed_hosts,
    cors_origins: config.cors_origins,
    local_tenant: LOCAL_TENANT,
    metrics: { ...config.metrics, epoch_seconds: config.epoch_seconds },
  })
  parts.server = server
  await releaseLoadingMemory()
  const url = await server.listen({ host: config.host, port: config.port })
  looker.listensAt(url)
  await sendPaymentEventsTo(kernel, url)
  kernel.egress.listensAt(url)
  ownAddress(kernel).url = url
  await followEndpoints(kernel)
  if (config.postgres === null) publishAddress(config.data_dir, url)
  kernel.logger.info('service.started', { version: VERSION, url, metrics_url })
  return { url, metrics_url }
}

interface RunningParts {
  server?: { close(): Promise<unknown> }
  timers?: { stop(): Promise<void> }
}

/** Must run before the kernel is closed. */
async function stopParts(kernel: Kernel, { server, timers }: RunningParts): Promise<void> {
  // Requests that wait for a run get an answer, because the run ends as stopped.
  await stopChecking(kernel)
  stopStreams(kernel)
  await server?.close()
  await stopPayments(kernel)
  // Must come before the timers: one of them may be saving, without this time limit.
  await saveIndexes(kernel, SAVE_MS)
  await timers?.stop()
  stopFollowing(kernel)
  await awaitRuns(kernel)
  await flushEvaluations(kernel)
  await flushRates(kernel)
  await flushReadMeter(kernel)
  await flushKeyUses(kernel)
  await flushRetrievedFacts(kernel)
}

function registerJobs(kernel: Kernel): void {
  registerLogJobs(kernel)
  registerErasureJobs(kernel)
  registerRetentionJobs(kernel)
  registerOffboardingJobs(kernel)
  registerMemoryJobs(kernel)
  registerReportJobs(kernel)
  registerSubjectJobs(kernel)
  registerBillingJobs(kernel)
  registerWebhookJobs(kernel)
  registerRunJobs(kernel)
}

/** Throws OperatorError if nobody could sign in. Without `db`, checks only a new directory. */
async function requireCredential(config: Config, db: Database | null): Promise<void> {
  const { auth, operator_key, postgres, data_dir, host } = config
  if (auth === 'local' || operator_key !== null) return
  const known = db
    ? await db.read(PLATFORM, hasCredential)
    : postgres !== null || existsSync(databasePath(data_dir))
  if (known) return
  throw new OperatorError(
    `on ${host} every request needs a credential, and none exists: set CUSTOS_OPERATOR_KEY to ` +
      '24 characters or more of your choice (openssl rand -hex 24), ' +
      'or use local mode with --host 127.0.0.1',
  )
}

// Until PostgreSQL responds, a placeholder tells probes that the process is alive but not ready.
async function openWhileAlive(
  config: Config,
  options: KernelOptions,
): Promise<{ open: OpenKernel; port: number }> {
  if (config.postgres === null || config.postgres.wait_seconds === 0)
    return { open: await openKernel(config, options), port: config.port }
  const waiting = await startPlaceholderServer(config, VERSION)
  try {
    return { open: await openKernel(config, options), port: waiting.port }
  } finally {
    await waiting.close()
  }
}

/**
 * A quarter of the heap is garbage after loading, which V8 would not free while the service is
 * idle. Runs once per process and takes 0.1 s.
 */
const releaseLoadingMemory = loadOnce(collectGarbage)

async function collectGarbage(): Promise<void> {
  if (!process.features.inspector) return
  const { Session } = await import('node:inspector/promises')
  const session = new Session()
  session.connect()
  try {
    await session.post('HeapProfiler.collectGarbage')
  } finally {
    session.disconnect()
  }
}

/** The stop was abandoned because the database is gone. Acknowledged writes are durable. */
class DatabaseGone extends OperatorError {}
const databaseGone = () => new DatabaseGone('the database does not answer: stopped without it')

const LOOK_MS = 250
const ANSWER_MS = 1_000
/** A server that is silent for this long will not come back before the stop ends. */
const SILENCE_MS = 3_500

/** Awaits `work`, but throws DatabaseGone once a server that it needs is silent for SILENCE_MS. */
async function whileAnswered(
  { database_url, keyring_url }: PostgresConfig,
  work: Promise<void>,
): Promise<void> {
  // A later failure is ignored, because nobody waits for the result any more.
  work.catch(() => {})
  const over = { yet: false }
  const urls = [...new Set([database_url, keyring_url ?? database_url])]
  const watches = urls.map((url) => untilSilent(url, over))
  try {
    await Promise.race([work, ...watches])
  } finally {
    over.yet = true
  }
  // A final flush that was refused at once was not written: its counts are lost with the process.
  if (!(await answersAll(urls))) throw databaseGone()
}

async function answersAll(urls: readonly string[]): Promise<boolean> {
  const { answers } = await import('../platform/db/postgres/connection.ts')
  const all = await Promise.all(urls.map((url) => answers(url, ANSWER_MS)))
  return all.every(Boolean)
}

/** Rejects with DatabaseGone once the server is silent for long. Resolves only when `over.yet`. */
async function untilSilent(url: string, over: { readonly yet: boolean }): Promise<void> {
  // Imported on use, so that the embedded service starts without it.
  const { answers } = await import('../platform/db/postgres/connection.ts')
  for (let last = performance.now(); !over.yet; ) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    if (over.yet) return
    if (await answers(url, ANSWER_MS)) last = performance.now()
    else if (performance.now() - last > SILENCE_MS) throw databaseGone()
  }
}
