// Pairs of licences without a rule about their compatibility: they are never taken as compatible.
import { apartFrom, bitsOf, type LicenseTrait, licenseReadings } from './license-rules.ts'

/** Copyleft licences: derived works must be, wholly or in part, under the same licence. */
const COPYLEFT: readonly LicenseTrait[] = [
  ...(['gpl-1', 'gpl-2', 'gpl-3', 'agpl-3', 'lgpl-2', 'lgpl-3', 'mpl-2', 'odbl'] as const),
  ...(['by-sa-1', 'by-sa', 'by-sa-4', 'by-nc-sa-1', 'by-nc-sa', 'copyleft'] as const),
]
const NON_COMMERCIAL: readonly LicenseTrait[] = ['by-nc', 'other-nc']
const GNU: readonly LicenseTrait[] = ['gpl-1', 'gpl-2', 'gpl-3', 'agpl-3', 'lgpl-2', 'lgpl-3']

type Pairs = readonly (readonly [LicenseTrait, readonly LicenseTrait[]])[]

/**
 * Pairs with stated compatibility: by the FSF's matrix of GNU licences, MPL-2.0 3.3 (secondary
 * licences), Creative Commons' list of compatible licences and its chart of combinations.
 */
const STAND: Pairs = [
  ['lgpl-2', ['gpl-2', 'gpl-3', 'agpl-3', 'lgpl-3']],
  ['lgpl-3', ['gpl-3', 'agpl-3']],
  ['agpl-3', ['gpl-3']],
  ['mpl-2', ['gpl-2', 'gpl-3', 'agpl-3', 'lgpl-2', 'lgpl-3']],
  ['by-sa', ['by-sa-4']],
  ['by-sa-4', ['gpl-3']],
  ['by-nc', ['by-nc-sa-1', 'by-nc-sa']],
]

/** Not copyleft, and not on the FSF's list either: attribution before version 4.0. */
const DOUBTFUL: Pairs = [['by-old', GNU]]

/** The partners of a trait in these pairs. */
const besides = (pairs: Pairs, trait: LicenseTrait): number =>
  pairs.reduce((bits, [one, others]) => {
    const theirs = one === trait ? bitsOf(others) : 0
    return bits | theirs | (others.includes(trait) ? bitsOf([one]) : 0)
  }, 0)

function unjudgedBeside(trait: LicenseTrait): number {
  const copyleft = COPYLEFT.includes(trait)
  const among = copyleft ? [...COPYLEFT, ...NON_COMMERCIAL] : COPYLEFT
  const judgeable = copyleft || NON_COMMERCIAL.includes(trait)
  const own = bitsOf([trait])
  const settled = own | apartFrom(own) | besides(STAND, trait)
  return ((judgeable ? bitsOf(among) : 0) | besides(DOUBTFUL, trait)) & ~settled
}

const UNJUDGED: readonly (readonly [bit: number, beside: number])[] = [
  ...COPYLEFT,
  ...NON_COMMERCIAL,
  ...DOUBTFUL.map(([trait]) => trait),
].map((trait) => [bitsOf([trait]), unjudgedBeside(trait)])

/** All traits without a rule about their compatibility with these traits. */
export const unjudgedBy = (bits: number): number =>
  UNJUDGED.reduce((all, [bit, beside]) => ((bits & bit) === 0 ? all : all | beside), 0)

const OTHER_COPYLEFT = bitsOf(['copyleft'])

/** Whether no rule states that the two are compatible, in any of their readings. */
export function isUnjudged(one: string, other: string): boolean {
  if (idOf(one) === idOf(other)) return false
  const theirs = licenseReadings(other).map(bitsOf)
  const pairs = licenseReadings(one).flatMap((traits) =>
    theirs.map((bits) => [bitsOf(traits), bits]),
  )
  const possible = pairs.filter(([a = 0, b = 0]) => (apartFrom(a) & b) === 0)
  return possible.length > 0 && possible.every(([a = 0, b = 0]) => isUnjudgedPair(a, b))
}

// Copyleft licences without a trait of their own are distinguished by their ids.
const isUnjudgedPair = (a: number, b: number): boolean =>
  (unjudgedBy(a) & b) !== 0 || (a & b & OTHER_COPYLEFT) !== 0

/** Without an exception and `+`. */
const idOf = (term: string): string => (term.split(' WITH ')[0] ?? '').replace(/\+$/, '')
