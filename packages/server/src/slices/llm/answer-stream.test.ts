// Answers in parts: however they are cut into chunks, the reply is the one that was sent.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AnswerStream, CHAT_FORMS } from './chat.ts'

const line = (event: unknown) => `data: ${JSON.stringify(event)}\n\n`
const choice = (delta: object, finish_reason: string | null = null) =>
  line({ model: 'model-a', choices: [{ delta, finish_reason }] })

const ANSWERS = {
  openai: [
    ': a comment\n\n',
    choice({ role: 'assistant', content: '' }),
    choice({ content: 'Grüße, ' }),
    choice({ content: '🐦 sings' }),
    choice({ tool_calls: [{ index: 1, function: { name: 'send', arguments: '' } }] }),
    choice({ tool_calls: [{ index: 0, function: { name: 'look', arguments: '{"a"' } }] }),
    choice({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }),
    choice({}, 'tool_calls'),
    line({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 9 } }),
    'data: [DONE]\n\n',
  ],
  anthropic: [
    line({ type: 'message_start', message: { model: 'model-a', usage: { input_tokens: 7 } } }),
    line({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    line({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Grüße, ' } }),
    line({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text: '🐦 sings' },
    }),
    line({ type: 'content_block_stop', index: 0 }),
    line({
      type: 'content_block_start',
      index: 1,
      content_block: { type: 'tool_use', name: 'look' },
    }),
    line({
      type: 'content_block_delta',
      index: 1,
      delta: { type: 'input_json_delta', partial_json: '{"a"' },
    }),
    line({
      type: 'content_block_delta',
      index: 1,
      delta: { type: 'input_json_delta', partial_json: ':1}' },
    }),
    line({
      type: 'content_block_start',
      index: 2,
      content_block: { type: 'tool_use', name: 'send' },
    }),
    line({ type: 'message_delta', delta: {}, usage: { output_tokens: 9 } }),
    line({ type: 'message_stop' }),
  ],
} as const
const KINDS = ['openai', 'anthropic'] as const
const ANSWER = {
  text: 'Grüße, 🐦 sings',
  calls: [
    { tool: 'look', args: { a: 1 } },
    { tool: 'send', args: {} },
  ],
  tokens_in: 7,
  tokens_out: 9,
  model_version: 'model-a',
}

/** In chunks of `size` bytes. */
function read(kind: (typeof KINDS)[number], text: string, size: number) {
  const stream = new AnswerStream(kind)
  const bytes = Buffer.from(text)
  let told = ''
  for (let at = 0; at < bytes.length; at += size) told += stream.push(bytes.subarray(at, at + size))
  return { told, answer: CHAT_FORMS[kind].parse(stream.finish()) }
}

for (const kind of KINDS) {
  test(`an answer of ${kind} is read whole, in chunks of any size and with any line end`, () => {
    for (const end of ['\n', '\r\n'])
      for (const size of [1, 2, 3, 7, 64, 100_000]) {
        const { told, answer } = read(kind, ANSWERS[kind].join('').replaceAll('\n', end), size)
        assert.deepEqual(answer, ANSWER, `${size}`)
        assert.equal(told, ANSWER.text)
      }
  })

  test(`an answer of ${kind} that is cut, fails or never ends is no answer`, () => {
    const last = kind === 'openai' ? 3 : 1
    for (let count = 0; count < ANSWERS[kind].length - last; count += 1)
      assert.equal(read(kind, ANSWERS[kind].slice(0, count).join(''), 50).answer, null, `${count}`)
    const failed = [...ANSWERS[kind].slice(0, 3), line({ type: 'error', error: { message: 'no' } })]
    assert.equal(read(kind, [...failed, ...ANSWERS[kind]].join(''), 50).answer, null)
    const [head, ...rest] = ANSWERS[kind]
    assert.equal(read(kind, [head, 'data: {\n\n', ...rest].join(''), 50).answer, null)
    const flood = kind === 'openai' ? ANSWERS.openai[2] : ANSWERS.anthropic[2]
    assert.equal(read(kind, flood.repeat(200_000) + rest.join(''), 65_536).answer, null)
  })
}

test('a provider that answers whole all the same is understood', () => {
  const reply = { model: 'model-a', choices: [{ message: { content: 'Yes' } }] }
  const { told, answer } = read('openai', ` ${JSON.stringify(reply)}`, 5)
  assert.deepEqual([told, answer?.text], ['', 'Yes'])
})
