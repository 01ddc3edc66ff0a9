// Reads a write request: namespace, valid time, limits and what the store offers for them.

import type { WriteOptions, WriteRequest } from '@custos/contract'
import { parseTime } from '../../platform/clock.ts'
import { requireCapability } from './capabilities.ts'
import { readNamespace } from './namespace.ts'
import { checkLimits, type FactDraft } from './prepare-facts.ts'
import type { StoreSettings } from './store-settings.ts'

export interface WriteIntent {
  readonly draft: FactDraft
  /** Null: from the moment of the write. A store without bi_temporal takes no other (GMP 2.3). */
  readonly valid_from_us: number | null
}

/** Options of a write wherever they stand; the ones in `options` win. */
export function optionsOf(request: WriteRequest): WriteOptions {
  const { content: _, options, ...top } = request
  const inner = Object.entries(options ?? {}).filter(([, value]) => value != null)
  return { ...top, ...Object.fromEntries(inner) }
}

/** Refuses `capability_not_supported`, `rejected` and `validation`. */
export function readWrite(
  tenant_id: string,
  store: StoreSettings,
  request: WriteRequest,
  where: { readonly operation: string; readonly loc: readonly (string | number)[] },
): WriteIntent {
  const options = optionsOf(request)
  const namespace = readNamespace(tenant_id, options)
  if (namespace !== null) requireCapability(store, 'multi_tenant', where.operation)
  const draft = { content: request.content, metadata: options.metadata ?? {}, namespace }
  checkLimits(draft, where.loc)
  const given = store.capabilities.includes('bi_temporal') ? options.valid_from : null
  // The schema's timestamp format has accepted it already.
  return { draft, valid_from_us: given ? parseTime(given) : null }
}
