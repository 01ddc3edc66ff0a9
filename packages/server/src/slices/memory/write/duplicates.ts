// Exact duplicates: among the current facts of a store and namespace, reported and never merged;
// and which lines of an import are in the store already, or came before in the same import: those
// of the same content, namespace and original time.

import { randomBytes } from 'node:crypto'
import { shareCalls } from '../../../platform/concurrency.ts'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import { type Kernel, perKernel } from '../../../platform/kernel/kernel.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { yieldBetweenChunks } from '../../../platform/yield-between-chunks.ts'
import type { FactDraft, OpenedFact } from '../facts/fact-document.ts'
import { findFactStates, LIVE } from '../facts/facts.sql.ts'
import { searchedText } from '../facts/item-name.ts'
import { loadVisibleFacts } from '../facts/opened-fact.ts'
import type { PreparedFact } from '../facts/prepare-facts.ts'
import { ContentFingerprints, computeFingerprint } from '../index/columns/fingerprints.ts'
import type { StoreIndex } from '../index/store-index.ts'
import { storeIndexes } from '../index/store-indexes.ts'
import { findCommittedPosition } from '../stores/store-heads.ts'
import { findStore } from '../stores/stores.sql.ts'
import type { ImportedFact } from './import-lines.ts'

/** Concurrent writes share the read of their store. */
const storeReads = perKernel((kernel) =>
  shareCalls((tenant_id: string, store_id: string) =>
    kernel.db.read(tenant_id, (db) => findStore(db, store_id)),
  ),
)

/**
 * Returns for each draft the smallest ref of a current fact with the same content, or null. The
 * facts may be hidden; see `withoutHidden`.
 */
export async function findDuplicates(
  kernel: Kernel,
  where: { readonly tenant_id: string; readonly store_id: string },
  drafts: readonly FactDraft[],
): Promise<(number | null)[]> {
  const { tenant_id, store_id } = where
  const head_seq =
    findCommittedPosition(kernel.db, tenant_id, store_id) ??
    (await storeReads(kernel)(tenant_id, store_id))?.head_seq
  if (head_seq === undefined) return drafts.map(() => null)
  const now_us = kernel.clock.now()
  try {
    const index = await storeIndexes(kernel).loadCurrent(tenant_id, store_id, head_seq)
    return drafts.map(({ content, namespace }) => index.findDuplicate(content, namespace, now_us))
  } catch (error) {
    // A write does not wait for a large index build; its reply then names no duplicate.
    if (error instanceof Refusal && error.code === 'index_building') return drafts.map(() => null)
    throw error
  }
}

/**
 * Adds duplicates within a batch to those `found` in the store. The duplicate is the first fact of
 * the batch that has the content in the same namespace and is current from the write on.
 */
export function findDuplicatesInBatch(
  facts: readonly Pick<PreparedFact, 'ref' | 'content_hash'>[],
  found: readonly (number | null)[],
  isCurrent: (index: number) => boolean,
): (number | null)[] {
  // The hash covers content and namespace.
  const first = new Map<string, number>()
  return facts.map(({ ref, content_hash }, i) => {
    const before = first.get(content_hash) ?? null
    if (before === null && isCurrent(i)) first.set(content_hash, ref)
    return found[i] ?? before
  })
}

/** Drops hidden facts inside the unit of work: replies do not name a fact being erased. */
export async function withoutHidden(
  db: TenantDb,
  found: readonly (number | null)[],
): Promise<readonly (number | null)[]> {
  const refs = found.filter((ref) => ref !== null)
  if (refs.length === 0) return found
  const rows = await findFactStates(db, refs)
  const live = new Set(rows.flatMap(({ ref, state }) => (state === LIVE ? [ref] : [])))
  return found.map((ref) => (ref !== null && live.has(ref) ? ref : null))
}

/** Rows opened per read. */
const ROWS = 500

type ComparedMemory = Pick<FactDraft, 'content' | 'namespace' | 'item'>

/**
 * Memory use is bounded by the import: a few numbers for each line and for each stored memory that
 * has the content of a line. Fingerprints are keyed, like those of the index, and contents are not
 * kept. Writes of other requests during the import are not seen.
 */
export class ImportDuplicates {
  readonly #kernel: Kernel
  readonly #store: { readonly tenant_id: string; readonly store_id: string }
  readonly #key = randomBytes(32)
  readonly #known = new ContentFingerprints()
  /** Refs in this store by slot; 0 until the ref is known. */
  readonly #refs: number[] = []
  /** Contents whose memories have been read from the store. */
  readonly #read = new ContentFingerprints()
  #readCount = 0
  #index: Promise<StoreIndex | null> | null = null

  constructor(kernel: Kernel, store: { tenant_id: string; store_id: string }) {
    this.#kernel = kernel
    this.#store = store
  }

  /**
   * Returns for each line the slot that it shares with equal memories and lines. The caller must
   * set the ref of a fresh slot.
   */
  async compare(
    facts: readonly ImportedFact[],
  ): Promise<{ imported: ImportedFact; slot: number; isFresh: boolean }[]> {
    await this.#readStored(facts)
    const compared = []
    const pace = yieldBetweenChunks()
    for (const imported of facts) {
      const { draft, valid_from_us } = imported
      const { original_written_us = null } = draft
      const time = original_written_us ?? valid_from_us
      const kind = original_written_us !== null ? 'written' : time === null ? 'untimed' : 'valid'
      const [before] = this.#known.find(this.#fingerprint(draft, kind, time))
      const slot = before ?? this.#add(draft, { kind, time, ref: 0 })
      compared.push({ imported, slot, isFresh: before === undefined })
      await pace()
    }
    return compared
  }

  setRef(slot: number, ref: number): void {
    this.#refs[slot] = ref
  }

  refOf(slot: number): number {
    return this.#refs[slot] ?? 0
  }

  /** Reads the stored memories that have the content of a line; each content is read once. */
  async #readStored(facts: readonly ImportedFact[]): Promise<void> {
    this.#index ??= loadIndex(this.#kernel, this.#store)
    const index = await this.#index
    if (index === null) return
    const wanted: number[] = []
    for (const { draft } of facts) {
      // Versions of an item may have different contents but the same searched text.
      const { namespace } = draft
      const content = searchedText(draft)
      const refs = index.listSameContent(content, namespace)
      if (refs.length === 0) continue
      const fingerprint = this.#fingerprint({ content, namespace }, 'content', null)
      const [known] = this.#read.find(fingerprint)
      if (known !== undefined) continue
      this.#read.add(this.#readCount, fingerprint)
      this.#readCount += 1
      for (const ref of refs) wanted.push(ref)
    }
    const { tenant_id, store_id } = this.#store
    for (let at = 0; at < wanted.length; at += ROWS) {
      const some = wanted.slice(at, at + ROWS)
      const found = await this.#kernel.db.read(tenant_id, (db) =>
        loadVisibleFacts(this.#kernel, db, some),
      )
      for (const fact of found.values()) if (fact.store_id === store_id) this.#addStored(fact)
    }
  }

  // The export of a memory written here states the time of that write as its original time. A line
  // without an original time may state the beginning of the memory's validity instead.
  #addStored(fact: OpenedFact): void {
    const { ref, document, written_us, valid_from_us } = fact
    const time = document.original_written_us ?? written_us
    const memory = document.item ? { ...fact, item: document.item } : fact
    this.#add(memory, { kind: 'written', time, ref })
    if (document.original_written_us !== undefined) return
    this.#add(memory, { kind: 'valid', time: valid_from_us, ref })
    this.#add(memory, { kind: 'untimed', time: null, ref })
  }

  #add(
    memory: ComparedMemory,
    { kind, time, ref }: { kind: string; time: number | null; ref: number },
  ): number {
    const slot = this.#refs.push(ref) - 1
    this.#known.add(slot, this.#fingerprint(memory, kind, time))
    return slot
  }

  #fingerprint({ content, namespace, item }: ComparedMemory, kind: string, time: number | null) {
    const name = item ? [item.namespace, item.key] : []
    return computeFingerprint(JSON.stringify([kind, time, namespace, content, ...name]), this.#key)
  }
}

/** Loads the store's index, however long its build takes; `null` if there is no store yet. */
async function loadIndex(
  kernel: Kernel,
  { tenant_id, store_id }: { tenant_id: string; store_id: string },
): Promise<StoreIndex | null> {
  for (;;) {
    const store = await kernel.db.read(tenant_id, (db) => findStore(db, store_id))
    if (!store) return null
    try {
      return await storeIndexes(kernel).loadCurrent(tenant_id, store_id, store.head_seq)
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'index_building') throw error
    }
  }
}
