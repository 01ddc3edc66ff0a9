// The embedder of ONNX models: what a session is given, how its tokens become a vector, and what
// stops the start.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { OperatorError } from '../operator-error.ts'
import { EmbedderRefused, quantise } from './embedder.ts'
import {
  createOnnxEmbedder,
  loadOnnxEmbedder,
  type OnnxSession,
  type OnnxTensor,
  readVocabulary,
} from './onnx-embedder.ts'

const TOKENS = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', 'tea', 'in', 'porto', 'sun', '##rise', 'a']
const WIDTH = 16

class Tensor {
  readonly data: BigInt64Array
  readonly dims: readonly number[]

  constructor(_type: 'int64', data: BigInt64Array, dims: readonly number[]) {
    this.data = data
    this.dims = dims
  }
}

/** What a token means to the model below, at one place. */
const weight = (id: number, place: number) => Math.sin(id * 7 + place * 3)

/** A model that looks each token up; what is outside of the mask it fills with noise. */
class LookUp implements OnnxSession {
  readonly inputNames = ['input_ids', 'attention_mask', 'token_type_ids']
  readonly outputNames = ['last_hidden_state']
  readonly batches: number[][] = []
  width = WIDTH

  run(feeds: Record<string, unknown>): Promise<Record<string, OnnxTensor>> {
    const [ids, mask] = [feeds['input_ids'], feeds['attention_mask']]
    assert.ok(ids instanceof Tensor && mask instanceof Tensor)
    const [rows = 0, length = 0] = ids.dims
    this.batches.push([rows, length])
    const data = new Float32Array(rows * length * this.width)
    for (let at = 0; at < rows * length; at += 1)
      for (let place = 0; place < this.width; place += 1)
        data[at * this.width + place] =
          mask.data[at] === 1n ? weight(Number(ids.data[at]), place) : 1_000
    return Promise.resolve({ last_hidden_state: { data, dims: [rows, length, this.width] } })
  }
}

function dirOf(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'custos-onnx-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

async function vocabularyIn(t: TestContext, text = `${TOKENS.join('\n')}\n`) {
  const path = join(dirOf(t), 'vocab.txt')
  writeFileSync(path, text)
  return readVocabulary(path)
}

const meanOf = (ids: readonly number[]): Int8Array =>
  quantise(
    Float64Array.from({ length: WIDTH }, (_, place) => {
      // The model's numbers have 32 bits.
      const numbers = ids.map((id) => Math.fround(weight(id, place)))
      return numbers.reduce((sum, number) => sum + number / ids.length, 0)
    }),
  )

test('a vector is the mean of the tokens and marks of its text alone', async (t) => {
  const session = new LookUp()
  const parts = { session, Tensor, vocabulary: await vocabularyIn(t), digest: 'ab'.repeat(32) }
  const embedder = await createOnnxEmbedder(parts)
  assert.deepEqual([embedder.dimensions, embedder.remote], [WIDTH, false])
  const texts = ['Tea in Porto', 'sunrise', '', 'nonsense', ...Array<string>(7).fill('tea')]
  const vectors = await embedder.embed(texts)
  assert.deepEqual(vectors[0], meanOf([2, 4, 5, 6, 3]))
  assert.deepEqual(vectors[1], meanOf([2, 7, 8, 3]))
  assert.deepEqual(vectors[2], meanOf([2, 3]))
  assert.deepEqual(vectors[3], meanOf([2, 1, 3]))
  assert.deepEqual(await embedder.embed(['sunrise']), [vectors[1]])
  // After the probe: eight texts, then three, then one.
  assert.deepEqual(session.batches, [
    [1, 3],
    [8, 5],
    [3, 3],
    [1, 4],
  ])
})

test('a long text is cut to what the model takes', async (t) => {
  const session = new LookUp()
  const parts = { session, Tensor, vocabulary: await vocabularyIn(t), digest: 'ab'.repeat(32) }
  await (await createOnnxEmbedder(parts)).embed(['tea '.repeat(5_000)])
  assert.deepEqual(session.batches.at(-1), [1, 256])
})

test('another model or vocabulary is another space', async (t) => {
  const vocabulary = await vocabularyIn(t)
  const other = await vocabularyIn(t, `${[...TOKENS, 'more'].join('\n')}\n`)
  const session = new LookUp()
  const names = []
  for (const parts of [
    { vocabulary, digest: 'ab'.repeat(32) },
    { vocabulary, digest: 'cd'.repeat(32) },
    { vocabulary: other, digest: 'ab'.repeat(32) },
  ]) {
    const { model, version } = await createOnnxEmbedder({ session, Tensor, ...parts })
    names.push(`${model}/${version}`)
  }
  assert.equal(new Set(names).size, 3)
})

test('a model that fails, or gives what is no number, is refused without its words', async (t) => {
  const session = new LookUp()
  const parts = { session, Tensor, vocabulary: await vocabularyIn(t), digest: 'ab'.repeat(32) }
  const embedder = await createOnnxEmbedder(parts)
  const bad: OnnxSession['run'][] = [
    () => Promise.reject(new Error('cannot run: tea in porto')),
    () => Promise.resolve({}),
    () => Promise.resolve({ last_hidden_state: { data: new Float32Array(3), dims: [3, 1, 1] } }),
    async (feeds) => {
      const { last_hidden_state } = await new LookUp().run(feeds)
      const { data = [], dims = [] } = last_hidden_state ?? {}
      return { last_hidden_state: { data: Array.from(data, () => Number.NaN), dims } }
    },
  ]
  for (const run of bad) {
    session.run = run
    await assert.rejects(embedder.embed(['tea in porto']), (error) => {
      assert.ok(error instanceof EmbedderRefused)
      assert.equal(error.message, 'the embedder cannot be used: onnx_run')
      return true
    })
  }
})

test('tokenizer.json says the same as vocab.txt, and what is neither is refused', async (t) => {
  const vocab = Object.fromEntries(TOKENS.map((token, id) => [token, id]))
  const json = JSON.stringify({ model: { type: 'WordPiece', vocab } })
  const [lines, object] = [await vocabularyIn(t), await vocabularyIn(t, json)]
  assert.deepEqual(object.tokens, lines.tokens)
  assert.equal(object.digest, lines.digest)
  assert.deepEqual([object.cls, object.sep, object.pad], [2, 3, 0])
  for (const text of [
    JSON.stringify({ model: { type: 'BPE', vocab } }),
    '{ broken',
    'no\nmarks\n',
    JSON.stringify({ model: { vocab: { ...vocab, bad: -1 } } }),
  ])
    await assert.rejects(vocabularyIn(t, text), OperatorError)
})

test('without the package, files or a fitting model the start ends with one line', async (t) => {
  const dir = dirOf(t)
  const [model, tokenizer] = [join(dir, 'model.onnx'), join(dir, 'vocab.txt')]
  writeFileSync(model, 'no model')
  writeFileSync(tokenizer, TOKENS.join('\n'))
  const stops = (paths: { model: string; tokenizer: string }, line: RegExp, session?: object) =>
    assert.rejects(
      loadOnnxEmbedder(
        paths,
        session &&
          (async () => ({
            InferenceSession: { create: async () => new LookUp() },
            Tensor,
            ...session,
          })),
      ),
      (error) => {
        assert.ok(error instanceof OperatorError)
        assert.match(error.message, line)
        assert.ok(!error.message.includes('\n'))
        return true
      },
    )
  await stops({ model, tokenizer }, /needs the package onnxruntime-node/)
  await stops({ model: join(dir, 'none'), tokenizer }, /CUSTOS_ONNX_MODEL cannot be read/, {})
  await stops({ model, tokenizer: join(dir, 'none') }, /CUSTOS_ONNX_TOKENIZER cannot be read/, {})
  const broken = { create: () => Promise.reject(new Error('bad protobuf')) }
  await stops({ model, tokenizer }, /no model that can be run/, { InferenceSession: broken })
  const other = { inputNames: ['pixels'], outputNames: ['out'], run: async () => ({}) }
  const pixels = { create: async () => other }
  await stops({ model, tokenizer }, /takes other inputs/, { InferenceSession: pixels })
  const flat = Object.assign(new LookUp(), { width: 0 })
  await stops({ model, tokenizer }, /no vector of a size/, {
    InferenceSession: { create: async () => flat },
  })
})
