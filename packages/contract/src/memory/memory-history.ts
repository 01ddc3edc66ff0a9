// The history of a memory: its versions on both time axes; erased versions appear as markers.

import Type, { type Static } from 'typebox'
import {
  about,
  boolean,
  Cursor,
  count,
  Hex16,
  integer,
  Limit,
  Nullable,
  pathId,
  Ref,
  Timestamp,
  text,
  time,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'
import { operation } from '../core/operation.ts'
import { Memory } from './memory-records.ts'

/** One version in a history. Only numbers and times remain of an erased version. */
export const MemoryVersion = Type.Object(
  {
    ref: Ref,
    memory: Nullable(about(Memory, 'The version; null: it is erased or has expired')),
    log_seq: integer('Position in the audit log at which it was written'),
    valid_from: Timestamp,
    valid_until: Nullable(Timestamp),
    superseded_by: Nullable(about(Ref, 'The version that replaced it; null: none has')),
    erased: boolean('Whether it was erased, or its erasure is under way'),
    erased_at: Nullable(time('When it was erased')),
    erasure_certificate_id: Nullable(about(Hex16, 'Id of the certificate, once there is one')),
  },
  { title: 'MemoryVersion', description: 'One version in the history of a memory' },
)
export type MemoryVersion = Static<typeof MemoryVersion>

export const memoryHistory = operation({
  id: 'memory.history',
  method: 'GET',
  access: 'tenant',
  scope: 'memory:read',
  namespaced: true,
  path: '/v1/stores/{store_id}/memories/{ref}/history',
  summary: 'Lists the versions of a memory, oldest first',
  description:
    'Use it to see how a memory changed: each version with when it was written and when it is ' +
    'valid. Any version names the same history. An erased version is listed without its ' +
    'content, at the place it had; its own number still leads to the history. Of a history of ' +
    `over ${limits.history_versions} versions, those nearest the named one are listed.`,
  params: Type.Object({ store_id: pathId({ examples: ['default'] }), ref: Ref }),
  query: Type.Object({ limit: Limit(limits.history_page), cursor: Cursor }),
  status: 200,
  reply: Type.Object({
    versions: Type.Array(MemoryVersion, { description: 'The versions of this page' }),
    count: count('Number of items in this page'),
    next_cursor: Nullable(text('Where the next page begins; null: this is the last')),
  }),
  refuses: ['store_not_found', 'memory_not_found', 'rejected'],
})
