// Draws charts, whose areas are filled with patterns that are distinct without colour, and tables
// with ruled cells and a header row that is repeated on every page.

import type { PDFDocument } from 'pdfkit'
import { type Chart, type Fill, LABEL_SIZE, type Shape } from '../view/chart.ts'
import { INK, LEFT, type Paper, type Style, WIDTH } from './paper.ts'

interface Area {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

const HATCH = 4
const DOT = 4

export function drawChart(paper: Paper, { title, width, height, shapes }: Chart): void {
  const scale = WIDTH / width
  paper.ensureSpace(height * scale)
  const [left, top] = [LEFT, paper.y]
  const bbox = [left, top, left + WIDTH, top + height * scale] as const
  paper.tag('Figure', { alt: title, bbox }, () => {
    for (const shape of shapes) drawShape(paper, shape, { left, top, scale })
  })
  paper.moveDown(height * scale + 6)
}

function drawShape(
  paper: Paper,
  shape: Shape,
  { left, top, scale }: { readonly left: number; readonly top: number; readonly scale: number },
): void {
  const { doc } = paper
  const at = (x: number, y: number) => [left + x * scale, top + y * scale] as const
  if (shape.kind === 'line') {
    const [first, ...rest] = shape.points.map(([x, y]) => at(x, y))
    if (first) doc.lineWidth(0.8).moveTo(...first)
    for (const point of rest) doc.lineTo(...point)
    doc.stroke(INK)
    return
  }
  const [x, y] = at(shape.x, shape.y)
  if (shape.kind === 'box') {
    const size = { width: shape.width * scale, height: shape.height * scale }
    drawFill(doc, { x, y, ...size }, shape.fill)
    return
  }
  const size = LABEL_SIZE * scale
  const style = { size, color: shape.light ? '#ffffff' : INK }
  paper.applyStyle(style)
  const width = doc.widthOfString(paper.toDrawable(shape.text))
  const start = shape.align === 'left' ? x : shape.align === 'middle' ? x - width / 2 : x - width
  paper.textAt(shape.text, [start, y - size * 0.93], style, { lineBreak: false })
}

function drawFill(doc: PDFDocument, area: Area, fill: Fill): void {
  const { x, y, width, height } = area
  doc.lineWidth(0.5).rect(x, y, width, height)
  if (fill === 'solid') return void doc.fillAndStroke(INK, INK)
  if (fill === 'paper') return void doc.fill('#ffffff')
  doc.fillAndStroke('#ffffff', INK)
  if (fill === 'empty') return
  doc.save().rect(x, y, width, height).clip()
  if (fill === 'hatched') drawHatches(doc, area)
  else drawDots(doc, area)
  doc.restore()
  doc.lineWidth(0.5).rect(x, y, width, height).stroke(INK)
}

const PATCH = 9

/** Draws the swatch before a finding's name, with the fill of the charts. */
export const drawPatch = (doc: PDFDocument, [x, y]: readonly [number, number], fill: Fill): void =>
  drawFill(doc, { x, y, width: PATCH, height: PATCH }, fill)

function drawHatches(doc: PDFDocument, { x, y, width, height }: Area): void {
  doc.lineWidth(1.3)
  for (let from = x - height; from < x + width; from += HATCH)
    doc.moveTo(from, y + height).lineTo(from + height, y)
  doc.stroke(INK)
}

function drawDots(doc: PDFDocument, { x, y, width, height }: Area): void {
  for (let row = y + DOT / 2; row < y + height; row += DOT)
    for (let column = x + DOT / 2; column < x + width; column += DOT) doc.circle(column, row, 0.8)
  doc.fill(INK)
}

interface Cell {
  readonly text: string
  readonly bold?: boolean
  /** A second line in smaller type. */
  readonly below?: string
  /** A pattern swatch in front of the text, as in the charts' legends. */
  readonly patch?: Fill
  /** Named destination of a link. */
  readonly goTo?: string
}

interface Column {
  readonly title: string
  readonly width: number
  readonly align?: 'right'
}

export type Row = readonly (string | Cell)[]

export interface Table {
  readonly columns: readonly Column[]
  readonly rows: readonly Row[]
  /** No header row: the first column has the row headers. */
  readonly headless?: boolean
  readonly size?: number
}

const PAD_X = 5
const PAD_Y = 3
const PATCH_ROOM = PATCH + 5
const HEAD = '#e6e6e6'

const AFTER = 8

export function drawTable(paper: Paper, table: Table): void {
  const head = headOf(paper, table)
  const rows = table.rows.map((row) => layOutRow(paper, table, row, 'row'))
  paper.ensureSpace(sum([...head, ...rows.slice(0, 1)]))
  paper.group('Table', () => {
    for (const row of head) drawRow(paper, table, row)
    for (const row of rows) {
      const before = paper.y
      paper.ensureSpace(row.height)
      if (paper.y < before) for (const one of head) drawRow(paper, table, one)
      drawRow(paper, table, row)
    }
  })
  paper.moveDown(AFTER)
}

/** Height of the whole table on one page. */
export function tableHeight(paper: Paper, table: Table): number {
  const rows = table.rows.map((row) => layOutRow(paper, table, row, 'row'))
  return sum([...headOf(paper, table), ...rows]) + AFTER
}

const sum = (rows: readonly PlacedRow[]): number =>
  rows.reduce((soFar, { height }) => soFar + height, 0)

/** The header row, if there is one. */
function headOf(paper: Paper, table: Table): PlacedRow[] {
  if (table.headless) return []
  const cells = table.columns.map(({ title }): Cell => ({ text: title, bold: true }))
  return [layOutRow(paper, table, cells, 'head')]
}

interface PlacedRow {
  readonly cells: readonly PlacedCell[]
  readonly height: number
}

interface PlacedCell extends Cell {
  readonly x: number
  /** Width of the text, without padding and swatch. */
  readonly width: number
  readonly column: Column
  readonly kind: 'TH' | 'TD'
  readonly scope?: 'Column' | 'Row'
}

function layOutRow(paper: Paper, table: Table, row: Row, part: 'head' | 'row'): PlacedRow {
  let x = LEFT
  const cells = table.columns.map((column, i): PlacedCell => {
    const given = row[i] ?? ''
    const cell = typeof given === 'string' ? { text: given } : given
    const room = cell.patch ? PATCH_ROOM : 0
    const names = table.headless === true && i === 0
    const left = x
    x += column.width
    return {
      ...cell,
      column,
      x: left + PAD_X + room,
      width: column.width - 2 * PAD_X - room,
      kind: part === 'head' || names ? 'TH' : 'TD',
      ...(part === 'head' ? { scope: 'Column' } : names ? { scope: 'Row', bold: true } : {}),
    }
  })
  const heights = cells.map((cell) => {
    const below = cell.below ? paper.heightOf(cell.below, belowOf(table), cell.width) : 0
    return paper.heightOf(cell.text, styleOf(table, cell), cell.width) + below
  })
  return { cells, height: Math.max(...heights) + 2 * PAD_Y }
}

const styleOf = ({ size = 8.5 }: Table, { bold }: Cell): Style => ({ size, bold: bold === true })
const belowOf = ({ size = 8.5 }: Table): Style => ({ size: size - 1.5, color: '#333333' })

function drawRow(paper: Paper, table: Table, { cells, height }: PlacedRow): void {
  const top = paper.y
  paper.artifact(() => {
    for (const { column, kind, patch, x, width } of cells) {
      const left = x + width + PAD_X - column.width
      paper.doc.lineWidth(0.5).rect(left, top, column.width, height)
      if (kind === 'TH') paper.doc.fillAndStroke(HEAD, INK)
      else paper.doc.stroke(INK)
      if (patch) drawPatch(paper.doc, [x - PATCH_ROOM, top + PAD_Y + 1], patch)
    }
  })
  paper.group('TR', () => {
    for (const cell of cells) drawCell(paper, table, cell, top)
  })
  paper.y = top + height
}

function drawCell(paper: Paper, table: Table, cell: PlacedCell, top: number): void {
  const { kind, scope, text, below, x, width, column, goTo } = cell
  const style = styleOf(table, cell)
  const box = { width, ...(column.align && kind === 'TD' ? { align: column.align } : {}) }
  paper.tag(kind, scope ? { scope } : {}, () => {
    paper.textAt(text, [x, top + PAD_Y], style, goTo === undefined ? box : { ...box, goTo })
    if (below === undefined) return
    const height = paper.heightOf(text, style, width)
    paper.textAt(below, [x, top + PAD_Y + height], belowOf(table), box)
  })
}
