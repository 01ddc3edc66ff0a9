// What a conversation becomes in a store.

import Type from 'typebox'
import { about, JsonObject, Label, label, OptionalNullable, time } from './common.ts'
import { limits } from './limits.ts'
import { NewContent, namespaceFields } from './memory-records.ts'
import { WRITE_REFUSALS, WrittenBatch, write } from './memory-shared.ts'
import { operation } from './operation.ts'

const Message = Type.Object(
  {
    content: NewContent,
    role: OptionalNullable(label({ description: 'As `user`, `assistant`, `tool`' })),
    speaker: OptionalNullable(label({ description: 'The name of who said it' })),
    name: OptionalNullable(label({ description: 'Same as `speaker`, which takes precedence' })),
    timestamp: OptionalNullable(time('When it was said')),
    message_id: OptionalNullable(label({ description: 'The id of the message' })),
  },
  { title: 'IngestMessage', description: 'One turn of a conversation' },
)

/** What a conversation becomes; its handler is in the orchestrator slice. */
export const memoryIngestion = {
  ingest: operation({
    ...write,
    id: 'memory.ingest',
    namespaced: true,
    path: '/v1/stores/{store_id}/ingest',
    summary: 'Remembers the turns of a conversation, all or none',
    description:
      'Use it at the end of a turn or a session. Each message becomes one memory, word for word, ' +
      'with who said it and when in its metadata: `role`, `speaker`, `timestamp`, `message_id`, ' +
      '`session_id`. In a store with `bi_temporal` it is valid from its time, unless that is to ' +
      'come. Exact duplicates are stored and reported.',
    body: Type.Object({
      messages: Type.Array(Message, {
        minItems: 1,
        maxItems: limits.batch_items,
        description: 'The turns, oldest first',
      }),
      mode: Type.Optional(
        Type.Enum(['verbatim'], {
          default: 'verbatim',
          description: 'What becomes of the messages: each is remembered as it is',
        }),
      ),
      session_id: OptionalNullable(about(Label, 'The session that the messages belong to')),
      ...namespaceFields,
      metadata: OptionalNullable(
        about(JsonObject, 'For each of the memories; what the messages say takes precedence'),
      ),
    }),
    example: {
      session_id: 's1',
      messages: [
        { role: 'user', speaker: 'Ana', content: 'I moved to Porto' },
        { role: 'assistant', content: 'How do you like it?' },
      ],
    },
    reply: WrittenBatch,
    refuses: WRITE_REFUSALS,
    idempotent: true,
  }),
} as const
