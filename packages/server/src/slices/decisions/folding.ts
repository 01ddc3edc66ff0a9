// Pure: a text as it is compared, without regard to normal form and case, and the way back from it.

import { orderMarks } from '../../platform/mark-order.ts'

export interface Folded {
  readonly text: string
  /** Position in the original of each position here; -1 inside a unit. null: the same. */
  readonly origin: readonly number[] | null
}

// A unit is what NFC may compose: a base with its marks, or Hangul jamo that form a syllable.
// Between units normalising changes nothing, so each maps back to exact original positions.
// The group takes many at once: of ASCII each character is one, but before a mark. It is bounded:
// the engine keeps a place to come back to for each.
const UNIT = new RegExp(
  [
    String.raw`([\0-\x7f]{1,256})(?!\p{M})`,
    String.raw`|(?:[\u1100-\u115f]+[\u1160-\u11a7]*[\u11a8-\u11ff]*`,
    String.raw`|[\uac00-\ud7a3][\u1160-\u11a7]*[\u11a8-\u11ff]*`,
    String.raw`|\P{M})\p{M}*|\p{M}+`,
  ].join(''),
  'gsu',
)
const ASCII = /^[\0-\x7f]*$/

/** Unicode NFC, in linear time for any text. */
export const composed = (text: string): string =>
  ASCII.test(text) ? text : orderMarks(text).normalize('NFC')

/** The text in NFC and without case. */
export function fold(text: string): Folded {
  if (ASCII.test(text)) return { text: text.toLowerCase(), origin: null }
  const origin: number[] = []
  const known = new Map<string, string>()
  let folded = ''
  for (const { 0: unit, 1: plain, index } of text.matchAll(UNIT)) {
    const done = plain === undefined ? foldUnit(unit, known) : plain.toLowerCase()
    for (let i = 0; i < done.length; i += 1)
      origin.push(i === 0 || plain !== undefined ? index + i : -1)
    folded += done
  }
  origin.push(text.length)
  return { text: folded, origin }
}

function foldUnit(unit: string, known: Map<string, string>): string {
  const before = known.get(unit)
  if (before !== undefined) return before
  // Lower, upper, lower: letters with several small or capital forms end in one.
  const folded = composed(unit).toLowerCase().toUpperCase().toLowerCase()
  known.set(unit, folded)
  return folded
}
