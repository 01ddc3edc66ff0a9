// Counts governed decisions again, from the audit log, which is what they are.

import { parseTime } from '../../../platform/clock.ts'
import type { TenantDb, Tx } from '../../../platform/db/tenant-db.ts'
import { deleteCounters } from './quotas.sql.ts'
import { listUsageOf, setUsage } from './usage.sql.ts'
import { calendarMonth, GOVERNED_KINDS, loadGoverned } from './usage.ts'

type GovernedCounts = Awaited<ReturnType<typeof loadGoverned>>
type GovernedKind = keyof GovernedCounts

/** What an entry of the audit log says, as far as it is counted. */
interface CountedEntry {
  readonly created_at?: unknown
  readonly event_type?: unknown
  readonly payload?: Readonly<Record<string, unknown>>
}

/** The kind of governed decision that an entry is; null: it is none. */
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

/** Sets every counter to what the log says, in the unit that read the log; what was different. */
export async function correctUsage(tx: Tx, log: GovernedLog): Promise<CorrectedCount[]> {
  // The number of memories is counted again when it is next needed.
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

/** The counters of all months that are more than the log has entries; see `correctUsage`. */
export async function findExcess(db: TenantDb, log: GovernedLog): Promise<GovernedKind[]> {
  const operations = GOVERNED_KINDS.map((kind) => `g/${kind}`)
  const rows = await listUsageOf(db, operations)
  const sums = Map.groupBy(rows, ({ operation }) => operation)
  return GOVERNED_KINDS.filter((kind) => {
    const counted = (sums.get(`g/${kind}`) ?? []).reduce((sum, { count }) => sum + count, 0)
    // Those of versions that did not count are on the log alone.
    return counted > log.total(kind)
  })
}
