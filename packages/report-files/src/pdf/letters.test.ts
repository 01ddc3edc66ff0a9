// Letters, words and lines of texts that are not known beforehand.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isRightToLeft, lettersOf, linesOf, visualOrder } from './letters.ts'

const LATIN = (codePoint: number): boolean => codePoint < 0x250
const widthOf = (text: string): number => text.length

test('what the font has stays, what it has not is named, what is unseen goes', () => {
  const of = (text: string) => lettersOf(text, LATIN)
  assert.deepEqual(of('a b'), { text: 'a b', named: false })
  assert.deepEqual(of('ünïcode'), { text: 'ünïcode', named: false })
  assert.deepEqual(of('é'), { text: 'é', named: false })
  assert.deepEqual(of('x界界y'), { text: 'x[U+754C U+754C]y', named: true })
  assert.deepEqual(of('a\u202e\u200db\u00a0c\nd'), { text: 'ab c d', named: false })
})

test('whatever is given, nothing is left that the font has not', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      for (const character of lettersOf(text, LATIN).text)
        assert.ok(LATIN(character.codePointAt(0) ?? 0) && character >= ' ')
    }),
  )
})

test('words from right to left stand in reverse, and others among them as they are read', () => {
  assert.deepEqual(visualOrder(['אב', 'גד', '12'], true), ['12', 'גד', 'אב'])
  assert.deepEqual(visualOrder(['see', 'אב', 'גד', 'there'], false), ['see', 'גד', 'אב', 'there'])
  assert.deepEqual(visualOrder(['אב', 'one', 'two', 'גד'], true), ['גד', 'one', 'two', 'אב'])
  assert.deepEqual([isRightToLeft('2026 אב a'), isRightToLeft('a אב')], [true, false])
})

test('lines keep all letters, in their order, and are no wider than they may be', () => {
  fc.assert(
    fc.property(fc.string(), fc.integer({ min: 3, max: 40 }), (text, width) => {
      const lines = linesOf(text, width, widthOf)
      for (const line of lines) assert.ok(widthOf(line.join(' ')) <= width)
      assert.equal(lines.flat().join(''), text.replaceAll(' ', ''))
    }),
  )
})
