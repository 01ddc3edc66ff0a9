// Charts as inline SVG that read without colours: by pattern, by length and by their labels.

import { REPORT_FINDINGS, type ReportFinding } from '@custos/contract'
import { escaped } from './escape.ts'

const WIDTH = 720
const LABEL = 190
const ROW = 26

/** Solid, hatched, dotted, empty. */
const FILLS: Readonly<Record<ReportFinding, string>> = {
  EVIDENCE_FOUND: '#222',
  PARTIAL: 'url(#hatched)',
  INSUFFICIENT_DATA: 'url(#dotted)',
  NOT_AUTOMATABLE: '#fff',
}

const PATTERNS =
  '<defs>' +
  '<pattern id="hatched" width="6" height="6" patternUnits="userSpaceOnUse" ' +
  'patternTransform="rotate(45)"><rect width="6" height="6" fill="#fff"/>' +
  '<rect width="3" height="6" fill="#444"/></pattern>' +
  '<pattern id="dotted" width="6" height="6" patternUnits="userSpaceOnUse">' +
  '<rect width="6" height="6" fill="#fff"/><circle cx="3" cy="3" r="1.3" fill="#444"/></pattern>' +
  '</defs>'

const svg = (height: number, title: string, body: string): string =>
  `<svg role="img" viewBox="0 0 ${WIDTH} ${height}" width="100%"><title>${escaped(title)}</title>` +
  `${PATTERNS}${body}</svg>`

/** How many articles have each finding. */
export function findingsChart(findings: readonly ReportFinding[]): string {
  const counts = REPORT_FINDINGS.map((name) => findings.filter((one) => one === name).length)
  const most = Math.max(1, ...counts)
  const rows = REPORT_FINDINGS.map((name, i) => {
    const count = counts[i] ?? 0
    const width = ((WIDTH - LABEL - 60) * count) / most
    const y = i * ROW
    const bar =
      count === 0
        ? ''
        : `<rect x="${LABEL}" y="${y + 4}" width="${width.toFixed(1)}" height="17" ` +
          `fill="${FILLS[name]}" stroke="#222"/>`
    return (
      `<text x="0" y="${y + 18}">${name.replaceAll('_', ' ')}</text>${bar}` +
      `<text x="${(LABEL + width + 8).toFixed(1)}" y="${y + 18}">${count}</text>`
    )
  })
  return svg(REPORT_FINDINGS.length * ROW, 'Articles by finding', rows.join(''))
}

export interface DayCounts {
  readonly day: string
  readonly entries: number
  readonly decisions: number
}

const BARS_MAX = 60
const HEIGHT = 150
const DAY_MS = 86_400_000

/** Entries of the log over the period, and the decisions among them. */
export function activityChart(days: readonly DayCounts[], start: string, end: string): string {
  const first = dayNumber(start)
  const span = Math.max(1, dayNumber(end) - first + 1)
  const perBar = Math.ceil(span / BARS_MAX)
  const bars = Array.from({ length: Math.ceil(span / perBar) }, () => ({
    entries: 0,
    decisions: 0,
  }))
  for (const { day, entries, decisions } of days) {
    const bar = bars[Math.floor((dayNumber(day) - first) / perBar)]
    if (!bar) continue
    bar.entries += entries
    bar.decisions += decisions
  }
  const most = Math.max(1, ...bars.map(({ entries }) => entries))
  const step = (WIDTH - 60) / bars.length
  const scale = (HEIGHT - 40) / most
  const drawn = bars.map(({ entries, decisions }, i) => {
    const x = (60 + i * step + step * 0.1).toFixed(1)
    const width = (step * 0.8).toFixed(1)
    const box = (count: number, fill: string) =>
      `<rect x="${x}" y="${(HEIGHT - 24 - count * scale).toFixed(1)}" width="${width}" ` +
      `height="${(count * scale).toFixed(1)}" fill="${fill}" stroke="#222" stroke-width="0.6"/>`
    return entries === 0 ? '' : box(entries, 'url(#hatched)') + box(decisions, '#222')
  })
  const base = HEIGHT - 24
  const axis =
    `<path d="M60 10V${base}H${WIDTH}" fill="none" stroke="#222"/>` +
    `<text x="52" y="18" text-anchor="end">${most}</text>` +
    `<text x="52" y="${base}" text-anchor="end">0</text>` +
    `<text x="60" y="${HEIGHT - 6}">${escaped(start.slice(0, 10))}</text>` +
    `<text x="${WIDTH}" y="${HEIGHT - 6}" text-anchor="end">${escaped(end.slice(0, 10))}</text>`
  return svg(HEIGHT, 'Entries of the log over the period', drawn.join('') + axis)
}

/** Of a day or a time of RFC 3339 in UTC. */
const dayNumber = (time: string): number => Math.floor(Date.parse(time.slice(0, 10)) / DAY_MS)
