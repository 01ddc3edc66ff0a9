// Texts of facts that are being embedded again at this moment, so that an erasure can stop it.

import { perKernel } from '../../platform/kernel.ts'

/** A fact of the batch was erased: none of its texts is used any further. */
export class Interrupted extends Error {}

interface Batch {
  readonly tenant_id: string
  readonly store_id: string
  readonly refs: ReadonlySet<number>
  readonly controller: AbortController
}

class Embeddings {
  readonly #batches = new Set<Batch>()

  /** Runs `act`; rejects with Interrupted once one of the refs is erased. */
  async during<T>(
    batch: { tenant_id: string; store_id: string; refs: readonly number[] },
    act: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const controller = new AbortController()
    const held = { ...batch, refs: new Set(batch.refs), controller }
    this.#batches.add(held)
    try {
      const result = await act(controller.signal)
      controller.signal.throwIfAborted()
      return result
    } finally {
      this.#batches.delete(held)
    }
  }

  interrupt(tenant_id: string, refs: readonly number[]): void {
    this.#stop((batch) => batch.tenant_id === tenant_id && refs.some((ref) => batch.refs.has(ref)))
  }

  interruptStore(tenant_id: string, store_id: string): void {
    this.#stop((batch) => batch.tenant_id === tenant_id && batch.store_id === store_id)
  }

  has(tenant_id: string, ref: number): boolean {
    for (const batch of this.#batches)
      if (batch.tenant_id === tenant_id && batch.refs.has(ref)) return true
    return false
  }

  /** Tenant and store of every batch. */
  held(): [string, string][] {
    return [...this.#batches].map(({ tenant_id, store_id }) => [tenant_id, store_id])
  }

  // No longer held from here on: what was sent is stopped, and its answer is thrown away.
  #stop(concerned: (batch: Batch) => boolean): void {
    for (const batch of this.#batches) {
      if (!concerned(batch)) continue
      this.#batches.delete(batch)
      batch.controller.abort(new Interrupted())
    }
  }
}

export const embeddings = perKernel(() => new Embeddings())
