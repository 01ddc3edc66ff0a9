// Summarises a search: counts by store, what is under legal hold, and the decisions that used it.

import type { TextKind } from '@custos/contract'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { refuseHeldDecision } from '../decisions/index.ts'
import { loadHeldStores } from '../memory/index.ts'
import type { SearchResult } from './search.ts'
import { digestOf, itemOfDecision, itemOfFact, itemOfText } from './show.ts'
import type { SubjectQuery } from './subject-query.ts'
import { listDecisionsUsing } from './subjects.sql.ts'

interface SubjectSummary {
  readonly found: {
    readonly facts: number
    readonly superseded_facts: number
    readonly decisions_using: number
    readonly decisions_naming: number
    readonly texts: number
    readonly held: number
  }
  readonly stores: readonly {
    readonly store_id: string
    readonly facts: number
    readonly held: number
  }[]
  /** Counts of other records by kind. */
  readonly kinds: readonly {
    readonly kind: TextKind
    readonly texts: number
    readonly held: number
  }[]
  /** All items of the request, in list order. */
  readonly items: readonly string[]
  readonly digest: string
  /** Seqs of decisions that used one of the memories. */
  readonly using_seqs: ReadonlySet<number>
}

/** What a request searches for, what was found, and the summary. */
export interface SubjectFindings {
  readonly query: SubjectQuery
  readonly found: SearchResult
  readonly summary: SubjectSummary
}

const REFS_AT_ONCE = 500

export async function summarizeSearch(
  kernel: Kernel,
  tenant_id: string,
  found: SearchResult,
): Promise<SubjectSummary> {
  const { facts, naming, texts } = found
  const held = await kernel.db.read(tenant_id, (db) => loadHeldStores(db, kernel.clock.now()))
  const using_seqs = await listUsingSeqs(kernel, tenant_id, found)
  const stores = [...Map.groupBy(facts, (fact) => fact.store_id)]
    .map(([store_id, some]) => ({
      store_id,
      facts: some.length,
      held: held.has(store_id) ? some.length : 0,
    }))
    .sort((a, b) => (a.store_id < b.store_id ? -1 : 1))
  const isHeld = (text: (typeof texts)[number]): boolean =>
    text.held || (text.store_id !== null && held.has(text.store_id))
  const kinds = [...Map.groupBy(texts, ({ kind }) => kind)].map(([kind, some]) => ({
    kind,
    texts: some.length,
    held: some.filter(isHeld).length,
  }))
  const heldTexts = texts.filter(isHeld).length
  const heldDecisions = held.size === 0 ? 0 : await countHeld(kernel, tenant_id, found)
  const items = [
    ...facts.map(({ ref }) => itemOfFact(ref)),
    ...naming.map(({ decision_id }) => itemOfDecision(decision_id)),
    ...texts.map(itemOfText),
  ]
  return {
    found: {
      facts: facts.length,
      superseded_facts: facts.filter(({ superseded }) => superseded).length,
      decisions_using: using_seqs.size,
      decisions_naming: naming.length,
      texts: texts.length,
      held: stores.reduce((sum, store) => sum + store.held, 0) + heldDecisions + heldTexts,
    },
    stores,
    kinds,
    items,
    digest: digestOf(items),
    using_seqs,
  }
}

async function listUsingSeqs(
  kernel: Kernel,
  tenant_id: string,
  { facts }: SearchResult,
): Promise<Set<number>> {
  const seqs = new Set<number>()
  for (let at = 0; at < facts.length; at += REFS_AT_ONCE) {
    const refs = facts.slice(at, at + REFS_AT_ONCE).map(({ ref }) => ref)
    const some = await kernel.db.read(tenant_id, (db) => listDecisionsUsing(db, refs))
    for (const seq of some) seqs.add(seq)
  }
  return seqs
}

async function countHeld(
  kernel: Kernel,
  tenant_id: string,
  { naming }: SearchResult,
): Promise<number> {
  let held = 0
  for (const { decision_id } of naming)
    if (await kernel.db.read(tenant_id, (db) => isDecisionHeld(kernel, db, decision_id))) held += 1
  return held
}

async function isDecisionHeld(kernel: Kernel, db: TenantDb, decision_id: string): Promise<boolean> {
  try {
    await refuseHeldDecision(db, decision_id, kernel.clock.now())
    return false
  } catch (error) {
    if (error instanceof Refusal && error.code === 'legal_hold') return true
    throw error
  }
}
