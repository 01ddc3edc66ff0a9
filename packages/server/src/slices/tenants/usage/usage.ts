// Usage: writes are counted with their commit; reads are counted in memory and flushed every few
// seconds.

import type { Usage } from '@custos/contract'
import { formatTime, parseTime } from '../../../platform/clock.ts'
import type { SharedSlot, TenantDb, Tx } from '../../../platform/db/tenant-db.ts'
import { type Kernel, perKernel } from '../../../platform/kernel/kernel.ts'
import {
  addUsage,
  deleteCounters,
  findUsage,
  listUsage,
  listUsageOf,
  setUsage,
  type UsageRow,
} from './usage.sql.ts'

const FLUSH_MS = 2_000

// Prefix for how a call counted: an operation may write on one path and only read on another.
const WRITE = 'w/'
const READ = 'r/'
/** Not an operation: counts what operations and jobs erased. */
const ERASED = 'e/erased'
/** Prefix, not an operation: counts governed decisions by kind. */
const GOVERNED = 'g/'

const slot: SharedSlot<ReadonlyMap<string, { readonly count: number; readonly bytes: number }>> = {
  name: 'usage',
  async flush(tx, counts) {
    const period = monthOf(tx.now())
    for (const [operation, { count, bytes }] of counts)
      tx.needs(addUsage(tx, { period, operation, count, bytes }))
  },
}

// Operations that count themselves, so that the HTTP layer does not count them again as reads.
const metered = new Set<string>()

/** Counts one writing operation in its unit of work, so that it counts exactly if it commits. */
export function meter(tx: Tx, operation: string, bytes = 0): void {
  metered.add(operation)
  add(tx, WRITE + operation, { count: 1, bytes })
}

/** Counts a memory or decision that was erased, in the unit of work of its certificate. */
export const meterErasure = (tx: Tx): void => add(tx, ERASED, { count: 1, bytes: 0 })

/** Governed decisions: those that an agent logged, and judgments of an agent on record. */
const GOVERNED_KINDS = ['logged', 'certify', 'reject'] as const

/** Counts a governed decision in the unit of work of its log entry. */
export const meterGoverned = (tx: Tx, kind: (typeof GOVERNED_KINDS)[number]): void =>
  add(tx, GOVERNED + kind, { count: 1, bytes: 0 })

/** The governed decisions of a month. In a unit of work, includes those of its commit. */
export async function countGoverned(db: TenantDb, period: string): Promise<number> {
  const counts = await loadGoverned(db, period)
  return counts.logged + counts.certify + counts.reject + pendingGoverned(db)
}

/** All governed decisions ever. In a unit of work, includes those of its commit. */
export async function countGovernedEver(db: TenantDb): Promise<number> {
  const rows = await listUsageOf(
    db,
    GOVERNED_KINDS.map((kind) => GOVERNED + kind),
  )
  return rows.reduce((sum, { count }) => sum + count, 0) + pendingGoverned(db)
}

/** Governed decisions of this unit and of earlier units in its commit. */
export function pendingGoverned(db: TenantDb | Tx): number {
  const pending = 'shared' in db ? db.shared.get(slot) : undefined
  return GOVERNED_KINDS.reduce((sum, kind) => sum + (pending?.get(GOVERNED + kind)?.count ?? 0), 0)
}

/** The governed decisions of a month by kind. */
export async function loadGoverned(db: TenantDb, period: string) {
  const counts = { logged: 0, certify: 0, reject: 0 }
  for (const kind of GOVERNED_KINDS) counts[kind] = await findUsage(db, period, GOVERNED + kind)
  return counts
}

function add(
  tx: Tx,
  operation: string,
  more: { readonly count: number; readonly bytes: number },
): void {
  const counts = new Map(tx.shared.get(slot))
  const known = counts.get(operation)
  counts.set(operation, {
    count: (known?.count ?? 0) + more.count,
    bytes: (known?.bytes ?? 0) + more.bytes,
  })
  tx.shared.set(slot, counts)
}

/** Counts reads since the last flush. A killed process loses those of the last few seconds. */
class ReadMeter {
  readonly #kernel: Kernel
  #counts = new Map<string, Map<string, number>>()
  #timer: ReturnType<typeof setInterval> | undefined

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  /** Counts one call, unless the operation meters its own units of work. */
  count(tenant_id: string, operation: string): void {
    if (metered.has(operation)) return
    let counts = this.#counts.get(tenant_id)
    if (!counts) {
      counts = new Map()
      this.#counts.set(tenant_id, counts)
    }
    counts.set(operation, (counts.get(operation) ?? 0) + 1)
  }

  /** Writes the counts, one unit of work per tenant. What cannot be written is kept for later. */
  async flush(): Promise<void> {
    const taken = this.#counts
    this.#counts = new Map()
    for (const [tenant_id, counts] of taken) {
      try {
        await this.#kernel.db.transact(tenant_id, async (tx) => {
          for (const [operation, count] of counts) add(tx, READ + operation, { count, bytes: 0 })
        })
      } catch {
        this.#putBack(tenant_id, counts)
      }
    }
  }

  start(): void {
    if (this.#timer) return
    this.#timer = setInterval(() => void this.flush(), FLUSH_MS)
    this.#timer.unref()
  }

  /** Stops the timer and flushes; call it before the database is closed. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#timer = undefined
    await this.flush()
  }

  #putBack(tenant_id: string, counts: ReadonlyMap<string, number>): void {
    this.#kernel.logger.warn('usage.flush_failed', { tenant_id })
    for (const [operation, count] of counts)
      for (let i = 0; i < count; i += 1) this.count(tenant_id, operation)
  }
}

export const readMeter = perKernel((kernel) => new ReadMeter(kernel))

/** Stops the background flushes and writes what is left. */
export const flushReadMeter = (kernel: Kernel): Promise<void> => readMeter(kernel).stop()

/** The usage of a tenant in a month. */
export async function loadUsage(db: TenantDb, period: string): Promise<Usage> {
  return summarize(await listUsage(db, period))
}

function summarize(rows: readonly UsageRow[]): Usage {
  const sum = {
    writes: 0,
    reads: 0,
    deletes: 0,
    supersedes: 0,
    total_bytes: 0,
    total_operations: 0,
  }
  const operations: Record<string, number> = {}
  for (const { operation: counted, count, bytes } of rows) {
    if (counted === ERASED) {
      sum.deletes += count
      continue
    }
    if (counted.startsWith(GOVERNED)) continue
    const operation = counted.slice(WRITE.length)
    sum[kindOf(counted, operation)] += count
    sum.total_bytes += bytes
    sum.total_operations += count
    operations[operation] = (operations[operation] ?? 0) + count
  }
  return { ...sum, operations }
}

function kindOf(counted: string, operation: string) {
  if (counted.startsWith(READ)) return 'reads'
  if (operation.endsWith('.supersede')) return 'supersedes'
  return 'writes'
}

/** Sums usages, for example those of all tenants. */
export function addUsages(all: readonly Usage[]): Usage {
  const { operations, ...sum } = summarize([])
  for (const usage of all) {
    sum.writes += usage.writes
    sum.reads += usage.reads
    sum.deletes += usage.deletes
    sum.supersedes += usage.supersedes
    sum.total_bytes += usage.total_bytes
    sum.total_operations += usage.total_operations
    for (const [operation, count] of Object.entries(usage.operations))
      operations[operation] = (operations[operation] ?? 0) + count
  }
  return { ...sum, operations }
}

/** The month (`2026-01`) of microseconds since the epoch, UTC. */
const monthOf = (us: number): string => formatTime(us).slice(0, 7)

/** Finds a month by `YYYY-MM` or by its name; a plan counts in calendar months. */
export function monthNamed(name: string, now_us: number) {
  if (name === 'current_month' || name === 'current_period') return calendarMonth(now_us, 0)
  if (name === 'previous_month') return calendarMonth(now_us, 1)
  // The schema has checked the form.
  return calendarMonth(parseTime(`${name}-01T00:00:00Z`) ?? now_us, 0)
}

/**
 * The UTC calendar month `back` months before the one that holds `us`. `end_at` is exclusive: the
 * first moment of the next month.
 */
export function calendarMonth(us: number, back: 0 | 1) {
  const year = Number(formatTime(us).slice(0, 4))
  const month = Number(formatTime(us).slice(5, 7)) - 1 - back
  const start_at = formatTime(Date.UTC(year, month, 1) * 1000)
  const end_at = formatTime(Date.UTC(year, month + 1, 1) * 1000)
  return { period: start_at.slice(0, 7), start_at, end_at }
}

type GovernedCounts = Awaited<ReturnType<typeof loadGoverned>>
type GovernedKind = keyof GovernedCounts

/** The members of an audit log entry that matter for counting. */
interface CountedEntry {
  readonly created_at?: unknown
  readonly event_type?: unknown
  readonly payload?: Readonly<Record<string, unknown>>
}

/** The kind of governed decision that an entry records; `null` if none. */
function governedKind({ event_type, payload = {} }: CountedEntry): GovernedKind | null {
  if (event_type === 'decision.logged') return 'logged'
  if (event_type !== 'cgr.decision_recorded') return null
  return GOVERNED_KINDS.find((kind) => kind === payload['decision']) ?? null
}

/** Governed decisions by month. */
export class GovernedLog {
  readonly #months = new Map<string, GovernedCounts>()

  add(entry: CountedEntry): void {
    const kind = governedKind(entry)
    const time = parseTime(String(entry.created_at))
    if (kind === null || time === null) return
    const { period } = calendarMonth(time, 0)
    const counts = this.#months.get(period) ?? { logged: 0, certify: 0, reject: 0 }
    this.#months.set(period, { ...counts, [kind]: counts[kind] + 1 })
  }

  months(): ReadonlyMap<string, GovernedCounts> {
    return this.#months
  }

  total(kind: GovernedKind): number {
    return [...this.#months.values()].reduce((sum, counts) => sum + counts[kind], 0)
  }
}

export interface CorrectedCount {
  readonly period: string
  readonly kind: GovernedKind
  readonly counted: number
  readonly on_log: number
}

/** Sets every counter to what the log says, in the unit that read the log; returns corrections. */
export async function correctUsage(tx: Tx, log: GovernedLog): Promise<CorrectedCount[]> {
  // The number of memories is counted again at its next use.
  await deleteCounters(tx)
  const corrected: CorrectedCount[] = []
  const periods = new Set([...log.months().keys(), ...(await listPeriods(tx))])
  for (const period of [...periods].sort()) {
    const counted = await loadGoverned(tx, period)
    const right = log.months().get(period) ?? { logged: 0, certify: 0, reject: 0 }
    for (const kind of GOVERNED_KINDS) {
      if (counted[kind] === right[kind]) continue
      await setUsage(tx, { period, operation: `g/${kind}`, count: right[kind], bytes: 0 })
      corrected.push({ period, kind, counted: counted[kind], on_log: right[kind] })
    }
  }
  return corrected
}

async function listPeriods(db: TenantDb): Promise<string[]> {
  const operations = GOVERNED_KINDS.map((kind) => `g/${kind}`)
  return (await listUsageOf(db, operations)).map(({ period }) => period)
}

/** Kinds whose counters, summed over all months, exceed the log; see `correctUsage`. */
export async function listOvercountedKinds(
  db: TenantDb,
  log: GovernedLog,
): Promise<GovernedKind[]> {
  const operations = GOVERNED_KINDS.map((kind) => `g/${kind}`)
  const rows = await listUsageOf(db, operations)
  const sums = Map.groupBy(rows, ({ operation }) => operation)
  return GOVERNED_KINDS.filter((kind) => {
    const counted = (sums.get(`g/${kind}`) ?? []).reduce((sum, { count }) => sum + count, 0)
    // A smaller count is valid: earlier versions did not count, so their entries are only on the
    // log.
    return counted > log.total(kind)
  })
}
