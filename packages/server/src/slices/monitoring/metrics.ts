// The metrics of this process as Prometheus reads them, with the state that is stored.

import assert from 'node:assert/strict'
import { parseTime } from '../../platform/clock.ts'
import { listServedIds } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { probeStorage } from '../../platform/kernel/storage-probe.ts'
import { yieldBetweenChunks } from '../../platform/yield-between-chunks.ts'
import { measureIndexes } from '../memory/index.ts'
import { listTenantNumbers } from './stats.sql.ts'
import { uptimeSeconds } from './stats.ts'

/** Scrapes in between share one answer. */
const EVERY_MS = 5_000
/** Of the time, at most this part goes to reading, however many tenants there are. */
const SHARE_MAX = 0.05
/** Tenants read before other requests have their turn. */
const CHUNK = 50
const SECOND_US = 1_000_000

interface StoredNumbers {
  readonly approvals_pending: number
  readonly approval_oldest_s: number
  /** Undefined: none is pending. */
  readonly approval_expires_s: number | undefined
  readonly overdue: number
  readonly log_size: number
  readonly checkpoint_age_s: number
  readonly stores: number
}

/** Null: the database did not answer. */
type Reading = Promise<StoredNumbers | null>

/** The last reading; a test may ask for the next one at once. */
export const readings = perKernel(() => ({
  again_ms: Number.NEGATIVE_INFINITY,
  numbers: Promise.resolve<Awaited<Reading>>(null),
}))

function storedNumbers(kernel: Kernel): Reading {
  const last = readings(kernel)
  const begun_ms = performance.now()
  if (begun_ms < last.again_ms) return last.numbers
  // Nobody begins another while this one runs.
  last.again_ms = Number.POSITIVE_INFINITY
  last.numbers = readNumbers(kernel)
    .catch((error: unknown) => {
      const reason = error instanceof Error ? error.name : 'unknown'
      kernel.logger.warn('metrics.not_read', { reason })
      return null
    })
    .finally(() => {
      const took_ms = performance.now() - begun_ms
      last.again_ms = begun_ms + Math.max(EVERY_MS, took_ms / SHARE_MAX)
    })
  return last.numbers
}

async function readNumbers(kernel: Kernel): Promise<StoredNumbers> {
  const tenants = await kernel.db.read(PLATFORM, listServedIds)
  const now_us = kernel.clock.now()
  const sum = { approvals_pending: 0, overdue: 0, log_size: 0, stores: 0 }
  let [oldest_us, uncovered_us, expires_us] = [now_us, now_us, Number.POSITIVE_INFINITY]
  const rest = yieldBetweenChunks()
  // A database across a network takes the questions of all tenants in a few messages.
  const chunk = kernel.db.shared ? Math.max(1, tenants.length) : CHUNK
  for (let at = 0; at < tenants.length; at += chunk) {
    for (const row of await listTenantNumbers(kernel.db, tenants.slice(at, at + chunk), now_us)) {
      sum.approvals_pending += Number(row.approvals_pending)
      sum.overdue += Number(row.overdue)
      sum.log_size += row.log_size
      sum.stores += Number(row.stores)
      oldest_us = Math.min(oldest_us, Number(row.approval_oldest_us ?? now_us))
      expires_us = Math.min(expires_us, Number(row.approval_expires_us ?? expires_us))
      if (row.uncovered !== null) uncovered_us = Math.min(uncovered_us, timeOf(row.uncovered))
    }
    await rest()
  }
  return {
    ...sum,
    approval_oldest_s: (now_us - oldest_us) / SECOND_US,
    approval_expires_s: Number.isFinite(expires_us) ? (expires_us - now_us) / SECOND_US : undefined,
    checkpoint_age_s: (now_us - uncovered_us) / SECOND_US,
  }
}

/** When an entry of the log was appended. */
function timeOf(record: string): number {
  const { created_at }: { created_at: string } = JSON.parse(record)
  const time_us = parseTime(created_at)
  assert(time_us !== null, 'an entry of the log has a time')
  return time_us
}

/** Never rejects: a value that cannot be read now has no sample. */
export async function renderMetrics(kernel: Kernel, epoch_seconds: number): Promise<string> {
  const [stored, storage] = await Promise.all([storedNumbers(kernel), probeStorage(kernel)])
  const { bytes, building_s } = measureIndexes(kernel)
  const { pool } = kernel.db.stats()
  return kernel.metrics.render(
    {
      custos_approvals_pending: stored?.approvals_pending,
      custos_approval_oldest_seconds: stored?.approval_oldest_s,
      custos_approval_expires_seconds: stored?.approval_expires_s,
      custos_subject_requests_overdue: stored?.overdue,
      custos_log_size: stored?.log_size,
      custos_checkpoint_age_seconds: stored?.checkpoint_age_s,
      custos_checkpoint_interval_seconds: epoch_seconds,
      custos_index_bytes: bytes,
      custos_index_build_seconds: building_s,
      custos_storage_ok: storage === 'ok' ? 1 : 0,
    },
    {
      grafomem_db_pool_size: pool.size,
      grafomem_db_pool_available: pool.available,
      grafomem_db_pool_waiting: pool.waiting,
      grafomem_stores_active: stored?.stores,
      grafomem_uptime_seconds: uptimeSeconds(),
    },
  )
}
