// An answer that comes in parts (server-sent events of both forms): the text of each part at once,
// and at its end the same reply as if it had been sent whole.

import type { PROVIDER_KINDS } from '@custos/contract'
import { isObject, type JsonObject } from '@custos/proof'

/** Text and arguments together, in characters. */
const ANSWER_CHARS = 1024 * 1024
const DONE = '[DONE]'

/** What is added to a question for an answer in parts. */
export const STREAMING: Readonly<Record<(typeof PROVIDER_KINDS)[number], JsonObject>> = {
  openai: { stream: true, stream_options: { include_usage: true } },
  anthropic: { stream: true },
}

export class AnswerStream {
  readonly #kind: keyof typeof STREAMING
  readonly #decoder = new TextDecoder()
  /** Of a line that has not ended; of a reply that is sent whole after all, everything. */
  #rest = ''
  #isWhole: boolean | null = null
  #text = ''
  #model: unknown = null
  #usage: JsonObject = {}
  /** By their index in the answer. */
  readonly #calls = new Map<number, { name: string; args: string }>()
  #ended = false
  #failed = false

  constructor(kind: keyof typeof STREAMING) {
    this.#kind = kind
  }

  /** The text that came with it. */
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

  /** As the form sends it whole; null: it was cut, or is no answer. */
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

  // Each event of both forms is one line of data; names and ids repeat what is in it.
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
