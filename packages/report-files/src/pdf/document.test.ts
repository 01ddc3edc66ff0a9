// The PDF as who reads it finds it: everything that is known, on the sheet, in any script.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ReadPdf, readPdf } from '../testing/read-pdf.ts'
import { type Sample, sampleReport } from '../testing/sample-report.ts'
import { positionsOf, textOf, viewOf } from '../view/report-view.ts'
import { pdfReport } from './document.ts'

const read = async (sample: Sample = {}): Promise<ReadPdf> =>
  readPdf(await pdfReport(sampleReport(sample)))

const wordsOf = ({ pages }: ReadPdf): string => pages.map(({ text }) => text).join('\n')
/** Texts are broken into lines: only the letters are compared. */
const letters = (text: string): string => text.replaceAll(/\s/g, '')

const [full, fullAgain] = await Promise.all([pdfReport(sampleReport()), pdfReport(sampleReport())])
const shown = readPdf(full)

describe('a report as PDF', () => {
  test('is the same to the byte for the same report, and another for another', async () => {
    assert.ok(full.equals(fullAgain))
    const other = await pdfReport(sampleReport({ report_id: 'f'.repeat(32) }))
    assert.ok(!full.equals(other))
  })

  test('tells each article with its finding, what speaks to it and what is missing', () => {
    const all = letters(wordsOf(shown))
    for (const { sections } of viewOf(sampleReport()).frameworks)
      for (const section of sections) {
        const { article, title, finding, force, requirement, not_covered, kinds } = section
        const start = `${article} · ${title}${textOf(finding)}${force}.${requirement}`
        assert.ok(all.includes(letters(start)), start)
        assert.ok(all.includes(letters(`Not covered: ${not_covered}`)), not_covered)
        for (const kind of kinds) {
          const newest = kind.samples.at(-1)
          const below = newest ? `newest: ${newest.id}, position ${newest.seq}` : ''
          const row = `${kind.about}${below}${kind.count}${positionsOf(kind)}`
          assert.ok(all.includes(letters(row)), row)
        }
        for (const about of section.missed) assert.ok(all.includes(letters(about)), about)
      }
  })

  test('names records, sources, limits and how it is checked', () => {
    const all = letters(wordsOf(shown))
    const report = sampleReport()
    const { kinds, sources, content } = viewOf(report)
    const expected = [
      ...kinds.flatMap(({ samples }) => samples.map(({ seq, id }) => `${seq}${id}`)),
      ...sources.map(({ label, name, url }) => `${label}${name}${url}`),
      ...content.limits,
      ...[report.tenant_id, report.signature, report.key_id, report.public_key],
      'custos verify FILE',
    ]
    for (const text of expected) assert.ok(all.includes(letters(text)), text)
  })

  test('numbers its pages, names the report on them, and lists them in its contents', () => {
    const { report_id, content_hash } = sampleReport()
    for (const [i, { text }] of shown.pages.entries()) {
      assert.ok(text.includes(`page ${i + 1} of ${shown.pages.length}`))
      assert.ok(text.includes(content_hash))
      assert.ok(text.includes(report_id))
    }
    const contents = shown.pages[0]?.text.split('Contents')[1] ?? ''
    const places = { GDPR: 'Regulation (EU) 2016/679', Sources: 'Sources', Records: 'Records' }
    for (const [name, heading] of Object.entries(places)) {
      const page = Number(new RegExp(`${name} (\\d+)`).exec(contents)?.[1])
      const there = shown.pages[page - 1]?.items.map(({ text }) => text)
      assert.ok(there?.includes(heading), `${name} is not on page ${page}`)
    }
  })

  test('keeps to the sheet, and an article with its table', () => {
    for (const { items } of shown.pages)
      for (const { text, x, y } of items)
        assert.ok(x >= 49 && x < 546 && y > 35 && y < 815, `${text} is at ${x}, ${y}`)
    const titles = viewOf(sampleReport()).frameworks.flatMap(({ sections }) =>
      sections.map(({ article, title, not_covered }) => [`${article} · ${title}`, not_covered]),
    )
    for (const [title = '', last = ''] of titles) {
      const page = shown.pages.find(({ text }) => text.includes(title))
      assert.ok(page, title)
      const after = letters(page.text.slice(page.text.indexOf(title)))
      assert.ok(after.includes(letters(last)), `${title} is parted`)
    }
  })

  test('is tagged, has a language, and brings its letters along', () => {
    const all = shown.dictionaries.join('\n')
    assert.match(all, /\/Marked true/)
    assert.match(all, /\/Lang \(en\)/)
    assert.match(all, /\/DisplayDocTitle true/)
    assert.match(all, /\/CreationDate|D:20261102080000Z/)
    for (const type of ['Document', 'H1', 'H2', 'H3', 'P', 'Table', 'TR', 'TH', 'TD', 'L', 'TOC'])
      assert.match(all, new RegExp(`/S /${type}\\b`))
    assert.equal(all.match(/\/S \/Figure\n\/Alt \(/g)?.length, 2)
    const fonts = shown.dictionaries.filter((one) => one.includes('/Type /FontDescriptor'))
    assert.equal(fonts.length, 2)
    for (const font of fonts) assert.match(font, /\/FontFile2/)
    assert.doesNotMatch(all, /Helvetica/)
  })

  test('of a period in which nothing happened says so', async () => {
    const all = wordsOf(await read({ report_type: 'gdpr', entries: 'none' }))
    for (const text of [
      'No entries in the period',
      'No records: nothing was found',
      'the log is empty',
    ])
      assert.ok(all.includes(text), text)
    assert.doesNotMatch(all, /compliant/i)
  })
})

describe('a title', () => {
  const pageOf = async (title: string) => (await read({ report_type: 'gdpr', title })).pages[0]

  test('in Latin, Greek or Cyrillic letters is written as it is', async () => {
    for (const title of ['Überprüfung žluťoučký', 'Έλεγχος και αναφορά', 'Проверка журнала'])
      assert.ok((await pageOf(title))?.text.includes(title), title)
  })

  test('from right to left begins at the right edge', async () => {
    const items = (await pageOf('تقرير التدقيق السنوي 2026'))?.items ?? []
    const [, first, second, ...rest] = items
    assert.ok(first && second, JSON.stringify(rest))
    // The last word stands leftmost, so it is drawn first.
    assert.equal(first.text, '2026')
    assert.ok(first.x < second.x && first.x > 200)
    assert.equal(first.y, second.y)
  })

  test('with characters that no letter is there for names them, and says so', async () => {
    const text = (await pageOf('审计 report 🧾'))?.text ?? ''
    assert.ok(text.includes('[U+5BA1 U+8BA1] report [U+1F9FE]'), text)
    assert.match(text, /named by their code points/)
    assert.doesNotMatch((await pageOf('plain'))?.text ?? '', /code points/)
  })

  test('of any length and of odd characters is kept on the sheet', async () => {
    const odd = [
      'W'.repeat(256),
      '界'.repeat(256),
      '🧾'.repeat(256),
      '\u202e\u200d\u0301',
      '\ud83d\ud83d',
      'a\tb\nc',
    ]
    for (const title of odd) {
      const page = await pageOf(title)
      assert.ok(page?.text.includes('Evidence report'), title)
      for (const { x, y } of page?.items ?? []) assert.ok(x >= 49 && x < 546 && y < 815)
    }
  })
})
