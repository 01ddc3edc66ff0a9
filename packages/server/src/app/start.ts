// Starts the service: data, recovery, background work, HTTP; and stops it in the reverse order.

import type { Config } from '../config/config.ts'
import { buildServer } from '../http/bind.ts'
import type { Kernel } from '../platform/kernel.ts'
import { reconcileErasures, registerErasureJobs } from '../slices/erasure/index.ts'
import { ensureTenant, flushReadMeter } from '../slices/tenants/index.ts'
import { type KernelOptions, openKernel } from './open-kernel.ts'
import { allRoutes } from './routes.ts'
import { startTimers } from './timers.ts'

export interface Service {
  readonly url: string
  readonly kernel: Kernel
  /** Stops taking requests, finishes those under way, closes everything. */
  stop(): Promise<void>
}

export const LOCAL_TENANT = 'local'

/** Throws ConfigError, DataDirHeld, KeyringError or a listen error before anything is served. */
export async function startService(config: Config, options: KernelOptions = {}): Promise<Service> {
  const { kernel, close } = await openKernel(config, options)
  try {
    // A restored copy must forget again what was erased before anybody can read it.
    await reconcileErasures(kernel)
    if (config.auth === 'local') await ensureTenant(kernel, { tenant_id: LOCAL_TENANT })
    registerErasureJobs(kernel)
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
    const url = await server.listen({ host: config.host, port: config.port })
    return {
      url,
      kernel,
      async stop() {
        await server.close()
        await timers.stop()
        await flushReadMeter(kernel)
        await close()
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}
