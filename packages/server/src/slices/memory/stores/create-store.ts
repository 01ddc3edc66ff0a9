// POST /v1/stores: a store with its capabilities, tokenizer, embedder and sealed description.

import { limits, type memory, type Store } from '@custos/contract'
import type { Tx } from '../../../platform/db/tenant-db.ts'
import type { Handler } from '../../../platform/kernel/call.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { meter } from '../../tenants/index.ts'
import { openDescriptions, showStore } from './store-description.ts'
import {
  chooseCapabilities,
  DEFAULT_STORE,
  parseLanguages,
  requireEmbedder,
} from './store-settings.ts'
import { findStore, wasStoreDeleted } from './stores.sql.ts'
import { insertNewStore, prepareStore } from './write-target.ts'

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
