// Converts one question to a model, and its answer (whole or streamed), to and from the two wire
// formats of providers. Pure functions from data to data.

import type { PROVIDER_KINDS } from '@custos/contract'
import { isObject, type JsonObject } from '@custos/proof'

interface ToolRequest {
  readonly tool: string
  readonly args: JsonObject
}

/** A message of the conversation. A `tool` message holds the result of a call. */
export type ChatMessage =
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
  /** The most tokens of the answer. */
  readonly max_tokens: number
  readonly temperature: number
}

export interface ModelAnswer {
  readonly text: string
  readonly calls: readonly ToolRequest[]
  /** `null` if the provider did not report it. */
  readonly tokens_in: number | null
  readonly tokens_out: number | null
  readonly model_version: string | null
}

interface ChatForm {
  readonly path: string
  headers(api_key: string | null): Record<string, string>
  body(question: ModelQuestion): JsonObject
  /** Returns `null` if `reply` is not an answer in this format. */
  parse(reply: unknown): ModelAnswer | null
}

/** The largest token count accepted of one answer, so that sums of counts stay exact. */
const COUNT_MAX = 1_000_000_000

const countOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= COUNT_MAX
    ? value
    : null
/** Receipts show the version in clear, so only a name is accepted, never a sentence. */
const versionOf = (value: unknown): string | null =>
  typeof value === 'string' && /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}$/.test(value) ? value : null

/** Returns `null` if `value` is no object, or not the JSON of one. */
function argsOf(value: unknown): JsonObject | null {
  if (typeof value !== 'string') return isObject(value) ? value : null
  try {
    const parsed: unknown = value.trim() === '' ? {} : JSON.parse(value)
    return isObject(parsed) ? parsed : null
  } catch {
    return null
  }
}

/** The key under which arguments that are not an object are kept; no tool declares it. */
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
    // The scale of Anthropic temperatures ends at 1.
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

/** Turns must alternate, so tool results and the text after them are merged into one user turn. */
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

/** The limit of a streamed answer: text and arguments together, in characters. */
const ANSWER_CHARS = 1024 * 1024
const DONE = '[DONE]'

/** The members that a request adds to ask for a streamed answer. */
export const STREAMING: Readonly<Record<(typeof PROVIDER_KINDS)[number], JsonObject>> = {
  openai: { stream: true, stream_options: { include_usage: true } },
  anthropic: { stream: true },
}

export class AnswerStream {
  readonly #kind: keyof typeof STREAMING
  readonly #decoder = new TextDecoder()
  /** The unfinished last line, or the whole reply so far if the provider does not stream. */
  #rest = ''
  #isWhole: boolean | null = null
  #text = ''
  #model: unknown = null
  #usage: JsonObject = {}
  /** Tool calls by their index in the answer. */
  readonly #calls = new Map<number, { name: string; args: string }>()
  #ended = false
  #failed = false

  constructor(kind: keyof typeof STREAMING) {
    this.#kind = kind
  }

  /** Takes the next chunk and returns the text that it added to the answer. */
  push(chunk: Uint8Array): string {
    const before = this.#text.length
    this.#rest += this.#decoder.decode(chunk, { stream: true })
    this.#isWhole ??= this.#rest.trim() === '' ? null : this.#rest.trimStart().startsWith('{')
    if (this.#isWhole === false) {
      const lines = this.#rest.split(/\r\n|\n|\r(?!$)/)
      this.#rest = lines.pop() ?? ''
      for (const line of lines) this.#takeLine(line)
    }
    if (this.#rest.length + this.#size() > ANSWER_CHARS) {
      this.#failed = true
      this.#rest = ''
    }
    return this.#failed ? '' : this.#text.slice(before)
  }

  /** Returns the answer in the non-streamed format, or `null` if it was cut off or is invalid. */
  finish(): unknown {
    if (this.#failed) return null
    if (this.#isWhole) return parse(this.#rest)
    this.#takeLine(this.#rest)
    return this.#ended && !this.#failed ? this.#reply() : null
  }

  #size(): number {
    let size = this.#text.length
    for (const { name, args } of this.#calls.values()) size += name.length + args.length
    return size
  }

  #reply(): JsonObject {
    const calls = [...this.#calls].sort(([a], [b]) => a - b).map(([, call]) => call)
    const [text, usage] = [this.#text, this.#usage]
    const model = typeof this.#model === 'string' ? this.#model : null
    if (this.#kind === 'openai') {
      const tool_calls = calls.map(({ name, args }) => ({ function: { name, arguments: args } }))
      return { model, usage, choices: [{ message: { content: text, tool_calls } }] }
    }
    const used = calls.map(({ name, args }) => ({ type: 'tool_use', name, input: args }))
    return { model, usage, content: [{ type: 'text', text }, ...used] }
  }

  // Each event of both formats is one `data:` line, so `event:` and `id:` lines can be ignored.
  #takeLine(line: string): void {
    if (!line.startsWith('data:') || this.#failed) return
    const data = line.slice('data:'.length).trim()
    if (data === DONE) {
      this.#ended = true
      return
    }
    const event = parse(data)
    if (!isObject(event) || event['type'] === 'error' || isObject(event['error']))
      this.#failed = true
    else if (this.#kind === 'openai') this.#takeCompletion(event)
    else this.#takeMessage(event)
  }

  #takeCompletion({ model, usage, choices }: JsonObject): void {
    this.#model ??= model
    if (isObject(usage)) this.#usage = usage
    const [choice] = Array.isArray(choices) ? choices : []
    if (!isObject(choice)) return
    const delta = isObject(choice['delta']) ? choice['delta'] : {}
    this.#addText(delta['content'])
    const parts = Array.isArray(delta['tool_calls']) ? delta['tool_calls'].filter(isObject) : []
    for (const part of parts) {
      const named = isObject(part['function']) ? part['function'] : {}
      this.#addCall(part['index'], named['name'], named['arguments'])
    }
    if (typeof choice['finish_reason'] === 'string') this.#ended = true
  }

  #takeMessage(event: JsonObject): void {
    const { type, index } = event
    const part = (key: string): JsonObject => {
      const value = event[key]
      return isObject(value) ? value : {}
    }
    if (type === 'message_start') this.#model = part('message')['model']
    const usage = type === 'message_start' ? part('message')['usage'] : event['usage']
    if (isObject(usage)) this.#usage = { ...this.#usage, ...usage }
    const block = part('content_block')
    if (type === 'content_block_start' && block['type'] === 'text') this.#addText(block['text'])
    if (type === 'content_block_start' && block['type'] === 'tool_use')
      this.#addCall(index, block['name'], '')
    const delta = part('delta')
    if (delta['type'] === 'text_delta') this.#addText(delta['text'])
    if (delta['type'] === 'input_json_delta') this.#addCall(index, '', delta['partial_json'])
    if (type === 'message_stop') this.#ended = true
  }

  #addText(text: unknown): void {
    if (typeof text === 'string') this.#text += text
  }

  #addCall(index: unknown, name: unknown, args: unknown): void {
    const at = typeof index === 'number' ? index : 0
    const call = this.#calls.get(at) ?? { name: '', args: '' }
    if (typeof name === 'string') call.name += name
    if (typeof args === 'string') call.args += args
    this.#calls.set(at, call)
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
