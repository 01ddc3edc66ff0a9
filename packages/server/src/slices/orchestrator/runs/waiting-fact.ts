// A fact that a model found in a conversation and a policy wants a person for: it waits as an
// action of an agent does, and is written in the unit of the approval.

import { memoryIngestion, scopeCovers } from '@custos/contract'
import { canonicalize, isObject } from '@custos/proof'
import type { Tx } from '../../../platform/db/tenant-db.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { prepareWaitingFact } from '../../memory/index.ts'
import type { TenantRecords } from '../../records/index.ts'
import { findHolder } from './own-call.ts'

/** @param fact `key_id`: the key whose rights it is written with */
export const textOfFact = ({
  item,
  source_refs,
  ...rest
}: Parameters<typeof prepareWaitingFact>[1] & { readonly key_id: string }): string =>
  canonicalize({ ...rest, item: JSON.parse(JSON.stringify(item)), source_refs: [...source_refs] })

// Written above.
const readFact = (text: string): Parameters<typeof textOfFact>[0] => JSON.parse(text)

/** What policies read of the write. */
export function factContext(text: string) {
  const { store_id, item } = readFact(text)
  const metadata = isObject(item.metadata) ? item.metadata : {}
  return { store_id, content: item.content, metadata }
}

/** What the unit of the approval does. Refuses where the key that proposed it may not write. */
export async function prepareApprovedFact(
  { kernel, tenant_id }: TenantRecords,
  text: string,
): Promise<(tx: Tx) => Promise<void>> {
  const { key_id, ...fact } = readFact(text)
  const principal = await findHolder(kernel, tenant_id, key_id)
  if (!principal || !scopeCovers(principal.scopes, 'memory:write'))
    throw new Refusal('not_waiting', 'the key that proposed it may write no more')
  const caller = { kernel, tenant_id, principal, operation: memoryIngestion.ingest }
  const write = await prepareWaitingFact(caller, fact)
  return async (tx) => {
    const { outcome, reason } = await write(tx)
    if (outcome === 'refused') throw new Refusal('not_waiting', `the store has changed: ${reason}`)
  }
}
