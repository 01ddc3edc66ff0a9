// Properties and examples of the redaction rule.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { MARKER, occursInText, redactJson, redactText } from './redact-text.ts'

const CONTENT = 'Anna lives in Bern'

describe('redactText', () => {
  it('replaces every occurrence and keeps the rest byte for byte', () => {
    const { text, count } = redactText(`Note: ${CONTENT}. Again: ${CONTENT}!\u00a0`, CONTENT)
    assert.equal(text, `Note: ${MARKER}. Again: ${MARKER}!\u00a0`)
    assert.equal(count, 2)
  })

  it('ignores case and the white space around the content', () => {
    assert.equal(redactText(`so aNNA LIVES in bern now`, `  ${CONTENT}\n`).text, `so ${MARKER} now`)
  })

  it('compares composed and decomposed text alike and maps back to exact positions', () => {
    const decomposed = 'é à '.repeat(3).normalize('NFD')
    const text = `${decomposed}Zoé Müller-Bär${decomposed}`.normalize('NFD')
    const spaced = text.replace('Zo', '(Zo').replace(/r(?=e\u0301)/, 'r)')
    const { text: done, count } = redactText(spaced, 'zoé müller-bär')
    assert.equal(count, 1)
    assert.equal(done, `${decomposed}(${MARKER})${decomposed}`)
  })

  it('treats letters with several capital forms alike', () => {
    assert.equal(redactText('Die STRASSE NACH BERN.', 'straße nach Bern').count, 1)
    assert.equal(redactText('ΟΔΥΣΣΕΥΣ ΟΔΥΣΣΕΥΣ', 'οδυσσευς').count, 2)
    assert.equal(redactText('in İSTANBUL 2024', 'istanbul 2024').count, 0)
    assert.equal(redactText('in İSTANBUL 2024', 'İstanbul 2024').count, 1)
  })

  it('leaves words that merely contain the content', () => {
    assert.equal(redactText('understandings', 'standing').count, 0)
    assert.equal(redactText('x_standing', 'standing').count, 0)
    assert.equal(redactText('co-standing,', 'standing').text, `co-${MARKER},`)
  })

  it('finds a name inside scripts that are written without spaces', () => {
    const name = '東京都港区の田中太郎'
    assert.equal(redactText(`私は${name}です`, name).text, `私は${MARKER}です`)
  })

  it('needs 8 characters, or the whole field', () => {
    assert.equal(redactText('call Anna Li now', 'Anna Li').count, 0)
    assert.equal(redactText('call Anna Lis now', 'Anna Lis').count, 1)
    assert.equal(redactText('  anna li ', 'Anna Li').text, MARKER)
    assert.equal(redactText('yes', 'yes').text, MARKER)
  })

  it('counts characters, not code units', () => {
    assert.equal(redactText('a 😀😀😀😀 b', '😀😀😀😀').count, 0)
    assert.equal(redactText('a 😀😀😀😀😀😀😀😀 b', '😀😀😀😀😀😀😀😀').count, 1)
  })

  it('never finds anything for empty content', () => {
    assert.deepEqual(redactText('', ''), { text: '', count: 0 })
    assert.deepEqual(redactText('   ', ' '), { text: '   ', count: 0 })
  })

  it('does not find the words of the marker in the marker', () => {
    const once = redactText('per GDPR Article 17 it is', 'GDPR Article 17')
    assert.deepEqual(once, { text: `per ${MARKER} it is`, count: 1 })
    assert.equal(redactText(once.text, 'GDPR Article 17').count, 0)
    assert.equal(redactText(MARKER, MARKER).count, 0)
  })

  it('removes content that quotes a marker', () => {
    const content = `Customer ${MARKER} lives in Bern`
    assert.deepEqual(redactText(`so: ${content}.`, content), { text: `so: ${MARKER}.`, count: 1 })
  })

  it('keeps every text without the content, and a second call changes nothing', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 60 })
    fc.assert(
      fc.property(text, text, (field, content) => {
        const once = redactText(field, content)
        assert.equal(once.count === 0, once.text === field)
        assert.equal(occursInText(once.text, content), false)
      }),
      { numRuns: 500 },
    )
  })

  it('finds content between any two texts set off by spaces, in any normal form', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 30 })
    const long = fc
      .string({ unit: 'grapheme', minLength: 8, maxLength: 30 })
      .filter((content) => [...content.normalize('NFC').trim()].length >= 8)
      .filter((content) => !MARKER.toLowerCase().includes(content.trim().toLowerCase()))
    const forms = fc.constantFrom('NFC', 'NFD')
    fc.assert(
      fc.property(text, text, long, forms, (before, after, content, form) => {
        const field = `${before} | ${content.trim().normalize(form)} | ${after}`
        const { text: done, count } = redactText(field, content)
        assert.ok(count >= 1)
        if (count === 1) assert.equal(done, `${before} | ${MARKER} | ${after}`)
      }),
      { numRuns: 500 },
    )
  })
})

describe('redactJson', () => {
  it('redacts texts and keys at any depth and keeps the shape', () => {
    const value = { [CONTENT]: 1, a: [{ b: `x ${CONTENT}` }, null, true], c: CONTENT }
    const { value: done, count } = redactJson(value, CONTENT)
    assert.deepEqual(done, { [MARKER]: 1, a: [{ b: `x ${MARKER}` }, null, true], c: MARKER })
    assert.equal(count, 3)
  })

  it('redacts a number that is the fact, and drops no value when two keys become one', () => {
    const value = { n: 4915112345678, other: 5, [CONTENT]: 'a', [CONTENT.toUpperCase()]: 'b' }
    assert.deepEqual(redactJson(value, '4915112345678').value, { ...value, n: MARKER })
    const both = redactJson(value, CONTENT).value
    const copy = `${MARKER} (2)`
    assert.deepEqual(both, { n: 4915112345678, other: 5, [MARKER]: 'a', [copy]: 'b' })
  })
})
