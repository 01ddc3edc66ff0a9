// Searches stores and decisions for a person. Opens a few sealed rows at a time and keeps none.

import { type JsonObject, limits } from '@custos/contract'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { listTextSources } from '../../platform/kernel/text-source.ts'
import { Refusal } from '../../platform/refusal.ts'
import { yieldBetweenChunks } from '../../platform/yield-between-chunks.ts'
import {
  listDecisions,
  openRows,
  ownTexts,
  retryWhileErasing,
  textsIn,
} from '../decisions/index.ts'
import { findHead } from '../gcrumbs/index.ts'
import {
  type FactHead,
  findFactHeads,
  listFactsAfter,
  listFactsSince,
  type OpenedFact,
  openStoredFacts,
  placeAfter,
  type SealPlace,
} from '../memory/index.ts'
import type { Matcher } from './matcher.ts'
import type { TextItem } from './show.ts'
import { listStoreIds } from './subjects.sql.ts'

/** What to search for and where. */
export interface SearchOptions {
  readonly matcher: Matcher
  /** `null` for all stores. */
  readonly store_ids: readonly string[] | null
  /** Undefined for every namespace; `null` for the root. */
  readonly namespace: string | null | undefined
  readonly include_decisions: boolean
  /** Whether to search records that are neither memories nor decisions. */
  readonly include_records: boolean
  /** Searches only what was written after this log position; -1 for everything. */
  readonly since_seq: number
}

interface FoundFact {
  readonly ref: number
  readonly store_id: string
  readonly superseded: boolean
}

interface FoundDecision {
  readonly decision_id: string
  readonly seq: number
  readonly session_id: string | null
}

interface FoundText extends TextItem {
  /** The store that the record concerns; `null` if none. */
  readonly store_id: string | null
  /** True for a rule in force, which is kept. */
  readonly held: boolean
}

export interface SearchResult {
  /** Ordered by ref. */
  readonly facts: readonly FoundFact[]
  /** Decisions whose own text matches, in log order. */
  readonly naming: readonly FoundDecision[]
  /** Other records, with kind and id. */
  readonly texts: readonly FoundText[]
  /** The last log position before the search; everything up to it was searched. */
  readonly log_seq: number
  readonly scanned: { readonly facts: number; readonly decisions: number; readonly texts: number }
}

const FACTS_AT_ONCE = 200
const DECISIONS_AT_ONCE = 50
const HEADS_AT_ONCE = 200
const BEFORE_ALL: SealPlace = { sealed_seq: -1, ref: -1 }

/** Maximum number of items of one request; tests set less. */
export const itemLimit: (kernel: Kernel) => { items_max: number } = perKernel(() => ({
  items_max: limits.subject_items,
}))

/** Refuses `rejected` if more is found than one request may have. */
export async function searchAll(
  kernel: Kernel,
  tenant_id: string,
  search: SearchOptions,
): Promise<SearchResult> {
  const size = (await kernel.db.read(tenant_id, findHead))?.size ?? 0
  const facts = new Map<number, FoundFact>()
  let scannedFacts = 0
  const stores = search.store_ids ?? (await kernel.db.read(tenant_id, (db) => listStoreIds(db)))
  for (const store_id of stores)
    for await (const { fits, scanned } of scanStore(kernel, tenant_id, store_id, search)) {
      scannedFacts += scanned
      for (const fact of fits) facts.set(fact.ref, toFoundFact(fact))
      requireItemLimit(kernel, facts.size)
    }
  await addVersions(kernel, tenant_id, facts)
  const { naming, scanned } = await scanDecisions(kernel, tenant_id, search)
  requireItemLimit(kernel, facts.size + naming.length)
  const found = await scanTexts(kernel, tenant_id, search)
  requireItemLimit(kernel, facts.size + naming.length + found.texts.length)
  return {
    facts: [...facts.values()].sort((a, b) => a.ref - b.ref),
    naming,
    texts: found.texts,
    log_seq: size - 1,
    scanned: { facts: scannedFacts, decisions: scanned, texts: found.scanned },
  }
}

export function requireItemLimit(kernel: Kernel, count: number): void {
  const { items_max } = itemLimit(kernel)
  if (count > items_max)
    throw new Refusal(
      'rejected',
      `more than ${items_max} memories and records fit: narrow it by store_ids`,
    )
}

const toFoundFact = ({ ref, store_id, superseded_by }: FactHead): FoundFact => ({
  ref,
  store_id,
  superseded: superseded_by !== null,
})

async function* scanStore(
  kernel: Kernel,
  tenant_id: string,
  store_id: string,
  { matcher, namespace, since_seq }: SearchOptions,
): AsyncGenerator<{ fits: FactHead[]; scanned: number }> {
  const pace = yieldBetweenChunks()
  const limit = FACTS_AT_ONCE
  for (let after = since_seq < 0 ? BEFORE_ALL : placeAfter(since_seq); ; ) {
    const at = after
    const rows = await kernel.db.read(tenant_id, (db) =>
      since_seq < 0
        ? listFactsAfter(db, { store_id }, { after: at.ref, limit })
        : listFactsSince(db, store_id, at, limit),
    )
    const seen = rows.filter((row) => namespace === undefined || row.namespace === namespace)
    const opened = await openStoredFacts(kernel, tenant_id, seen)
    const fits: FactHead[] = []
    for (const fact of opened) {
      if (matcher.ofFact(fact.content, searchedMetadata(fact), fact.namespace)) fits.push(fact)
      await pace()
    }
    yield { fits, scanned: opened.length }
    const last = rows.at(-1)
    if (!last || rows.length < limit) return
    after = last
  }
}

/** The metadata of a memory; for an item, its name and the members of its value. */
function searchedMetadata({ content, metadata, document: { item } }: OpenedFact): JsonObject {
  return item ? { ...JSON.parse(content), item: [...item.namespace, item.key] } : metadata
}

/** Adds earlier and later versions of the found memories, whatever their content. */
async function addVersions(
  kernel: Kernel,
  tenant_id: string,
  facts: Map<number, FoundFact>,
): Promise<void> {
  const pace = yieldBetweenChunks()
  let unread = [...facts.keys()]
  while (unread.length > 0) {
    const next: number[] = []
    for (let at = 0; at < unread.length; at += HEADS_AT_ONCE) {
      const refs = unread.slice(at, at + HEADS_AT_ONCE)
      for (const head of await kernel.db.read(tenant_id, (db) => findFactHeads(db, refs))) {
        if (!facts.has(head.ref)) facts.set(head.ref, toFoundFact(head))
        for (const ref of listAdjacentVersions(head)) if (!facts.has(ref)) next.push(ref)
      }
      await pace()
    }
    requireItemLimit(kernel, facts.size)
    unread = [...new Set(next)]
  }
}

/** The refs of the preceding and the following version. */
export const listAdjacentVersions = ({
  predecessor,
  superseded_by,
}: Pick<FactHead, 'predecessor' | 'superseded_by'>): number[] =>
  [predecessor, superseded_by].filter((ref) => ref !== null)

async function scanDecisions(
  kernel: Kernel,
  tenant_id: string,
  { matcher, store_ids, namespace, include_decisions, since_seq }: SearchOptions,
): Promise<{ naming: FoundDecision[]; scanned: number }> {
  const { ofTexts } = matcher
  const naming: FoundDecision[] = []
  // Decisions belong to no namespace; those of other namespaces would be redacted too.
  if (!include_decisions || !ofTexts || namespace !== undefined) return { naming, scanned: 0 }
  const pace = yieldBetweenChunks()
  let scanned = 0
  const filter = store_ids === null ? {} : { store_ids }
  for (let after_seq = since_seq; ; ) {
    const at = after_seq
    const opened = await retryWhileErasing(async () => {
      const rows = await kernel.db.read(tenant_id, (db) =>
        listDecisions(db, { ...filter, after_seq: at }, { order: 'asc', limit: DECISIONS_AT_ONCE }),
      )
      return openRows(kernel, tenant_id, rows)
    })
    for (const decision of opened) {
      const { decision_id, row } = decision
      const { session_id } = decision.document
      if (ofTexts({ texts: ownTexts(decision), session_id }))
        naming.push({ decision_id, seq: row.seq, session_id })
      await pace()
    }
    scanned += opened.length
    requireItemLimit(kernel, naming.length)
    const last = opened.at(-1)
    if (!last || opened.length < DECISIONS_AT_ONCE) return { naming, scanned }
    after_seq = last.row.seq
  }
}

/** Scans all records each time: they have no log position to start from. */
async function scanTexts(
  kernel: Kernel,
  tenant_id: string,
  { matcher, store_ids, namespace, include_records }: SearchOptions,
): Promise<{ texts: FoundText[]; scanned: number }> {
  const { ofTexts } = matcher
  const texts: FoundText[] = []
  if (!include_records || !ofTexts) return { texts, scanned: 0 }
  // Other records belong to no namespace.
  const sources = listTextSources(kernel).filter(
    ({ namespaced }) => namespace === undefined || namespaced,
  )
  const pace = yieldBetweenChunks()
  let scanned = 0
  for (const { kind, scan } of sources)
    for await (const batch of scan(kernel, tenant_id))
      for (const { id, store_id, held, content, namespace: limit } of batch) {
        if (namespace !== undefined && limit !== namespace) continue
        if (store_ids !== null && (store_id === null || !store_ids.includes(store_id))) continue
        scanned += 1
        if (ofTexts({ texts: [...textsIn(content)], session_id: null }))
          texts.push({ kind, id, store_id, held })
        requireItemLimit(kernel, texts.length)
        await pace()
      }
  return { texts, scanned }
}
