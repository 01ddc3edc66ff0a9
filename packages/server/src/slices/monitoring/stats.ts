// monitoring.stats: a tenant's own numbers, or for an operator all of them and the process.

import type { monitoring as contract, Usage } from '@custos/contract'
import type { Handler } from '../../platform/call.ts'
import { listTenantIds } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { addUsages, calendarMonth, loadUsage } from '../tenants/index.ts'
import { startedAt, uptimeSeconds } from './process-facts.ts'
import { countCertificates, countDecisions, countFacts, countStores, logSize } from './stats.sql.ts'

interface Numbers {
  readonly stores: number
  readonly memories: number
  readonly decisions: number
  readonly certificates: number
  readonly log_size: number
  readonly usage: Usage
}

export const stats: Handler<typeof contract.stats> = async (call) => {
  const { kernel, principal } = call
  if (principal.kind !== 'operator') {
    const numbers = await numbersOf(kernel, call.tenant_id)
    return { ...show(kernel, numbers), tenant_id: call.tenant_id }
  }
  const tenantIds = await kernel.db.read(PLATFORM, listTenantIds)
  const all: Numbers[] = []
  for (const tenant_id of tenantIds) all.push(await numbersOf(kernel, tenant_id))
  return {
    ...show(kernel, total(all)),
    tenant_id: null,
    tenants: tenantIds.length,
    process: processNumbers(kernel),
  }
}

const numbersOf = (kernel: Kernel, tenant_id: string): Promise<Numbers> =>
  kernel.db.read(tenant_id, async (db: TenantDb) => ({
    stores: await countStores(db),
    memories: await countFacts(db),
    decisions: await countDecisions(db),
    certificates: await countCertificates(db),
    log_size: await logSize(db),
    usage: await loadUsage(db, calendarMonth(kernel.clock.now(), 0).period),
  }))

function total(all: readonly Numbers[]): Numbers {
  const sum = (pick: (numbers: Numbers) => number) =>
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

function show(kernel: Kernel, { stores, usage, ...counts }: Numbers) {
  const memory = Object.entries(usage.operations).filter(([id]) => id.startsWith('memory.'))
  return {
    status: 'ok' as const,
    version: kernel.settings.version,
    uptime_seconds: uptimeSeconds(),
    started_at: startedAt(),
    stores: { active: stores },
    ...counts,
    usage_this_month: usage,
    metrics: {
      available: true,
      memory_operations: memory.reduce((soFar, [, count]) => soFar + count, 0),
      decisions_logged: counts.decisions,
      erasure_certificates: counts.certificates,
    },
  }
}

function processNumbers(kernel: Kernel) {
  const { heapUsed, rss } = process.memoryUsage()
  const { engine, commits, units, queued } = kernel.db.stats()
  return { rss_bytes: rss, heap_used_bytes: heapUsed, engine, commits, units, queued }
}
