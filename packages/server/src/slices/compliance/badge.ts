// Pure: the text and the drawing of the conformance badge.

import type { compliance, ReplyOf } from '@custos/contract'

const LABEL = 'GMP v0.2'
const PASS_E6 = 950_000
const MILLION = 1_000_000

const HEIGHT = 20
const LABEL_WIDTH = 62
const CHAR_WIDTH = 7
const PADDING = 10
const FONTS = 'Verdana,Geneva,DejaVu Sans,sans-serif'

const SVG_COLORS = { lightgrey: '#9e9e9e', brightgreen: '#4c1', red: '#e05d44' } as const

/** @param rate_e6 the rate of the newest audit, in millionths. `null` if there is no audit. */
export function badgeJson(rate_e6: number | null): ReplyOf<typeof compliance.badge_json> {
  const badge = { schemaVersion: 1, label: LABEL } as const
  if (rate_e6 === null) return { ...badge, message: 'not audited', color: 'lightgrey' }
  const passed = rate_e6 >= PASS_E6
  // Truncates instead of rounding, so that a failing 0.9496 is not shown as 0.950.
  const rate = (Math.floor(rate_e6 / 1_000) / (MILLION / 1_000)).toFixed(3)
  return {
    ...badge,
    message: `M8: ${rate} | ${passed ? 'PASS' : 'FAIL'}`,
    color: passed ? 'brightgreen' : 'red',
  }
}

/** Two boxes side by side, sized by the number of characters. */
export function badgeSvg(rate_e6: number | null): string {
  const { label, message, color } = badgeJson(rate_e6)
  const right = CHAR_WIDTH * message.length + PADDING
  const width = LABEL_WIDTH + right
  const alt = escapeXml(`${label}: ${message}`)
  const size = `width="${width}" height="${HEIGHT}"`
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" aria-label="${alt}">
<title>${alt}</title>
<clipPath id="r"><rect width="${width}" height="${HEIGHT}" rx="3"/></clipPath>
<g clip-path="url(#r)">
<rect width="${LABEL_WIDTH}" height="${HEIGHT}" fill="#555"/>
<rect x="${LABEL_WIDTH}" width="${right}" height="${HEIGHT}" fill="${SVG_COLORS[color]}"/>
</g>
<g fill="#fff" text-anchor="middle" font-family="${FONTS}" font-size="11">
${text(label, LABEL_WIDTH / 2, LABEL_WIDTH)}
${text(message, LABEL_WIDTH + right / 2, right)}
</g>
</svg>
`
}

// Scales the text to the width of its box, whatever font is available.
function text(words: string, x: number, box: number): string {
  const fit = `textLength="${box - PADDING}" lengthAdjust="spacingAndGlyphs"`
  return `<text x="${x}" y="14" ${fit}>${escapeXml(words)}</text>`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const escapeXml = (words: string): string =>
  words.replaceAll(/[&<>"']/g, (char) => ENTITIES[char] ?? char)
