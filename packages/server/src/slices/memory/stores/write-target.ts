// The store that a write goes to: loaded before the unit of work and checked again inside it. And
// POST /v1/stores: a store with its capabilities, tokenizer, embedder and sealed description.

import { limits, type memory, type Store } from '@custos/contract'
import { Conflict, retryOnConflict } from '../../../platform/concurrency.ts'
import type { Tx } from '../../../platform/db/tenant-db.ts'
import type { Handler } from '../../../platform/kernel/call.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { appendCrumb } from '../../gcrumbs/index.ts'
import { meter, requireRoomForStore } from '../../tenants/index.ts'
import {
  descriptionColumn,
  NO_DESCRIPTION,
  openDescriptions,
  type StoreDescription,
  showStore,
} from './store-description.ts'
import { addStore, loadStoreHead, type StoreHead } from './store-heads.ts'
import {
  chooseCapabilities,
  DEFAULT_STORE,
  formatCapabilities,
  formatLanguages,
  makeDefaultSettings,
  parseLanguages,
  parseStoreSettings,
  requireEmbedder,
  type StoreSettings,
  settingsCache,
} from './store-settings.ts'
import { findStore, insertSelfTestStore, wasStoreDeleted } from './stores.sql.ts'

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

async function prepareStore(
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

async function insertNewStore(kernel: Kernel, tx: Tx, store: NewStore): Promise<StoreHead> {
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

const STORE_ID_BYTES = 6

export const createStore: Handler<typeof memory.create_store> = async (call, { body }) => {
  const { kernel, tenant_id, principal } = call
  if (principal.allowed_stores.length > 0)
    return call.refuse('scope_missing', 'a key of certain stores cannot make another')
  const labels = body.labels ?? {}
  if (Buffer.byteLength(JSON.stringify(labels)) > limits.metadata_bytes)
    throw new Refusal('rejected', `labels must not exceed ${limits.metadata_bytes} bytes`)
  const embedder = body.embedder ?? kernel.embedders.default_name
  requireEmbedder(kernel, embedder)
  const settings = {
    store_id: body.store_id ?? kernel.ids.hex(STORE_ID_BYTES),
    tokenizer: body.tokenizer ?? kernel.settings.default_tokenizer,
    embedder,
    capabilities: chooseCapabilities(body.capabilities),
    languages: body.languages ?? parseLanguages(null),
    digest_after_s: body.digest_after_s ?? null,
  }
  const description = { name: body.name ?? null, backend: body.backend ?? null, labels }
  const store = await prepareStore(kernel, tenant_id, settings, description)

  const store_id = await call.once<string>({
    async run(tx) {
      if (await isIdUsed(tx, settings.store_id)) return call.refuse('store_exists')
      await insertNewStore(kernel, tx, { ...store, self_test: body.self_test ?? false })
      meter(tx, call.operation.id)
      return { reply: settings.store_id, ids: { store_id: settings.store_id } }
    },
    // The stored ids were written by `run` above.
    replay: async (_, ids) => String(ids['store_id']),
  })
  return (await loadStore(kernel, tenant_id, store_id)) ?? showDeletedStore(store_id)
}

/** Keys, holds and the audit log identify stores by id, so an id is never reused. */
async function isIdUsed(tx: Tx, store_id: string): Promise<boolean> {
  if (store_id === DEFAULT_STORE) return true
  return (await findStore(tx, store_id)) !== undefined || wasStoreDeleted(tx, store_id)
}

async function loadStore(
  kernel: Kernel,
  tenant_id: string,
  store_id: string,
): Promise<Store | null> {
  const row = await kernel.db.read(tenant_id, (db) => findStore(db, store_id))
  if (!row) return null
  const [description] = await openDescriptions(kernel, tenant_id, [row])
  return description ? showStore(row, description) : null
}

/** What a retry gets if the store has been deleted since: its id and nothing else. */
const showDeletedStore = (store_id: string): Store => ({
  store_id,
  name: store_id,
  backend: 'custos',
  labels: {},
  capabilities: [],
  tokenizer: 'o200k_base',
  embedder: 'none',
  languages: [...parseLanguages(null)],
  digest_after_s: null,
  created_at: null,
  state: 'deleted',
})
