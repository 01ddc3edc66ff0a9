// A store as it was on record at a log position: what a decision's replay shows.

import { formatTime } from '../../platform/clock.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { wireTenant } from './namespace.ts'
import { openFacts } from './opened-fact.ts'
import { listStateAt } from './validity.sql.ts'

export interface MemoryState {
  readonly ref: number
  /** Null when the fact has been erased since: only its tombstone is shown. */
  readonly content: string | null
  readonly written_at: string | null
  readonly tenant_id: string | null
  readonly valid_from: string
  readonly valid_until: string | null
  readonly erased: boolean
}

export interface StatePage {
  readonly memories: MemoryState[]
  /** The ref to go on after; null at the end. */
  readonly next: number | null
}

export interface StateRequest {
  readonly store_id: string
  /** Log position: what was on record then. */
  readonly seq: number
  /** What was valid then. */
  readonly at_us: number
  readonly limit: number
  /** The ref to go on after. */
  readonly after?: number
}

/** Facts of a store on record and current at `seq`, in the order of refs. */
export async function memoryStateAt(
  kernel: Kernel,
  db: TenantDb,
  { store_id, seq, at_us, limit, after = -1 }: StateRequest,
): Promise<StatePage> {
  const versions = await listStateAt(db, store_id, { seq, at_us, after, limit: limit + 1 })
  const shown = versions.slice(0, limit)
  const facts = await openFacts(
    kernel,
    db,
    shown.map(({ ref }) => ref),
  )
  const memories = shown.map(({ ref, valid_from_us, valid_until_us }): MemoryState => {
    const fact = facts.get(ref)
    return {
      ref,
      content: fact?.content ?? null,
      written_at: fact ? formatTime(fact.written_us) : null,
      tenant_id: fact ? wireTenant(db.tenant_id, fact.namespace) : null,
      valid_from: formatTime(valid_from_us),
      valid_until: valid_until_us === null ? null : formatTime(valid_until_us),
      erased: fact === undefined,
    }
  })
  const last = shown.at(-1)
  return { memories, next: versions.length > limit && last ? last.ref : null }
}
