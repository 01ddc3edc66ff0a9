// findOccurrences: the same as the obvious search, with work in proportion to the lengths.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { findOccurrences, type SearchableText } from './redact-text.ts'

/** The text itself, counting how many of its units are read. */
class CountedText implements SearchableText {
  readonly #text: string
  looks = 0

  constructor(text: string) {
    this.#text = text
  }

  get length(): number {
    return this.#text.length
  }

  charCodeAt(at: number): number {
    this.looks += 1
    return this.#text.charCodeAt(at)
  }

  // At each position it passes, the slowest search compares all that is wanted.
  indexOf(wanted: string, from = 0): number {
    const found = this.#text.indexOf(wanted, from)
    const passed = (found === -1 ? this.#text.length : found + 1) - from
    this.looks += passed * wanted.length
    return found
  }
}

const byHand = (text: string, wanted: string): number[] =>
  Array.from(text, (_, at) => at).filter((at) => wanted !== '' && text.startsWith(wanted, at))

describe('findOccurrences', () => {
  it('finds all occurrences in order, also where they overlap', () => {
    const units = fc.constantFrom('a', 'a', 'a', 'b', 'c')
    const text = fc.array(units, { maxLength: 80 }).map((all) => all.join(''))
    const wanted = fc.oneof(
      fc.array(units, { maxLength: 24 }).map((all) => all.join('')),
      // Repeats itself, as its occurrences then do.
      fc.tuple(fc.constantFrom('a', 'ab', 'aab', 'abaab'), fc.nat(6)).map(([s, n]) => s.repeat(n)),
    )
    const holding = fc
      .tuple(text, wanted, fc.constantFrom('', 'b'))
      .map(([text, wanted, between]) => ({ text: text + wanted + between + wanted + text, wanted }))
    fc.assert(
      fc.property(fc.oneof(holding, fc.record({ text, wanted })), ({ text, wanted }) => {
        assert.deepEqual([...findOccurrences(text, wanted)], byHand(text, wanted))
      }),
      { numRuns: 2_000 },
    )
  })

  it('works in proportion to both lengths, whatever is written', () => {
    const wanted = [
      'a'.repeat(4_000),
      `${'a'.repeat(4_000)}b`,
      `b${'a'.repeat(4_000)}`,
      `${'a'.repeat(2_000)}b${'a'.repeat(2_000)}`,
      `${'aaaaaaab'.repeat(500)}c`,
    ]
    const texts = [
      'a'.repeat(100_000),
      'aaaaaaab'.repeat(12_500),
      `${'a'.repeat(3_999)}c`.repeat(25),
    ]
    for (const sought of wanted)
      for (const text of texts) {
        const counted = new CountedText(text)
        const found = [...findOccurrences(counted, sought)]
        assert.equal(found.length, byHandCount(text, sought))
        assert.ok(counted.looks <= 10 * (text.length + sought.length), `${counted.looks} looks`)
      }
  })

  it('reads nothing of a text that is shorter than the pattern', () => {
    const counted = new CountedText('aaaaaaaaaa')
    assert.deepEqual([...findOccurrences(counted, 'a'.repeat(11))], [])
    assert.equal(counted.looks, 0)
  })
})

function byHandCount(text: string, wanted: string): number {
  let count = 0
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + 1)) count += 1
  return count
}
