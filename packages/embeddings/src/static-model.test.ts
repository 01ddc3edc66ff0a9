// The bundled model: whole, the same on every machine, and near to what means the same.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { DIMENSIONS, loadModel, parseBundled, StaticModel } from './index.ts'

const FILE = new URL('../model/custos-static-1.bin', import.meta.url)

function dot(left: Int8Array, right: Int8Array): number {
  return left.reduce((sum, value, at) => sum + value * (right[at] ?? 0), 0)
}

/** A model of two dimensions and the tokens [UNK], a, b, ##b. */
function smallModel(): Uint8Array {
  const vocabulary = new TextEncoder().encode('[UNK]\na\nb\n##b')
  const header = new Uint8Array(20)
  header.set(new TextEncoder().encode('CUSTEMB1'))
  const view = new DataView(header.buffer)
  for (const [at, value] of [2, 4, vocabulary.length].entries())
    view.setUint32(8 + 4 * at, value, true)
  const factors = [0, 2, 1, 1]
  const vectors = new Int8Array([9, 9, 3, 4, -1, 0, 0, -120])
  return Uint8Array.from([...header, ...vocabulary, ...factors, ...new Uint8Array(vectors.buffer)])
}

describe('the vector of a text', () => {
  const model = new StaticModel(smallModel())

  test('is the sum of its tokens times their factors, at length 127, truncated', () => {
    assert.deepEqual(model.embed('a'), new Int8Array([76, 101]))
    assert.deepEqual(model.embed('A b'), new Int8Array([67, 107]))
    assert.deepEqual(model.embed('ab'), new Int8Array([6, -126]))
    assert.deepEqual(model.embed('b'), new Int8Array([-127, 0]))
  })

  test('is zero when no token is known, and nothing stays from the text before', () => {
    model.embed('a')
    for (const text of ['', ' ', 'z', '\u{1f9ff}'])
      assert.deepEqual(model.embed(text), new Int8Array([0, 0]))
  })

  test('of an endless text reads its first 65,536 tokens, whose sum 32 bits hold', () => {
    assert.deepEqual(model.embed('a '.repeat(65_536)), model.embed('a'))
    assert.deepEqual(model.embed(`${'b '.repeat(65_536)}${'a '.repeat(65_536)}`), model.embed('b'))
  })
})

describe('a file that is not the released model is refused', () => {
  const bytes = smallModel()
  test('another magic, a cut file, a file with more, wrong counts', () => {
    const changed = (at: number, value: number): Uint8Array => {
      const copy = bytes.slice()
      copy[at] = value
      return copy
    }
    assert.throws(() => new StaticModel(changed(7, 50)), /not a model file/)
    assert.throws(() => new StaticModel(new Uint8Array(3)), /not a model file/)
    assert.throws(() => new StaticModel(bytes.subarray(0, -1)), /length/)
    assert.throws(() => new StaticModel(Uint8Array.from([...bytes, 0])), /length/)
    assert.throws(() => new StaticModel(changed(8, 0)), /empty/)
    assert.throws(() => new StaticModel(changed(25, 32)), /number of tokens/)
  })

  test('one flipped bit of the bundled file', () => {
    const file = readFileSync(FILE)
    file[file.length >> 1] = (file[file.length >> 1] ?? 0) ^ 1
    assert.throws(() => parseBundled(file), /damaged: its SHA-256 is/)
  })

  test('a model inside a larger buffer is read from its own place', () => {
    const room = new Uint8Array(bytes.length + 7)
    room.set(bytes, 5)
    const model = new StaticModel(room.subarray(5, 5 + bytes.length))
    assert.deepEqual(model.embed('a'), new Int8Array([76, 101]))
  })
})

describe('the bundled model', () => {
  const model = loadModel()

  test('is read once', () => assert.equal(loadModel(), model))

  test('has the dimensions it says', () => assert.equal(model.dimensions, DIMENSIONS))

  test('gives the vectors of version 1, which never change', () => {
    const digest = createHash('sha256')
    const path = new URL('./testing/tokenizer-vectors.jsonl', import.meta.url)
    for (const line of readFileSync(path, 'utf8').trimEnd().split('\n')) {
      // Our own file, a row with a text in each line.
      digest.update(model.embed((JSON.parse(line) as { text: string }).text))
    }
    assert.equal(
      digest.digest('hex'),
      'cfb69dd006fce1d83546b0a26e18f5f848d274816990e931fdf0d167f3c0731f',
    )
    assert.deepEqual(
      [...model.embed('The meeting moved to Thursday.').subarray(0, 12)],
      [-28, -24, 3, 6, -8, -11, 26, 26, -12, 1, -16, -9],
    )
  })

  test('gives a text the same vector whatever was embedded before, never longer than 127', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (text, other) => {
        const first = model.embed(text)
        model.embed(other)
        assert.deepEqual(model.embed(text), first)
        assert(dot(first, first) <= 127 * 127)
      }),
    )
  })

  test('finds what means the same without sharing a word', () => {
    const memories = [
      'Ana adopted a puppy from the shelter.',
      'The invoice from the hosting company was paid.',
      'He is allergic to peanuts.',
      'They are getting married next summer.',
      'The server ran out of disk space at night.',
      'She practises the violin every evening.',
    ].map((text) => model.embed(text))
    const asked = [
      ['new dog', 0],
      ['billing and payments', 1],
      ['which food makes him sick', 2],
      ['wedding plans', 3],
      ['storage failure outage', 4],
      ['playing an instrument, music lessons', 5],
    ] as const
    for (const [question, answer] of asked) {
      const scores = memories.map((memory) => dot(memory, model.embed(question)))
      assert.equal(scores.indexOf(Math.max(...scores)), answer, question)
    }
  })
})
