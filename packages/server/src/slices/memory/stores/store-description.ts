// The description of a store: text from callers, sealed under a secret of the store's own.

import type { JsonObject, Store } from '@custos/contract'
import { formatTime } from '../../../platform/clock.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { jsonPayload, loadKeys, sealedColumn } from '../../../platform/kernel/sealed-column.ts'
import { parseCapabilities, parseStoreSettings } from './store-settings.ts'
import type { StoreRow } from './stores.sql.ts'

export interface StoreDescription {
  readonly name: string | null
  readonly backend: string | null
  readonly labels: JsonObject
}

export const NO_DESCRIPTION: StoreDescription = { name: null, backend: null, labels: {} }

/** A store's name may be a person's, so it is sealed like content, not with the tenant key. */
export const descriptionColumn = sealedColumn({
  domain: 'store',
  ids: (tenant_id, { store_id }: Pick<StoreRow, 'store_id'>) => [tenant_id, store_id],
  payload: jsonPayload<StoreDescription>(),
})

/** In the order of `rows`; a store whose secret is destroyed has no description. */
export async function openDescriptions(
  kernel: Kernel,
  tenant_id: string,
  rows: readonly StoreRow[],
): Promise<StoreDescription[]> {
  const numbers = rows.map(({ secret_no }) => secret_no)
  const keys = await loadKeys(kernel, tenant_id, numbers)
  return rows.map((row) => {
    const key = keys.get(row.secret_no)
    return key ? descriptionColumn.open(key, tenant_id, row, row.sealed) : NO_DESCRIPTION
  })
}

/** A store as replies show it. */
export function showStore(row: StoreRow, { name, backend, labels }: StoreDescription): Store {
  const settings = parseStoreSettings(row)
  return {
    store_id: row.store_id,
    name: name ?? row.store_id,
    backend: backend ?? 'custos',
    labels,
    capabilities: parseCapabilities(row.capabilities),
    tokenizer: settings.tokenizer,
    embedder: settings.embedder,
    languages: [...settings.languages],
    digest_after_s: settings.digest_after_s,
    created_at: formatTime(row.created_us),
    state: row.state === 'active' ? 'active' : 'deleting',
  }
}
