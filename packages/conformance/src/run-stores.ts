// Creates the stores of a run, and removes all of them at its end.

import { setTimeout as sleep } from 'node:timers/promises'
import { isObject } from '@custos/proof'
import { storeName } from './ambient.ts'
import { createStore, openStore, type Store } from './client/store.ts'
import { ConformanceError, type Leftover, type Wire } from './client/wire.ts'

export type RunStores = {
  readonly store_ids: string[]
  /** @param wire a wire with another credential; default: the run's own */
  open(wire?: Wire): Promise<Store>
  /** Never throws; returns the stores that could not be removed. */
  removeAll(): Promise<Leftover[]>
}

/** @param cleaning a wire that an aborted run can still use */
export function openRunStores(wire: Wire, cleaning: (of: Wire) => Wire): RunStores {
  const made: { store_id: string; of: Wire }[] = []
  const store_ids: string[] = []
  return {
    store_ids,
    async open(of = wire) {
      const store = await createStore(of, storeName())
      made.push({ store_id: store.store_id, of })
      store_ids.push(store.store_id)
      return store
    },
    async removeAll() {
      const left: Leftover[] = []
      // When the server does not answer, the remaining stores are not tried.
      let silent: string | null = null
      for (const { store_id, of } of made.splice(0)) {
        try {
          const reason: string | null = silent ?? (await remove(cleaning(of), store_id))
          if (reason !== null) left.push({ store_id, reason })
        } catch (error) {
          const reason = error instanceof Error ? error.message : 'unknown reason'
          left.push({ store_id, reason })
          if (error instanceof ConformanceError) silent = reason
        }
      }
      return left
    },
  }
}

const POLL_MS = 100
const POLLS_MAX = 300

/** Removes a store; returns null, or the reason why it still exists. */
async function remove(wire: Wire, store_id: string): Promise<string | null> {
  const path = `/v1/stores/${encodeURIComponent(store_id)}`
  const { status } = await wire('DELETE', path)
  if (status === 404 || status === 405) return deleteMemories(wire, store_id)
  if (status < 200 || status > 299) return `deleting it answered ${status}`
  for (let poll = 0; poll < POLLS_MAX; poll += 1) {
    const seen = await wire('GET', path)
    const state = isObject(seen.body) ? seen.body['state'] : undefined
    // A server without the operation to read a store is trusted: it acknowledged the deletion.
    if (seen.status >= 400 || state === 'deleted' || state === undefined) return null
    await sleep(POLL_MS)
  }
  return 'it is still being deleted'
}

/** Deletes every memory of a store, for servers that cannot delete stores. */
async function deleteMemories(wire: Wire, store_id: string): Promise<string> {
  const store = openStore(wire, store_id)
  for (const { ref } of await store.audit()) await store.erase(ref)
  return 'the server cannot delete a store; its memories were deleted'
}
