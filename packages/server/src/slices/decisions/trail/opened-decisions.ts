// Cache of opened decision documents, so that a page that is read often is decrypted once.

import { viewBytes } from '../../../platform/bytes.ts'
import type { Tx } from '../../../platform/db/tenant-db.ts'
import { LruCache } from '../../../platform/lru-cache.ts'
import { type DecisionRow, updateSealed } from './decisions.sql.ts'
import type { DecisionDocument } from './document.ts'

/** Maximum total of sealed bytes. An opened document takes two to three times as much. */
const BYTES_MAX = 8 * 1024 * 1024
/** Size of an entry apart from its document. */
const ENTRY_BYTES = 512

/**
 * Documents are keyed by the exact sealed bytes that they were opened from. The cache does not say
 * whether a document may still be shown: callers must have found its secrets in the keyring.
 */
class OpenedDecisions {
  readonly #entries = new LruCache<
    string,
    { readonly sealed: Uint8Array; readonly document: DecisionDocument }
  >({ max: BYTES_MAX, weigh: ({ sealed }) => ENTRY_BYTES + sealed.length })
  #removals = 0

  /** Read this before loading the secrets, and pass it to `add`. */
  get removals(): number {
    return this.#removals
  }

  find(
    tenant_id: string,
    { decision_id, sealed }: Pick<DecisionRow, 'decision_id' | 'sealed'>,
  ): DecisionDocument | undefined {
    const known = this.#entries.get(keyOf(tenant_id, decision_id))
    return known && viewBytes(known.sealed).equals(sealed) ? known.document : undefined
  }

  /** Does nothing if a decision was removed since `removals` was read: perhaps this one. */
  add(
    removals: number,
    tenant_id: string,
    {
      decision_id,
      sealed,
      document,
    }: Pick<DecisionRow, 'decision_id' | 'sealed'> & { readonly document: DecisionDocument },
  ): void {
    if (removals !== this.#removals) return
    this.#entries.set(keyOf(tenant_id, decision_id), { sealed, document })
  }

  remove(tenant_id: string, decision_id: Uint8Array): void {
    this.#removals += 1
    this.#entries.delete(keyOf(tenant_id, decision_id))
  }

  removeTenant(tenant_id: string): void {
    this.#removals += 1
    for (const [key] of this.#entries.entries())
      if (key.slice(ID_BYTES) === tenant_id) this.#entries.delete(key)
  }

  has(tenant_id: string, decision_id: Uint8Array): boolean {
    return this.#entries.has(keyOf(tenant_id, decision_id))
  }
}

const ID_BYTES = 16
/** The id has a fixed length, so the rest of the key is the tenant. */
const keyOf = (tenant_id: string, decision_id: Uint8Array): string =>
  viewBytes(decision_id).toString('latin1') + tenant_id

/** One cache per process: the code that replaces a sealed document has no kernel. */
export const openedDecisions = new OpenedDecisions()

/** Replaces the sealed document and removes the opened one from the memory of this process. */
export async function replaceSealed(
  tx: Tx,
  { seq, decision_id }: Pick<DecisionRow, 'seq' | 'decision_id'>,
  change: { readonly sealed: Uint8Array; readonly secret_no: number },
): Promise<void> {
  await updateSealed(tx, seq, change)
  tx.afterCommit(() => openedDecisions.remove(tx.tenant_id, decision_id))
}
