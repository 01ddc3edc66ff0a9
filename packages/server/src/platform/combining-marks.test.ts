// Runs of combining marks: the order they are given, and what normalising makes of it.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { sortCombiningMarks } from './combining-marks.ts'

// Classes 0 to 240, marks that decompose, and one outside the basic plane.
const MARKS = [
  ...['\u0301', '\u0300', '\u0308', '\u0344', '\u0316', '\u0315', '\u0334', '\u0345', '\u034f'],
  ...['\u0591', '\u05bc', '\u064b', '\u09be', '\u09c7', '\u09cb', '\u0f73', '\u3099', '\u{1d165}'],
]

describe('orderMarks', () => {
  it('changes no normal form of any text', () => {
    const run = fc.array(fc.constantFrom(...MARKS), { minLength: 0, maxLength: 90 })
    const part = fc.tuple(fc.constantFrom('', 'a', 'か', '\u09c7', '가', 'x y'), run)
    fc.assert(
      fc.property(fc.array(part, { maxLength: 4 }), (parts) => {
        const text = parts.map(([base, marks]) => base + marks.join('')).join('')
        for (const form of ['NFC', 'NFD', 'NFKC', 'NFKD'])
          assert.equal(sortCombiningMarks(text).normalize(form), text.normalize(form))
      }),
      { numRuns: 1_000 },
    )
  })

  it('leaves nothing of a long run to be moved by normalising, for every mark there is', () => {
    const all: string[] = []
    for (let code = 0x300; code < 0x20000; code += 1) {
      const mark = String.fromCodePoint(code)
      if (/^\p{M}$/u.test(mark)) all.push(mark)
    }
    const runs = [all, all.toReversed()].map((marks) => marks.join(''))
    for (const run of runs) {
      const ordered = sortCombiningMarks(run)
      assert.equal(ordered, ordered.normalize('NFD'))
      assert.equal(ordered, run.normalize('NFD'))
    }
  })

  it('leaves runs that writing has as they are', () => {
    const text = 'Zo\u0308\u0316e\u0301 שָׁלוֹם नमस्ते'
    assert.equal(sortCombiningMarks(text), text)
  })
})
