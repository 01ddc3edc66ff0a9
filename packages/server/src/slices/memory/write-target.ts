// The store a write goes to: known before the unit of work, checked again inside it.

import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { formatCapabilities } from './capabilities.ts'
import { NO_DESCRIPTION, type StoreDescription, sealDescription } from './store-description.ts'
import { addStore, loadHead, type StoreHead } from './store-heads.ts'
import {
  DEFAULT_STORE,
  defaultSettings,
  type StoreSettings,
  settingsCache,
  settingsOf,
} from './store-settings.ts'
import { findStore } from './stores.sql.ts'

/** A store about to be made. */
export interface NewStore extends StoreSettings {
  readonly secret_no: number
  readonly sealed: Uint8Array
}

export interface WriteTarget {
  readonly settings: StoreSettings
  /** What `default` is made of when it does not exist yet. */
  readonly fresh: NewStore | null
}

/** The store changed between the look at it and the unit: what was prepared must be again. */
export class StoreChanged extends Error {}

const ATTEMPTS_MAX = 16

/** Prepares and runs again while what was prepared does not fit the store; then refuses. */
export async function untilStable<T>(act: () => Promise<T>): Promise<T> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    try {
      return await act()
    } catch (error) {
      if (!(error instanceof StoreChanged)) throw error
    }
  }
  throw new Refusal('unavailable', 'the store keeps changing', { retry_after_s: 1 })
}

export async function prepareStore(
  kernel: Kernel,
  tenant_id: string,
  settings: StoreSettings,
  description: StoreDescription = NO_DESCRIPTION,
): Promise<NewStore> {
  const owner = { tenant_id, store_id: settings.store_id }
  return { ...settings, ...(await sealDescription(kernel, owner, description)) }
}

/** Refuses `store_not_found` and `store_deleting`. */
export async function writeTarget(
  kernel: Kernel,
  tenant_id: string,
  store_id: string,
): Promise<WriteTarget> {
  const cache = settingsCache(kernel)
  const cached = cache.get(tenant_id, store_id)
  if (cached) return { settings: cached, fresh: null }
  const row = await kernel.db.read(tenant_id, (db) => findStore(db, store_id))
  if (row) {
    if (row.state !== 'active') throw new Refusal('store_deleting')
    const settings = settingsOf(row)
    cache.set(tenant_id, settings)
    return { settings, fresh: null }
  }
  if (store_id !== DEFAULT_STORE) throw new Refusal('store_not_found')
  const settings = defaultSettings(kernel)
  return { settings, fresh: await prepareStore(kernel, tenant_id, settings) }
}

/** The target inside a unit; makes `default` where it is missing. */
export async function enterStore(
  kernel: Kernel,
  tx: Tx,
  { settings, fresh }: WriteTarget,
): Promise<StoreHead> {
  const head = await loadHead(tx, settings.store_id)
  if (head?.state === 'deleting') throw new Refusal('store_deleting')
  if (head?.tokenizer === settings.tokenizer && head.embedder === settings.embedder) return head
  if (!head && fresh) return createStore(kernel, tx, fresh)
  settingsCache(kernel).forget(tx.tenant_id, settings.store_id)
  throw new StoreChanged()
}

export async function createStore(kernel: Kernel, tx: Tx, store: NewStore): Promise<StoreHead> {
  const { store_id, tokenizer, embedder } = store
  const { seq, created_us } = await appendCrumb(tx, {
    event_type: 'store.created',
    subject: store_id,
    payload: { tokenizer },
  })
  return addStore(tx, {
    store_id,
    tokenizer,
    embedder,
    sent_out: kernel.embedders.find(embedder)?.remote ? 1 : 0,
    secret_no: store.secret_no,
    sealed: store.sealed,
    capabilities: formatCapabilities(store.capabilities),
    state: 'active',
    head_seq: seq,
    created_us,
  })
}
