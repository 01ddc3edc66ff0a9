// Card numbers: the ranges issuers have, their lengths, and the Luhn digit.

import { isLuhn } from './checksums.ts'
import type { Groups } from './number-chain.ts'

/**
 * How sure a number of this length is one of a card's, its check digit right; 0 if it is not one.
 * Ranges as ISO/IEC 7812 issuers publish them.
 */
export function cardScore(groups: Groups): number {
  const { total } = groups
  if (total < 12 || total > 19) return 0
  const known = rangeScore(groups, total)
  const score = known === 0 && total >= 15 && groups.digit(0) > 0 ? UNKNOWN : known
  return score > 0 && !groups.isRepeated() && isLuhn(groups.digits, total) ? score : 0
}

const SURE = 0.8
/** Lengths that other numbers have as often. */
const DOUBTFUL = 0.4
/** Of no range we know: shops and new issuers have some. A card only where one is spoken of. */
const UNKNOWN = 0.35

function rangeScore(groups: Groups, total: number): number {
  const four = groups.value(0, 4)
  const two = Math.floor(four / 100)
  if (total === 12) return isMaestro(two) ? DOUBTFUL : 0
  if (total === 13) return Math.floor(two / 10) === 4 || isMaestro(two) ? DOUBTFUL : 0
  if (total === 14) return isDiners(four) ? SURE : isMaestro(two) ? DOUBTFUL : 0
  if (total === 15) return isFifteen(four, two) ? SURE : isMaestro(two) ? DOUBTFUL : 0
  if (total === 16) return isSixteen(four, two) ? SURE : 0
  if (two === 62 || isDiscover(four, two) || isJcb(four)) return SURE
  if (Math.floor(two / 10) === 4) return total === 19 ? SURE : 0
  return isMaestro(two) ? 0.6 : 0
}

/** American Express, and the fifteen digits of early JCB. */
function isFifteen(four: number, two: number): boolean {
  return two === 34 || two === 37 || four === 1800 || four === 2131
}

function isSixteen(four: number, two: number): boolean {
  if (Math.floor(two / 10) === 4 || isMaestro(two)) return true
  if ((two >= 51 && two <= 55) || (four >= 2221 && four <= 2720)) return true
  // Mir; RuPay; Diners and its likes of sixteen.
  if ((four >= 2200 && four <= 2204) || two === 81 || two === 82) return true
  return isJcb(four) || isDiscover(four, two) || isDiners(four)
}

function isJcb(four: number): boolean {
  return four >= 3528 && four <= 3589
}

function isDiscover(four: number, two: number): boolean {
  return four === 6011 || two === 65 || (four >= 6440 && four <= 6499)
}

function isDiners(four: number): boolean {
  const three = Math.floor(four / 10)
  const two = Math.floor(four / 100)
  return (three >= 300 && three <= 305) || three === 309 || two === 36 || two === 38 || two === 39
}

function isMaestro(two: number): boolean {
  return two === 50 || (two >= 56 && two <= 69)
}

/** How cards print their groups: 4444 is four times four. */
export const CARD_SHAPES: readonly number[] = [
  ...[4444, 465, 464, 44441, 44442, 44443, 4443, 844, 88],
]
