// What an operation needs to know of a store beforehand; only its embedder ever changes.

import { type Capability, EMBEDDERS, type EmbedderName } from '@custos/contract'
import type { TenantDb } from '../../platform/db/tenant-db.ts'
import { type Kernel, perKernel } from '../../platform/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import type { TokenizerName } from '../../platform/tokens/tokenizer.ts'
import { chooseCapabilities, parseCapabilities } from './capabilities.ts'
import { findStore, type StoreRow } from './stores.sql.ts'

/** The store every tenant has without creating it: its row is made by the first write. */
export const DEFAULT_STORE = 'default'

export interface StoreSettings {
  readonly store_id: string
  readonly tokenizer: TokenizerName
  /** What makes its vectors; maybe not configured in this process. */
  readonly embedder: EmbedderName
  readonly capabilities: readonly Capability[]
}

type SettingColumns = 'store_id' | 'tokenizer' | 'embedder' | 'capabilities'

export const settingsOf = (row: Pick<StoreRow, SettingColumns>): StoreSettings => ({
  store_id: row.store_id,
  // Written from the contract's enum.
  tokenizer: row.tokenizer as TokenizerName,
  embedder: EMBEDDERS.find((name) => name === row.embedder) ?? 'none',
  capabilities: parseCapabilities(row.capabilities),
})

export const defaultSettings = (kernel: Kernel): StoreSettings => ({
  store_id: DEFAULT_STORE,
  tokenizer: kernel.settings.default_tokenizer,
  embedder: kernel.embedders.default_name,
  capabilities: chooseCapabilities(null),
})

/** Refuses `rejected` for an embedder that this service does not have. */
export function requireEmbedder({ embedders }: Kernel, name: EmbedderName): void {
  if (embedders.names.includes(name)) return
  const there = embedders.names.join(', ')
  throw new Refusal('rejected', `the embedder ${name} is not configured here; there are: ${there}`)
}

export interface ReadableStore extends StoreSettings {
  /** Undefined: `default` before its first write, an empty store with the default settings. */
  readonly row: StoreRow | undefined
}

/** The store as reads see it: one being deleted is gone. Refuses `store_not_found`. */
export async function readableStore(
  kernel: Kernel,
  db: TenantDb,
  store_id: string,
): Promise<ReadableStore> {
  const row = await findStore(db, store_id)
  if (row?.state === 'active') return { ...settingsOf(row), row }
  if (row || store_id !== DEFAULT_STORE) throw new Refusal('store_not_found')
  return { ...defaultSettings(kernel), row: undefined }
}

/**
 * The embedder a store goes by as far as is known here: whoever relies on it looks again. Refuses
 * `store_not_found`.
 */
export async function expectedEmbedder(
  kernel: Kernel,
  tenant_id: string,
  store_id: string,
): Promise<EmbedderName> {
  const cache = settingsCache(kernel)
  const cached = cache.get(tenant_id, store_id)
  if (cached) return cached.embedder
  const { row, ...settings } = await kernel.db.read(tenant_id, (db) =>
    readableStore(kernel, db, store_id),
  )
  if (row) cache.set(tenant_id, settings)
  return settings.embedder
}

const CACHED_MAX = 10_000

/** Settings by tenant and store; ids, enums and flags only. */
export const settingsCache = perKernel(() => {
  const known = new Map<string, StoreSettings>()
  const keyOf = (tenant_id: string, store_id: string) => `${tenant_id}\n${store_id}`
  return {
    get: (tenant_id: string, store_id: string) => known.get(keyOf(tenant_id, store_id)),
    set(tenant_id: string, settings: StoreSettings) {
      if (known.size >= CACHED_MAX) known.clear()
      known.set(keyOf(tenant_id, settings.store_id), settings)
    },
    forget: (tenant_id: string, store_id: string) => known.delete(keyOf(tenant_id, store_id)),
  }
})
