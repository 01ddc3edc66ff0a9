// The store that a write goes to: loaded before the unit of work and checked again inside it.

import { Conflict, retryOnConflict } from '../../../platform/concurrency.ts'
import type { Tx } from '../../../platform/db/tenant-db.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { appendCrumb } from '../../gcrumbs/index.ts'
import { requireRoomForStore } from '../../tenants/index.ts'
import { descriptionColumn, NO_DESCRIPTION, type StoreDescription } from './store-description.ts'
import { addStore, loadStoreHead, type StoreHead } from './store-heads.ts'
import {
  DEFAULT_STORE,
  formatCapabilities,
  formatLanguages,
  makeDefaultSettings,
  parseStoreSettings,
  type StoreSettings,
  settingsCache,
} from './store-settings.ts'
import { findStore, insertSelfTestStore } from './stores.sql.ts'

/** A store to be created, with its sealed description. */
interface NewStore extends StoreSettings {
  readonly secret_no: number
  readonly sealed: Uint8Array
  /** True if statistics and reports leave the store out. */
  readonly self_test?: boolean
}

export interface WriteTarget {
  readonly settings: StoreSettings
  /** The row of `default` to insert, if it does not exist yet; `null` if the store exists. */
  readonly fresh: NewStore | null
}

const ATTEMPTS_MAX = 16

/** Retries `act` while the store changes during it; finally refuses `unavailable`. */
export const retryOnStoreConflict = <T>(act: () => Promise<T>): Promise<T> =>
  retryOnConflict(act, {
    on: 'store',
    attempts: ATTEMPTS_MAX,
    message: 'the store keeps changing',
  })

export async function prepareStore(
  kernel: Kernel,
  tenant_id: string,
  settings: StoreSettings,
  description: StoreDescription = NO_DESCRIPTION,
): Promise<NewStore> {
  const sealed = await descriptionColumn.sealNew(kernel, tenant_id, settings, description)
  return { ...settings, ...sealed }
}

/** Refuses `store_not_found` and `store_deleting`. */
export async function loadWriteTarget(
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
    const settings = parseStoreSettings(row)
    cache.set(tenant_id, settings)
    return { settings, fresh: null }
  }
  if (store_id !== DEFAULT_STORE) throw new Refusal('store_not_found')
  const settings = makeDefaultSettings(kernel)
  return { settings, fresh: await prepareStore(kernel, tenant_id, settings) }
}

/**
 * Loads the store inside the unit of work; creates `default` if it is missing. Throws a conflict if
 * its settings differ from those that were loaded.
 */
export async function loadTargetHead(
  kernel: Kernel,
  tx: Tx,
  { settings, fresh }: WriteTarget,
): Promise<StoreHead> {
  const head = await loadStoreHead(tx, settings.store_id)
  if (head?.state === 'deleting') throw new Refusal('store_deleting')
  if (head && hasSettings(head, settings)) return head
  if (!head && fresh) return insertNewStore(kernel, tx, fresh)
  settingsCache(kernel).forget(tx.tenant_id, settings.store_id)
  throw new Conflict('store')
}

/** A store that was deleted and created again may have other settings. */
const hasSettings = (
  head: StoreHead,
  { tokenizer, embedder, capabilities, languages, digest_after_s }: StoreSettings,
) =>
  head.tokenizer === tokenizer &&
  head.languages === formatLanguages(languages) &&
  head.digest_after_s === digest_after_s &&
  head.embedder === embedder &&
  head.capabilities === formatCapabilities(capabilities)

export async function insertNewStore(kernel: Kernel, tx: Tx, store: NewStore): Promise<StoreHead> {
  const { store_id, tokenizer, embedder } = store
  await requireRoomForStore(kernel, tx, store)
  const { seq, created_us } = await appendCrumb(tx, {
    event_type: 'store.created',
    subject: store_id,
    payload: { tokenizer, ...(store.self_test && { self_test: true as const }) },
  })
  if (store.self_test) await insertSelfTestStore(tx, store_id)
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
    languages: formatLanguages(store.languages),
    digest_after_s: store.digest_after_s,
  })
}
