// The vocabulary of a WordPiece tokenizer: vocab.txt, or the tokenizer.json that carries one.

import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { OperatorError } from '../operator-error.ts'

export interface Vocabulary {
  /** A token at each id. */
  readonly tokens: readonly string[]
  /** Ids of the marks around a text and of what fills up a short one. */
  readonly cls: number
  readonly sep: number
  readonly pad: number
  /** SHA-256 of the tokens, hex: the same for the two kinds of file. */
  readonly digest: string
}

const TOKENS_MAX = 1_000_000

/** Throws OperatorError, with one clear line, for a file that is not such a vocabulary. */
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
    if (!Number.isSafeInteger(id) || id < 0 || id >= TOKENS_MAX) throw unusable('an id is wrong')
    tokens[id] = token
  }
  // A hole would shift what follows.
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
