// Loads facts with their documents opened: by ref, by row, and in pages of a store.

import type { Memory } from '@custos/contract'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import type { TenantKeys } from '../../../platform/keys/keyring.ts'
import { SealError } from '../../../platform/keys/seal.ts'
import type { StorePart } from '../../../platform/namespace.ts'
import { yieldBetweenChunks } from '../../../platform/yield-between-chunks.ts'
import {
  type FactDocument,
  type OpenedFact,
  openFactDocument,
  showMemory,
} from './fact-document.ts'
import {
  ERASING,
  type FactHead,
  type FactRow,
  findFactHeads,
  findFacts,
  LIVE,
  listFactsAfter,
} from './facts.sql.ts'
import { type FactView, openedFactCache, type ReadMark } from './opened-fact-cache.ts'

export interface FactWithVector extends OpenedFact {
  readonly vector: Int8Array | null
}

/**
 * Opens rows. Leaves out rows in other `states` (default: live ones only) and those whose secret is
 * destroyed. A row that does not open is left out and reported to `onBroken`; without `onBroken` a
 * SealError is thrown.
 */
export async function openFactRows(
  kernel: Kernel,
  tenant_id: string,
  rows: readonly FactRow[],
  {
    states = [LIVE],
    onBroken,
  }: { states?: readonly number[]; onBroken?: (ref: number) => void } = {},
): Promise<FactWithVector[]> {
  const selected = rows.filter((row) => states.includes(row.state))
  if (selected.length === 0) return []
  const keys = await kernel.keyring.tenant(tenant_id)
  const refs = selected.map((row) => row.ref)
  const secrets = await kernel.keyring.secrets(tenant_id, 'fact', refs)
  const opened: FactWithVector[] = []
  const pace = yieldBetweenChunks()
  for (const row of selected) {
    const secret = secrets.get(row.ref)
    if (!secret) continue
    const fact = openRow(keys, tenant_id, row, secret)
    if (fact instanceof SealError && !onBroken) throw fact
    if (fact instanceof SealError) onBroken?.(row.ref)
    else opened.push(fact)
    await pace()
  }
  return opened
}

function openRow(
  keys: TenantKeys,
  tenant_id: string,
  row: FactRow,
  secret: Buffer,
): FactWithVector | SealError {
  const owner = { tenant_id, store_id: row.store_id, ref: row.ref, secret }
  try {
    const { document, vector } = openFactDocument(keys, owner, row.sealed)
    const { content, metadata } = document
    const { sealed: _, ...head } = row
    return { ...head, content, metadata, document, vector }
  } catch (error) {
    if (error instanceof SealError) return error
    throw error
  }
}

/** Whether the memory has expired. It is hidden from then on; its row stays until it is erased. */
export const isExpired = (
  { document: { expires_us } }: Pick<OpenedFact, 'document'>,
  now_us: number,
): boolean => expires_us !== undefined && expires_us <= now_us

/** Loads live, unexpired facts by ref. */
export async function loadVisibleFacts(
  kernel: Kernel,
  db: TenantDb,
  refs: readonly number[],
): Promise<Map<number, OpenedFact>> {
  const facts = await loadLiveFacts(kernel, db, refs)
  const now_us = kernel.clock.now()
  for (const [ref, fact] of facts) if (isExpired(fact, now_us)) facts.delete(ref)
  return facts
}

/** A snapshot of a store at log position `head_seq`; `read_mark` was taken before the snapshot. */
export interface StoreSnapshot {
  readonly store_id: string
  readonly head_seq: number
  readonly read_mark: ReadMark
}

/**
 * Same as `loadVisibleFacts` for one store, in the form that replies show. Skips reading the row of
 * a fact that is cached as live at this log position, unless other processes may have hidden it.
 */
export async function loadFactViews(
  kernel: Kernel,
  db: TenantDb,
  snapshot: StoreSnapshot,
  refs: readonly number[],
): Promise<Map<number, FactView>> {
  const cache = openedFactCache(kernel)
  const now_us = kernel.clock.now()
  const facts = new Map<number, FactView>()
  const unknown: number[] = []
  for (const ref of refs) {
    const known = kernel.db.shared ? undefined : cache.findShown(db.tenant_id, ref, snapshot)
    if (known === undefined) unknown.push(ref)
    else if (!isExpired(known.fact, now_us)) facts.set(ref, known)
  }
  if (unknown.length === 0) return facts
  for (const [ref, fact] of await loadVisibleFacts(kernel, db, unknown)) {
    const json = JSON.stringify(showMemory(kernel, db.tenant_id, fact))
    const shown = { fact, json }
    facts.set(ref, shown)
    if (fact.store_id === snapshot.store_id) cache.addShown(db.tenant_id, shown, snapshot)
  }
  return facts
}

/** Loads live facts of any store of the tenant by ref, including expired ones. */
export async function loadLiveFacts(
  kernel: Kernel,
  db: TenantDb,
  refs: readonly number[],
): Promise<Map<number, OpenedFact>> {
  const { tenant_id } = db
  const cache = openedFactCache(kernel)
  const found = new Map<number, OpenedFact>()
  const unknown: number[] = []
  for (const head of await findFactHeads(db, refs)) {
    if (head.state !== LIVE) continue
    const document = cache.find(tenant_id, head.ref)
    if (document) found.set(head.ref, withDocument(head, document))
    else unknown.push(head.ref)
  }
  if (unknown.length === 0) return found
  const { removals } = cache
  for (const fact of await openFactRows(kernel, tenant_id, await findFacts(db, unknown))) {
    found.set(fact.ref, fact)
    cache.add(removals, tenant_id, fact)
  }
  return found
}

const withDocument = (head: FactHead, document: FactDocument): OpenedFact => {
  const { content, metadata } = document
  return { ...head, content, metadata, document }
}

/**
 * Loads contents by ref, possibly from the cache. A caller that relies on a content must check in
 * its own unit of work that the fact is still live.
 */
export async function loadContents(
  kernel: Kernel,
  tenant_id: string,
  refs: readonly number[],
): Promise<Map<number, string>> {
  const cache = openedFactCache(kernel)
  const contents = new Map<number, string>()
  const unknown: number[] = []
  for (const ref of refs) {
    const document = cache.find(tenant_id, ref)
    if (document) contents.set(ref, document.content)
    else unknown.push(ref)
  }
  if (unknown.length === 0) return contents
  const opened = await kernel.db.read(tenant_id, (db) => loadLiveFacts(kernel, db, unknown))
  for (const [ref, { content }] of opened) contents.set(ref, content)
  return contents
}

/** Loads live facts and facts being erased, always from their rows. */
export async function loadFactsForErasure(
  kernel: Kernel,
  db: TenantDb,
  refs: readonly number[],
): Promise<Map<number, FactWithVector>> {
  const rows = await findFacts(db, refs)
  const opened = await openFactRows(kernel, db.tenant_id, rows, { states: [LIVE, ERASING] })
  return new Map(opened.map((fact) => [fact.ref, fact]))
}

/** Opens rows that are live or being erased; an erasure in progress can still be undone. */
export const openStoredFacts = (
  kernel: Kernel,
  tenant_id: string,
  rows: readonly FactRow[],
): Promise<FactWithVector[]> => openFactRows(kernel, tenant_id, rows, { states: [LIVE, ERASING] })

/** Maximum number of memories read on one snapshot. */
export const PAGE_MEMORIES = 128

export interface MemoryPage {
  readonly memories: Memory[]
  /** The ref to continue after; `null` at the end. */
  readonly next: number | null
}

/** Returns up to `limit` live, unexpired memories after a ref, in ascending or descending order. */
export async function pageMemories(
  kernel: Kernel,
  db: TenantDb,
  part: StorePart,
  { after, limit, newest = false }: { after: number; limit: number; newest?: boolean },
): Promise<MemoryPage> {
  const memories: Memory[] = []
  const now_us = kernel.clock.now()
  const pace = yieldBetweenChunks()
  let from = after
  for (;;) {
    const rowsMax = Math.min(PAGE_MEMORIES, limit - memories.length)
    const rows = await listFactsAfter(db, part, { after: from, limit: rowsMax, newest })
    const opened = await openFactRows(kernel, db.tenant_id, rows)
    for (const fact of opened)
      if (!isExpired(fact, now_us)) memories.push(showMemory(kernel, db.tenant_id, fact))
    const last = rows.at(-1)
    if (!last || rows.length < rowsMax) return { memories, next: null }
    if (memories.length >= limit) return { memories, next: last.ref }
    from = last.ref
    await pace()
  }
}
