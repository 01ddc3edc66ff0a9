// Identifiers that are all digits: national numbers with check digits, account numbers by context.

import { isDay, isLuhn, isMod1110, isVerhoeff, unchecked, weighted } from './checksums.ts'
import type { Entity } from './entities.ts'
import type { Role } from './lexicon.ts'
import type { Groups } from './number-chain.ts'
import { role } from './scan.ts'

interface DigitId {
  readonly entity: Entity
  readonly digits: readonly [least: number, most?: number]
  /** The score without a context word. */
  readonly score: number
  /** Group sizes in which the identifier is printed. */
  readonly shapes: readonly number[]
  /** Added to the score of a number with one of these group sizes. */
  readonly shaped: number
  /** Role of the context words, which add CONTEXT; without one, scores below 0.1 are skipped. */
  readonly role: number
  readonly isValid: (groups: Groups) => boolean
}

/** The amount that a context word nearby adds to a score. */
export const CONTEXT = 0.45

const TFN = [1, 4, 3, 7, 5, 8, 6, 9, 10]
const ABN = [10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19]
const PESEL = [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]
const NHS = [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]
const ROUTING = [3, 7, 1, 3, 7, 1, 3, 7, 1]

function isSsn(groups: Groups): boolean {
  const area = groups.value(0, 3)
  const serial = groups.value(5, 4)
  if (area === 0 || area === 666 || area >= 900 || serial === 0) return false
  if (groups.value(3, 2) === 0 || groups.isRepeated()) return false
  // Numbers that were printed in advertisements, and the one that everybody types.
  const all = groups.value(0, 9)
  return all !== 78_051_120 && all !== 219_099_999 && all !== 123_456_789
}

function isItin(groups: Groups): boolean {
  const group = groups.value(3, 2)
  return groups.digit(0) === 9 && group >= 50 && group !== 89 && group !== 93 && group < 100
}

function isPesel(groups: Groups): boolean {
  const month = groups.value(2, 2) % 20
  return isDay(month, groups.value(4, 2)) && weighted(groups.digits, PESEL) % 10 === 0
}

function isAbn(groups: Groups): boolean {
  return (weighted(groups.digits, ABN) - 10) % 89 === 0 && groups.digit(0) > 0
}

function isMedicare(groups: Groups): boolean {
  const first = groups.digit(0)
  const sum = weighted(groups.digits, [1, 3, 7, 9, 1, 3, 7, 9])
  return first >= 2 && first <= 6 && sum % 10 === groups.digit(8)
}

function isTfn({ digits }: Groups): boolean {
  return weighted(digits, TFN) % 11 === 0
}

function isAcn(groups: Groups): boolean {
  const sum = weighted(groups.digits, [8, 7, 6, 5, 4, 3, 2, 1])
  return (10 - (sum % 10)) % 10 === groups.digit(8)
}

function isGermanTax(groups: Groups): boolean {
  return groups.digit(0) > 0 && hasOneRepeat(groups) && isMod1110(groups.digits, 11)
}

/** Whether one of the first ten digits occurs two or three times and the others at most once. */
function hasOneRepeat(groups: Groups): boolean {
  const counts = new Uint8Array(10)
  for (let i = 0; i < 10; i++) counts[groups.digit(i)] = (counts[groups.digit(i)] ?? 0) + 1
  let repeated = 0
  for (const count of counts) if (count > 1) repeated += count > 3 ? 2 : 1
  return repeated === 1
}

function isNhs(groups: Groups): boolean {
  return !groups.isRepeated() && weighted(groups.digits, NHS) % 11 === 0
}

function isItalianVat({ digits }: Groups): boolean {
  return isLuhn(digits, 11)
}

function isAadhaar(groups: Groups): boolean {
  return groups.digit(0) >= 2 && isVerhoeff(groups.digits, 12)
}

function isRouting(groups: Groups): boolean {
  const two = groups.value(0, 2)
  const district = two <= 12 || (two >= 21 && two <= 32) || (two >= 61 && two <= 72) || two === 80
  return district && !groups.isRepeated() && weighted(groups.digits, ROUTING) % 10 === 0
}

const IDS: readonly DigitId[] = [
  row('US_SSN', [9], 'ssn', isSsn, { score: 0.15, shapes: [324], shaped: 0.4 }),
  row('US_ITIN', [9], 'tax', isItin, { score: 0.15, shapes: [324], shaped: 0.45 }),
  row('ABA_ROUTING_NUMBER', [9], 'routing', isRouting, { score: 0.1, shapes: [441], shaped: 0.1 }),
  row('AU_TFN', [9], 'tfn', isTfn, { score: 0.15, shapes: [333], shaped: 0.1 }),
  row('AU_ACN', [9], 'acn', isAcn, { score: 0.1, shapes: [333], shaped: 0.1 }),
  row('US_PASSPORT', [9], 'passport', unchecked, { score: 0.05 }),
  row('UK_NHS', [10], 'nhs', isNhs, { score: 0.25, shapes: [334], shaped: 0.1 }),
  row('AU_MEDICARE', [10, 11], 'medicare', isMedicare, { score: 0.15, shapes: [451], shaped: 0.2 }),
  row('PL_PESEL', [11], 'pesel', isPesel, { score: 0.5 }),
  row('AU_ABN', [11], 'abn', isAbn, { score: 0.4, shapes: [2333], shaped: 0.3 }),
  row('DE_TAX_ID', [11], 'tax', isGermanTax, { score: 0.4, shapes: [2333], shaped: 0.2 }),
  row('IT_VAT_CODE', [11], 'vat', isItalianVat, { score: 0.15 }),
  row('IN_AADHAAR', [12], 'aadhaar', isAadhaar, { score: 0.3, shapes: [444], shaped: 0.3 }),
  row('US_BANK_NUMBER', [8, 17], 'account', unchecked, { score: 0.05 }),
  row('US_DRIVER_LICENSE', [6, 14], 'license', unchecked, { score: 0.05, shapes: [424, 333, 33] }),
]

function row(
  ...[entity, digits, named, isValid, form]: [
    entity: Entity,
    digits: DigitId['digits'],
    named: Role,
    isValid: DigitId['isValid'],
    form: Pick<DigitId, 'score'> & Partial<Pick<DigitId, 'shapes' | 'shaped'>>,
  ]
): DigitId {
  return { entity, digits, role: role(named), isValid, shapes: [], shaped: 0, ...form }
}

/** Identifiers by their number of digits. */
const BY_TOTAL = Array.from({ length: 20 }, (_, total) =>
  IDS.filter(({ digits: [least, most = least] }) => total >= least && total <= most),
)

export function digitIdsOf(total: number): readonly DigitId[] {
  return BY_TOTAL[total] ?? []
}

/** Shapes of identifiers with several groups. Other shapes of several groups are skipped. */
export const ID_SHAPES: ReadonlySet<number> = new Set(IDS.flatMap(({ shapes }) => shapes))
