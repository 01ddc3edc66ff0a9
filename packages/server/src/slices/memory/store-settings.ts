// What an operation needs to know of a store beforehand; it never changes while the store exists.

import type { Capability } from '@custos/contract'
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
  readonly capabilities: readonly Capability[]
}

export const settingsOf = (row: Pick<StoreRow, 'store_id' | 'tokenizer' | 'capabilities'>) => ({
  store_id: row.store_id,
  // Written from the contract's enum.
  tokenizer: row.tokenizer as TokenizerName,
  capabilities: parseCapabilities(row.capabilities),
})

export const defaultSettings = (kernel: Kernel): StoreSettings => ({
  store_id: DEFAULT_STORE,
  tokenizer: kernel.settings.default_tokenizer,
  capabilities: chooseCapabilities(null),
})

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
