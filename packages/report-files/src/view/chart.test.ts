// Charts: they count what is there, fit their place, and read without colours.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sampleReport } from '../testing/sample-report.ts'
import { activityChart, type Chart, findingsChart, type Shape } from './chart.ts'
import { viewOf } from './report-view.ts'

const DAY_MS = 86_400_000
const BARS_MAX = 62
const START = '2026-01-01T00:00:00.000000Z'
const dayOf = (n: number): string =>
  `2026-${String(1 + Math.floor(n / 28)).padStart(2, '0')}-${String(1 + (n % 28)).padStart(2, '0')}`

type Box = Extract<Shape, { kind: 'box' }>
const boxesOf = ({ shapes }: Chart): Box[] => shapes.filter((shape) => shape.kind === 'box')
const labelsOf = ({ shapes }: Chart): string[] =>
  shapes.flatMap((shape) => (shape.kind === 'label' ? [shape.text] : []))
/** Of the legend. */
const SWATCH = 14

function assertFits({ width, height, shapes }: Chart): void {
  for (const shape of shapes) {
    if (shape.kind === 'box')
      assert.ok(shape.x + shape.width <= width + 0.01 && shape.y + shape.height <= height)
    if (shape.kind === 'label') assert.ok(shape.x <= width && shape.y <= height)
  }
}

test('the articles of each framework are in its bar, by finding, with their numbers', () => {
  const { frameworks } = viewOf(sampleReport())
  const chart = findingsChart(frameworks)
  assertFits(chart)
  const bars = boxesOf(chart).filter(({ height, fill }) => height > SWATCH && fill !== 'paper')
  for (const [i, { sections }] of frameworks.entries()) {
    const ys = [...new Set(bars.map(({ y }) => y))].toSorted((a, b) => a - b)
    const parts = bars.filter(({ y }) => y === ys[i])
    const findings = new Set(sections.map(({ finding }) => finding))
    assert.equal(parts.length, findings.size)
    assert.equal(new Set(parts.map(({ fill }) => fill)).size, findings.size)
    assert.ok(labelsOf(chart).includes(String(sections.length)))
  }
  assert.match(chart.title, /GDPR \d evidence found/)
})

test('entries of every day of a period are in some bar, and bars are few enough to see', () => {
  const days = fc.array(fc.nat({ max: 300 }), { maxLength: 60 })
  fc.assert(
    fc.property(days, fc.integer({ min: 1, max: 366 }), (given, span) => {
      const numbers = [...new Set(given)].filter((n) => Date.parse(dayOf(n)) < endMs(span))
      const counted = numbers.map((n) => ({
        ...{ day: dayOf(n), entries: 2, decisions: 1, refused: 0 },
      }))
      const end = new Date(endMs(span)).toISOString()
      const chart = activityChart(counted, START, end)
      assertFits(chart)
      const bars = boxesOf(chart).filter(({ height }) => height !== SWATCH)
      const sum = (fill: string) =>
        bars.filter((bar) => bar.fill === fill).reduce((soFar, { height }) => soFar + height, 0)
      assert.ok(Math.abs(sum('hatched') - 2 * sum('solid')) < 0.01)
      const perBar = Number(/a bar is (\d+) days/.exec(chart.title)?.[1] ?? 1)
      assert.ok(span / perBar <= BARS_MAX && perBar <= Math.ceil(span / BARS_MAX))
      assert.ok(chart.title.includes(`on: ${2 * numbers.length};`))
    }),
  )
})

const endMs = (span: number): number => Date.parse(START) + span * DAY_MS

test('a period that ends at midnight has no bar for the day it ends on', () => {
  const days = [{ day: '2026-01-02', entries: 5, decisions: 0, refused: 0 }]
  const chart = activityChart(days, START, '2026-01-03T00:00:00.000000Z')
  const [bar] = boxesOf(chart).filter(({ fill, height }) => fill === 'hatched' && height !== SWATCH)
  assert.ok(bar && bar.x > chart.width * 0.7 && bar.x + bar.width < chart.width)
  assert.ok(labelsOf(chart).includes('5'))
})

test('a period without entries says so', () => {
  const chart = activityChart([], START, '2026-01-03T00:00:00.000000Z')
  assert.ok(labelsOf(chart).includes('No entries in the period'))
})
