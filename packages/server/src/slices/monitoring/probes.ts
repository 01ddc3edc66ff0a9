// Probes: whether the service answers, lives and is ready; nothing about tenants or errors.

import type { platform as contract } from '@custos/contract'
import { findTenant } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { logSize } from './stats.sql.ts'
import { startedAt, uptimeSeconds } from './stats.ts'

export const platformHandlers: HandlersOf<typeof contract> = {
  async health({ kernel }) {
    return { status: 'ok', version: kernel.settings.version }
  },

  async healthz({ kernel }) {
    return {
      status: 'ok',
      uptime_seconds: uptimeSeconds(),
      started_at: startedAt(),
      version: kernel.settings.version,
    }
  },

  async readyz(call) {
    const { kernel } = call
    const checks = {
      database: await check(kernel, 'database', () =>
        kernel.db.read(PLATFORM, (db) => findTenant(db, PLATFORM)),
      ),
      keyring: await check(kernel, 'keyring', () => kernel.keyring.listTenants()),
      log: await check(kernel, 'log', async () => {
        kernel.keyring.signer('checkpoint')
        await kernel.db.read(PLATFORM, logSize)
      }),
    }
    if (Object.values(checks).includes('failing'))
      return call.refuse('unavailable', 'a check is failing', {
        members: { checks },
        retry_after_s: 5,
      })
    return { status: 'ok', checks, uptime_seconds: uptimeSeconds() }
  },
}

// The reason goes to the log: the answer is public.
async function check(
  kernel: Kernel,
  name: string,
  probe: () => Promise<unknown>,
): Promise<'ok' | 'failing'> {
  try {
    await probe()
    return 'ok'
  } catch (error) {
    const reason = error instanceof Error ? error.name : 'unknown'
    kernel.logger.error('readiness.failing', { check: name, reason })
    return 'failing'
  }
}
