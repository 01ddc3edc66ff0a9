// Ingestion of conversations into a store.

import Type, { type Static } from 'typebox'
import {
  about,
  Count,
  Hex16,
  JsonObject,
  Label,
  label,
  Nullable,
  OptionalNullable,
  Ref,
  time,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'
import { operation } from '../core/operation.ts'
import { NewContent, namespaceFields } from './memory-records.ts'
import { Duplicate, WRITE_REFUSALS, write } from './memory-shared.ts'

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

const INGEST_MODES = ['verbatim', 'extract'] as const
const FACT_OUTCOMES = ['new', 'duplicate', 'supersedes', 'waiting', 'refused'] as const
const FACT_REASONS = ['not_shown', 'changed', 'policy', 'approval_required', 'too_long'] as const

const ExtractedFact = Type.Object(
  {
    outcome: Type.Enum(FACT_OUTCOMES, {
      title: 'FactOutcome',
      description:
        '`new`: remembered. `duplicate`: the store has it already, nothing is written. ' +
        '`supersedes`: remembered as the next version of another memory. `waiting`: written once ' +
        'a person approves `action_id`. `refused`: not written.',
    }),
    ref: about(Nullable(Ref), 'The memory that it became; null: none was written'),
    duplicate_of: about(Nullable(Ref), 'The memory that says the same'),
    superseded: about(Nullable(Ref), 'The memory that it replaces'),
    source_refs: Type.Array(Ref, { description: 'The turns that say it' }),
    action_id: Type.Optional(about(Hex16, 'The action that a person has to approve')),
    reason: about(
      Nullable(
        Type.Enum(FACT_REASONS, {
          title: 'FactReason',
          description:
            '`not_shown`: it would replace a memory that the model was not shown. `changed`: ' +
            'that memory was replaced, ended or erased meanwhile, or is a digest or an item. ' +
            '`policy`: a policy on `memory.write` denies it. `approval_required`: one wants a ' +
            'person first, for whom it waits, unless it was sent in a session without a key. ' +
            '`too_long`: longer than a memory may be.',
        }),
      ),
      'Why it was not written',
    ),
  },
  { title: 'ExtractedFact', description: 'What became of a fact that the model found' },
)

export type FactBecame = Static<typeof ExtractedFact>

const Extraction = Type.Object(
  {
    extraction_id: about(Hex16, 'Also in the metadata of each memory that was made'),
    decision_id: about(Hex16, 'The signed record of the question and the answer'),
    provider_id: about(Hex16, 'The `config_id` of the provider that was sent the turns'),
    facts: Type.Array(ExtractedFact, { description: 'In the order of the answer' }),
  },
  { title: 'Extraction', description: 'What a model found in a conversation' },
)

const Ingested = Type.Object(
  {
    refs: Type.Array(Ref, { description: 'Numbers of the turns, in the order of the request' }),
    duplicates: Type.Array(Duplicate, { description: 'Turns with the content of another memory' }),
    log_seq: Nullable(Count),
    extraction: Type.Optional(about(Nullable(Extraction), 'With `extract` only')),
  },
  { title: 'IngestedConversation', description: 'What a conversation became in a store' },
)

/** The operation that ingests a conversation. Its handler is in the orchestrator slice. */
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
      'come. Exact duplicates are stored and reported. With `extract` a model also says which ' +
      'facts the turns hold: each is compared with the store and remembered with the turns it is ' +
      'from. The key then also needs `memory:read` and `orchestrator:run`.',
    body: Type.Object({
      messages: Type.Array(Message, {
        minItems: 1,
        maxItems: limits.batch_items,
        description: 'The turns, oldest first',
      }),
      mode: Type.Optional(
        Type.Enum(INGEST_MODES, {
          title: 'IngestMode',
          default: 'verbatim',
          description:
            '`verbatim`: each message is remembered as it is. `extract`: also the facts that a ' +
            'model finds in them',
        }),
      ),
      model_id: OptionalNullable(
        about(Label, 'The model that `extract` asks: one that a provider is configured for'),
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
    reply: Ingested,
    refuses: [...WRITE_REFUSALS, 'provider_not_found', 'model_unavailable', 'model_answer_invalid'],
    idempotent: true,
  }),
} as const
