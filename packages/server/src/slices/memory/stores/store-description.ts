// The description of a store: text from callers, sealed under a secret of the store's own.

import type { Store } from '@custos/contract'
import type { JsonObject } from '@custos/proof'
import { formatTime } from '../../../platform/clock.ts'
import type { TenantDb } from '../../../platform/db/tenant-db.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { jsonPayload, loadKeys, sealedColumn } from '../../../platform/kernel/sealed-column.ts'
import {
  REDACTED_TEXT,
  type SealedText,
  type TextSource,
} from '../../../platform/kernel/text-source.ts'
import { parseCapabilities, parseStoreSettings } from './store-settings.ts'
import { findStore, listStoresAfter, type StoreRow, updateDescription } from './stores.sql.ts'

export interface StoreDescription {
  readonly name: string | null
  readonly backend: string | null
  readonly labels: Store['labels']
}

export const NO_DESCRIPTION: StoreDescription = { name: null, backend: null, labels: {} }

/** A store's name may name a person, so it is sealed like content, not with the tenant key. */
export const descriptionColumn = sealedColumn({
  domain: 'store',
  ids: (tenant_id, { store_id }: Pick<StoreRow, 'store_id'>) => [tenant_id, store_id],
  payload: jsonPayload<StoreDescription>(),
})

/** Returns descriptions in the order of `rows`; `null` for a store whose secret is destroyed. */
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

const BATCH = 50

/** The secret number tells a recreated `default` from the deleted one. */
const idOf = ({ store_id, secret_no }: StoreRow): string => `${store_id}@${secret_no}`

async function findRow(db: TenantDb, id: string): Promise<StoreRow | undefined> {
  const row = await findStore(db, id.slice(0, id.lastIndexOf('@')))
  return row && idOf(row) === id ? row : undefined
}

/** Returns `null` if there is no description or it cannot be opened. */
const openText = (row: StoreRow, description: StoreDescription | null): SealedText | null => {
  if (!description) return null
  const { store_id, created_us } = row
  // Stored as JSON, so the round trip loses nothing.
  const content: JsonObject = JSON.parse(JSON.stringify(description))
  // No `secret_no`: the secret serves the whole store and must survive a redaction.
  return { id: idOf(row), store_id, created_us, held: false, secret_no: null, content }
}

const isRedacted = ({ content }: SealedText): boolean => content['name'] === REDACTED_TEXT

async function find(kernel: Kernel, tenant_id: string, id: string) {
  const row = await kernel.db.read(tenant_id, (db) => findRow(db, id))
  const [description = null] = await descriptionColumn.openAll(kernel, tenant_id, row ? [row] : [])
  const text = row ? openText(row, description) : null
  return text && isRedacted(text) ? 'redacted' : text
}

/**
 * A redacted store keeps its secret, because notes on its memories are sealed under it. The text
 * that replaces the description is sealed under it too.
 */
export const storeTextSource: TextSource = {
  kind: 'store',
  find,
  async *scan(kernel, tenant_id) {
    for (let after = ''; ; ) {
      const last = after
      const rows = await kernel.db.read(tenant_id, (db) => listStoresAfter(db, last, BATCH))
      const opened = await descriptionColumn.openAll(kernel, tenant_id, rows)
      const texts = rows.map((row, i) => openText(row, opened[i] ?? null))
      yield texts.filter((text) => text !== null).filter((text) => !isRedacted(text))
      after = rows.at(-1)?.store_id ?? ''
      if (rows.length < BATCH) return
    }
  },
  async prepare(kernel, tenant_id, id) {
    const row = await kernel.db.read(tenant_id, (db) => findRow(db, id))
    if (!row) return null
    const left: StoreDescription = { name: REDACTED_TEXT, backend: null, labels: {} }
    const sealed = await descriptionColumn.sealAgain(kernel, tenant_id, row, left)
    return sealed && [sealed]
  },
  async apply(tx, id, [sealed]) {
    const row = await findRow(tx, id)
    if (!row || Buffer.compare(row.sealed, sealed) === 0) return false
    await updateDescription(tx, row.store_id, sealed)
    return true
  },
}
