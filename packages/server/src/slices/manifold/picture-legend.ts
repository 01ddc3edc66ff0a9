// Pure: what shades and marks mean, and the agents by their numbers.

import type { ManifoldField } from '@custos/contract'
import {
  agentMark,
  clip,
  crosses,
  dots,
  line,
  NO_EVIDENCE,
  number,
  rings,
  SHADES,
  text,
} from './picture-parts.ts'

const SWATCH = { width: 46, height: 18 }
const LINE_PX = 24
const AGENT_PX = 29
const COLUMNS = { score: 210, resolved: 262, decisions: 322 }

interface Place {
  readonly x: number
  readonly y: number
  /** Outcomes nearby from which on a shade is drawn. */
  readonly support: number
}

export function legend(
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
