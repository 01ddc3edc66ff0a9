// The monitoring slice: health and readiness; its statistics and metrics for the HTTP layer.

import type { monitoring, platform } from '@custos/contract'
import { CLOCK_ADVICE, secondsAhead } from '../../platform/clock.ts'
import { findTenant } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { probeStorage } from '../../platform/kernel/storage-probe.ts'
import { logSize } from './stats.sql.ts'
import { startedAt, stats, uptimeSeconds } from './stats.ts'

export const platformHandlers: HandlersOf<typeof platform> = {
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
    const ahead_s = secondsAhead(kernel.clock.now())
    const checks = {
      database: await check(kernel, 'database', () =>
        kernel.db.read(PLATFORM, (db) => findTenant(db, PLATFORM)),
      ),
      storage: await probeStorage(kernel),
      keyring: await check(kernel, 'keyring', () => kernel.keyring.listTenants()),
      log: await check(kernel, 'log', async () => {
        kernel.keyring.signer('checkpoint')
        await kernel.db.read(PLATFORM, logSize)
      }),
      clock: ahead_s > 0 ? ('ahead' as const) : ('ok' as const),
    }
    if (checks.storage === 'full')
      return call.refuse('storage_full', undefined, { members: { checks }, retry_after_s: 30 })
    const failing = Object.values(checks).includes('failing')
    if (failing)
      return call.refuse('unavailable', 'a check is failing', {
        members: { checks },
        retry_after_s: 5,
      })
    // Reported, and no reason to send requests elsewhere: the service works with such a clock.
    const clock_ahead = ahead_s > 0 ? { seconds: ahead_s, advice: CLOCK_ADVICE } : null
    return { status: 'ok', checks, clock_ahead, uptime_seconds: uptimeSeconds() }
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

export { renderMetrics } from './metrics.ts'

export { startedAt, uptimeSeconds } from './stats.ts'
export const monitoringHandlers: HandlersOf<typeof monitoring> = { stats }
