// A model on loopback: it speaks the forms of both providers and answers as a test says.

import type { IncomingHttpHeaders } from 'node:http'
import {
  startTlsServer,
  trustTestCertificate,
} from '../../../platform/egress/testing/tls-server.ts'
import type { Answer } from '../../../testing/harness.ts'

interface AskedQuestion {
  readonly headers: IncomingHttpHeaders
  readonly path: string
  readonly body: Answer['body']
}

interface ModelReply {
  readonly text?: string
  readonly calls?: readonly { readonly tool: string; readonly args: unknown }[]
  readonly tokens_in?: number
  readonly tokens_out?: number
  /** Null: no usage is reported. */
  readonly usage?: null
  /** An error in place of an answer. */
  readonly status?: number
  readonly retry_after_s?: number
  /** The connection is cut before the answer. */
  readonly cut?: true
  /** Sent as it is. */
  readonly raw?: string
  /** Where the question asks for parts: before each event of the answer; false cuts it there. */
  readonly before_event?: (at: number) => Promise<boolean>
}

export interface ModelServer {
  readonly base_url: string
  readonly asked: AskedQuestion[]
  /** How it answers; a promise that is pending holds the answer back. */
  answer: (question: AskedQuestion) => ModelReply | Promise<ModelReply>
}

export async function startModelServer(t: {
  after(close: () => void): void
}): Promise<ModelServer> {
  trustTestCertificate()
  const asked: AskedQuestion[] = []
  const { port } = await startTlsServer(t, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', async () => {
      const body = JSON.parse(Buffer.concat(chunks).toString())
      const question = { headers: request.headers, path: request.url ?? '', body }
      asked.push(question)
      const reply = await server.answer(question)
      if (reply.cut) {
        response.destroy()
        return
      }
      const { status = 200, retry_after_s } = reply
      if (body.stream === true && status === 200 && reply.raw === undefined) {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        for (const [at, event] of partsOf(question, reply).entries()) {
          if ((await reply.before_event?.(at)) === false) {
            response.destroy()
            return
          }
          response.write(event)
        }
        response.end()
        return
      }
      const later = retry_after_s === undefined ? {} : { 'retry-after': String(retry_after_s) }
      response.writeHead(status, { 'content-type': 'application/json', ...later })
      response.end(reply.raw ?? JSON.stringify(status === 200 ? formOf(question, reply) : {}))
    })
  })
  const server: ModelServer = {
    base_url: `https://127.0.0.1:${port}/v1`,
    asked,
    answer: () => ({ text: 'an answer' }),
  }
  return server
}

const formOf = (question: AskedQuestion, reply: ModelReply): unknown =>
  question.path.endsWith('/messages') ? anthropicForm(reply) : openaiForm(reply)

/** Events of an answer in parts: each word, then each call in two parts. */
function partsOf(question: AskedQuestion, reply: ModelReply): string[] {
  const words = reply.text?.match(/\S+\s*/g) ?? []
  const { calls = [], tokens_in = 10, tokens_out = 5, usage } = reply
  if (question.path.endsWith('/messages')) {
    const event = (type: string, more: object) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
    const start = { model: 'model-b-2026', usage: { input_tokens: tokens_in, output_tokens: 1 } }
    return [
      event('message_start', { message: start }),
      event('ping', {}),
      event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      ...words.map((text) =>
        event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
      ),
      ...calls.flatMap(({ tool, args }, i) => {
        const [index, json] = [i + 1, JSON.stringify(args)]
        const block = { type: 'tool_use', id: `toolu_${i}`, name: tool, input: {} }
        return [
          event('content_block_start', { index, content_block: block }),
          ...[json.slice(0, 3), json.slice(3)].map((partial_json) =>
            event('content_block_delta', {
              index,
              delta: { type: 'input_json_delta', partial_json },
            }),
          ),
        ]
      }),
      event('message_delta', { delta: {}, usage: { output_tokens: tokens_out } }),
      event('message_stop', {}),
    ]
  }
  const event = (delta: object, finish_reason: string | null = null) => {
    const choices = [{ index: 0, delta, finish_reason }]
    return `data: ${JSON.stringify({ model: 'model-a-2026', choices })}\n\n`
  }
  const used = { prompt_tokens: tokens_in, completion_tokens: tokens_out }
  return [
    event({ role: 'assistant', content: '' }),
    ...words.map((content) => event({ content })),
    ...calls.flatMap(({ tool, args }, index) => {
      const json = JSON.stringify(args)
      return [
        event({
          tool_calls: [{ index, id: `call_${index}`, function: { name: tool, arguments: '' } }],
        }),
        ...[json.slice(0, 3), json.slice(3)].map((part) =>
          event({ tool_calls: [{ index, function: { arguments: part } }] }),
        ),
      ]
    }),
    event({}, 'stop'),
    ...(usage === null ? [] : [`data: ${JSON.stringify({ choices: [], usage: used })}\n\n`]),
    'data: [DONE]\n\n',
  ]
}

function openaiForm({ text, calls, tokens_in = 10, tokens_out = 5, usage }: ModelReply): unknown {
  const tool_calls = calls?.map(({ tool, args }, i) => ({
    id: `call_${i}`,
    type: 'function',
    function: { name: tool, arguments: JSON.stringify(args) },
  }))
  return {
    model: 'model-a-2026',
    choices: [{ message: { role: 'assistant', content: text ?? null, tool_calls } }],
    ...(usage !== null && { usage: { prompt_tokens: tokens_in, completion_tokens: tokens_out } }),
  }
}

function anthropicForm({ text, calls = [], tokens_in = 10, tokens_out = 5 }: ModelReply): unknown {
  return {
    model: 'model-b-2026',
    content: [
      ...(text === undefined ? [] : [{ type: 'text', text }]),
      ...calls.map(({ tool, args }, i) => ({
        type: 'tool_use',
        id: `toolu_${i}`,
        name: tool,
        input: args,
      })),
    ],
    usage: { input_tokens: tokens_in, output_tokens: tokens_out },
  }
}
