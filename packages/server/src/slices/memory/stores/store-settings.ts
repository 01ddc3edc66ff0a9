// Settings of a store. Only the embedder can change after creation.

import {
  CAPABILITIES,
  type Capability,
  EMBEDDERS,
  type EmbedderName,
  LANGUAGES,
  type Language,
} from '@custos/contract'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import { type Kernel, perKernel } from '../../../platform/kernel/kernel.ts'
import { Refusal } from '../../../platform/refusal.ts'
import type { TokenizerName } from '../../../platform/tokens/tokenizer.ts'
import { findStore, type StoreRow } from './stores.sql.ts'

/** The capability on the left requires the one on the right (GMP 2.4). */
const IMPLIES: readonly (readonly [Capability, Capability])[] = [
  ['bi_temporal', 'supersession_chain'],
  ['cryptographic_provenance', 'provenance'],
]

/** Returns capabilities in contract order, without repeats; all if `null`. Refuses `rejected`. */
export function chooseCapabilities(
  requested: readonly Capability[] | null | undefined,
): Capability[] {
  if (!requested) return [...CAPABILITIES]
  const chosen = CAPABILITIES.filter((capability) => requested.includes(capability))
  for (const [flag, needed] of IMPLIES) {
    if (chosen.includes(flag) && !chosen.includes(needed))
      throw new Refusal('rejected', `the capability ${flag} needs ${needed}`)
  }
  return chosen
}

/** Parses the column that `formatCapabilities` wrote. */
export function parseCapabilities(text: string): Capability[] {
  return CAPABILITIES.filter((capability) => text.split(' ').includes(capability))
}

export const formatCapabilities = (capabilities: readonly Capability[]): string =>
  capabilities.join(' ')

/**
 * Refuses `capability_not_supported` with the members that GMP clients read at the top level.
 */
export function requireCapability(
  store: { readonly capabilities: readonly Capability[] },
  capability: Capability,
  operation: string,
): void {
  if (store.capabilities.includes(capability)) return
  throw new Refusal(
    'capability_not_supported',
    `the store does not offer ${capability}, which ${operation} needs`,
    { members: { capability, operation } },
  )
}

const DEFAULT_LANGUAGES: readonly Language[] = ['en']

/** Parses the column that `formatLanguages` wrote. `null` means the default languages. */
export const parseLanguages = (text: string | null): readonly Language[] =>
  text?.split(' ').flatMap((code) => LANGUAGES.filter((language) => language === code)) ??
  DEFAULT_LANGUAGES

export const formatLanguages = (languages: readonly Language[]): string | null =>
  languages.join() === DEFAULT_LANGUAGES.join() ? null : languages.join(' ')

/** The store that every tenant has without creating it. The first write inserts its row. */
export const DEFAULT_STORE = 'default'

export interface StoreSettings {
  readonly store_id: string
  readonly tokenizer: TokenizerName
  /** Embeds contents of the store. It may not be configured in this process. */
  readonly embedder: EmbedderName
  readonly capabilities: readonly Capability[]
  /** The main language comes first. */
  readonly languages: readonly Language[]
  /** Quiet time of a session before its digest is made; `null` if the store makes no digests. */
  readonly digest_after_s: number | null
}

export const parseStoreSettings = (
  row: Pick<
    StoreRow,
    'store_id' | 'tokenizer' | 'embedder' | 'capabilities' | 'languages' | 'digest_after_s'
  >,
): StoreSettings => ({
  store_id: row.store_id,
  // The stored value was taken from the contract's enum.
  tokenizer: row.tokenizer as TokenizerName,
  embedder: EMBEDDERS.find((name) => name === row.embedder) ?? 'none',
  capabilities: parseCapabilities(row.capabilities),
  languages: parseLanguages(row.languages),
  digest_after_s: row.digest_after_s,
})

export const makeDefaultSettings = (kernel: Kernel): StoreSettings => ({
  store_id: DEFAULT_STORE,
  tokenizer: kernel.settings.default_tokenizer,
  embedder: kernel.embedders.default_name,
  capabilities: chooseCapabilities(null),
  languages: DEFAULT_LANGUAGES,
  digest_after_s: null,
})

/** Refuses `rejected` if the embedder is not configured in this service. */
export function requireEmbedder({ embedders }: Kernel, name: EmbedderName): void {
  if (embedders.names.includes(name)) return
  const configured = embedders.names.join(', ')
  throw new Refusal(
    'rejected',
    `the embedder ${name} is not configured here; there are: ${configured}`,
  )
}

export interface ReadableStore extends StoreSettings {
  /** Undefined for `default` before its first write: an empty store with default settings. */
  readonly row: StoreRow | undefined
}

/** Loads the store for a read. Refuses `store_not_found`, also while the store is being deleted. */
export async function loadReadableStore(
  kernel: Kernel,
  db: TenantDb,
  store_id: string,
): Promise<ReadableStore> {
  const row = await findStore(db, store_id)
  if (row?.state === 'active') return { ...parseStoreSettings(row), row }
  if (row || store_id !== DEFAULT_STORE) throw new Refusal('store_not_found')
  return { ...makeDefaultSettings(kernel), row: undefined }
}

/**
 * Returns the embedder of a store, possibly from a stale cache: the caller must check it again
 * within the snapshot that it reads. Refuses `store_not_found`.
 */
export async function loadExpectedEmbedder(
  kernel: Kernel,
  tenant_id: string,
  store_id: string,
): Promise<EmbedderName> {
  const cache = settingsCache(kernel)
  const cached = cache.get(tenant_id, store_id)
  if (cached) return cached.embedder
  const { row, ...settings } = await kernel.db.read(tenant_id, (db) =>
    loadReadableStore(kernel, db, store_id),
  )
  if (row) cache.set(tenant_id, settings)
  return settings.embedder
}

const CACHED_MAX = 10_000

/** Settings keyed by tenant and store. Holds ids, enums and flags only. */
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
