// Operations on model providers, which managed runs use.

import Type, { type Static } from 'typebox'
import {
  about,
  boolean,
  Cursor,
  count,
  EmptyBody,
  Hex16,
  JsonObject,
  Label,
  Limit,
  Name,
  Nullable,
  Offset,
  OptionalNullable,
  page,
  Timestamp,
  text,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'
import { operation } from '../core/operation.ts'
import { ToolEffect } from './orchestrator-records.ts'

/** The request format: chat completions of OpenAI, or messages of Anthropic. */
export const PROVIDER_KINDS = ['openai', 'anthropic'] as const

/**
 * `http`: sends one request to an address that is fixed except for declared parameters. `client`:
 * the caller acts and reports. `action`: invokes an action of the world model. The others are
 * operations of these names (`erasure`: `erasure.issue`). All act with the rights of the run.
 */
export const TOOL_KINDS = [
  'http',
  'client',
  'action',
  'erasure',
  'memory.retrieve',
  'memory.write',
  'memory.supersede',
] as const

export const llmLimits = {
  tools_per_tenant: 500,
  tool_headers: 20,
  compensation_args: 20,
  tool_name: '^[A-Za-z0-9_-]{1,64}$',
  providers_per_tenant: 100,
  key_chars: 4_096,
  /** Highest price of a million tokens, in millionths of the currency. */
  price_micro: 1_000_000_000_000,
  page: { min: 1, max: 200, default: 50 },
} as const

const ProviderKind = Type.Enum(PROVIDER_KINDS, {
  title: 'ProviderKind',
  description:
    '`openai`: chat completions, of any compatible service. `anthropic`: messages of Anthropic.',
})
const Url = text('Address before `/chat/completions` or `/messages`: https, no user name', {
  minLength: 1,
  maxLength: limits.webhook_url_chars,
})
const ApiKey = text('Key of the provider; it is sealed and never shown', {
  minLength: 1,
  maxLength: llmLimits.key_chars,
  pattern: '^[\\x21-\\x7e]+$',
})
const price = (of: string) =>
  Type.Integer({
    minimum: 0,
    maximum: llmLimits.price_micro,
    description: `Price of a million tokens of the ${of}, in millionths of the currency`,
  })

const prices = { price_in_micro: price('prompt'), price_out_micro: price('answer') }

export const ModelProvider = Type.Object(
  {
    config_id: Hex16,
    provider: about(ProviderKind, 'Form of its requests'),
    model_id: text('Model that agents name'),
    base_url: text('Address that is asked'),
    api_key_set: boolean('Whether a key is stored'),
    streams: boolean('Whether it is asked for its answers in parts'),
    ...prices,
    enabled: boolean('Whether managed runs may ask it'),
    created_at: Timestamp,
  },
  { title: 'ModelProvider', description: 'Who answers for a model, at which price' },
)
export type ModelProvider = Static<typeof ModelProvider>

const toolFields = {
  name: text('Name, as agents and models use it', { pattern: llmLimits.tool_name }),
  description: text('What it does, for the model', { maxLength: limits.reason_chars }),
  tool_type: Type.Enum(TOOL_KINDS, {
    title: 'ToolKind',
    description:
      '`http`: a request. `client`: the caller acts and reports. `action`: invokes an action ' +
      'of the world model. `erasure`: erases a memory. The others: the operations of these ' +
      'names',
  }),
  effect: about(ToolEffect, 'What repeating a call does'),
  input_schema: about(JsonObject, 'JSON Schema of the arguments: an object'),
  method: Type.Enum(['GET', 'POST'], { title: 'ToolMethod', description: 'Method of the request' }),
  url: text(
    'Address; `{name}` in its path or query is the argument of that name. Other arguments are ' +
      'the query of a GET and the JSON body of a POST',
    { minLength: 1, maxLength: limits.webhook_url_chars },
  ),
}

const Compensation = Type.Object(
  {
    tool: text('Tool that undoes a call, of any kind but `client`', {
      pattern: llmLimits.tool_name,
    }),
    map: Type.Record(
      Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' }),
      Type.String({ pattern: '^(args|result)(\\.[A-Za-z0-9_-]{1,64}){0,8}$' }),
      {
        description: 'Of each of its arguments where it is: `args.id`, or `result.id` of JSON',
        maxProperties: llmLimits.compensation_args,
      },
    ),
  },
  {
    title: 'ToolCompensation',
    description: 'How a call is undone where its run ends other than completed',
    additionalProperties: false,
  },
)

export const Tool = Type.Object(
  {
    tool_id: Hex16,
    ...toolFields,
    method: Nullable(about(toolFields.method, 'Method; null: it sends no request')),
    url: Nullable(about(toolFields.url, 'Address; null: it sends no request')),
    action_name: Nullable(text('Action that it invokes; null: none')),
    compensation: Nullable(about(Compensation, 'How a call of it is undone; null: not at all')),
    builtin: boolean('Whether its name is reserved for `seed-builtins`'),
    headers: Type.Array(Type.String(), {
      description: 'Names of headers that are sent; their values are never shown',
    }),
    version: count('Version number, from 1'),
    enabled: boolean('Whether managed runs may call it'),
    created_at: Timestamp,
  },
  { title: 'Tool', description: 'What a model may have done, and how often' },
)
export type Tool = Static<typeof Tool>

const admin = { access: 'tenant', scope: 'llm:admin' } as const
const path = '/v1/llm/providers'
const tools = '/v1/llm/tools'

export const llm = {
  create_provider: operation({
    ...admin,
    id: 'llm.create_provider',
    method: 'POST',
    path,
    summary: 'Configures who answers for a model; replaces what was configured for it',
    description:
      'Use it before a managed run. The address is checked here and at every request; private ' +
      'networks are refused unless the operator allows them. The key is sealed and never shown.',
    body: Type.Object({
      provider: about(ProviderKind, 'Form of its requests'),
      model_id: about(Label, 'Model, as agents and the provider name it'),
      base_url: OptionalNullable(Url),
      api_key: OptionalNullable(ApiKey),
      price_in_micro: Type.Optional({ ...prices.price_in_micro, default: 0 }),
      price_out_micro: Type.Optional({ ...prices.price_out_micro, default: 0 }),
      enabled: Type.Optional({ ...boolean('Whether managed runs may ask it'), default: true }),
      streams: Type.Optional({
        ...boolean('Whether it is asked for its answers in parts, which streams of runs show'),
        default: false,
      }),
    }),
    example: {
      provider: 'openai',
      model_id: 'gpt-example',
      api_key: 'sk-example',
      price_in_micro: 2_500_000,
      price_out_micro: 10_000_000,
    },
    status: 201,
    reply: ModelProvider,
    refuses: ['url_refused', 'too_many', 'idempotency_key_reused'],
    idempotent: true,
  }),
  list_providers: operation({
    ...admin,
    id: 'llm.list_providers',
    method: 'GET',
    path,
    summary: 'Lists the models that managed runs may ask, oldest first',
    description: 'Use it to see addresses and prices. Keys are never shown.',
    query: Type.Object({ limit: Limit(llmLimits.page), offset: Offset, cursor: Cursor }),
    status: 200,
    reply: page('providers', ModelProvider),
    refuses: ['rejected'],
  }),
  delete_provider: operation({
    ...admin,
    id: 'llm.delete_provider',
    method: 'DELETE',
    path: `${path}/{model_id}`,
    greedy: true,
    summary: 'Deletes what is configured for a model; its key is destroyed',
    description: 'Use it to stop managed runs from asking the model: their next step fails.',
    params: Type.Object({ model_id: about(Label, 'Model as it was configured') }),
    status: 200,
    reply: Type.Object({
      deleted: Type.Literal(true, { description: 'Always true' }),
      model_id: text('The model'),
    }),
    refuses: ['provider_not_found'],
  }),
  create_tool: operation({
    ...admin,
    id: 'llm.create_tool',
    method: 'POST',
    path: tools,
    summary: 'Defines a tool for managed runs; replaces the one of that name',
    description:
      'Use it to let a model act. The address is fixed here: the model fills declared parameters ' +
      'only. Each request carries `Idempotency-Key`, the id of the call. A `once` tool is never ' +
      'called twice for one call, whatever fails. Tools of memories and of erasure have the ' +
      'schema and the effect of their kind. Only `http` has an address.',
    body: Type.Object({
      name: toolFields.name,
      description: toolFields.description,
      tool_type: OptionalNullable(
        about(toolFields.tool_type, 'Kind; default: `http` with a `url`, else `client`'),
      ),
      effect: OptionalNullable(
        about(ToolEffect, 'What repeating a call does; default: `once`, or that of the kind'),
      ),
      input_schema: OptionalNullable(
        about(
          JsonObject,
          'JSON Schema of the arguments: an object; needed by `http`. Of an `action`: of its ' +
            'parameters',
        ),
      ),
      method: OptionalNullable(about(toolFields.method, 'Method of the request; default: `POST`')),
      url: OptionalNullable(about(toolFields.url, 'Address; see `Tool.url`. Needed by `http`')),
      action_name: OptionalNullable(about(Name, 'Action of the world model; needed by `action`')),
      compensation: OptionalNullable(
        about(Compensation, 'How a call of it is undone; default: not at all'),
      ),
      headers: OptionalNullable(
        Type.Record(
          Type.String({ pattern: '^[A-Za-z][A-Za-z0-9-]{0,63}$' }),
          Type.String({ maxLength: llmLimits.key_chars, pattern: '^[\\x20-\\x7e]*$' }),
          {
            description: 'Headers to send, for example a key; they are sealed',
            maxProperties: llmLimits.tool_headers,
          },
        ),
      ),
      enabled: Type.Optional({ ...boolean('Whether managed runs may call it'), default: true }),
    }),
    example: {
      name: 'open_ticket',
      description: 'Opens a ticket',
      effect: 'once',
      input_schema: {
        type: 'object',
        properties: { title: { type: 'string' } },
        required: ['title'],
      },
      url: 'https://tickets.example.com/v1/tickets',
    },
    status: 201,
    reply: Tool,
    refuses: ['url_refused', 'rejected', 'name_taken', 'too_many', 'idempotency_key_reused'],
    idempotent: true,
  }),
  seed_builtins: operation({
    ...admin,
    id: 'llm.seed_builtins',
    method: 'POST',
    path: `${tools}/seed-builtins`,
    summary: 'Creates the tools of memories that are not there: retrieve, write and supersede',
    description:
      'Use it to let models use memory by themselves. The tools are `memory_retrieve`, ' +
      '`memory_write` and `memory_supersede`; they do what the key of the run may do, in the ' +
      'stores of its agent. Agents name them, or have no list of `tools`.',
    body: EmptyBody,
    body_optional: true,
    example: {},
    status: 200,
    reply: Type.Object({ seeded: count('Tools that were created') }),
    refuses: ['too_many', 'idempotency_key_reused'],
    idempotent: true,
  }),
  list_tools: operation({
    ...admin,
    id: 'llm.list_tools',
    method: 'GET',
    path: tools,
    summary: 'Lists the tools, oldest first',
    description: 'Use it to see what models may have done. Values of headers are never shown.',
    query: Type.Object({ limit: Limit(llmLimits.page), offset: Offset, cursor: Cursor }),
    status: 200,
    reply: page('tools', Tool),
    refuses: ['rejected'],
  }),
  delete_tool: operation({
    ...admin,
    id: 'llm.delete_tool',
    method: 'DELETE',
    path: `${tools}/{tool_name}`,
    summary: 'Deletes a tool and destroys its headers',
    description: 'Use it to prevent managed runs from calling the tool.',
    params: Type.Object({
      tool_name: text('Name of the tool', { pattern: llmLimits.tool_name }),
    }),
    status: 200,
    reply: Type.Object({
      deleted: Type.Literal(true, { description: 'Always true' }),
      tool_name: text('The name'),
    }),
    refuses: ['tool_not_found'],
  }),
} as const
