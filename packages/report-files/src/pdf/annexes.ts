// What the articles refer to: records with their positions, sources, and the limits of it all.

import { REPORT_SAMPLES_MAX } from '@custos/contract'
import { type KindView, positionsOf, type ReportView } from '../view/report-view.ts'
import { BODY, type Paper, SMALL, WIDTH } from './paper.ts'
import { drawTable, type Table, tableHeight } from './table.ts'

export function drawAnnexes(paper: Paper, view: ReportView): void {
  paper.sheet()
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
  // A list is not parted: it is short.
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
    // Read down, then across.
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
  paper.within('L', () => {
    for (const text of content.limits) paper.item(text, BODY)
  })
}
