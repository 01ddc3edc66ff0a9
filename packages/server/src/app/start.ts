// Starts the service: data, recovery, background work, HTTP; and stops it in the reverse order.

import type { Config } from '../config/config.ts'
import { buildServer } from '../http/bind.ts'
import { startWaiting } from '../http/waiting.ts'
import type { Kernel } from '../platform/kernel.ts'
import { whenLeased } from '../platform/leases.ts'
import {
  interruptAbandoned,
  runsSettled,
  setLooker,
  stopLooking,
} from '../slices/assurance/index.ts'
import { reconcileErasures, registerErasureJobs } from '../slices/erasure/index.ts'
import { flushEvaluations } from '../slices/governance/index.ts'
import { flushRetrievedFacts, registerMemoryJobs } from '../slices/memory/index.ts'
import { registerOffboardingJobs, resumeDestructions } from '../slices/offboarding/index.ts'
import { registerReportJobs } from '../slices/reports/index.ts'
import { registerRetentionJobs } from '../slices/retention/index.ts'
import { registerSubjectJobs } from '../slices/subjects/index.ts'
import { ensureTenant, flushReadMeter } from '../slices/tenants/index.ts'
import { SelfLooker } from './assurance/self-looker.ts'
import { type KernelOptions, type OpenKernel, openKernel } from './open-kernel.ts'
import { releaseLoadingMemory } from './release-memory.ts'
import { allRoutes } from './routes.ts'
import { whileAnswered } from './stop-while-answered.ts'
import { startTimers } from './timers.ts'
import { VERSION } from './version.ts'

export interface Service {
  readonly url: string
  readonly kernel: Kernel
  /**
   * Stops taking requests, finishes those under way, closes everything. Throws DatabaseGone when
   * PostgreSQL does not answer meanwhile.
   */
  stop(): Promise<void>
}

export const LOCAL_TENANT = 'local'

/** Processes that start together reconcile one after another. */
const START_WAIT_MS = 3_600_000

/** Throws ConfigError, DataDirHeld, KeyringError or a listen error before anything is served. */
export async function startService(config: Config, options: KernelOptions = {}): Promise<Service> {
  const { open, port } = await openWhileAlive(config, options)
  const { kernel, close } = open
  try {
    // A restored copy must forget again what was erased before anybody can read it.
    const reconcile = async () => {
      await reconcileErasures(kernel)
      await resumeDestructions(kernel)
    }
    await whenLeased(kernel, 'start', reconcile, { wait_ms: START_WAIT_MS })
    if (config.auth === 'local') await ensureTenant(kernel, { tenant_id: LOCAL_TENANT })
    registerErasureJobs(kernel)
    registerRetentionJobs(kernel)
    registerOffboardingJobs(kernel)
    registerMemoryJobs(kernel)
    registerReportJobs(kernel)
    registerSubjectJobs(kernel)
    const looker = new SelfLooker(config)
    setLooker(kernel, looker)
    if (!kernel.db.shared) await interruptAbandoned(kernel, true)
    kernel.jobs.start()
    const timers = startTimers(kernel, config)
    const server = await buildServer({
      kernel,
      routes: allRoutes(),
      auth: config.auth,
      operator_key: config.operator_key,
      allowed_hosts: config.allowed_hosts,
      local_tenant: LOCAL_TENANT,
    })
    await releaseLoadingMemory()
    const url = await server.listen({ host: config.host, port })
    looker.listensAt(url)
    const stopInOrder = async () => {
      // Requests that wait for a run are answered: it ends as stopped.
      await stopLooking(kernel)
      await server.close()
      await timers.stop()
      await runsSettled(kernel)
      await flushEvaluations(kernel)
      await flushReadMeter(kernel)
      await flushRetrievedFacts(kernel)
      await close()
    }
    return {
      url,
      kernel,
      stop() {
        const stopped = stopInOrder()
        return config.postgres ? whileAnswered(config.postgres, stopped) : stopped
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

// While PostgreSQL is waited for, whoever asks is told that the process lives and is not ready.
async function openWhileAlive(
  config: Config,
  options: KernelOptions,
): Promise<{ open: OpenKernel; port: number }> {
  if (config.postgres === null || config.postgres.wait_seconds === 0)
    return { open: await openKernel(config, options), port: config.port }
  const waiting = await startWaiting(config, VERSION)
  try {
    return { open: await openKernel(config, options), port: waiting.port }
  } finally {
    await waiting.close()
  }
}
