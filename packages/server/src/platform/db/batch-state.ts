// The state that units of one commit share, on both engines.

import type { SharedSlot, SharedState } from './tenant-db.ts'

/** Values shared by the units of one batch, with an undo journal for the unit that is running. */
export class BatchState {
  readonly #values = new Map<
    string,
    { slot: SharedSlot<unknown>; tenant_id: string; value: unknown }
  >()
  #undo: (() => void)[] = []

  beginUnit(): void {
    this.#undo = []
  }

  undoUnit(): void {
    for (const undo of this.#undo.reverse()) undo()
    this.#undo = []
  }

  of(tenant_id: string): SharedState {
    return {
      get: <T>(slot: SharedSlot<T>) =>
        this.#values.get(`${slot.name}\0${tenant_id}`)?.value as T | undefined,
      set: <T>(slot: SharedSlot<T>, value: T) => {
        const key = `${slot.name}\0${tenant_id}`
        const before = this.#values.get(key)
        this.#undo.push(() => {
          if (before) this.#values.set(key, before)
          else this.#values.delete(key)
        })
        this.#values.set(key, { slot: slot as SharedSlot<unknown>, tenant_id, value })
      },
    }
  }

  entries() {
    return [...this.#values.values()]
  }
}
