// The articles of a framework: what each asks for, what was found, what is missing.

import { FILLS } from '../view/chart.ts'
import {
  type FrameworkView,
  positionsOf,
  type SectionView,
  shortName,
  sourcesText,
  textOf,
} from '../view/report-view.ts'
import { drawPatch } from './draw.ts'
import { BODY, GAP, LEFT, type Paper, SMALL } from './paper.ts'
import { drawTable, type Table, tableHeight } from './table.ts'

export function drawFramework(paper: Paper, part: FrameworkView): void {
  paper.sheet()
  paper.destination(part.framework)
  paper.bookmark(shortName(part.framework))
  paper.heading(2, part.regulation)
  paper.paragraph(`${part.headline}.`, { size: 10, bold: true })
  paper.paragraph(part.note, SMALL)
  for (const section of part.sections) paper.within('Sect', () => drawSection(paper, section))
}

function drawSection(paper: Paper, section: SectionView): void {
  const { article, title, requirement, kinds } = section
  const table = evidenceTable(section)
  const notes = notesOf(section)
  // An article is not parted: none fills a sheet.
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
  paper.space(FINDING)
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
