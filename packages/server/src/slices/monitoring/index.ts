// The monitoring slice: health and readiness, statistics of a tenant, and the metrics page.

import assert from 'node:assert/strict'
import { open, statfs } from 'node:fs/promises'
import type { monitoring as contract, monitoring, platform, Usage } from '@custos/contract'
import { CLOCK_ADVICE, formatTime, parseTime, secondsAhead } from '../../platform/clock.ts'
import { waitAtMost } from '../../platform/concurrency.ts'
import { findTenant, listServedIds } from '../../platform/db/control.sql.ts'
import { countRows, PLATFORM } from '../../platform/db/database.ts'
import { findMark, saveMark } from '../../platform/db/leases.sql.ts'
import type { Handler, HandlersOf } from '../../platform/kernel/call.ts'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { storageFault } from '../../platform/storage-fault.ts'
import { yieldBetweenChunks } from '../../platform/yield-between-chunks.ts'
import { measureIndexes } from '../memory/index.ts'
import { addUsages, calendarMonth, loadUsage } from '../tenants/index.ts'
import {
  countCertificates,
  countDecisions,
  countFacts,
  countStores,
  listTenantNumbers,
  logSize,
} from './stats.sql.ts'

/** Seconds with one decimal. */
export const uptimeSeconds = (): number => Math.floor(performance.now() / 100) / 10

export const startedAt = (): string => formatTime(Math.floor(performance.timeOrigin * 1000))

/** Counts that can be limited to some stores. */
interface Counts {
  readonly stores: number
  readonly memories: number
  readonly decisions: number
}

/** Totals of a whole tenant. */
interface TenantTotals {
  readonly certificates: number
  readonly log_size: number
  readonly usage: Usage
}

const stats: Handler<typeof contract.stats> = async (call) => {
  const { kernel, principal, tenant_id } = call
  if (principal.kind !== 'operator') {
    const { allowed_stores } = principal
    const counts = await countsOf(kernel, tenant_id, allowed_stores)
    const whole = allowed_stores.length === 0 ? await wholeOf(kernel, tenant_id) : null
    return { ...show(kernel, counts, whole), tenant_id }
  }
  const tenantIds = await kernel.db.read(PLATFORM, listServedIds)
  const all: (Counts & TenantTotals)[] = []
  for (const id of tenantIds)
    all.push({ ...(await countsOf(kernel, id, [])), ...(await wholeOf(kernel, id)) })
  const sum = total(all)
  return {
    ...show(kernel, sum, sum),
    tenant_id: null,
    tenants: tenantIds.length,
    process: processNumbers(kernel),
  }
}

async function countsOf(
  { db }: Kernel,
  tenant_id: string,
  store_ids: readonly string[],
): Promise<Counts> {
  const [stores, memories, decisions] = await Promise.all([
    countRows(db, tenant_id, (handle) => countStores(handle, store_ids)),
    countRows(db, tenant_id, (handle) => countFacts(handle, store_ids)),
    countRows(db, tenant_id, (handle) => countDecisions(handle, store_ids)),
  ])
  return { stores, memories, decisions }
}

const wholeOf = async (kernel: Kernel, tenant_id: string): Promise<TenantTotals> => ({
  certificates: await countRows(kernel.db, tenant_id, countCertificates),
  ...(await kernel.db.read(tenant_id, async (db) => ({
    log_size: await logSize(db),
    usage: await loadUsage(db, calendarMonth(kernel.clock.now(), 0).period),
  }))),
})

function total(all: readonly (Counts & TenantTotals)[]): Counts & TenantTotals {
  const sum = (pick: (numbers: Counts & TenantTotals) => number) =>
    all.reduce((soFar, numbers) => soFar + pick(numbers), 0)
  return {
    stores: sum((n) => n.stores),
    memories: sum((n) => n.memories),
    decisions: sum((n) => n.decisions),
    certificates: sum((n) => n.certificates),
    log_size: sum((n) => n.log_size),
    usage: addUsages(all.map((n) => n.usage)),
  }
}

function show(kernel: Kernel, { stores, memories, decisions }: Counts, whole: TenantTotals | null) {
  return {
    status: 'ok' as const,
    version: kernel.settings.version,
    uptime_seconds: uptimeSeconds(),
    started_at: startedAt(),
    stores: { active: stores },
    memories,
    decisions,
    certificates: whole?.certificates ?? null,
    log_size: whole?.log_size ?? null,
    usage_this_month: whole?.usage ?? null,
    metrics: {
      available: true,
      memory_operations: whole && memoryOperations(whole.usage),
      decisions_logged: decisions,
      erasure_certificates: whole?.certificates ?? null,
    },
  }
}

const memoryOperations = ({ operations }: Usage): number =>
  Object.entries(operations)
    .filter(([id]) => id.startsWith('memory.'))
    .reduce((soFar, [, count]) => soFar + count, 0)

function processNumbers(kernel: Kernel) {
  const { heapUsed, rss } = process.memoryUsage()
  const { engine, commits, units, queued } = kernel.db.stats()
  return { rss_bytes: rss, heap_used_bytes: heapUsed, engine, commits, units, queued }
}

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
    const [database, storage, keyring, log] = await Promise.all([
      check(kernel, 'database', () => kernel.db.read(PLATFORM, (db) => findTenant(db, PLATFORM))),
      probeStorage(kernel),
      check(kernel, 'keyring', () => kernel.keyring.listTenants()),
      check(kernel, 'log', async () => {
        kernel.keyring.signer('checkpoint')
        return kernel.db.read(PLATFORM, logSize)
      }),
    ])
    const clock = ahead_s > 0 ? ('ahead' as const) : ('ok' as const)
    const checks = { database, storage, keyring, log, clock }
    if (checks.storage === 'full')
      return call.refuse('storage_full', undefined, { members: { checks }, retry_after_s: 30 })
    const failing = Object.values(checks).includes('failing')
    if (failing)
      return call.refuse('unavailable', 'a check is failing', {
        members: { checks },
        retry_after_s: 5,
      })
    // Reported without failing readiness, because the service works with such a clock.
    const clock_ahead = ahead_s > 0 ? { seconds: ahead_s, advice: CLOCK_ADVICE } : null
    return { status: 'ok', checks, clock_ahead, uptime_seconds: uptimeSeconds() }
  },
}

/** Running checks by name, shared so that probes of a hanging database do not use up its pool. */
const checksUnderWay = perKernel((): Partial<Record<string, Promise<string>>> => ({}))

// The reply is public, so the reason is only logged.
async function check(
  kernel: Kernel,
  name: string,
  probe: () => Promise<unknown>,
): Promise<'ok' | 'failing'> {
  const { [name]: running } = checksUnderWay(kernel)
  const state =
    running ??
    probe()
      .then(() => 'ok')
      .catch((error: unknown) => (error instanceof Error ? error.name : 'unknown'))
      .finally(() => {
        delete checksUnderWay(kernel)[name]
      })
  checksUnderWay(kernel)[name] = state
  const reason = await waitAtMost(state, PROBE_WAIT_MS, () => 'no_answer')
  if (reason === 'ok') return 'ok'
  kernel.logger.error('readiness.failing', { check: name, reason })
  return 'failing'
}

export const monitoringHandlers: HandlersOf<typeof monitoring> = { stats }

/** The least interval between readings; scrapes in between share one result. */
const EVERY_MS = 5_000
/** The largest share of time that readings may take, however many tenants there are. */
const SHARE_MAX = 0.05
/** Tenants per chunk; other requests run between chunks. */
const CHUNK = 50
const SECOND_US = 1_000_000

interface StoredNumbers {
  readonly approvals_pending: number
  readonly approval_oldest_s: number
  /** Undefined if none is pending. */
  readonly approval_expires_s: number | undefined
  readonly overdue: number
  readonly log_size: number
  readonly checkpoint_age_s: number
  readonly stores: number
}

/** The last reading. Tests reset `again_ms` to get the next one at once. */
export const readings = perKernel(() => ({
  again_ms: Number.NEGATIVE_INFINITY,
  numbers: Promise.resolve<StoredNumbers | null>(null),
}))

/** Resolves to `null` if the database did not answer. */
function storedNumbers(kernel: Kernel): Promise<StoredNumbers | null> {
  const last = readings(kernel)
  const begun_ms = performance.now()
  if (begun_ms < last.again_ms) return last.numbers
  // Prevents a second reading while this one runs.
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
  // In a shared database, one chunk takes few round trips for the queries of all tenants.
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

/** The time at which a log entry was appended. */
function timeOf(record: string): number {
  const { created_at }: { created_at: string } = JSON.parse(record)
  const time_us = parseTime(created_at)
  assert(time_us !== null, 'an entry of the log has a time')
  return time_us
}

/** Never rejects. A value that cannot be read now has no sample. */
export async function renderMetrics(kernel: Kernel, epoch_seconds: number): Promise<string> {
  const reading = waitAtMost(storedNumbers(kernel), PROBE_WAIT_MS, () => null)
  const [stored, storage] = await Promise.all([reading, probeStorage(kernel)])
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

const MARK = 'readiness'
/** The least interval between probes, so that a flood of requests is no flood of writes. */
const PROBE_EVERY_MS = 1_000
/** With less free space, the keyring's next write may fail although this one succeeded. */
const FREE_BYTES_MIN = 1024 * 1024

/** The wait for a hanging database, shorter than the timeout of a scrape. */
const PROBE_WAIT_MS = 3_000

const lastProbes = perKernel(() => ({
  again_ms: Number.NEGATIVE_INFINITY,
  state: Promise.resolve<Awaited<ReturnType<typeof probe>>>('ok'),
}))

/** Never rejects. The reason of a failure is logged. */
function probeStorage(kernel: Kernel): ReturnType<typeof probe> {
  const last = lastProbes(kernel)
  const begun_ms = performance.now()
  if (begun_ms < last.again_ms) return last.state
  // Prevents a second probe while this one runs.
  last.again_ms = Number.POSITIVE_INFINITY
  const ended = probe(kernel).finally(() => {
    last.again_ms = begun_ms + PROBE_EVERY_MS
  })
  last.state = waitAtMost(ended, PROBE_WAIT_MS, () => 'failing')
  return last.state
}

async function probe(kernel: Kernel): Promise<'ok' | 'full' | 'failing'> {
  try {
    const holder = kernel.ids.hex(8)
    const until_us = kernel.clock.now()
    await kernel.db.transact(PLATFORM, (tx) => saveMark(tx, { name: MARK, holder, until_us }))
    const found = await kernel.db.read(PLATFORM, (db) => findMark(db, MARK))
    // In a shared database, another process may have overwritten the row since.
    const stored = kernel.db.shared ? found !== null : found === holder
    if (!stored) throw new Error('what was written is not what is read')
    await takeFileDescriptor()
    return (await hasSpace(kernel)) ? 'ok' : 'full'
  } catch (error) {
    const state = stateOf(error)
    const reason = error instanceof Error ? error.name : 'unknown'
    kernel.logger.error('readiness.failing', { check: 'storage', state, reason })
    return state
  }
}

/** Fails if no file descriptor is free, because files loaded on first use need one. */
async function takeFileDescriptor(): Promise<void> {
  await (await open(process.execPath)).close()
}

/** SQLite reuses old parts of its WAL even when the file system has no room for the keyring. */
async function hasSpace({ db: { source } }: Kernel): Promise<boolean> {
  if (source.engine !== 'sqlite') return true
  const { bfree, bsize } = await statfs(source.path)
  return bfree * bsize >= FREE_BYTES_MIN
}

function stateOf(error: unknown): 'full' | 'failing' {
  const full = error instanceof Refusal && error.code === 'storage_full'
  return full || storageFault(error) === 'full' ? 'full' : 'failing'
}
