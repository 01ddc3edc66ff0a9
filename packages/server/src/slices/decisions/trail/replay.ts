// GET /v1/decisions/{decision_id}/replay: compares the decision with the memory known at its time.

import type { DecisionReplay, decisions, UsedMemory } from '@custos/contract'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import type { Handler } from '../../../platform/kernel/call.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import {
  findExpired,
  findStore,
  listMemoryStates,
  listRefsWithin,
  loadFactStates,
} from '../../memory/index.ts'
import { type DecisionRow, listSuperseded } from './decisions.sql.ts'
import { openVisible, type ResolvedDecision, retryWhileErasing } from './open.ts'
import { findVisibleRow, showResolved } from './reads.ts'

const MEMORIES_MAX = 1_000

export const replay: Handler<typeof decisions.replay> = async (call, { params }) => {
  const replayed = await retryWhileErasing(() =>
    call.read(async (db) => {
      const row = await findVisibleRow(db, call.principal, params.decision_id)
      const stores = call.principal.allowed_stores
      return row && replayRow(call.kernel, db, row, { memory: true, stores })
    }),
  )
  return replayed ?? call.refuse('decision_not_found')
}

/**
 * Everything on the snapshot of `db`; without `memory`, the memory state is left out.
 * @param options.stores that the caller may read; empty: every store. Other refs are mere labels.
 */
export async function replayRow(
  kernel: Kernel,
  db: TenantDb,
  row: DecisionRow,
  { memory, stores = [] }: { memory: boolean; stores?: readonly string[] } = { memory: true },
): Promise<DecisionReplay | undefined> {
  const [opened] = await openVisible(kernel, db, [row])
  if (!opened) return undefined
  const { memories, truncated } = memory ? await loadMemoryThen(kernel, db, row) : NO_MEMORY
  const facts = await filterVisible(db, stores, await loadStates(db, opened, kernel.clock.now()))
  return {
    decision: showResolved(db.tenant_id, opened),
    memory_state: memories,
    memory_state_truncated: truncated,
    facts_used: listFactsUsed(opened, facts),
    facts_since_deleted: listErasedSince(opened, facts),
    memory_seq: row.memory_seq,
    memory_state_at_decision: memories,
  }
}

const NO_MEMORY = { memories: [], truncated: false }

// `store_id` is a caller's label, which names memory only if the tenant has such a store.
async function loadMemoryThen(kernel: Kernel, db: TenantDb, row: DecisionRow) {
  const { store_id, memory_seq } = row
  if (!(await findStore(db, store_id))) return NO_MEMORY
  const { memories, next } = await listMemoryStates(kernel, db, {
    store_id,
    seq: memory_seq,
    limit: MEMORIES_MAX,
    at_us: row.logged_us,
  })
  return { memories, truncated: next !== null }
}

type FactStates = ReadonlyMap<number, UsedMemory['state']>

/** Refs that were not memories when the decision was logged never become memories. */
async function loadStates(
  db: TenantDb,
  { document: { known, gone } }: ResolvedDecision,
  now_us: number,
): Promise<FactStates> {
  const now = known.length === 0 ? new Map() : await loadFactStates(db, known)
  const superseded = new Set(known.length === 0 ? [] : await listSuperseded(db, known))
  const expired = await findExpired(db, known, now_us)
  const states = new Map<number, UsedMemory['state']>()
  for (const ref of gone) states.set(ref, 'erased')
  for (const ref of known) {
    if (now.get(ref) !== 'live') states.set(ref, 'erased')
    else if (expired.has(ref)) states.set(ref, 'expired')
    else states.set(ref, superseded.has(ref) ? 'superseded' : 'live')
  }
  return states
}

/** Drops refs of other stores, which are only labels, like refs that were never memories. */
async function filterVisible(
  db: TenantDb,
  stores: readonly string[],
  states: FactStates,
): Promise<FactStates> {
  if (stores.length === 0 || states.size === 0) return states
  const visible = new Set(await listRefsWithin(db, [...states.keys()], stores))
  return new Map([...states].filter(([ref]) => visible.has(ref)))
}

const listFactsUsed = (
  { document, contents }: ResolvedDecision,
  states: FactStates,
): UsedMemory[] =>
  document.refs.map((ref, i) => ({
    ref,
    content: contents[i] ?? null,
    score: document.scores[i] ?? null,
    state: states.get(ref) ?? 'unknown',
  }))

const listErasedSince = ({ document }: ResolvedDecision, states: FactStates): number[] => {
  const known = new Set(document.known)
  const refs = [...new Set(document.refs)]
  return refs.filter((ref) => known.has(ref) && states.get(ref) === 'erased')
}
