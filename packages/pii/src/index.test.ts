// Personal data: what is found, where exactly, and what is not mistaken for it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { assertLinear } from '../../server/src/testing/growth.ts'
import { ENTITIES, findPersonalData, isEntity, redact } from './index.ts'
import { SAMPLES, unmark } from './testing/samples.ts'

test('every entity is found in its sentences, with its offsets and no other name', () => {
  for (const { entity, sentence } of SAMPLES) {
    const { text, start, end } = unmark(sentence)
    const found = findPersonalData(text).filter((one) => one.start < end && start < one.end)
    const seen = found.map((one) => [one.entity, one.start, one.end])
    assert.deepEqual(seen, [[entity, start, end]], sentence)
  }
})

test('a wrong check digit or form is not taken for the entity', () => {
  for (const { entity, wrong } of SAMPLES) {
    const found = findPersonalData(wrong).filter((one) => one.entity === entity)
    assert.deepEqual(found, [], wrong)
  }
})

test('every listed entity says what it is, and has a sentence in which it is found', () => {
  const named = new Set(SAMPLES.map(({ entity }) => entity))
  assert.deepEqual(
    ENTITIES.map(({ entity }) => entity),
    [...named].sort(),
  )
  for (const { about } of ENTITIES) assert(about.endsWith('.') && about.length > 15, about)
  assert(isEntity('US_SSN') && !isEntity('us_ssn') && !isEntity('toString'))
})

test('only the entities asked for are found', () => {
  const text = 'card 4111 1111 1111 1111, mail ada@example.com'
  const found = findPersonalData(text, { entities: ['EMAIL_ADDRESS'] })
  assert.deepEqual(redact(text, found), 'card 4111 1111 1111 1111, mail <EMAIL_ADDRESS>')
  assert.deepEqual(findPersonalData(text, { entities: [] }), [])
})

test('a word that names a number raises its score, one that names another thing lowers it', () => {
  const score = (text: string) => findPersonalData(text, { min_score: 0 })[0]?.score ?? 0
  assert(score('SSN 536-22-1234') > score('it 536-22-1234'))
  assert(score('order 536-22-1234') < score('it 536-22-1234'))
  assert.deepEqual(findPersonalData('order 536-22-1234'), [])
  assert(score('mein Telefon 5550132') > score('mein Haus 5550132'))
})

test('words of a language count where it is among those asked for', () => {
  const text = 'Telefon 5550132'
  assert.equal(findPersonalData(text, { languages: ['de'] }).length, 1)
  assert.equal(findPersonalData(text, { languages: ['fr'] }).length, 0)
  assert.equal(findPersonalData('phone 5550132', { languages: ['fr'] }).length, 1)
})

const CARD = '4111111111111111'
const shifted = (zero: number) =>
  Array.from(CARD, (digit) => String.fromCodePoint(zero + Number(digit))).join('')

test('digits of other scripts, wide forms and invisible characters hide nothing', () => {
  const hidden = [
    ...[0xff10, 0x0660, 0x06f0, 0x0966, 0x1d7ce, 0x1d7f6].map(shifted),
    CARD.replace(/(....)/g, '$1\u200b'),
    CARD.replace(/(....)/g, '\u00ad$1'),
    CARD.replace(/(....)(?!$)/g, '$1\u00a0'),
    CARD.replace(/(....)(?!$)/g, '$1\u2011'),
    CARD.replace(/(....)(?!$)/g, '$1\u3000'),
  ]
  for (const number of hidden) {
    const text = `😀 הכרטיס \u200f${number}\u200f 中文`
    const [found, ...rest] = findPersonalData(text)
    assert.deepEqual([found?.entity, rest], ['CREDIT_CARD', []], number)
    const left = redact(text, findPersonalData(text))
    assert.equal(left.replaceAll(/[\u200b\u00ad]/g, ''), '😀 הכרטיס \u200f<CREDIT_CARD>\u200f 中文')
  }
  const mail = findPersonalData('ａｄａ＠ｅｘａｍｐｌｅ．ｃｏｍ')
  assert.deepEqual(mail, [{ entity: 'EMAIL_ADDRESS', start: 0, end: 15, score: 0.95 }])
})

test('a number inside another word, a decimal, an amount or an id is none', () => {
  const none = [
    'x4111111111111111',
    '4111111111111111x',
    '0.4111111111111111',
    '$4111111111111111',
    '4111111111111111.25',
    'build_4111111111111111',
    '123e4567-e89b-12d3-a456-426614174000',
    '1,234,567,890',
    'PLZ 5555-5555-5555-4445',
    'v1.2.3.4.5',
    'a/b@c',
    'std::vector::begin',
    '12:30:45',
    'readme.md',
    'and so.in the end',
  ]
  for (const text of none) assert.deepEqual(findPersonalData(text), [], text)
})

/** Texts made of what recognisers look for, cut and glued anywhere. */
const pieces = SAMPLES.flatMap(({ sentence, wrong }) => [unmark(sentence).text, wrong])
const glue = ['', ' ', '\n', '-', '.', ':', '@', '\u200b', '１', 'x', '(', '+', ' card ', '😀']
const fragment = fc
  .tuple(fc.constantFrom(...pieces), fc.nat(20), fc.nat(40), fc.constantFrom(...glue))
  .map(([piece, from, size, end]) => piece.slice(from % piece.length).slice(0, size + 1) + end)
const mosaic = fc.array(fragment, { maxLength: 12 }).map((parts) => parts.join(''))
const anyText = fc.oneof(mosaic, fc.string({ unit: 'binary', maxLength: 200 }))

test('offsets lie in the text, in order, without overlap, the same each time', () => {
  const property = (text: string) => {
    const found = findPersonalData(text, { min_score: 0 })
    assert.deepEqual(findPersonalData(text, { min_score: 0 }), found)
    let at = 0
    for (const { entity, start, end, score } of found) {
      assert(start >= at && end > start && end <= text.length && isEntity(entity))
      assert(score >= 0 && score <= 1)
      at = end
    }
  }
  fc.assert(fc.property(anyText, property), { numRuns: 3_000 })
})

test('what is found in a redacted sentence was not there before it was redacted', () => {
  const whole = fc
    .array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 5 })
    .map((parts) => parts.join('. \n'))
  const property = (text: string) => {
    const redacted = redact(text, findPersonalData(text))
    assert.deepEqual(findPersonalData(redacted), [], redacted)
  }
  fc.assert(fc.property(whole, property), { numRuns: 3_000 })
})

const HOSTILE: Readonly<Record<string, string>> = {
  digits: '1',
  groups: '1 ',
  'dotted groups': '1.',
  'dashed brackets': '(0)1-',
  cards: '4111 1111 1111 1111 ',
  'at signs': 'a@',
  'long locals': `${'a'.repeat(64)}@`,
  colons: '1:',
  'double colons': '::',
  schemes: 'a://',
  'endless address': 'http://a',
  domains: 'com.',
  'country codes': 'GB82 ',
  bitcoin: '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb ',
  titles: 'Mr A ',
  'legal forms': 'Ab ',
  streets: 'A Street ',
  marks: '<A',
  invisible: '1\u200b',
  'full width': '４１１１ ',
  context: 'ssn passport tax routing tfn acn account license 457555462 ',
}

test('the cost of any text grows with its length, not with its square', () => {
  for (const [name, unit] of Object.entries(HOSTILE))
    assertLinear(
      400_000,
      (size) => findPersonalData(unit.repeat(Math.ceil(size / unit.length))),
      name,
    )
})
