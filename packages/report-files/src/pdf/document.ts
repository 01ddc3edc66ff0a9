// Draws PDFs: a report with title page, summary, articles and annexes, or a plain document.

import { REPORT_SAMPLES_MAX, type Report } from '@custos/contract'
import type { Block, PlainDocument } from '../plain/plain-document.ts'
import { activityChart, FILLS, findingsChart } from '../view/chart.ts'
import {
  type FrameworkView,
  type KindView,
  lastEntry,
  logText,
  positionsOf,
  type ReportView,
  type SectionView,
  shortName,
  sourcesText,
  subjectRows,
  textOf,
  viewOf,
} from '../view/report-view.ts'
import { drawChart, drawPatch, drawTable, type Row, type Table, tableHeight } from './draw.ts'
import { isRightToLeft, linesOf, visualOrder } from './letters.ts'
import { BODY, GAP, INK, LEFT, Paper, SMALL, type Style, WIDTH } from './paper.ts'

/** The PDF of a report. It is deterministic: the same report gives the same bytes. */
export function pdfReport(report: Report): Promise<Buffer> {
  const view = viewOf(report)
  const { report_id, generated_at, content_hash } = report
  const paper = new Paper({
    title: report.title,
    running: `Report ${report_id}`,
    foot: `SHA-256 of the content ${content_hash}`,
    subject: `Evidence report · ${view.content.regulation}`,
    keywords: `SHA-256 of the content ${content_hash}`,
    created: new Date(generated_at),
  })
  drawTitlePage(paper, view)
  drawSummary(paper, view)
  for (const part of view.frameworks) drawFramework(paper, part)
  drawAnnexes(paper, view)
  return paper.finish()
}

function drawTitlePage(paper: Paper, view: ReportView): void {
  const { report, content } = view
  paper.moveDown(24)
  paper.paragraph('Evidence report', { size: 11, bold: true })
  paper.moveDown(4)
  drawTitle(paper, report.title)
  paper.moveDown(2)
  paper.paragraph(content.regulation, { size: 12 })
  paper.moveDown(14)
  drawTable(paper, {
    headless: true,
    size: 9,
    columns: [
      { title: '', width: 130 },
      { title: '', width: WIDTH - 130 },
    ],
    rows: factsOf(view),
  })
  paper.moveDown(6)
  paper.paragraph(
    'A finding says whether evidence is on record. Whether a law is kept is for people to judge.',
    { size: 10, bold: true },
  )
  paper.paragraph(
    'To check the report: this file is not signed, the JSON download of the report is. ' +
      '“custos verify FILE” checks its signature and its SHA-256 without asking anybody; the ' +
      'entries it names are looked up on the log by their positions.',
  )
  if (paper.hasNamedCharacters)
    paper.paragraph(
      'Characters that the letters of this file do not have are named by their code points ' +
        '(U+…); the HTML and JSON downloads have them as they are.',
      SMALL,
    )
  paper.contents()
}

function factsOf(view: ReportView): Row[] {
  const { report, content } = view
  const { log } = content
  const finding = report.overall_finding
  return [
    ...subjectRows(view),
    ['Finding overall', { text: textOf(finding), bold: true, patch: FILLS[finding] }],
    ['Log', logText(content)],
    ['Log position', lastEntry(report)],
    ['Root hash of the log', log.root_hash ?? 'none: the log is empty'],
    ['Catalogue', `as of ${content.catalogue_version}`],
    ['Report', report.report_id],
    ['SHA-256 of the content', report.content_hash],
    ['Content', `${report.file_size_bytes} bytes of canonical JSON (RFC 8785)`],
    ['Signature', `Ed25519 ${report.signature}`],
    ['Key', report.key_id],
    ['Public key', report.public_key],
  ]
}

/** Draws a title with its own line breaks, because words may run from right to left. */
function drawTitle(paper: Paper, title: string): void {
  const shown = paper.toDrawable(title)
  // Characters that are replaced by their code points need eight times the space.
  const size = shown.length > 400 ? 9 : shown.length > 90 ? 16 : 22
  const style = { size, bold: true }
  paper.applyStyle(style)
  const widthOf = (text: string) => paper.doc.widthOfString(text)
  const rightToLeft = isRightToLeft(title)
  const lines = linesOf(shown, WIDTH, widthOf)
  paper.tag('H1', { title, actual: title }, () => {
    for (const words of lines) {
      const space = widthOf(' ')
      const placed = visualOrder(words, rightToLeft)
      const width = placed.reduce((sum, word) => sum + widthOf(word) + space, -space)
      let x = rightToLeft ? LEFT + WIDTH - width : LEFT
      for (const word of placed) {
        paper.doc.fillColor(INK).text(word, x, paper.y, { lineBreak: false })
        x += widthOf(word) + space
      }
      paper.y += size * 1.3
    }
  })
}

function drawSummary(paper: Paper, view: ReportView): void {
  const { report, content, frameworks } = view
  paper.addPage()
  paper.heading(2, 'Summary')
  paper.bookmark('Summary')
  paper.heading(3, 'Articles by finding')
  drawChart(paper, findingsChart(frameworks))
  drawTable(paper, {
    columns: [
      { title: 'Framework', width: 80 },
      { title: 'Regulation', width: 130 },
      { title: 'Result', width: 165 },
      { title: 'Finding', width: 120 },
    ],
    rows: frameworks.map((part) => [
      { text: shortName(part.framework), goTo: part.framework },
      part.regulation,
      part.headline,
      { text: textOf(part.finding), patch: FILLS[part.finding] },
    ]),
  })
  paper.heading(3, 'Activity in the period', { keep: 140 })
  drawChart(paper, activityChart(content.activity, report.period_start, report.period_end))
  drawOverview(paper, frameworks)
}

function drawOverview(paper: Paper, frameworks: readonly FrameworkView[]): void {
  paper.heading(2, 'Articles')
  paper.bookmark('Articles')
  drawTable(paper, {
    columns: [
      { title: 'Framework', width: 80 },
      { title: 'Article', width: 75 },
      { title: 'Title', width: 220 },
      { title: 'Finding', width: 120 },
    ],
    rows: frameworks.flatMap(({ framework, sections }) =>
      sections.map(({ article, title, finding }) => [
        shortName(framework),
        article,
        title,
        { text: textOf(finding), patch: FILLS[finding] },
      ]),
    ),
  })
}

/** The PDF of a document. It is deterministic: the same document gives the same bytes. */
export function pdfDocument(document: PlainDocument): Promise<Buffer> {
  const { about, title, foot, created_at, blocks } = document
  const created = new Date(created_at)
  const paper = new Paper({ title, running: title, foot, subject: about, keywords: foot, created })
  paper.moveDown(24)
  paper.paragraph(about, { size: 11, bold: true })
  paper.moveDown(4)
  drawTitle(paper, title)
  paper.moveDown(2)
  paper.paragraph(created_at)
  paper.moveDown(10)
  for (const block of blocks) drawBlock(paper, block)
  if (paper.hasNamedCharacters) paper.paragraph(NAMED_BY_CODE, SMALL)
  return paper.finish()
}

const NAMED_BY_CODE =
  'Characters that the letters of this file do not have are named by their code points (U+…); ' +
  'the other formats have them as they are.'

function drawBlock(paper: Paper, block: Block): void {
  switch (block.kind) {
    case 'heading':
      paper.heading(block.level, block.text)
      if (block.level === 2) paper.bookmark(block.text)
      return
    case 'text':
      drawText(paper, block.text, { ...BODY, bold: block.strong === true })
      return
    case 'fields':
      drawFields(paper, block.rows)
      return
    case 'table':
      drawTable(paper, plainTable(block))
  }
}

/** The most characters of a paragraph and of a table cell, each of which fits on one page. */
const PARAGRAPH_CHARS = 1_000
const CELL_CHARS = 600
const NAME = 150

/** Draws fields. A long value is below its name, so that it can continue on the next page. */
function drawFields(paper: Paper, fields: readonly (readonly [string, string])[]): void {
  const columns = [
    { title: '', width: NAME },
    { title: '', width: WIDTH - NAME },
  ]
  let rows: Row[] = []
  const drawRows = () => {
    if (rows.length > 0) drawTable(paper, { headless: true, columns, rows })
    rows = []
  }
  for (const [name, value] of fields) {
    const title = name.slice(0, CELL_CHARS)
    paper.applyStyle(BODY)
    if (paper.toDrawable(value).length <= CELL_CHARS && !value.includes('\n')) {
      rows.push([title, value])
      continue
    }
    drawRows()
    const style = { ...BODY, bold: true }
    const [first = ''] = splitLine(paper, value)
    paper.ensureSpace(paper.heightOf(title, style) + GAP + paper.heightOf(first, BODY))
    paper.paragraph(title, style)
    drawText(paper, value, BODY)
  }
  drawRows()
}

/**
 * Draws text, keeping line breaks. Splits long lines, because a paragraph cannot span pages.
 */
function drawText(paper: Paper, text: string, style: Style): void {
  paper.applyStyle(style)
  for (const line of text.split(/\r?\n/u))
    for (const [at, part] of splitLine(paper, line).entries()) {
      if (at > 0) paper.moveDown(-GAP)
      paper.paragraph(part, style)
    }
}

/** Splits the first line of a text into parts of at most a paragraph's length. */
function splitLine(paper: Paper, text: string): string[] {
  const [line = ''] = text.split(/\r?\n/u, 1)
  const parts: string[] = []
  for (let left = paper.toDrawable(line).trimEnd(); left !== ''; ) {
    const space = left.length > PARAGRAPH_CHARS ? left.lastIndexOf(' ', PARAGRAPH_CHARS) : -1
    const end = space > 0 ? space : PARAGRAPH_CHARS
    parts.push(left.slice(0, end))
    left = left.slice(end).trimStart()
  }
  return parts
}

function plainTable({ heads, rows, shares }: Extract<Block, { kind: 'table' }>): Table {
  const others = heads.length - 1
  const columns = heads.map((title, i) => {
    const share = shares?.[i] ?? (i === others ? 1 / 2 : 1 / 2 / others)
    return { title, width: WIDTH * share }
  })
  return { size: 7.5, columns, rows }
}

function drawAnnexes(paper: Paper, view: ReportView): void {
  paper.addPage()
  paper.heading(2, 'Records')
  paper.bookmark('Records')
  paper.paragraph(
    `Of each kind of evidence the newest ${REPORT_SAMPLES_MAX} in the period, by position on the ` +
      'log. Kinds that are found by computing, and those that were not found, name no records.',
    SMALL,
  )
  const named = view.kinds.filter(({ samples }) => samples.length > 0)
  if (named.length === 0) paper.paragraph('No records: nothing was found in the period.')
  for (const kind of named) drawKind(paper, kind)
  drawSources(paper, view)
  drawLimits(paper, view)
}

const ACROSS = 2
const POSITION = 48

function drawKind(paper: Paper, kind: KindView): void {
  const { label, about, count } = kind
  const table = recordsTable(kind)
  // A list is short and stays on one page.
  paper.heading(3, `${label} · ${about}`, { keep: tableHeight(paper, table) + LINE })
  paper.destination(label)
  paper.paragraph(`${count} in the period, log positions ${positionsOf(kind)}.`, SMALL)
  drawTable(paper, table)
}

const LINE = 20

function recordsTable({ samples }: KindView): Table {
  const across = Math.min(ACROSS, samples.length)
  const lines = Math.ceil(samples.length / across)
  return {
    size: 7.5,
    columns: Array.from({ length: across }, () => [
      { title: 'Position', width: POSITION, align: 'right' as const },
      { title: 'Record', width: WIDTH / ACROSS - POSITION },
    ]).flat(),
    // The samples fill columns first.
    rows: Array.from({ length: lines }, (_, row) =>
      Array.from({ length: across }, (__, i) => samples[i * lines + row]).flatMap((sample) =>
        sample ? [String(sample.seq), sample.id] : ['', ''],
      ),
    ),
  }
}

function drawSources(paper: Paper, { sources }: ReportView): void {
  paper.heading(2, 'Sources')
  paper.bookmark('Sources')
  drawTable(paper, {
    size: 8,
    columns: [
      { title: '', width: 32 },
      { title: 'Source', width: 190 },
      { title: 'Address', width: WIDTH - 222 },
    ],
    rows: sources.map(({ label, name, url }) => [label, name, url]),
  })
}

function drawLimits(paper: Paper, { content }: ReportView): void {
  paper.heading(2, 'What this report does not say', { keep: 130 })
  paper.bookmark('Limits')
  paper.group('L', () => {
    for (const text of content.limits) paper.item(text, BODY)
  })
}

function drawFramework(paper: Paper, part: FrameworkView): void {
  paper.addPage()
  paper.destination(part.framework)
  paper.bookmark(shortName(part.framework))
  paper.heading(2, part.regulation)
  paper.paragraph(`${part.headline}.`, { size: 10, bold: true })
  paper.paragraph(part.note, SMALL)
  for (const section of part.sections) paper.group('Sect', () => drawSection(paper, section))
}

function drawSection(paper: Paper, section: SectionView): void {
  const { article, title, requirement, kinds } = section
  const table = evidenceTable(section)
  const notes = notesOf(section)
  // An article stays on one page, which none of them fills.
  const keep =
    FINDING +
    paper.heightOf(requirement, BODY) +
    (kinds.length === 0 ? 0 : tableHeight(paper, table)) +
    notes.reduce((sum, note) => sum + paper.heightOf(note, SMALL) + GAP, GAP)
  paper.heading(3, `${article} · ${title}`, { keep })
  drawFinding(paper, section)
  paper.paragraph(requirement)
  if (kinds.length > 0) drawTable(paper, table)
  for (const note of notes) paper.paragraph(note, SMALL)
}

const notesOf = (section: SectionView): string[] => [
  ...(section.missed.length === 0 ? [] : [`Missing: ${section.missed.join('; ')}.`]),
  `Not covered: ${section.not_covered}`,
  sourcesText(section),
]

const FINDING = 17

function drawFinding(paper: Paper, { finding, force }: SectionView): void {
  const y = paper.y
  paper.artifact(() => drawPatch(paper.doc, [LEFT, y + 1.5], FILLS[finding]))
  paper.tag('P', {}, () => {
    const name = textOf(finding)
    paper.textAt(name, [LEFT + 14, y], { size: 9.5, bold: true }, { lineBreak: false })
    const x = LEFT + 14 + paper.doc.widthOfString(name) + 8
    paper.textAt(`${force}.`, [x, y + 1.2], SMALL, { lineBreak: false })
  })
  paper.moveDown(FINDING)
}

const evidenceTable = ({ kinds }: SectionView): Table => ({
  columns: [
    { title: 'Evidence in the period', width: 285 },
    { title: 'Count', width: 55, align: 'right' },
    { title: 'Log positions', width: 95, align: 'right' },
    { title: 'Records', width: 60 },
  ],
  rows: kinds.map((kind) => {
    const newest = kind.samples.at(-1)
    return [
      {
        text: kind.about,
        ...(newest ? { below: `newest: ${newest.id}, position ${newest.seq}` } : {}),
      },
      String(kind.count),
      positionsOf(kind),
      kind.samples.length === 0 ? '–' : { text: `list ${kind.label}`, goTo: kind.label },
    ]
  }),
})
