// The redaction rule against a second implementation, as slow and plain as can be.

import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import fc from 'fast-check'
import { sortCombiningMarks } from '../../../platform/combining-marks.ts'
import { MARKER, prepareContent, type RedactedText, redactJson, redactText } from './redact-text.ts'

const WORD = /[\p{L}\p{N}\p{M}_]/u
const UNSPACED =
  /\p{sc=Han}|\p{sc=Hira}|\p{sc=Kana}|\p{sc=Hang}|\p{sc=Thai}|\p{sc=Laoo}|\p{sc=Khmr}|\p{sc=Mymr}/u
// What NFC may make one of: jamo of a syllable, or a base, each with its marks.
const UNITS = new RegExp(
  [
    String.raw`(?:[\u1100-\u115f]+[\u1160-\u11a7]*[\u11a8-\u11ff]*`,
    String.raw`[가-힣][\u1160-\u11a7]*[\u11a8-\u11ff]*`,
    String.raw`\P{M})\p{M}*`,
    String.raw`\p{M}+`,
  ].join('|'),
  'gsu',
)

const unitsOf = (text: string): string[] => text.match(UNITS) ?? []
const foldedUnit = (unit: string) => unit.normalize('NFC').toLowerCase().toUpperCase().toLowerCase()
const folded = (text: string) => unitsOf(text).map(foldedUnit).join('')

function isWordBorder(text: string, at: number): boolean {
  const [before, after] = [[...text.slice(0, at)].at(-1), [...text.slice(at)][0]]
  if (before === undefined || after === undefined) return true
  return ![before, after].every((one) => WORD.test(one) && !UNSPACED.test(one))
}

const isInMarker = (text: string, start: number, end: number): boolean =>
  Array.from(text, (_, at) => at).some(
    (at) => text.startsWith(MARKER, at) && at <= start && end <= at + MARKER.length,
  )

function firstMatch(text: string, wanted: string, from: number): [number, number] | undefined {
  let start = from
  for (const [at, unit] of unitsOf(text.slice(from)).entries()) {
    const units = unitsOf(text.slice(from)).slice(at)
    let [end, seen] = [start, '']
    for (const next of units) {
      end += next.length
      seen += foldedUnit(next)
      if (seen.length >= wanted.length) break
    }
    const whole = isWordBorder(text, start) && isWordBorder(text, end)
    if (seen === wanted && whole && !isInMarker(text, start, end)) return [start, end]
    start += unit.length
  }
  return undefined
}

function replaceSlowly(text: string, wanted: string): RedactedText {
  let [out, kept, count] = ['', 0, 0]
  for (;;) {
    const match = firstMatch(text, wanted, kept)
    if (!match) return { text: out + text.slice(kept), count }
    out += text.slice(kept, match[0]) + MARKER
    kept = match[1]
    count += 1
  }
}

function redactSlowly(text: string, content: string): RedactedText {
  const wanted = content.normalize('NFC').trim()
  if (wanted === '') return { text, count: 0 }
  const isWhole = folded(text.normalize('NFC').trim()) === folded(wanted)
  if (isWhole && text.trim() !== MARKER) return { text: MARKER, count: 1 }
  if ([...wanted].length < 8) return { text, count: 0 }
  let done = { text, count: 0 }
  for (let pass = 0; pass < 16; pass += 1) {
    const next = replaceSlowly(done.text, folded(wanted))
    if (next.count === 0) return done
    done = { text: next.text, count: done.count + next.count }
  }
  return done
}

// Few characters a time, so that what is wanted is there, nearly there, and there twice over.
const ALPHABETS = [
  ['a', 'A', ' '],
  ['a', 'b', '-'],
  ['s', 'S', 'ß', 'ẞ', 'ſ'],
  ['i', 'I', 'İ', 'ı', '\u0307', '.'],
  ['f', 'i', 'ﬁ', 'FI', ' '],
  ['e', 'é', '\u0301', '\u0316', 'E'],
  ['α', 'ᾳ', 'ͅ', '\u0301', '\u0344'],
  ['Σ', 'σ', 'ς', ' '],
  ['한', 'ᄒ', 'ᅡ', 'ᆫ', '하', 'a'],
  ['😀', '𐐀', '𐐨', '\ud83d', '\udc00', '_'],
  ['東', '京', 'a', 'か', '\u3099', 'が'],
  ['\n', ' ', '\u00a0', '\u0301', 'x'],
  [MARKER, '[', 'R', ' ', 'x'],
]

const cases = fc
  .constantFrom(...ALPHABETS)
  .chain((alphabet) => {
    const some = (maxLength: number) =>
      fc.array(fc.constantFrom(...alphabet), { maxLength }).map((all) => all.join(''))
    const content = fc.oneof(
      some(12),
      fc.tuple(some(4), fc.integer({ min: 2, max: 9 })).map(([part, n]) => part.repeat(n)),
    )
    const form = fc.constantFrom('NFC', 'NFD', 'as is')
    const apart = fc.constantFrom('', ' ')
    return fc.record({ content, before: some(6), between: some(3), after: some(6), apart, form })
  })
  .map(({ content, before, between, after, apart, form }) => {
    const [first, second] = [content, content.toUpperCase()]
    const text = [before, first, between, second, after].join(apart)
    return { content, text: form === 'as is' ? text : text.normalize(form) }
  })

describe('redactText', () => {
  it('does what the rule says, character by character', () => {
    let found = 0
    fc.assert(
      fc.property(cases, ({ text, content }) => {
        const expected = redactSlowly(text, content)
        found += expected.count
        assert.deepEqual(redactText(text, content), expected)
        assert.deepEqual(redactText(text, prepareContent(content)), expected)
      }),
      { numRuns: 3_000 },
    )
    assert.ok(found > 500, `only ${found} were there to be found`)
  })

  it('finds marks in any order, and never leaves a long run of them to the normaliser', () => {
    const marks = '\u0315'.repeat(50) + '\u0316'.repeat(50)
    const ordered = '\u0316'.repeat(50) + '\u0315'.repeat(50)
    const normalize = mock.method(String.prototype, 'normalize')
    const done = redactText(`so: x${marks} lives in Bern.`, `x${ordered} lives in Bern`)
    normalize.mock.restore()
    assert.deepEqual(done, { text: `so: ${MARKER}.`, count: 1 })
    const given = normalize.mock.calls.map((call) => String(call.this))
    assert.ok(given.length > 0)
    for (const text of given) assert.equal(text, sortCombiningMarks(text))
  })
})

describe('a text that still changes after every pass', () => {
  it('is replaced as a whole, so that nothing of the content is left to be found', () => {
    const content = `aaaaaaa ${MARKER}`
    const text = `${'aaaaaaa '.repeat(40)}${MARKER}`
    const done = redactText(text, content)
    assert.equal(done.text, MARKER)
    assert.equal(redactText(done.text, content).count, 0)
  })
})

describe('redactJson', () => {
  it('numbers keys that become one in their order, and skips names already there', () => {
    const value = { 'ANNA LI': 1, [`${MARKER} (2)`]: 2, 'anna li': 3, 'Anna LI': 4, 'anna LI': 5 }
    assert.deepEqual(redactJson(value, 'Anna Li').value, {
      [MARKER]: 1,
      [`${MARKER} (2)`]: 2,
      [`${MARKER} (3)`]: 3,
      [`${MARKER} (4)`]: 4,
      [`${MARKER} (5)`]: 5,
    })
  })
})
