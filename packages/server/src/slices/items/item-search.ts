// Reads of items in one snapshot: by name, by namespace, by filter and by query.

import assert from 'node:assert/strict'
import { type Item, type ItemMatch, limits } from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import {
  answerRanked,
  digestName,
  findItemHead,
  findLatestVersion,
  findValidityAt,
  type ItemRow,
  listItemHeads,
  listNamespaceSamples,
  loadVisibleFacts,
  type OpenedFact,
  packWithinBudget,
} from '../memory/index.ts'
import { hasPrefix, matchesFilter } from './item-filter.ts'

/** Documents opened at once. */
const OPENED = 200

interface StoredVersion {
  readonly row: ItemRow
  readonly fact: OpenedFact
}

export function showItem({ row, fact }: StoredVersion): Item {
  const { item, expires_us, original_written_us } = fact.document
  assert(item, 'a version of an item has its name')
  return {
    namespace: [...item.namespace],
    key: item.key,
    // Written as the JSON of an object.
    value: JSON.parse(fact.content),
    ref: row.ref,
    created_at: formatTime(row.created_us),
    updated_at: formatTime(original_written_us ?? fact.written_us),
    expires_at: expires_us === undefined ? null : formatTime(expires_us),
  }
}

interface NameInStore {
  readonly store_id: string
  readonly namespace: readonly string[]
  readonly key: string
}

/**
 * The version of a name that is current, or was at log position `known_seq`; undefined: there is
 * none, or it has been erased since.
 */
export async function findVersion(
  kernel: Kernel,
  db: TenantDb,
  { store_id, namespace, key }: NameInStore,
  known_seq: number | null,
): Promise<StoredVersion | undefined> {
  const keys = await kernel.keyring.tenant(db.tenant_id)
  const { name_mac } = digestName(keys, store_id, { namespace: [...namespace], key })
  const name = { store_id, name_mac }
  const row =
    known_seq === null
      ? await findItemHead(db, name)
      : await findLatestVersion(db, { ...name, seq: known_seq })
  if (!row || (known_seq !== null && !(await wasCurrent(db, row.ref, known_seq)))) return undefined
  const fact = (await loadVisibleFacts(kernel, db, [row.ref])).get(row.ref)
  return fact && { row, fact }
}

/** A version whose successor has been erased since was replaced by it all the same. */
async function wasCurrent(db: TenantDb, ref: number, seq: number): Promise<boolean> {
  const version = await findValidityAt(db, ref, seq)
  return version?.valid_until_us === null && version.superseded_by === null
}

/** The namespaces that have a visible item, in the order of first puts. */
export async function listNamespaces(
  kernel: Kernel,
  db: TenantDb,
  store_id: string,
): Promise<{ namespace_mac: Uint8Array; labels: readonly string[] }[]> {
  const samples = await listNamespaceSamples(db, store_id)
  const facts = await loadVisibleFacts(
    kernel,
    db,
    samples.map(({ ref }) => ref),
  )
  const found = []
  for (const { namespace_mac, ref } of samples) {
    const fact = facts.get(ref) ?? (await findVisible(kernel, db, { store_id, namespace_mac }))
    const labels = fact?.document.item?.namespace
    if (labels) found.push({ namespace_mac, labels })
  }
  return found
}

/** Any visible item of a namespace: the sample of it is hidden. */
async function findVisible(
  kernel: Kernel,
  db: TenantDb,
  { store_id, namespace_mac }: { store_id: string; namespace_mac: Uint8Array },
): Promise<OpenedFact | undefined> {
  for await (const { fact } of openVersions(
    kernel,
    db,
    await listItemHeads(db, store_id, namespace_mac),
  ))
    return fact
  return undefined
}

/** The visible ones of these versions, in their order. */
async function* openVersions(
  kernel: Kernel,
  db: TenantDb,
  rows: readonly ItemRow[],
): AsyncGenerator<StoredVersion> {
  for (let at = 0; at < rows.length; at += OPENED) {
    const some = rows.slice(at, at + OPENED)
    const facts = await loadVisibleFacts(
      kernel,
      db,
      some.map(({ ref }) => ref),
    )
    for (const row of some) {
      const fact = facts.get(row.ref)
      if (fact) yield { row, fact }
    }
  }
}

/** Current versions in the namespaces with a prefix, in the order of first puts. */
async function listHeadsWithin(
  kernel: Kernel,
  db: TenantDb,
  store_id: string,
  prefix: readonly string[],
): Promise<ItemRow[]> {
  if (prefix.length === 0) return listItemHeads(db, store_id)
  const within = (await listNamespaces(kernel, db, store_id)).filter(({ labels }) =>
    hasPrefix(labels, prefix),
  )
  const [first, ...others] = within
  if (!first) return []
  if (others.length === 0) return listItemHeads(db, store_id, first.namespace_mac)
  const macs = new Set(within.map(({ namespace_mac }) => hexOf(namespace_mac)))
  const heads = await listItemHeads(db, store_id)
  return heads.filter(({ namespace_mac }) => macs.has(hexOf(namespace_mac)))
}

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

export interface ItemSearch {
  readonly store_id: string
  readonly prefix: readonly string[]
  /** Null: in the order of first puts. */
  readonly query: string | null
  readonly filter: Readonly<Record<string, unknown>> | null
  readonly limit: number
  readonly offset: number
  readonly budget_tokens: number | null
}

/** Refuses `index_building`, with a query. */
export async function findItems(
  kernel: Kernel,
  db: TenantDb,
  search: ItemSearch,
): Promise<ItemMatch[]> {
  const { store_id, prefix, query, limit, offset } = search
  if (query === null) {
    const heads = await listHeadsWithin(kernel, db, store_id, prefix)
    return showPage(await takeMatching(kernel, db, { heads, search }), search)
  }
  const byRef = new Map<number, ItemRow>()
  return answerRanked(kernel, db.tenant_id, {
    store_id,
    query,
    // Items that are being erased are ranked, and left out.
    limit: Math.min(offset + limit + limits.item_search.max, RANKED_MAX),
    async choose(snapshot) {
      byRef.clear()
      const heads = await listHeadsWithin(kernel, snapshot, store_id, prefix)
      const all = { ...search, offset: 0, limit: Number.MAX_SAFE_INTEGER }
      const fits =
        search.filter === null
          ? heads
          : (await takeMatching(kernel, snapshot, { heads, search: all })).map(({ row }) => row)
      for (const row of fits) byRef.set(row.ref, row)
      return [...byRef.keys()]
    },
    async show(snapshot, ranked) {
      const scores = new Map(ranked.map(({ ref, score }) => [ref, score]))
      const heads = ranked.flatMap(({ ref }) => byRef.get(ref) ?? [])
      const page = await takeMatching(kernel, snapshot, { heads, search })
      return showPage(page, search).map((item) => {
        return { ...item, score: scores.get(item.ref) ?? 0 }
      })
    },
  })
}

const RANKED_MAX = 1_000_000

/** The visible versions that the filter fits, from the offset on, as many as the limit. */
async function takeMatching(
  kernel: Kernel,
  db: TenantDb,
  { heads, search: { filter, limit, offset } }: { heads: readonly ItemRow[]; search: ItemSearch },
): Promise<StoredVersion[]> {
  const found: StoredVersion[] = []
  let skipped = 0
  for await (const version of openVersions(kernel, db, heads)) {
    if (filter !== null && !matchesFilter(JSON.parse(version.fact.content), filter)) continue
    if (skipped < offset) skipped += 1
    else found.push(version)
    if (found.length >= limit) break
  }
  return found
}

function showPage(versions: readonly StoredVersion[], { budget_tokens }: ItemSearch): ItemMatch[] {
  if (budget_tokens === null) return versions.map(showItem)
  const counted = versions.map((version) => ({ version, token_count: version.fact.token_count }))
  return packWithinBudget(counted, budget_tokens).packed.map(({ version }) => showItem(version))
}
