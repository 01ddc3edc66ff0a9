// The tokenizer against what the teacher's tokenizer made of the same texts, and its cost.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { loadModel } from './static-model.ts'
import { normalise, splitTokens, Tokenizer } from './tokenizer.ts'

interface Row {
  readonly text: string
  readonly ids: readonly number[]
}

const vectors = new URL('./testing/tokenizer-vectors.jsonl', import.meta.url)
const lines = readFileSync(vectors, 'utf8').trimEnd().split('\n')
// Our own file, one row a line.
const rows = lines.map((line) => JSON.parse(line) as Row)

/** Parts that meet every rule: cases, marks in any order, controls, ideographs, long words. */
const parts = fc.constantFrom(
  ...['The ', 'naïve', 'e\u0301', '\u0316\u0301', 'Σ', 'İ', '中', '\u{20000}', '\ud800', '\u0007'],
  ...[
    '-',
    '!',
    '“',
    '\u00ad',
    '\u200d',
    '😀',
    '한',
    '\u2028',
    '\t',
    'x'.repeat(101),
    '##',
    '[UNK]',
  ],
)
const texts = fc.array(parts, { maxLength: 30 }).map((found) => found.join(''))

describe('a text is read as the teacher reads it', () => {
  const { tokenizer } = loadModel()

  test('all vectors of the teacher’s tokenizer', () => {
    assert.equal(rows.length, 422)
    for (const { text, ids } of rows)
      assert.deepEqual(tokenizer.tokenise(text), ids, JSON.stringify(text))
  })

  test('names of special tokens in a text are words, so a text cannot inject one', () => {
    const unknown = tokenizer.tokenise('\u{1f9ff}')[0]
    for (const name of ['[UNK]', '[CLS]', '[PAD]']) {
      const ids = tokenizer.tokenise(name)
      assert(ids.length >= 3 && !ids.includes(unknown ?? 0), name)
    }
  })

  test('half of a surrogate pair is left out', () => {
    assert.deepEqual(tokenizer.tokenise('ca\ud83dt'), tokenizer.tokenise('cat'))
  })

  test('a limit cuts the list and nothing else', () => {
    const ids = tokenizer.tokenise('antidisestablishmentarianism and more')
    for (const limit of [0, 1, 3, 8, 100])
      assert.deepEqual(
        tokenizer.tokenise('antidisestablishmentarianism and more', limit),
        ids.slice(0, limit),
      )
  })
})

describe('normalising', () => {
  test('taking marks out first changes nothing: the same as decomposing the whole text', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const decomposed = normalise(text.toWellFormed().normalize('NFD'))
        assert.equal(normalise(text), decomposed)
      }),
    )
  })

  test('splitting loses no visible character, and words hold no punctuation', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const normalised = normalise(text)
        const words = splitTokens(normalised)
        assert.equal(words.join(''), normalised.replace(/\p{White_Space}/gu, ''))
        for (const word of words) assert(word.length === 1 || !/[\p{P}$+<=>^`|~]/u.test(word))
      }),
    )
  })
})

describe('no text makes the tokenizer slow', () => {
  const { tokenizer } = loadModel()
  /** Processor time, so that waiting is not counted; a busy machine slows both lengths down. */
  const leastMs = (text: string): number => {
    const runs = Array.from({ length: 3 }, () => {
      const before = process.cpuUsage()
      tokenizer.tokenise(text)
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1000
    })
    return Math.min(...runs)
  }
  const hostile: readonly (readonly [string, (size: number) => string])[] = [
    ['marks in the wrong order', (n) => `a${'\u0301'.repeat(n / 2)}${'\u0316'.repeat(n / 2)}`],
    ['spacing marks in the wrong order', (n) => '\u302e\u{1d165}'.repeat(n / 3)],
    ['one endless word', (n) => 'a'.repeat(n)],
    ['words that no token ends', (n) => `${'ab'.repeat(49)}\u2603 `.repeat(n / 100)],
    ['punctuation only', (n) => '?!'.repeat(n / 2)],
    ['ideographs only', (n) => '中'.repeat(n)],
    ['invisible characters only', (n) => '\u200b'.repeat(n)],
  ]
  for (const [name, make] of hostile)
    test(name, () => {
      // Linear work costs 8 times as much for 8 times the text, quadratic work 64 times.
      const [short, long] = [leastMs(make(5_000)), leastMs(make(40_000))]
      const growth = long / Math.max(short, 4)
      assert(growth < 32, `eight times the text costs ${growth.toFixed(1)} times as much`)
    })
})

test('a vocabulary without the unknown token is refused', () => {
  assert.throws(() => new Tokenizer(['a', '##b']), /\[UNK\]/)
})
