// Calls of an operation that are not the first: by this service for itself, with the rights of
// somebody who called before, and what was answered under the same Idempotency-Key, before policies
// are asked and counted again.

import {
  memory as memoryContract,
  type OperationSpec,
  type RetrieveRequest,
} from '@custos/contract'
import type { Call, Principal, ReplayIds } from '../../../platform/kernel/call.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { RawJson } from '../../../platform/raw-json.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { memoryHandlers } from '../../memory/index.ts'
import { findByKeyId } from '../../tenants/index.ts'

/** The principal that the edge assigns to requests without a credential in local mode. */
const LOCAL: Principal = {
  kind: 'local',
  tenant_id: '',
  key_id: 'local',
  class: 'local',
  scopes: ['*'],
  allowed_stores: [],
}

/** Finds the holder of a key with its current rights. Returns `null` if the key is gone. */
export async function findHolder(
  kernel: Kernel,
  tenant_id: string,
  key_id: string,
): Promise<Principal | null> {
  const local = kernel.settings.auth === 'local' && key_id === LOCAL.key_id
  const found = local ? { ...LOCAL, tenant_id } : await findByKeyId(kernel, key_id)
  return found?.tenant_id === tenant_id ? found : null
}

/** A call without an Idempotency-Key, so its units run without replay. */
export function ownCall<S extends OperationSpec>(
  operation: S,
  {
    kernel,
    tenant_id,
    principal,
    request_id,
    gone,
  }: Pick<Call, 'kernel' | 'tenant_id' | 'principal' | 'request_id' | 'gone'>,
): Call<S> {
  return {
    operation,
    ...{ kernel, tenant_id, principal, request_id, gone },
    idempotency_key: null,
    header: () => null,
    address: '',
    cookie: () => null,
    setCookie: () => undefined,
    refuse: (code, message, extras) => {
      throw new Refusal(code, message, extras)
    },
    read: (query) => kernel.db.read(tenant_id, query),
    transact: (unit) => kernel.db.transact(tenant_id, unit),
    once: (unit, tenant = tenant_id) =>
      kernel.db.transact(tenant, async (tx) => (await unit.run(tx)).reply),
    inParts: (parts) => parts.run(null),
  }
}

/** Passes a call on to another operation with its idempotency key and its rights. */
export const passOn = <S extends OperationSpec>(call: Call, operation: S): Call<S> => ({
  ...ownCall(operation, call),
  idempotency_key: call.idempotency_key,
  transact: (unit) => call.transact(unit),
  once: (unit, tenant) => call.once(unit, tenant),
})

/** Retrieves as the public operation does, including its policies. */
export async function retrieveMemories(
  caller: Pick<Call, 'kernel' | 'tenant_id' | 'principal' | 'request_id' | 'gone'>,
  store_id: string,
  request: RetrieveRequest,
): Promise<{
  readonly memories: readonly { readonly ref: number; readonly content: string }[]
  readonly log_seq: number
}> {
  const reading: Call<typeof memoryContract.retrieve> = {
    ...ownCall(memoryContract.retrieve, caller),
    refuse: (code, message, extras) => {
      throw new Refusal(code === 'index_building' ? 'unavailable' : code, message, extras)
    },
  }
  const body = { ...request, view: 'compact' as const }
  const answered = await memoryHandlers.retrieve(reading, {
    params: { store_id },
    query: undefined,
    body,
  })
  // The handler returns its reply as JSON text.
  return answered instanceof RawJson ? JSON.parse(answered.text) : answered
}

/** Aborts the replay when no reply is stored under the key. */
class Unanswered extends Error {}

export async function findEarlierIds(call: Call): Promise<ReplayIds | null> {
  if (call.idempotency_key === null) return null
  try {
    return await call.once<ReplayIds>({
      run: async () => {
        throw new Unanswered()
      },
      replay: async (_, ids) => ids,
    })
  } catch (error) {
    if (error instanceof Unanswered) return null
    throw error
  }
}
