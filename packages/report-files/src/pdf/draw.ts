// Draws charts; areas are filled with patterns that are distinct without colour.

import type { PDFDocument } from 'pdfkit'
import { type Chart, type Fill, LABEL_SIZE, type Shape } from '../view/chart.ts'
import { INK, LEFT, type Paper, WIDTH } from './paper.ts'

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

export const PATCH = 9

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
