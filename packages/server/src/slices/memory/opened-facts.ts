// Opened facts kept in memory, so that a fact that is read often is not decrypted each time.

import { perKernel } from '../../platform/kernel.ts'
import type { FactDocument } from './sealed-fact.ts'

/** Counted as UTF-16; beyond it the facts used longest ago are dropped. */
const BYTES_MAX = 32 * 1024 * 1024
/** What an entry costs besides its text: signature, ids, the map. */
const ENTRY_BYTES = 1_024

interface Entry {
  readonly tenant_id: string
  readonly ref: number
  readonly store_id: string
  readonly document: FactDocument
  readonly bytes: number
}

const keyOf = (tenant_id: string, ref: number): string => `${ref}\n${tenant_id}`

/**
 * Documents by ref. It says what a fact holds, never whether it still may be shown: whoever finds
 * one here has seen the fact's row live in the same snapshot.
 */
class OpenedFacts {
  readonly #entries = new Map<string, Entry>()
  #bytes = 0
  #forgotten = 0

  /** To be taken before the secrets are read; see `remember`. */
  mark(): number {
    return this.#forgotten
  }

  find(tenant_id: string, ref: number): FactDocument | undefined {
    const key = keyOf(tenant_id, ref)
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.document
  }

  /** Passed over when something was forgotten since `mark`: it may have been this fact. */
  remember(
    mark: number,
    tenant_id: string,
    { ref, store_id, document }: Pick<Entry, 'ref' | 'store_id' | 'document'>,
  ): void {
    const key = keyOf(tenant_id, ref)
    if (mark !== this.#forgotten || this.#entries.has(key)) return
    const text = document.content.length + JSON.stringify(document.metadata).length
    const bytes = ENTRY_BYTES + 2 * text
    this.#entries.set(key, { tenant_id, ref, store_id, document, bytes })
    this.#bytes += bytes
    for (const [oldest, entry] of this.#entries) {
      if (this.#bytes <= BYTES_MAX) return
      this.#delete(oldest, entry)
    }
  }

  forget(tenant_id: string, refs: readonly number[]): void {
    if (refs.length > 0) this.#forgotten += 1
    for (const ref of refs) {
      const key = keyOf(tenant_id, ref)
      const entry = this.#entries.get(key)
      if (entry) this.#delete(key, entry)
    }
  }

  forgetStore(tenant_id: string, store_id: string): void {
    this.#forgotten += 1
    for (const [key, entry] of this.#entries)
      if (entry.tenant_id === tenant_id && entry.store_id === store_id) this.#delete(key, entry)
  }

  /** Tenant and store of every entry, with repetitions. */
  *held(): Generator<[string, string]> {
    for (const { tenant_id, store_id } of this.#entries.values()) yield [tenant_id, store_id]
  }

  has(tenant_id: string, ref: number): boolean {
    return this.#entries.has(keyOf(tenant_id, ref))
  }

  #delete(key: string, { bytes }: Entry): void {
    this.#entries.delete(key)
    this.#bytes -= bytes
  }
}

export const openedFacts = perKernel(() => new OpenedFacts())
