// A report as a document to print: title page, summary, articles, records, sources, limits.

import type { Report } from '@custos/contract'
import { activityChart, FILLS, findingsChart } from '../view/chart.ts'
import {
  type FrameworkView,
  lastEntry,
  logText,
  type ReportView,
  shortName,
  subjectRows,
  textOf,
  viewOf,
} from '../view/report-view.ts'
import { drawAnnexes } from './annexes.ts'
import { drawFramework } from './articles.ts'
import { drawChart } from './draw.ts'
import { isRightToLeft, linesOf, visualOrder } from './letters.ts'
import { INK, LEFT, Paper, SMALL, WIDTH } from './paper.ts'
import { drawTable, type Row } from './table.ts'

/** The same report gives the same bytes. */
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
  paper.space(24)
  paper.paragraph('Evidence report', { size: 11, bold: true })
  paper.space(4)
  drawTitle(paper, report.title)
  paper.space(2)
  paper.paragraph(content.regulation, { size: 12 })
  paper.space(14)
  drawTable(paper, {
    headless: true,
    size: 9,
    columns: [
      { title: '', width: 130 },
      { title: '', width: WIDTH - 130 },
    ],
    rows: factsOf(view),
  })
  paper.space(6)
  paper.paragraph(
    'A finding says whether evidence is on record. Whether a law is kept is for people to judge.',
    { size: 10, bold: true },
  )
  paper.paragraph(
    'To check the report: this file is not signed, the JSON download of the report is. ' +
      '“custos verify FILE” checks its signature and its SHA-256 without asking anybody; the ' +
      'entries it names are looked up on the log by their positions.',
  )
  if (paper.named)
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

/** In lines of our own: words may run from right to left. */
function drawTitle(paper: Paper, title: string): void {
  const shown = paper.letters(title)
  // Characters named by their code points take eight times their room.
  const size = shown.length > 400 ? 9 : shown.length > 90 ? 16 : 22
  const style = { size, bold: true }
  paper.use(style)
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
  paper.sheet()
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
