// Charts as shapes, which both the page and the PDF draw; they are readable in black and white.

import { REPORT_FINDINGS, type ReportFinding } from '@custos/contract'
import type { Day } from './content-shape.ts'
import { type FrameworkView, shortName, textOf } from './report-view.ts'

/** Fills that are distinct without colour. */
export type Fill = 'solid' | 'hatched' | 'dotted' | 'empty' | 'paper'

export type Shape =
  | {
      readonly kind: 'box'
      readonly x: number
      readonly y: number
      readonly width: number
      readonly height: number
      readonly fill: Fill
    }
  | { readonly kind: 'line'; readonly points: readonly (readonly [number, number])[] }
  | {
      readonly kind: 'label'
      readonly x: number
      /** Position of the baseline. */
      readonly y: number
      readonly text: string
      readonly align: 'left' | 'middle' | 'right'
      readonly light?: boolean
    }

export interface Chart {
  /** A sentence that describes the chart, for screen readers. */
  readonly title: string
  readonly width: number
  readonly height: number
  readonly shapes: readonly Shape[]
}

/** Width of a chart in its units; it fills the width of the page or of the PDF's lines. */
const CHART_WIDTH = 720
/** Size of the letters, in the same units. */
export const LABEL_SIZE = 13
const LEGEND = 30

export const FILLS: Readonly<Record<ReportFinding, Fill>> = {
  EVIDENCE_FOUND: 'solid',
  PARTIAL: 'hatched',
  INSUFFICIENT_DATA: 'dotted',
  NOT_AUTOMATABLE: 'empty',
}

const box = (x: number, y: number, size: readonly [number, number], fill: Fill): Shape => ({
  kind: 'box',
  x,
  y,
  width: size[0],
  height: size[1],
  fill,
})
const left = (x: number, y: number, text: string): Shape => ({
  ...{ kind: 'label', x, y, text },
  align: 'left',
})
const right = (x: number, y: number, text: string): Shape => ({
  ...{ kind: 'label', x, y, text },
  align: 'right',
})

function legend(entries: readonly (readonly [string, Fill])[]): Shape[] {
  const step = CHART_WIDTH / Math.max(4, entries.length)
  return entries.flatMap(([name, fill], i) => [
    box(i * step, 2, [16, 14], fill),
    left(i * step + 22, 14, name),
  ])
}

const ROW = 30
const BAR = 20
const NAMES = 130
const COUNT = 50
/** The width that a part of a bar needs to have a number in it. */
const NUMBER_ROOM = 20

/** A chart of the number of articles of each framework by finding. */
export function findingsChart(frameworks: readonly FrameworkView[]): Chart {
  const most = Math.max(1, ...frameworks.map(({ sections }) => sections.length))
  const unit = (CHART_WIDTH - NAMES - COUNT) / most
  const rows = frameworks.flatMap(({ framework, sections }, i) => {
    const y = LEGEND + i * ROW
    const counts = REPORT_FINDINGS.map(
      (name) => sections.filter(({ finding }) => finding === name).length,
    )
    let x = NAMES
    const parts = REPORT_FINDINGS.flatMap((name, n): Shape[] => {
      const count = counts[n] ?? 0
      if (count === 0) return []
      const at = x
      const width = count * unit
      x += width
      return [box(at, y, [width, BAR], FILLS[name]), ...numberIn(count, at + width / 2, y, name)]
    })
    return [
      left(0, y + 15, shortName(framework)),
      ...parts,
      left(x + 8, y + 15, String(sections.length)),
    ]
  })
  return {
    title: `Articles by finding: ${frameworks.map(inSentence).join('; ')}`,
    width: CHART_WIDTH,
    height: LEGEND + frameworks.length * ROW,
    shapes: [...legend(REPORT_FINDINGS.map((name) => [textOf(name), FILLS[name]])), ...rows],
  }
}

function numberIn(count: number, middle: number, y: number, name: ReportFinding): Shape[] {
  const label = { kind: 'label', x: middle, y: y + 15, text: String(count) } as const
  if (FILLS[name] === 'solid') return [{ ...label, align: 'middle', light: true }]
  const plate = box(middle - NUMBER_ROOM / 2, y + 3, [NUMBER_ROOM, BAR - 6], 'paper')
  return [plate, { ...label, align: 'middle' }]
}

const inSentence = ({ framework, sections }: FrameworkView): string =>
  `${shortName(framework)} ${REPORT_FINDINGS.map((name) => {
    const count = sections.filter(({ finding }) => finding === name).length
    return `${count} ${textOf(name).toLowerCase()}`
  }).join(', ')}`

const BARS_MAX = 62
const HEIGHT = 190
const AXIS = 64
const BASE = HEIGHT - 26
const TOP = LEGEND + 8
const DAY_MS = 86_400_000

interface Bar {
  entries: number
  decisions: number
}

/** A chart of log entries over the period, and of the decisions among them. */
export function activityChart(days: readonly Day[], start: string, end: string): Chart {
  const first = dayNumber(start)
  // `end` is exclusive.
  const last = Math.max(first, Math.floor((Date.parse(end) - 1) / DAY_MS))
  const span = last - first + 1
  const perBar = Math.ceil(span / BARS_MAX)
  const bars: Bar[] = Array.from({ length: Math.ceil(span / perBar) }, () => ({
    entries: 0,
    decisions: 0,
  }))
  for (const { day, entries, decisions } of days) {
    const bar = bars[Math.floor((dayNumber(day) - first) / perBar)]
    if (!bar) continue
    bar.entries += entries
    bar.decisions += decisions
  }
  const each = perBar === 1 ? 'a bar is a day' : `a bar is ${perBar} days`
  const total = bars.reduce((sum, { entries }) => sum + entries, 0)
  return {
    title: `Entries of the log from ${start.slice(0, 10)} on: ${total}; ${each}`,
    width: CHART_WIDTH,
    height: HEIGHT,
    shapes: [
      ...legend([
        ['Entries of the log', 'hatched'],
        ['of them decisions', 'solid'],
      ]),
      right(CHART_WIDTH, 14, each),
      ...axesOf(bars, start, end),
      ...barsOf(bars),
      ...(total === 0 ? [left(AXIS + 12, BASE - 12, 'No entries in the period')] : []),
    ],
  }
}

const most = (bars: readonly Bar[]): number => Math.max(1, ...bars.map(({ entries }) => entries))

function barsOf(bars: readonly Bar[]): Shape[] {
  const step = (CHART_WIDTH - AXIS) / bars.length
  // Limited, so that a single day does not fill the whole width.
  const width = Math.min(step * 0.8, 40)
  const scale = (BASE - TOP) / most(bars)
  return bars.flatMap(({ entries, decisions }, i) => {
    const x = AXIS + (i + 0.5) * step - width / 2
    return [['hatched', entries] as const, ['solid', decisions] as const].flatMap(
      ([fill, count]) =>
        count === 0 ? [] : [box(x, BASE - count * scale, [width, count * scale], fill)],
    )
  })
}

function axesOf(bars: readonly Bar[], start: string, end: string): Shape[] {
  return [
    {
      kind: 'line',
      points: [
        [AXIS, TOP],
        [AXIS, BASE],
        [CHART_WIDTH, BASE],
      ],
    },
    right(AXIS - 8, TOP + 9, String(most(bars))),
    right(AXIS - 8, BASE, '0'),
    left(AXIS, HEIGHT - 8, start.slice(0, 10)),
    right(CHART_WIDTH, HEIGHT - 8, `up to ${end.slice(0, 19).replace('T', ' ')}`),
  ]
}

/** The day number since 1970 of a date or an RFC 3339 time in UTC. */
const dayNumber = (time: string): number => Math.floor(Date.parse(time.slice(0, 10)) / DAY_MS)
