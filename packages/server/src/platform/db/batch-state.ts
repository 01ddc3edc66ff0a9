// State shared by the units of one commit, on both engines.

import type { SharedSlot, SharedState } from './tenant-db.ts'

/** Called with errors after a commit, which stays committed. */
export type OnLateFailure = (error: unknown) => void

/** Values shared by the units of one batch, with an undo journal for the running unit. */
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

  /**
   * Call it after the commit. Passes the slots their values, then runs the `afterCommit` acts of
   * the units. Each runs even if others fail: what is durable must not be answered as a failure.
   */
  runAfterCommit(db: object, acts: readonly (() => void)[], onLateFailure: OnLateFailure): void {
    const told = this.entries().map(
      ({ slot, tenant_id, value }) =>
        () =>
          slot.committed?.(tenant_id, value, db),
    )
    for (const act of [...told, ...acts])
      try {
        act()
      } catch (error) {
        onLateFailure(error)
      }
  }
}
