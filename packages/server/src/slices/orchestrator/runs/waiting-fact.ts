// An extracted fact whose write needs approval. It waits as an action of an agent, and is written
// in the unit of work of the approval.

import { memoryIngestion, scopeCovers } from '@custos/contract'
import { canonicalize, isObject } from '@custos/proof'
import type { Tx } from '../../../platform/db/tenant-db.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { isTextStored } from '../../decisions/index.ts'
import { prepareWaitingFact } from '../../memory/index.ts'
import type { TenantRecords } from '../../records/index.ts'
import { findHolder } from './own-call.ts'

/** @param fact `key_id` is the key whose rights the write uses */
export const textOfFact = ({
  item,
  source_refs,
  ...rest
}: Parameters<typeof prepareWaitingFact>[1] & { readonly key_id: string }): string =>
  canonicalize({ ...rest, item: JSON.parse(JSON.stringify(item)), source_refs: [...source_refs] })

// Written by `textOfFact`.
const readFact = (text: string): Parameters<typeof textOfFact>[0] => JSON.parse(text)

/** The policy context of the write. */
export function factContext(text: string) {
  const { store_id, item } = readFact(text)
  const metadata = isObject(item.metadata) ? item.metadata : {}
  return { store_id, content: item.content, metadata }
}

/**
 * Prepares the write that the approval commits. Refuses `not_waiting` if the key that sent the
 * turns may no longer write them, or the store no longer takes the fact.
 */
export async function prepareApprovedFact(
  { kernel, tenant_id }: TenantRecords,
  { text_id, text }: { readonly text_id: string; readonly text: string },
): Promise<(tx: Tx) => Promise<void>> {
  const { key_id, ...fact } = readFact(text)
  const principal = await findHolder(kernel, tenant_id, key_id)
  const mayWrite = principal && scopeCovers(principal.scopes, 'memory:write')
  // The mode `extract` has the same rule, because the model was shown memories of the tenant.
  if (!mayWrite || principal.allowed_stores.length > 0)
    throw new Refusal('not_waiting', 'the key that proposed it may write no more')
  const caller = { kernel, tenant_id, principal, operation: memoryIngestion.ingest }
  const write = await asNotWaiting(() => prepareWaitingFact(caller, fact))
  return async (tx) => {
    // A memory that the model was shown may have been erased since the text was opened.
    if (!(await isTextStored(tx, text_id)))
      throw new Refusal('not_waiting', 'a memory that it was made from is erased')
    const { outcome } = await asNotWaiting(() => write(tx))
    if (outcome === 'refused')
      throw new Refusal('not_waiting', 'a turn of it, or the memory that it replaces, has changed')
  }
}

/** Maps refusals that an approval does not declare (a missing store, a quota) to `not_waiting`. */
async function asNotWaiting<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === 'unavailable') throw error
    throw new Refusal('not_waiting', `the store does not take it: ${error.message}`)
  }
}
