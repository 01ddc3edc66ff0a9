// An embedder that runs an ONNX model from a file: WordPiece in, mean of the token vectors out.

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { Tokenizer } from '@custos/embeddings'
import { OperatorError } from '../operator-error.ts'
import { DIMENSIONS_MAX, type Embedder, EmbedderRefused, quantise } from './embedder.ts'

/** The part of a session of onnxruntime-node that this module uses. */
export interface OnnxSession {
  readonly inputNames: readonly string[]
  readonly outputNames: readonly string[]
  run(feeds: Record<string, unknown>): Promise<Record<string, OnnxTensor>>
}

export interface OnnxTensor {
  readonly data: ArrayLike<number | bigint>
  readonly dims: readonly number[]
}

interface OnnxRuntime {
  readonly InferenceSession: { create(path: string): Promise<OnnxSession> }
  readonly Tensor: MakeTensor
}

type MakeTensor = new (type: 'int64', data: BigInt64Array, dims: readonly number[]) => unknown

interface OnnxParts {
  readonly session: OnnxSession
  readonly Tensor: MakeTensor
  readonly vocabulary: Vocabulary
  /** Digest of the model's bytes, so that another file is another space. */
  readonly digest: string
}

/** Maximum tokens of a text that the model gets, the two special tokens included. */
const TOKENS_MAX = 256
const TEXTS_AT_ONCE = 8
const INPUTS: readonly string[] = ['input_ids', 'attention_mask', 'token_type_ids']

/** Throws OperatorError, with one clear line, if the package or a file is not usable. */
export async function loadOnnxEmbedder(
  paths: { model: string; tokenizer: string },
  load: () => Promise<OnnxRuntime> = loadRuntime,
): Promise<Embedder> {
  const vocabulary = await readVocabulary(paths.tokenizer)
  const digest = await digestOf(paths.model)
  const { InferenceSession, Tensor } = await load()
  const session = await InferenceSession.create(paths.model).catch(() => {
    throw new OperatorError(`CUSTOS_ONNX_MODEL is no model that can be run: ${paths.model}`)
  })
  return createOnnxEmbedder({ session, Tensor, vocabulary, digest })
}

async function loadRuntime(): Promise<OnnxRuntime> {
  // The package is optional: operators install it only if they use this embedder.
  const name: string = 'onnxruntime-node'
  try {
    return await import(name)
  } catch {
    throw new OperatorError(
      'CUSTOS_ONNX_MODEL needs the package onnxruntime-node: npm install onnxruntime-node',
    )
  }
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk)
  } catch {
    throw new OperatorError(`CUSTOS_ONNX_MODEL cannot be read: ${path}`)
  }
  return hash.digest('hex')
}

/** Embeds one word to learn the dimensions. Throws OperatorError for a model of another kind. */
export async function createOnnxEmbedder(parts: OnnxParts): Promise<Embedder> {
  const { session, vocabulary, digest } = parts
  const unknown = session.inputNames.find((name) => !INPUTS.includes(name))
  if (unknown !== undefined || !session.inputNames.includes('input_ids'))
    throw new OperatorError(`CUSTOS_ONNX_MODEL takes other inputs than ${INPUTS.join(', ')}`)
  const model = new Model(parts)
  const [probe] = await model.run(['a']).catch(() => [])
  const dimensions = probe?.length ?? 0
  if (dimensions === 0 || dimensions > DIMENSIONS_MAX)
    throw new OperatorError('CUSTOS_ONNX_MODEL gives no vector of a size that can be kept')
  return {
    model: `onnx:${digest.slice(0, 16)}`,
    version: `mean1-${vocabulary.digest.slice(0, 8)}`,
    dimensions,
    remote: false,
    embed: (texts, { signal } = {}) => model.embed(texts, signal),
  }
}

class Model {
  readonly #parts: OnnxParts
  readonly #tokenizer: Tokenizer

  constructor(parts: OnnxParts) {
    this.#parts = parts
    this.#tokenizer = new Tokenizer(parts.vocabulary.tokens)
  }

  async embed(texts: readonly string[], signal?: AbortSignal): Promise<Int8Array[]> {
    const vectors: Int8Array[] = []
    for (let at = 0; at < texts.length; at += TEXTS_AT_ONCE) {
      signal?.throwIfAborted()
      try {
        vectors.push(...(await this.run(texts.slice(at, at + TEXTS_AT_ONCE))))
      } catch {
        // The runtime's message may quote its input.
        throw new EmbedderRefused('onnx_run')
      }
    }
    return vectors
  }

  async run(texts: readonly string[]): Promise<Int8Array[]> {
    const { session, Tensor, vocabulary } = this.#parts
    const { cls, sep } = vocabulary
    const rows = texts.map((text) => [cls, ...this.#tokenizer.tokenise(text, TOKENS_MAX - 2), sep])
    const length = Math.max(...rows.map((row) => row.length))
    const tensor = (value: (row: readonly number[], at: number) => number) => {
      const values = rows.flatMap((row) => Array.from({ length }, (_, at) => value(row, at)))
      return new Tensor('int64', BigInt64Array.from(values, BigInt), [rows.length, length])
    }
    const feeds: Record<string, unknown> = {
      input_ids: tensor((row, at) => row[at] ?? vocabulary.pad),
      attention_mask: tensor((row, at) => (at < row.length ? 1 : 0)),
      token_type_ids: tensor(() => 0),
    }
    const given = Object.fromEntries(session.inputNames.map((name) => [name, feeds[name]]))
    const outputs = await session.run(given)
    const output = outputs['last_hidden_state'] ?? outputs[session.outputNames[0] ?? '']
    if (!output) throw new Error('the model gave nothing')
    return rows.map((row, at) => poolMean(output, { at, rows: rows.length, tokens: row.length }))
  }
}

/** The mean over a text's own tokens, or the row itself if the model has already pooled them. */
function poolMean(
  { data, dims }: OnnxTensor,
  { at, rows, tokens }: { at: number; rows: number; tokens: number },
): Int8Array {
  const [count, length, width] = dims.length === 2 ? [dims[0], 1, dims[1]] : dims
  if (count !== rows || length === undefined || width === undefined)
    throw new Error('the model gave vectors of another shape')
  const sums = new Float64Array(width)
  const used = Math.min(tokens, length)
  for (let token = 0; token < used; token += 1) {
    const start = (at * length + token) * width
    for (let place = 0; place < width; place += 1) {
      const number = Number(data[start + place])
      if (!Number.isFinite(number)) throw new Error('the model gave what is no number')
      sums[place] = (sums[place] ?? 0) + number / used
    }
  }
  return quantise(sums)
}

interface Vocabulary {
  /** Tokens by id. */
  readonly tokens: readonly string[]
  /** Ids of the special tokens around a text, and of the padding. */
  readonly cls: number
  readonly sep: number
  readonly pad: number
  /** SHA-256 of the tokens, hex: equal for the same vocabulary in either kind of file. */
  readonly digest: string
}

const VOCABULARY_IDS_MAX = 1_000_000

/** Throws OperatorError, with one clear line, if the file is not a vocabulary of this kind. */
export async function readVocabulary(path: string): Promise<Vocabulary> {
  const bytes = await readFile(path).catch(() => {
    throw new OperatorError(`CUSTOS_ONNX_TOKENIZER cannot be read: ${path}`)
  })
  const text = bytes.toString('utf8')
  const tokens = text.trimStart().startsWith('{') ? tokensOfJson(text) : tokensOfLines(text)
  const [unknown, cls, sep, pad] = ['[UNK]', '[CLS]', '[SEP]', '[PAD]'].map((mark) =>
    tokens.indexOf(mark),
  )
  if (unknown === -1 || cls === undefined || cls === -1 || sep === undefined || sep === -1)
    throw unusable('it has no [UNK], [CLS] or [SEP]')
  const digest = createHash('sha256').update(tokens.join('\n')).digest('hex')
  return { tokens, cls, sep, pad: pad === undefined || pad === -1 ? 0 : pad, digest }
}

const unusable = (why: string) =>
  new OperatorError(`CUSTOS_ONNX_TOKENIZER is no WordPiece vocabulary: ${why}`)

function tokensOfLines(text: string): string[] {
  const lines = text.split('\n').map((line) => line.replace(/\r$/, ''))
  while (lines.at(-1) === '') lines.pop()
  return lines
}

function tokensOfJson(text: string): string[] {
  const model = memberOf(parse(text), 'model')
  const vocab = memberOf(model, 'vocab')
  const type = memberOf(model, 'type')
  if (typeof vocab !== 'object' || vocab === null || (type ?? 'WordPiece') !== 'WordPiece')
    throw unusable('its model is of another type')
  const tokens: string[] = []
  for (const [token, id] of Object.entries(vocab)) {
    if (!Number.isSafeInteger(id) || id < 0 || id >= VOCABULARY_IDS_MAX)
      throw unusable('an id is wrong')
    tokens[id] = token
  }
  // Fills holes, since a missing id would shift the tokens that follow.
  return Array.from(tokens, (token, id) => token ?? `[unused id ${id}]`)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw unusable('it is not JSON')
  }
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
