// monitoring.stats: a tenant's own numbers, or for an operator all of them and the process.

import type { monitoring as contract, Usage } from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import { listServedIds } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { Handler } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { addUsages, calendarMonth, loadUsage } from '../tenants/index.ts'
import { countCertificates, countDecisions, countFacts, countStores, logSize } from './stats.sql.ts'

/** Seconds with one decimal. */
export const uptimeSeconds = (): number => Math.floor(performance.now() / 100) / 10

export const startedAt = (): string => formatTime(Math.floor(performance.timeOrigin * 1000))

/** What can be told apart by store. */
interface Counts {
  readonly stores: number
  readonly memories: number
  readonly decisions: number
}

/** What belongs to a tenant as a whole. */
interface TenantTotals {
  readonly certificates: number
  readonly log_size: number
  readonly usage: Usage
}

export const stats: Handler<typeof contract.stats> = async (call) => {
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

const countsOf = (kernel: Kernel, tenant_id: string, store_ids: readonly string[]) =>
  kernel.db.read(
    tenant_id,
    async (db): Promise<Counts> => ({
      stores: await countStores(db, store_ids),
      memories: await countFacts(db, store_ids),
      decisions: await countDecisions(db, store_ids),
    }),
  )

const wholeOf = (kernel: Kernel, tenant_id: string) =>
  kernel.db.read(
    tenant_id,
    async (db): Promise<TenantTotals> => ({
      certificates: await countCertificates(db),
      log_size: await logSize(db),
      usage: await loadUsage(db, calendarMonth(kernel.clock.now(), 0).period),
    }),
  )

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
