// The catalogue: what every row must have, and the dates that were looked up.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isVerified } from './article.ts'
import { catalogueRows, FRAMEWORKS } from './catalogue.ts'

const rows = Object.values(FRAMEWORKS).flatMap(({ articles }) => articles)

test('every row has a key of its own within its framework', () => {
  const keys = rows.map(({ framework, key }) => `${framework} ${key}`)
  assert.equal(new Set(keys).size, keys.length)
})

test('a row is verified only where two different sources were read', () => {
  for (const row of rows) {
    assert.equal(isVerified(row), new Set(row.read).size >= 2, row.key)
    assert.equal(new Set(row.read).size, row.read.length, row.key)
  }
})

test('what nothing on the log speaks to is left to people, and the rest is not', () => {
  for (const { key, automation, evidence } of rows)
    assert.equal(automation === 'manual', evidence.length === 0, key)
})

test('dates are days, or months where the day is not known, and sources are addresses', () => {
  for (const shown of Object.values(FRAMEWORKS).flatMap(catalogueRows)) {
    assert.match(shown.in_force_from ?? '2000-01-01', /^\d{4}-\d{2}(-\d{2})?$/, shown.key)
    for (const { url } of [shown.source, ...shown.sources]) assert.equal(new URL(url).href, url)
  }
})

test('dates of the EU AI Act are those after the Digital Omnibus', () => {
  const from = (article: string) =>
    FRAMEWORKS.eu_ai_act.articles.find((row) => row.article === article)?.in_force_from
  for (const article of ['9', '12', '13', '14', '15', '26'])
    assert.equal(from(article), '2027-12-02', article)
  assert.equal(from('50'), '2026-08-02')
})

test('no row says that anybody complies', () => {
  assert.doesNotMatch(JSON.stringify(FRAMEWORKS), /compliant/i)
})
