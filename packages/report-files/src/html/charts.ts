// Charts and patches as inline SVG: they read without colours, and print where backgrounds do not.

import { type Chart, type Fill, LABEL_SIZE, type Shape } from '../view/chart.ts'
import { escaped } from './escape.ts'

/** The same ink as the text's. */
const INK = '#111'

const FILLED: Readonly<Record<Fill, string>> = {
  solid: `fill="${INK}" stroke="${INK}"`,
  hatched: `fill="url(#hatched)" stroke="${INK}"`,
  dotted: `fill="url(#dotted)" stroke="${INK}"`,
  empty: `fill="#fff" stroke="${INK}"`,
  paper: 'fill="#fff"',
}

/** Once in a page, before what is filled with them. */
export const PATTERNS =
  '<svg class="patterns" width="0" height="0" aria-hidden="true"><defs>' +
  '<pattern id="hatched" width="6" height="6" patternUnits="userSpaceOnUse" ' +
  'patternTransform="rotate(45)"><rect width="6" height="6" fill="#fff"/>' +
  `<rect width="3" height="6" fill="${INK}"/></pattern>` +
  '<pattern id="dotted" width="6" height="6" patternUnits="userSpaceOnUse">' +
  `<rect width="6" height="6" fill="#fff"/><circle cx="3" cy="3" r="1.2" fill="${INK}"/>` +
  '</pattern></defs></svg>'

/** In front of a finding's name, as in the charts. */
export const patchSvg = (fill: Fill): string =>
  '<svg class="patch" viewBox="0 0 13 13" aria-hidden="true">' +
  `<rect x="0.5" y="0.5" width="12" height="12" ${FILLED[fill]}/></svg>`

export const chartSvg = ({ title, width, height, shapes }: Chart): string =>
  `<svg class="chart" role="img" viewBox="0 0 ${width} ${height}" ` +
  `font-size="${LABEL_SIZE}" aria-label="${escaped(title)}">${shapes.map(shapeSvg).join('')}</svg>`

const ANCHORS = { left: 'start', middle: 'middle', right: 'end' } as const

function shapeSvg(shape: Shape): string {
  switch (shape.kind) {
    case 'box': {
      const [x, y, width, height] = [shape.x, shape.y, shape.width, shape.height].map(short)
      return `<rect x="${x}" y="${y}" width="${width}" height="${height}" ${FILLED[shape.fill]}/>`
    }
    case 'line': {
      const points = shape.points.map((point) => point.map(short).join(',')).join(' ')
      return `<polyline points="${points}" fill="none" stroke="${INK}"/>`
    }
    case 'label': {
      const { x, y, text, align, light } = shape
      return (
        `<text x="${short(x)}" y="${short(y)}" text-anchor="${ANCHORS[align]}"` +
        `${light ? ' fill="#fff"' : ''}>${escaped(text)}</text>`
      )
    }
  }
}

const short = (value: number): string => String(Math.round(value * 10) / 10)
