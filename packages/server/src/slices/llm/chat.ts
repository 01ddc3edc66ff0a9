// One question to a model in the two forms that providers speak: pure, from data to data.

import type { PROVIDER_KINDS } from '@custos/contract'
import { isObject, type JsonObject } from '@custos/proof'

interface ToolRequest {
  readonly tool: string
  readonly args: JsonObject
}

/** A part of the conversation; `tool`: what a call answered. */
type ChatMessage =
  | { readonly role: 'user'; readonly text: string }
  | {
      readonly role: 'assistant'
      readonly text: string
      readonly calls: readonly (ToolRequest & { readonly call_id: string })[]
    }
  | { readonly role: 'tool'; readonly text: string; readonly call_id: string }

export interface ModelQuestion {
  readonly model_id: string
  readonly system: string
  readonly messages: readonly ChatMessage[]
  readonly tools: readonly {
    readonly name: string
    readonly description: string
    readonly input_schema: JsonObject
  }[]
  /** Of the answer. */
  readonly max_tokens: number
  readonly temperature: number
}

export interface ModelAnswer {
  readonly text: string
  readonly calls: readonly ToolRequest[]
  /** Null: the provider did not say. */
  readonly tokens_in: number | null
  readonly tokens_out: number | null
  readonly model_version: string | null
}

interface ChatForm {
  readonly path: string
  headers(api_key: string | null): Record<string, string>
  body(question: ModelQuestion): JsonObject
  /** Null: it is not an answer of this form. */
  parse(reply: unknown): ModelAnswer | null
}

/** What one answer can count: sums of it stay whole. */
const COUNT_MAX = 1_000_000_000

const countOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= COUNT_MAX
    ? value
    : null
/** A receipt shows it in clear, so it is a name and never a sentence. */
const versionOf = (value: unknown): string | null =>
  typeof value === 'string' && /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}$/.test(value) ? value : null

/** Null: no object. */
function argsOf(value: unknown): JsonObject | null {
  if (typeof value !== 'string') return isObject(value) ? value : null
  try {
    const parsed: unknown = value.trim() === '' ? {} : JSON.parse(value)
    return isObject(parsed) ? parsed : null
  } catch {
    return null
  }
}

/** The name under which arguments that are no object are kept: no tool takes them. */
export const UNREADABLE = 'unreadable'

const requestOf = (name: unknown, args: unknown): ToolRequest | null =>
  typeof name === 'string' && name !== ''
    ? { tool: name, args: argsOf(args) ?? { [UNREADABLE]: String(args) } }
    : null

const allOf = <T>(list: readonly (T | null)[]): readonly T[] | null =>
  list.every((one) => one !== null) ? list : null

/** https://platform.openai.com/docs/api-reference/chat */
const chatCompletions: ChatForm = {
  path: '/chat/completions',
  headers: (api_key) => (api_key === null ? {} : { authorization: `Bearer ${api_key}` }),
  body: ({ model_id, system, messages, tools, max_tokens, temperature }) => ({
    model: model_id,
    messages: [{ role: 'system', content: system }, ...messages.map(completionMessage)],
    max_tokens,
    temperature,
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, input_schema }) => ({
        type: 'function',
        function: { name, description, parameters: input_schema },
      })),
    }),
  }),
  parse(reply) {
    if (!isObject(reply) || !Array.isArray(reply['choices'])) return null
    const [choice] = reply['choices']
    const message = isObject(choice) ? choice['message'] : null
    if (!isObject(message)) return null
    const { content = null, tool_calls = [] } = message
    if (content !== null && typeof content !== 'string') return null
    const listed = tool_calls === null ? [] : tool_calls
    if (!Array.isArray(listed)) return null
    const calls = allOf(
      listed.map((one) => {
        const named = isObject(one) ? one['function'] : null
        return isObject(named) ? requestOf(named['name'], named['arguments']) : null
      }),
    )
    if (calls === null) return null
    const usage = isObject(reply['usage']) ? reply['usage'] : {}
    return {
      text: content ?? '',
      calls,
      tokens_in: countOf(usage['prompt_tokens']),
      tokens_out: countOf(usage['completion_tokens']),
      model_version: versionOf(reply['model']),
    }
  },
}

function completionMessage(message: ChatMessage): JsonObject {
  if (message.role === 'user') return { role: 'user', content: message.text }
  if (message.role === 'tool')
    return { role: 'tool', tool_call_id: message.call_id, content: message.text }
  const { text, calls } = message
  if (calls.length === 0) return { role: 'assistant', content: text }
  return {
    role: 'assistant',
    content: text === '' ? null : text,
    tool_calls: calls.map(({ call_id, tool, args }) => ({
      id: call_id,
      type: 'function',
      function: { name: tool, arguments: JSON.stringify(args) },
    })),
  }
}

/** https://docs.anthropic.com/en/api/messages */
const anthropicMessages: ChatForm = {
  path: '/messages',
  headers: (api_key) => ({
    'anthropic-version': '2023-06-01',
    ...(api_key === null ? {} : { 'x-api-key': api_key }),
  }),
  body: ({ model_id, system, messages, tools, max_tokens, temperature }) => ({
    model: model_id,
    system,
    messages: joinTurns(messages),
    max_tokens,
    // Their scale ends at 1.
    temperature: Math.min(1, temperature),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, input_schema }) => ({
        name,
        description,
        input_schema,
      })),
    }),
  }),
  parse(reply) {
    if (!isObject(reply) || !Array.isArray(reply['content'])) return null
    const blocks = reply['content'].filter(isObject)
    const text = blocks
      .flatMap((one) => (one['type'] === 'text' ? [String(one['text'])] : []))
      .join('')
    const used = blocks.filter(({ type }) => type === 'tool_use')
    const calls = allOf(used.map(({ name, input }) => requestOf(name, input)))
    if (calls === null) return null
    const usage = isObject(reply['usage']) ? reply['usage'] : {}
    return {
      text,
      calls,
      tokens_in: countOf(usage['input_tokens']),
      tokens_out: countOf(usage['output_tokens']),
      model_version: versionOf(reply['model']),
    }
  },
}

/** Turns alternate: what tools answered and what follows it is one turn of the user. */
function joinTurns(messages: readonly ChatMessage[]): JsonObject[] {
  const turns: { role: string; content: JsonObject[] }[] = []
  for (const message of messages) {
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const last = turns.at(-1)
    const content = blocksOf(message)
    if (last?.role === role) last.content.push(...content)
    else turns.push({ role, content })
  }
  return turns
}

function blocksOf(message: ChatMessage): JsonObject[] {
  if (message.role === 'user') return [{ type: 'text', text: message.text }]
  if (message.role === 'tool')
    return [{ type: 'tool_result', tool_use_id: message.call_id, content: message.text }]
  return [
    ...(message.text === '' ? [] : [{ type: 'text', text: message.text }]),
    ...message.calls.map(({ call_id, tool, args }) => ({
      type: 'tool_use',
      id: call_id,
      name: tool,
      input: args,
    })),
  ]
}

export const CHAT_FORMS: Readonly<Record<(typeof PROVIDER_KINDS)[number], ChatForm>> = {
  openai: chatCompletions,
  anthropic: anthropicMessages,
}
