// Token counts: exact against the reference encoder, fast on hostile text, blind to control text.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { countTokens, setMergeCacheSize } from 'gpt-tokenizer/encoding/o200k_base'
import { assertLinear } from '../../testing/growth.ts'
import { loadTokenizer } from './tokenizer.ts'

const CONTENT_BYTES_MAX = 256 * 1024
const asText = { disallowedSpecial: new Set<string>() }
setMergeCacheSize(0)

const mixedText = fc
  .array(
    fc.constantFrom(
      ...['Caroline', 'may', 'PDFs', "don't", 'naïve', '東京', 'かな', '한국어', '😀', '👩‍👩‍👧'],
      ...[' ', '  ', '\n', '\r\n', '\t', '/', '!', '...', '2023-05-07', '1234567', 'é', 'ß'],
      ...['<|endoftext|>', '<|im_start|>', '', '​', '_', '{}'],
    ),
    { maxLength: 60 },
  )
  .map((parts) => parts.join(''))

test('a count equals the reference encoder for every text without an overlong word', async () => {
  const tokenizer = await loadTokenizer('o200k_base')
  const hasOverlongWord = (text: string) => /[^\s\d]{40}|\s{40}/u.test(text)
  fc.assert(
    fc.property(fc.oneof(mixedText, fc.string({ unit: 'binary', maxLength: 200 })), (text) => {
      fc.pre(!hasOverlongWord(text))
      assert.equal(tokenizer.count(text), countTokens(text, asText))
    }),
    { numRuns: 500 },
  )
})

test('an overlong word is counted within two per cent of the reference encoder', async () => {
  const tokenizer = await loadTokenizer('o200k_base')
  const letters = fc.string({ unit: fc.constantFrom(...'etaoinshrdlu'), minLength: 300 })
  fc.assert(
    fc.property(letters, (text) => {
      const exact = countTokens(text, asText)
      assert(Math.abs(tokenizer.count(text) - exact) <= Math.ceil(exact * 0.02) + 1)
    }),
    { numRuns: 50 },
  )
})

test('control text in content is counted as text and never refused', async () => {
  const tokenizer = await loadTokenizer('o200k_base')
  assert(tokenizer.count('<|endoftext|>') > 1)
  assert.equal(tokenizer.count(''), 0)
})

test('256 KiB without separators is counted in time linear in it', async () => {
  const tokenizer = await loadTokenizer('o200k_base')
  for (const unit of ['aB', '漢', ' ', '/\n', '!', '\u0301', '😀', 'ქ', '\t \n']) {
    const count = (bytes: number) =>
      tokenizer.count(unit.repeat(Math.floor(bytes / Buffer.byteLength(unit))))
    assertLinear(CONTENT_BYTES_MAX, count, JSON.stringify(unit))
  }
})

test('the chars tokenizer counts code points, as the conformance suite does', async () => {
  const tokenizer = await loadTokenizer('chars')
  assert.equal(tokenizer.count('naïve 😀'), 7)
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      assert.equal(tokenizer.count(text), [...text].length)
    }),
  )
})

test('a tokenizer is loaded once and shared', async () => {
  const [first, second] = await Promise.all([
    loadTokenizer('o200k_base'),
    loadTokenizer('o200k_base'),
  ])
  assert.equal(first, second)
})
