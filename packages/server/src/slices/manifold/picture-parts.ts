// Pure: the marks, shades and texts of the picture.

import type { PlanePoint } from './field.ts'

/** Expected share of `paid`, in fifths: the darker the more defaults. */
export const SHADES = ['#5a5a5a', '#8c8c8c', '#b4b4b4', '#d6d6d6', '#f6f6f6'] as const

export const shadeOf = (share: number): number =>
  Math.min(SHADES.length - 1, Math.max(0, Math.floor(share * SHADES.length)))

export const NO_EVIDENCE = 'no-evidence'
export const HATCHING =
  `<pattern id="${NO_EVIDENCE}" width="9" height="9" patternUnits="userSpaceOnUse">` +
  '<rect width="9" height="9" fill="#fff"/>' +
  '<path d="M-1 1L1 -1M0 9L9 0M8 10L10 8" stroke="#bbb" stroke-width="0.8"/></pattern>'

const RING_PX = 3.5
const CROSS_PX = 3.5

const path = (d: string, look: string): string => (d === '' ? '' : `<path d="${d}" ${look}/>`)

/** Of unknown outcome. */
export const dots = (spots: readonly PlanePoint[]): string =>
  path(
    spots.map(({ x, y }) => `M${x} ${y}h0`).join(''),
    'stroke="#000" stroke-width="2.4" stroke-linecap="round" fill="none"',
  )

/** Paid. */
export const rings = (spots: readonly PlanePoint[]): string => {
  const half = `a${RING_PX} ${RING_PX} 0 1 0`
  const ring = ({ x, y }: PlanePoint) =>
    `M${x - RING_PX} ${y}${half} ${2 * RING_PX} 0${half} ${-2 * RING_PX} 0`
  return path(spots.map(ring).join(''), 'stroke="#000" stroke-width="1.2" fill="#fff"')
}

/** In default; white around it, so that it shows on the darkest shade. */
export const crosses = (spots: readonly PlanePoint[]): string => {
  const wide = 2 * CROSS_PX
  const stroke = `l${wide} ${wide}m0 ${-wide}l${-wide} ${wide}`
  const d = spots.map(({ x, y }) => `M${x - CROSS_PX} ${y - CROSS_PX}${stroke}`).join('')
  return path(d, 'stroke="#fff" stroke-width="4.6" fill="none"') + path(d, CROSS_LOOK)
}
const CROSS_LOOK = 'stroke="#000" stroke-width="2" fill="none"'

/** A numbered diamond. */
export const agentMark = (x: number, y: number, label: string): string => {
  const [left, top] = [Math.round(x), Math.round(y)]
  return (
    `<path d="M${left - 13} ${top}l13 -13l13 13l-13 13z" fill="#fff" stroke="#000" ` +
    `stroke-width="1.8"/>${text({ x: left, y: top + 4, anchor: 'middle', bold: true }, label)}`
  )
}

export const line = (...[x1, y1, x2, y2, width = 1]: number[]): string =>
  `<path d="M${hundredths(x1)} ${hundredths(y1)}L${hundredths(x2)} ${hundredths(y2)}" ` +
  `stroke="#000" stroke-width="${width}"/>`

const hundredths = (value = 0): number => Math.round(value * 100) / 100

interface TextStyle {
  readonly x: number
  readonly y: number
  readonly size?: number
  readonly bold?: boolean
  readonly anchor?: 'middle' | 'end'
  /** Read from below. */
  readonly turned?: boolean
}

export function text({ x, y, size = 12, bold, anchor, turned }: TextStyle, words: string): string {
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

/** Handles are callers' words: here they are text and never markup. */
const escapeText = (words: string): string =>
  words
    // What XML 1.0 has no place for, not even escaped.
    .replaceAll(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? '')

const CLIPPED = 22

/** As much of a handle as there is room for. */
export function clip(words: string): string {
  const characters = [...words]
  return characters.length <= CLIPPED ? words : `${characters.slice(0, CLIPPED - 1).join('')}…`
}

/** With a comma between thousands. */
export const number = (value: number): string => String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ',')
