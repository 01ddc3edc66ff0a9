// Pure: the field as an SVG picture, readable in black and white.

import type { ManifoldField, ManifoldPoint } from '@custos/contract'
import type { PlanePoint } from './field.ts'

const [WIDTH, HEIGHT] = [1_060, 760]
/** The largest area of the drawn plane. */
const BOX = { left: 90, top: 96, side: 580 }
/** The most marks drawn with an outcome, and again without one; the newest are chosen. */
const MARKS_MAX = 1_000
/** The most agents that the picture shows. */
const AGENTS_MAX = 12
/** A cell with fewer nearby outcomes than this claims nothing. */
const SUPPORT_MIN = 0.5
const TICKS = 5

/** Converts plane units to pixels. Both axes have the same scale. */
interface Frame {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
  readonly scale: number
  x(value: number): number
  y(value: number): number
}

export function drawField(shown: ManifoldField): string {
  const { meta, agents } = shown
  const listed = agents.slice(0, AGENTS_MAX)
  const parts = [
    text({ x: BOX.left, y: 38, size: 22, bold: true }, 'Decisions by what they say, and outcomes'),
    text({ x: BOX.left, y: 62, size: 13 }, subtitle(shown)),
    ...(meta.note === undefined ? [] : [text({ x: BOX.left, y: 80, size: 13 }, meta.note)]),
    ...(shown.field.resolution === 0 ? [] : drawPlane(shown, listed)),
    ...legend({ x: BOX.left + BOX.side + 50, y: BOX.top, support: SUPPORT_MIN }, shown, listed),
  ]
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" `,
    `viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" `,
    'font-family="Helvetica, Arial, sans-serif" fill="#000">',
    '<title>Decisions by what they say, and outcomes</title>',
    `<defs>${HATCHING}</defs>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    ...parts,
    '</svg>\n',
  ].join('')
}

function subtitle({ meta }: ManifoldField): string {
  const { dimension, n_points, n_resolved, generated_at } = meta
  const count = n_points === 1 ? '1 decision' : `${number(n_points)} decisions`
  const at = `${generated_at.slice(0, 10)} ${generated_at.slice(11, 16)} UTC`
  return `${dimension} · ${count}, ${number(n_resolved)} with an outcome · ${at}`
}

function frameOf({ field }: ManifoldField): Frame {
  const [[left, right], [low, high]] = [field.x_range, field.y_range]
  const scale = BOX.side / Math.max(right - left, high - low)
  const [width, height] = [(right - left) * scale, (high - low) * scale]
  return {
    ...{ left: BOX.left, top: BOX.top, width, height, scale },
    x: (value) => BOX.left + (value - left) * scale,
    y: (value) => BOX.top + height - (value - low) * scale,
  }
}

function drawPlane(shown: ManifoldField, listed: ManifoldField['agents']): string[] {
  const frame = frameOf(shown)
  const { left, top, width, height } = frame
  const box = `x="${left}" y="${top}" width="${round(width)}" height="${round(height)}"`
  return [
    `<clipPath id="plane"><rect ${box}/></clipPath>`,
    `<g clip-path="url(#plane)"><rect ${box} fill="url(#${NO_EVIDENCE})"/>`,
    ...drawShades(shown, frame),
    ...drawMarks(shown, frame),
    '</g>',
    `<rect ${box} fill="none" stroke="#000"/>`,
    ...drawAxes(shown, frame),
    ...listed.map(({ x, y }, at) => agentMark(frame.x(x), frame.y(y), String(at + 1))),
  ]
}

/** Draws a square around each node that has evidence, with one path per shade. */
function drawShades({ field }: ManifoldField, frame: Frame): string[] {
  const { resolution, x_range, y_range, grid, support } = field
  const step = (range: readonly number[]) => ((range[1] ?? 0) - (range[0] ?? 0)) / (resolution - 1)
  const [dx, dy] = [step(x_range), step(y_range)]
  const paths = SHADES.map(() => '')
  for (const [row, values] of grid.entries())
    for (const [column, value] of values.entries()) {
      if ((support[row]?.[column] ?? 0) < SUPPORT_MIN) continue
      const x = round(frame.x((x_range[0] ?? 0) + (column - 0.5) * dx))
      const y = round(frame.y((y_range[0] ?? 0) + (row + 0.5) * dy))
      const [wide, high] = [round(dx * frame.scale), round(dy * frame.scale)]
      paths[shadeOf(value)] += `M${x} ${y}h${wide}v${high}h${-wide}z`
    }
  return paths.map((path, at) =>
    // The stroke closes the seams between neighbours.
    path === '' ? '' : `<path d="${path}" fill="${SHADES[at]}" stroke="${SHADES[at]}"/>`,
  )
}

/** The marks that are drawn. */
function marksOf({ points }: ManifoldField) {
  const byOutcome = Map.groupBy(points, ({ outcome }) =>
    outcome === 'paid' || outcome === 'default' ? 'known' : 'others',
  )
  const known = (byOutcome.get('known') ?? []).slice(0, MARKS_MAX)
  return {
    paid: known.filter(({ outcome }) => outcome === 'paid'),
    failed: known.filter(({ outcome }) => outcome === 'default'),
    others: (byOutcome.get('others') ?? []).slice(0, MARKS_MAX),
  }
}

/** Draws unresolved points first, so that known outcomes lie on top. */
function drawMarks(shown: ManifoldField, frame: Frame): string[] {
  const { paid, failed, others } = marksOf(shown)
  const spots = (points: readonly ManifoldPoint[]) =>
    points.map(({ x, y }) => ({ x: round(frame.x(x)), y: round(frame.y(y)) }))
  return [dots(spots(others)), rings(spots(paid)), crosses(spots(failed))]
}

function drawAxes(shown: ManifoldField, frame: Frame): string[] {
  const { field, variance_explained, points } = shown
  const { left, top, width, height, scale } = frame
  const [bottom, right] = [top + height, left + width]
  const share = (at: 0 | 1) => `${(variance_explained[at] * 100).toFixed(1)} % of the variance`
  const extent = Math.max(width, height) / scale
  const middle = { x: left + width / 2, y: top + height / 2 }
  const bar = field.bandwidth * scale
  const { paid, failed, others } = marksOf(shown)
  const drawn = paid.length + failed.length + others.length
  const which =
    drawn < points.length ? `marks: ${number(drawn)} of the decisions, the newest; ` : ''
  return [
    ...ticksOf(field.x_range, extent).flatMap(({ value, label }) => [
      line(frame.x(value), bottom, frame.x(value), bottom + 5),
      text({ x: frame.x(value), y: bottom + 19, anchor: 'middle' }, label),
    ]),
    ...ticksOf(field.y_range, extent).flatMap(({ value, label }) => [
      line(left - 5, frame.y(value), left, frame.y(value)),
      text({ x: left - 9, y: frame.y(value) + 4, anchor: 'end' }, label),
    ]),
    text({ x: middle.x, y: bottom + 40, anchor: 'middle' }, `Component 1 (${share(0)})`),
    text(
      { x: left - 56, y: middle.y, anchor: 'middle', turned: true },
      `Component 2 (${share(1)})`,
    ),
    line(right - bar, bottom + 56, right, bottom + 56, 2),
    text(
      { x: right - bar - 8, y: bottom + 60, anchor: 'end' },
      `${which}width of the kernel ${field.bandwidth.toPrecision(2)}`,
    ),
  ]
}

/** Round tick values inside the range, with the same step on both axes. */
function ticksOf(
  [low, high]: readonly [number, number],
  extent: number,
): { value: number; label: string }[] {
  const rough = extent / TICKS
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power
  const digits = Math.max(0, -Math.floor(Math.log10(step)))
  const first = Math.ceil(low / step)
  const count = Math.floor(high / step) - first + 1
  return Array.from({ length: count }, (_, at) => {
    const value = (first + at) * step
    return {
      value,
      label: (value + 0)
        .toFixed(digits)
        .replace(/^-(0(?:\.0+)?)$/, '$1')
        .replace('-', '−'),
    }
  })
}

const round = (value: number): number => Math.round(value * 100) / 100

const SWATCH = { width: 46, height: 18 }
const LINE_PX = 24
const AGENT_PX = 29
const COLUMNS = { score: 210, resolved: 262, decisions: 322 }

interface Place {
  readonly x: number
  readonly y: number
  /** The least support from which a shade is drawn. */
  readonly support: number
}

function legend(
  place: Place,
  { agents }: ManifoldField,
  listed: ManifoldField['agents'],
): string[] {
  const { x, y } = place
  return [
    ...shades(place),
    ...marks(x, y + 108),
    ...agentList({ x, y: y + 232 }, { listed, count: agents.length }),
  ]
}

function shades({ x, y, support }: Place): string[] {
  const swatches = SHADES.flatMap((shade, at) => {
    const left = x + at * SWATCH.width
    return [
      `<rect x="${left}" y="${y + 8}" width="${SWATCH.width}" height="${SWATCH.height}" ` +
        `fill="${shade}" stroke="#000"/>`,
      text({ x: left, y: y + 42, anchor: 'middle' }, (at / SHADES.length).toFixed(1)),
    ]
  })
  const end = x + SHADES.length * SWATCH.width
  return [
    text({ x, y, size: 13, bold: true }, 'Expected share of paid'),
    ...swatches,
    text({ x: end, y: y + 42, anchor: 'middle' }, '1.0'),
    `<rect x="${x}" y="${y + 56}" width="${SWATCH.width}" height="${SWATCH.height}" ` +
      `fill="url(#${NO_EVIDENCE})" stroke="#000"/>`,
    text(
      { x: x + SWATCH.width + 10, y: y + 70 },
      `nothing known: fewer than ${support} outcomes nearby`,
    ),
  ]
}

function marks(x: number, y: number): string[] {
  const kinds = [
    { draw: rings, words: 'decision, paid' },
    { draw: crosses, words: 'decision, in default' },
    { draw: dots, words: 'decision without such an outcome' },
  ]
  return [
    text({ x, y, size: 13, bold: true }, 'Marks'),
    ...kinds.flatMap(({ draw, words }, at) => {
      const base = y + 22 + at * LINE_PX
      return [draw([{ x: x + 13, y: base - 4 }]), text({ x: x + 34, y: base }, words)]
    }),
  ]
}

function agentList(
  { x, y }: { x: number; y: number },
  { listed, count }: { listed: ManifoldField['agents']; count: number },
): string[] {
  if (listed.length === 0) return []
  const ends = (base: number, words: readonly [string, string, string]) =>
    [COLUMNS.score, COLUMNS.resolved, COLUMNS.decisions].map((column, at) =>
      text({ x: x + column, y: base, anchor: 'end' }, words[at] ?? ''),
    )
  const rows = listed.flatMap((agent, at) => {
    const base = y + 42 + at * AGENT_PX
    const { cgr_score, n_resolved, n_decisions } = agent
    return [
      agentMark(x + 13, base - 4, String(at + 1)),
      text({ x: x + 34, y: base }, clip(agent.agent_handle)),
      ...ends(base, [cgr_score.toFixed(2), number(n_resolved), number(n_decisions)]),
    ]
  })
  const left = count - listed.length
  const more =
    left === 0 ? [] : [text({ x, y: y + 38 + listed.length * AGENT_PX }, `and ${left} more`)]
  return [
    text({ x, y, size: 13, bold: true }, 'Agents, where their decisions are on average'),
    ...ends(y + 16, ['score', 'resolved', 'decisions']),
    line(x, y + 20, x + COLUMNS.decisions, y + 20),
    ...rows,
    ...more,
  ]
}

/** Shades by the expected share of `paid`, in fifths: darker means more defaults. */
const SHADES = ['#5a5a5a', '#8c8c8c', '#b4b4b4', '#d6d6d6', '#f6f6f6'] as const

const shadeOf = (share: number): number =>
  Math.min(SHADES.length - 1, Math.max(0, Math.floor(share * SHADES.length)))

const NO_EVIDENCE = 'no-evidence'
const HATCHING =
  `<pattern id="${NO_EVIDENCE}" width="9" height="9" patternUnits="userSpaceOnUse">` +
  '<rect width="9" height="9" fill="#fff"/>' +
  '<path d="M-1 1L1 -1M0 9L9 0M8 10L10 8" stroke="#bbb" stroke-width="0.8"/></pattern>'

const RING_PX = 3.5
const CROSS_PX = 3.5

const path = (d: string, look: string): string => (d === '' ? '' : `<path d="${d}" ${look}/>`)

/** The marks of decisions without a known outcome. */
const dots = (spots: readonly PlanePoint[]): string =>
  path(
    spots.map(({ x, y }) => `M${x} ${y}h0`).join(''),
    'stroke="#000" stroke-width="2.4" stroke-linecap="round" fill="none"',
  )

/** The marks of paid decisions. */
const rings = (spots: readonly PlanePoint[]): string => {
  const half = `a${RING_PX} ${RING_PX} 0 1 0`
  const ring = ({ x, y }: PlanePoint) =>
    `M${x - RING_PX} ${y}${half} ${2 * RING_PX} 0${half} ${-2 * RING_PX} 0`
  return path(spots.map(ring).join(''), 'stroke="#000" stroke-width="1.2" fill="#fff"')
}

/** The marks of defaults, with a white outline that shows on the darkest shade. */
const crosses = (spots: readonly PlanePoint[]): string => {
  const wide = 2 * CROSS_PX
  const stroke = `l${wide} ${wide}m0 ${-wide}l${-wide} ${wide}`
  const d = spots.map(({ x, y }) => `M${x - CROSS_PX} ${y - CROSS_PX}${stroke}`).join('')
  return path(d, 'stroke="#fff" stroke-width="4.6" fill="none"') + path(d, CROSS_LOOK)
}
const CROSS_LOOK = 'stroke="#000" stroke-width="2" fill="none"'

/** A numbered diamond. */
const agentMark = (x: number, y: number, label: string): string => {
  const [left, top] = [Math.round(x), Math.round(y)]
  return (
    `<path d="M${left - 13} ${top}l13 -13l13 13l-13 13z" fill="#fff" stroke="#000" ` +
    `stroke-width="1.8"/>${text({ x: left, y: top + 4, anchor: 'middle', bold: true }, label)}`
  )
}

const line = (...[x1, y1, x2, y2, width = 1]: number[]): string =>
  `<path d="M${hundredths(x1)} ${hundredths(y1)}L${hundredths(x2)} ${hundredths(y2)}" ` +
  `stroke="#000" stroke-width="${width}"/>`

const hundredths = (value = 0): number => Math.round(value * 100) / 100

interface TextStyle {
  readonly x: number
  readonly y: number
  readonly size?: number
  readonly bold?: boolean
  readonly anchor?: 'middle' | 'end'
  /** Rotated to be read from bottom to top. */
  readonly turned?: boolean
}

function text({ x, y, size = 12, bold, anchor, turned }: TextStyle, words: string): string {
  const [left, base] = [hundredths(x), hundredths(y)]
  const look = [
    `x="${left}" y="${base}" font-size="${size}"`,
    ...(bold ? ['font-weight="bold"'] : []),
    ...(anchor ? [`text-anchor="${anchor}"`] : []),
    ...(turned ? [`transform="rotate(-90 ${left} ${base})"`] : []),
  ]
  return `<text ${look.join(' ')}>${escapeText(words)}</text>`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
}

/** Escapes handles, which callers control, so that they are text and never markup. */
const escapeText = (words: string): string =>
  words
    // Characters that XML 1.0 forbids, even escaped.
    .replaceAll(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? '')

const CLIPPED = 22

/** Shortens a handle to the available room. */
function clip(words: string): string {
  const characters = [...words]
  return characters.length <= CLIPPED ? words : `${characters.slice(0, CLIPPED - 1).join('')}…`
}

/** Formats a number with commas between thousands. */
const number = (value: number): string => String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ',')
