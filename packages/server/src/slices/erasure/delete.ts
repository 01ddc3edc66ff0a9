// memory.delete: the erasure of a memory, reached through its store.

import type { memoryErasure } from '@custos/contract'
import type { Handler } from '../../platform/call.ts'
import { admit } from '../governance/index.ts'
import { factStates, findStore, requireCapability, writeTarget } from '../memory/index.ts'
import { eraseFact } from './erase-fact.ts'
import { reasonsOf } from './plan.ts'

export const deleteMemory: Handler<(typeof memoryErasure)['delete']> = async (
  call,
  { params, body },
) => {
  const { ref } = body
  const { store_id } = params
  const { store, states } = await call.read(async (db) => ({
    store: await findStore(db, store_id),
    states: await factStates(db, [ref]),
  }))
  if (store?.state === 'deleting') return call.refuse('store_deleting')
  // `default` has no row before its first write; any other store without one does not exist.
  if (!store && store_id !== 'default') return call.refuse('store_not_found')
  const { settings } = await writeTarget(call.kernel, call.tenant_id, store_id)
  requireCapability(settings, 'hard_delete', call.operation.id)
  const minted = states.has(ref) ? ['store_id', 'ref'] : ['store_id']
  await admit(call, 'memory.delete', { store_id, ref }, { minted })
  const request = {
    ref,
    store_id,
    allowed_stores: call.principal.allowed_stores,
    facts_only: true,
    operation: call.operation.id,
  }
  const answer = await eraseFact(call, request, reasonsOf(body))
  if (answer === null) return { deleted: false, ref }
  const { deleted, certificate } = answer
  return { deleted, erasure_certificate_id: certificate.certificate_id, ref }
}
