// The page of a report: all that is known, nothing that runs, nothing that is loaded.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sampleReport } from '../testing/sample-report.ts'
import { textOf, viewOf } from '../view/report-view.ts'
import { escaped, htmlReport } from './page.ts'

const page = htmlReport(sampleReport())

test('a page tells each article with its finding, its evidence and what is missing', () => {
  const { frameworks } = viewOf(sampleReport())
  const parts = page.split('<section>')
  for (const section of frameworks.flatMap(({ sections }) => sections)) {
    const anchor = `id="${section.framework}.${section.key}"`
    const part = parts.find((one) => one.includes(anchor))
    assert.ok(part, anchor)
    const { requirement, not_covered, finding, force, title } = section
    for (const text of [title, textOf(finding), force, requirement, not_covered])
      assert.ok(part.includes(escaped(text)), text)
    for (const { about, count } of section.kinds)
      assert.match(part, new RegExp(`${escaped(about)}.*?>${count}<`))
    for (const about of section.missed)
      assert.match(part, new RegExp(`Missing:.*${escaped(about)}`))
  }
})

test('every link within a page leads somewhere, and every name is there once', () => {
  const names = [...page.matchAll(/ id="([^"]+)"/g)].map(([, name]) => name)
  assert.equal(new Set(names).size, names.length)
  const links = [...page.matchAll(/href="#([^"]+)"/g)].map(([, name]) => name)
  assert.ok(links.length > 100)
  for (const link of links) assert.ok(names.includes(link), link)
})

test('records, sources and limits are on the page', () => {
  const { kinds, sources, content } = viewOf(sampleReport())
  const expected = [
    ...kinds.flatMap(({ samples }) => samples.map(({ id }) => id)),
    ...sources.flatMap(({ name, url }) => [name, url]),
    ...content.limits,
  ]
  for (const text of expected) assert.ok(page.includes(escaped(text)), text)
})

test('findings differ without colour: a pattern beside each, and words', () => {
  const patches = page.match(/class="finding"><svg class="patch"/g)?.length ?? 0
  assert.equal(patches, page.match(/class="finding"/g)?.length)
  for (const pattern of ['hatched', 'dotted']) assert.ok(page.includes(`<pattern id="${pattern}"`))
  const colors = [...page.matchAll(/#[0-9a-f]{3,6}\b(?=[;" )])/g)].map(([color]) => color)
  // Black, white and greys.
  for (const color of colors) assert.match(color, /^#(\w)\1{2}$|^#(\w\w)\2{2}$/, color)
})

test('a page of a title made to break out of it has it as text', () => {
  const title = `"><script>alert(1)</script><img src=x onerror=alert(1)>'`
  const html = htmlReport(sampleReport({ title, report_type: 'gdpr' }))
  assert.doesNotMatch(html, /<script|<img|onerror=alert\(1\)>'/)
  assert.equal(html.split(escaped(title)).length, 3)
  assert.doesNotMatch(html, /<[^>]*\ssrc=|url\((?!#)|@import|<link(?! rel="icon" href="data:,")/)
})
