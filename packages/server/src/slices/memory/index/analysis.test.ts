// Analysis: which texts share terms, the same for facts and queries, in time linear in the text.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { assertLinear } from '../../../testing/growth.ts'
import { analyse, analyseQuery } from './analysis.ts'

const CONTENT_UNITS_MAX = 256 * 1024

function assertFinds(query: string, content: string): void {
  const terms = new Set(analyse(content))
  for (const term of analyseQuery(query)) assert(terms.has(term), `${term} in ${[...terms]}`)
}

test('a date is found by its day, its month name and its year, however it is written', () => {
  for (const content of [
    '[2023-05-07] Caroline: hello',
    'due 2023-05-07T13:56:00.123456Z, at the latest',
    'on 7 May 2023',
    'on May 7th, 2023',
    '07 MAY 2023',
  ]) {
    assertFinds('in May 2023', content)
    assertFinds('7 May 2023', content)
    assertFinds('2023-05-07', content)
  }
  assertFinds('September 2023', '2023-09')
  assertFinds('2023-09-01', '1 Sept 2023')
})

test('numbers that only resemble a date stay numbers', () => {
  for (const content of ['1-2023-05-07', '2023-13-07', '2023-05-071', '555-2023-0512']) {
    assert(!analyse(content).includes('may'), content)
  }
})

test('the forms of a word find each other', () => {
  const families = [
    ['painting', 'paints', 'painted', 'paint'],
    ['study', 'studies', 'studied', 'studying'],
    ['move', 'moved', 'moving', 'moves'],
    ['run', 'ran', 'running', 'runs'],
    ['go', 'went', 'gone'],
    ['child', 'children'],
    ['box', 'boxes'],
    ['class', 'classes'],
  ]
  for (const family of families) {
    assert.equal(new Set(family.flatMap(analyse)).size, 1, family.join())
  }
})

test('stop words are dropped, and a contraction leaves no letter', () => {
  assert.deepEqual(analyse("What's the? isn't it, they're and so"), [])
  assert.deepEqual(analyse('Caroline’s'), ['carolin'])
})

test('case, width and composition of letters make no difference', () => {
  assert.deepEqual(analyse('ＮＡÏＶＥ'), analyse('nai\u0308ve'))
  assert.deepEqual(analyse('МОСКВА'), ['москва'])
  assert.deepEqual(analyse('हिन्दी'), ['हिन्दी'])
})

test('a script without spaces is found by any two neighbouring symbols', () => {
  assert.deepEqual(analyse('東京都'), ['東京', '京都'])
  assert.deepEqual(analyse('AI搭載model'), ['ai', '搭載', 'model'])
  assertFinds('京都', '私は東京都に住んでいる')
})

test('analysis is deterministic and never fails, for any text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
      const terms = analyse(text)
      assert.deepEqual(analyse(text), terms)
      assert(terms.every((term) => term.length > 0))
    }),
  )
})

test('256 KiB of anything is analysed in time linear in it', () => {
  const units = ['a', 'a ', '漢', '2023-05-07', '2023-05', "a'", '0', '\u0301', '-', 'ss', 'ไ', 'İ']
  for (const unit of units) {
    const analysed = (size: number) => analyse(unit.repeat(Math.floor(size / unit.length)))
    assertLinear(CONTENT_UNITS_MAX, analysed, unit)
  }
})
