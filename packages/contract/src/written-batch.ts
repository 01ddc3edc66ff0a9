// The reply to several memories that are written at once.

import Type from 'typebox'
import { about, Count, count, Nullable, Ref } from './common.ts'

const Duplicate = Type.Object({
  index: count('Position in the list of the request, from 0'),
  duplicate_of: about(Ref, 'A memory with exactly this content'),
})

export const WrittenBatch = Type.Object(
  {
    refs: Type.Array(Ref, { description: 'Numbers of the memories, in the order of the request' }),
    duplicates: Type.Array(Duplicate, { description: 'Those with the content of another memory' }),
    log_seq: Nullable(Count),
  },
  { title: 'WrittenBatch', description: 'Memories that were written at once' },
)
