// What the files of a report share: numbers of records and sources, and the state of the log.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sampleReport } from '../testing/sample-report.ts'
import { logText, positionsOf, sourcesText, viewOf } from './report-view.ts'

const view = viewOf(sampleReport())

test('each kind of evidence and each source has one number, wherever it is named', () => {
  const { kinds, sources, frameworks } = view
  assert.deepEqual(
    kinds.map(({ label }) => label),
    kinds.map((_, i) => `E${i + 1}`),
  )
  assert.equal(new Set(kinds.map(({ query }) => query)).size, kinds.length)
  assert.equal(new Set(sources.map(({ url }) => url)).size, sources.length)
  for (const { kinds: named, text, read } of frameworks.flatMap(({ sections }) => sections)) {
    for (const one of named) assert.ok(kinds.includes(one))
    for (const one of [text, ...read]) assert.ok(sources.includes(one))
  }
})

test('what was not found is named as missing, and nothing else is', () => {
  for (const { finding, kinds, missed } of view.frameworks.flatMap(({ sections }) => sections)) {
    assert.equal(missed.length, kinds.filter(({ count }) => count === 0).length)
    if (finding === 'EVIDENCE_FOUND') assert.equal(missed.length, 0)
    if (finding === 'INSUFFICIENT_DATA') assert.equal(missed.length, kinds.length)
  }
})

test('sources say whether two agree', () => {
  const sections = view.frameworks.flatMap((part) => part.sections)
  for (const section of sections) {
    const words = sourcesText(section)
    assert.equal(words.includes('unverified'), !section.verified, words)
    for (const { label } of section.read) assert.match(words, new RegExp(`\\b${label}\\b`))
  }
})

test('a log that does not hold is said to, with the place, and that nothing on it counts', () => {
  const { content } = view
  assert.match(logText(content), /^intact: 34 entries .*; checkpoint valid, over the first 20$/)
  const log = { ...content.log, status: 'tampered', reason: 'entry_changed', at_seq: 7 } as const
  const words = logText({ ...content, log })
  assert.match(words, /^tampered: .*entry_changed at position 7\. Nothing on it is evidence$/)
  const unsigned = { ...content.log, last_epoch: null }
  assert.match(logText({ ...content, log: unsigned }), /no signed checkpoint$/)
})

test('positions are a range, a single one, the last alone, or none', () => {
  const [kind] = view.kinds
  assert.ok(kind)
  const of = (first_seq: number | null, last_seq: number | null) =>
    positionsOf({ ...kind, first_seq, last_seq })
  assert.deepEqual([of(3, 17), of(4, 4), of(null, 9), of(null, null)], ['3 – 17', '4', '9', '–'])
})

test('a content that reports do not have is not shown as one', () => {
  assert.throws(() => viewOf({ ...sampleReport(), content: { frameworks: {} } }), /content/)
})
