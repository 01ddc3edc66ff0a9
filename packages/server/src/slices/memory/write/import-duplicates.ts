// Finds import lines that repeat a memory of the store or an earlier line: those with the same
// content, namespace and original time.

import { randomBytes } from 'node:crypto'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { yieldBetweenChunks } from '../../../platform/yield-between-chunks.ts'
import type { FactDraft, OpenedFact } from '../facts/fact-document.ts'
import { searchedText } from '../facts/item-name.ts'
import { loadVisibleFacts } from '../facts/opened-fact.ts'
import { ContentFingerprints, computeFingerprint } from '../index/columns/fingerprints.ts'
import type { StoreIndex } from '../index/store-index.ts'
import { storeIndexes } from '../index/store-indexes.ts'
import { findStore } from '../stores/stores.sql.ts'
import type { ImportedFact } from './import-lines.ts'

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
