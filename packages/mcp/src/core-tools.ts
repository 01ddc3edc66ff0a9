// The tools every agent needs: search, save, get and forget memories.

import Type from 'typebox'
import { ForgetInput, ForgetOutput, forget } from './forget.ts'
import { failed, fence, result, type ToolSpec, tool } from './tool.ts'

const Ref = Type.Integer({ minimum: 0, description: 'Number of the memory' })
const Time = (description: string) => Type.Optional(Type.String({ description }))
const Metadata = (description: string) =>
  Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description }))
const Namespace = Type.Optional(
  Type.String({ description: 'Part of the store; default: the root' }),
)
const NullableTime = Type.Union([Type.String(), Type.Null()])

const search = tool({
  name: 'memory_search',
  title: 'Search memories',
  description: 'Finds what is remembered about a question. Use it before answering.',
  scopes: ['memory:read'],
  hints: { readOnlyHint: true },
  input: Type.Object(
    {
      query: Type.String({ description: 'What to look for' }),
      budget_tokens: Type.Optional(Type.Integer({ minimum: 0, description: 'Most tokens' })),
      top_k: Type.Optional(Type.Integer({ minimum: 1, description: 'Most memories' })),
      as_of: Time('What was valid at this time (RFC 3339)'),
      known_at: Time('What was on record at this time'),
      filter: Metadata('Metadata that memories must have'),
      namespace: Namespace,
    },
    { additionalProperties: false },
  ),
  output: Type.Object({
    memories: Type.Array(
      Type.Object({
        ref: Type.Integer(),
        content: Type.String(),
        written_at: Type.String(),
        valid_from: Type.String(),
        token_count: Type.Integer(),
        score: Type.Number(),
      }),
    ),
    tokens_used: Type.Integer(),
    budget_tokens: Type.Integer(),
    dropped: Type.Integer(),
    log_seq: Type.Integer(),
  }),
  async run({ query, filter, namespace, budget_tokens, ...options }, { session }) {
    const found = await session.custos.memory.retrieve(session.store, {
      query,
      options: {
        ...options,
        budget_tokens: budget_tokens ?? session.budget,
        ...(filter ? { metadata: filter } : {}),
        ...session.namespaceOf(namespace),
      },
    })
    const memories = found.memories.map((memory) => ({
      ref: memory.ref,
      content: memory.content,
      written_at: 'written_at' in memory ? memory.written_at : '',
      valid_from: 'valid_from' in memory ? memory.valid_from : '',
      token_count: memory.token_count,
      score: memory.score,
    }))
    const { tokens_used, dropped, log_seq } = found
    const lines = memories.map(({ ref, content }) => `[memory ${ref}] ${content}`)
    const text =
      memories.length === 0
        ? 'Nothing is remembered about this.'
        : `${memories.length} memories, ${tokens_used} tokens.\n${fence(lines.join('\n'))}`
    const counts = { tokens_used, budget_tokens: found.budget_tokens, dropped, log_seq }
    return result({ memories, ...counts }, text)
  },
})

const save = tool({
  name: 'memory_save',
  title: 'Save a memory',
  description:
    'Remembers one fact. Use it for what should be known later; name the memory it corrects in ' +
    '`replaces`.',
  scopes: ['memory:write'],
  hints: { readOnlyHint: false, destructiveHint: false },
  input: Type.Object(
    {
      content: Type.String({ minLength: 1, description: 'The fact, in words of its own' }),
      replaces: Type.Optional(Ref),
      valid_from: Time('From when it is true; default: now'),
      metadata: Metadata('Kept with the memory'),
      namespace: Namespace,
    },
    { additionalProperties: false },
  ),
  output: Type.Object({
    ref: Type.Integer(),
    status: Type.String(),
    duplicate_of: Type.Union([Type.Integer(), Type.Null()]),
    log_seq: Type.Integer(),
  }),
  async run({ replaces, namespace, ...fact }, { session }) {
    const body = { ...fact, ...session.namespaceOf(namespace) }
    const { memory } = session.custos
    const written =
      replaces === undefined
        ? await memory.write(session.store, body)
        : await memory.supersede(session.store, { old_ref: replaces, ...body })
    const { ref, status, duplicate_of, log_seq } = written
    const again = duplicate_of === null ? '' : ` Memory ${duplicate_of} says the same.`
    const unknown = 'warning' in written ? ` There is no memory ${replaces}: it is a new one.` : ''
    const text = `Saved as memory ${ref}.${again}${unknown}`
    return result({ ref, status, duplicate_of, log_seq }, text)
  },
})

const get = tool({
  name: 'memory_get',
  title: 'Read a memory',
  description: 'Reads one memory by its number, with its earlier and later versions if asked.',
  scopes: ['memory:read'],
  hints: { readOnlyHint: true },
  input: Type.Object(
    {
      ref: Ref,
      history: Type.Optional(
        Type.Boolean({ description: 'Also its other versions, oldest first' }),
      ),
    },
    { additionalProperties: false },
  ),
  output: Type.Object({
    memory: Type.Object({
      ref: Type.Integer(),
      content: Type.String(),
      metadata: Type.Record(Type.String(), Type.Unknown()),
      written_at: Type.String(),
      valid_from: Type.String(),
      valid_until: NullableTime,
      superseded_by: Type.Union([Type.Integer(), Type.Null()]),
    }),
    versions: Type.Optional(
      Type.Array(Type.Object({ ref: Type.Integer(), content: Type.String() })),
    ),
  }),
  async run({ ref, history }, { session }) {
    const found = await session.custos.memory.memory(session.store, ref)
    if (!session.reaches(found)) return failed(`Memory not found. There is no memory ${ref}.`)
    const { content, metadata, written_at, valid_from, valid_until, superseded_by } = found
    const memory = { ref, content, metadata, written_at, valid_from, valid_until, superseded_by }
    if (!history) return result({ memory }, fence(content))
    const versions: { ref: number; content: string }[] = []
    for await (const { memory: one } of session.custos.memory.history.all(session.store, ref))
      if (one) versions.push({ ref: one.ref, content: one.content })
    const lines = versions.map((one) => `[memory ${one.ref}] ${one.content}`)
    return result({ memory, versions }, fence(lines.join('\n')))
  },
})

const forgetOne = tool({
  name: 'memory_forget',
  title: 'Forget a memory',
  description:
    'Erases one memory from every copy, with a certificate. Use it when somebody asks to be ' +
    'forgotten. A person confirms first.',
  scopes: ['memory:read', 'erasure:execute'],
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
  input: ForgetInput,
  output: ForgetOutput,
  run: forget,
})

export const coreTools: readonly ToolSpec[] = [search, save, get, forgetOne]
