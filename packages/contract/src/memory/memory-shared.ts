// Shared by operations on memories: paths, rights, refusals, and a reply.

import Type from 'typebox'
import { about, Count, count, Nullable, pathId, Ref } from '../core/common.ts'

export const StoreParams = Type.Object({
  store_id: pathId({ examples: ['default'] }),
})

export const read = {
  method: 'GET',
  access: 'tenant',
  scope: 'memory:read',
  params: StoreParams,
  status: 200,
} as const
export const write = {
  method: 'POST',
  access: 'tenant',
  scope: 'memory:write',
  params: StoreParams,
  status: 200,
} as const

/** Refusals by a policy for an operation that cannot wait for an approval. */
export const POLICY_REFUSALS = ['policy_denied', 'approval_required'] as const

export const CHANGE_REFUSALS = [
  ...POLICY_REFUSALS,
  'store_not_found',
  'store_deleting',
  'no_signing_key',
  'idempotency_key_reused',
] as const

export const WRITE_REFUSALS = [
  ...CHANGE_REFUSALS,
  'capability_not_supported',
  'rejected',
  'quota_exceeded',
] as const

export const Duplicate = Type.Object(
  {
    index: count('Position in the list of the request, from 0'),
    duplicate_of: about(Ref, 'A memory with exactly this content'),
  },
  { title: 'DuplicateMemory', description: 'A new memory with the content of another' },
)

export const WrittenBatch = Type.Object(
  {
    refs: Type.Array(Ref, { description: 'Numbers of the memories, in the order of the request' }),
    duplicates: Type.Array(Duplicate, { description: 'Those with the content of another memory' }),
    log_seq: Nullable(Count),
  },
  { title: 'WrittenBatch', description: 'Memories that were written at once' },
)
