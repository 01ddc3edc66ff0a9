// Identifiers of letters and digits: their forms and check characters.

import { icaoCheck, unchecked } from './checksums.ts'
import type { Entity } from './entities.ts'
import type { Role } from './lexicon.ts'
import { role } from './scan.ts'

interface MixedId {
  readonly entity: Entity
  /** The form of each character: 9 is a digit, A a letter, X either. */
  readonly form: string
  readonly score: number
  /** Roles of the context words, which add CONTEXT. */
  readonly roles: readonly number[]
  /** `values` are 0 to 35. */
  readonly isValid: (values: Uint8Array) => boolean
}

const NIF = 'TRWAGMYFPDXBNJZSQVHLCKE'
const HETU = '0123456789ABCDEFHJKLMNPRSTUVWXY'
const LETTER = 10

function value(values: Uint8Array, from: number, count: number): number {
  let sum = 0
  for (let i = from; i < from + count; i++) sum = sum * 10 + (values[i] ?? 0)
  return sum
}

function letter(of: number | undefined): string {
  return String.fromCharCode(55 + (of ?? 0))
}

function isNif(values: Uint8Array): boolean {
  return NIF[value(values, 0, 8) % 23] === letter(values[8])
}

function isNie(values: Uint8Array): boolean {
  const first = 'XYZ'.indexOf(letter(values[0]))
  if (first < 0) return false
  return NIF[(first * 10_000_000 + value(values, 1, 7)) % 23] === letter(values[8])
}

const NRIC_WEIGHTS = [2, 7, 6, 5, 4, 3, 2]
const NRIC_CHECKS: Readonly<Record<string, readonly [added: number, letters: string]>> = {
  S: [0, 'JZIHGFEDCBA'],
  T: [4, 'JZIHGFEDCBA'],
  F: [0, 'XWUTRQPNMLK'],
  G: [4, 'XWUTRQPNMLK'],
  M: [3, 'KLJNPQRTUWX'],
}

function isNric(values: Uint8Array): boolean {
  const kind = letter(values[0])
  const check = NRIC_CHECKS[kind]
  if (!check) return false
  const sum = NRIC_WEIGHTS.reduce((all, weight, i) => all + weight * (values[i + 1] ?? 0), check[0])
  const at = kind === 'M' ? 10 - (sum % 11) : sum % 11
  return check[1][at] === letter(values[8])
}

/** Excludes D, F, I, Q, U, V as first letter, O as second, and prefixes that were never issued. */
function isNino(values: Uint8Array): boolean {
  const first = letter(values[0])
  const second = letter(values[1])
  if ('DFIQUV'.includes(first) || 'DFIOQUV'.includes(second)) return false
  if (['BG', 'GB', 'NK', 'KN', 'NT', 'TN', 'ZZ'].includes(first + second)) return false
  return 'ABCD'.includes(letter(values[8]))
}

function isDea(values: Uint8Array): boolean {
  const digit = (i: number) => values[i] ?? 0
  const sum = digit(2) + digit(4) + digit(6) + 2 * (digit(3) + digit(5) + digit(7))
  return sum % 10 === values[8] && 'ABCDEFGHJKLMPRSTUX'.includes(letter(values[0]))
}

function isPan(values: Uint8Array): boolean {
  return 'ABCFGHJLPT'.includes(letter(values[3])) && value(values, 5, 4) > 0
}

/** Check digit: the letter as two digits, weights 1 and 2, sums of digits. */
function isHealthInsurance(values: Uint8Array): boolean {
  const first = (values[0] ?? 0) - LETTER + 1
  const digits = [Math.floor(first / 10), first % 10, ...values.subarray(1, 9)]
  return crossSum(digits, [1, 2, 1, 2, 1, 2, 1, 2, 1, 2]) % 10 === values[9]
}

function isPensionInsurance(values: Uint8Array): boolean {
  const day = value(values, 2, 2)
  const month = value(values, 4, 2)
  if (day < 1 || day > 81 || month > 12) return false
  const initial = (values[8] ?? 0) - LETTER + 1
  const digits = [
    ...values.subarray(0, 8),
    ...[Math.floor(initial / 10), initial % 10],
    ...values.subarray(9, 11),
  ]
  return crossSum(digits, [2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1]) % 10 === values[11]
}

function crossSum(digits: readonly number[], weights: readonly number[]): number {
  return digits.reduce((sum, digit, i) => {
    const product = digit * (weights[i] ?? 0)
    return sum + Math.floor(product / 10) + (product % 10)
  }, 0)
}

/** Values of the characters at odd places, by the decree of 23 December 1976. */
const FISCAL_ODD = [
  ...[1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 1, 0, 5, 7, 9, 13, 15, 17],
  ...[19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23],
]

function isFiscalCode(values: Uint8Array): boolean {
  let sum = 0
  for (let i = 0; i < 15; i++) {
    const of = values[i] ?? 0
    sum += i % 2 === 0 ? (FISCAL_ODD[of] ?? 0) : of >= LETTER ? of - LETTER : of
  }
  return (sum % 26) + LETTER === values[15] && 'ABCDEHLMPRST'.includes(letter(values[8]))
}

/** Finnish identity code: ddmmyy, sign of the century, three digits, check character. */
function isHetu(values: Uint8Array): boolean {
  if (!'ABCDEFYXWVU'.includes(letter(values[6]))) return false
  return hetuCheck(value(values, 0, 6) * 1000 + value(values, 7, 3)) === checkOf(values[10])
}

/** The check character of ddmmyy and three digits, as one number; undefined if not a date. */
export function hetuCheck(number: number): string | undefined {
  const day = Math.floor(number / 10_000_000)
  const month = Math.floor(number / 100_000) % 100
  if (day < 1 || day > 31 || month < 1 || month > 12) return undefined
  return HETU[number % 31]
}

function checkOf(value: number | undefined): string {
  return (value ?? 0) < LETTER ? String(value) : letter(value)
}

const GERMAN_DOCUMENT = 'CFGHJKLMNPRTVWXYZ0123456789'

function isGermanDocument(values: Uint8Array): boolean {
  for (let i = 0; i < 9; i++) if (!GERMAN_DOCUMENT.includes(checkOf(values[i]))) return false
  return (values[0] ?? 0) >= LETTER
}

const codes = new Uint8Array(9)

function isGermanCard(values: Uint8Array): boolean {
  for (let i = 0; i < 9; i++) codes[i] = checkOf(values[i]).charCodeAt(0)
  return isGermanDocument(values) && icaoCheck(codes, 9) === values[9]
}

const IDS: readonly MixedId[] = [
  row('ES_NIF', '99999999A', 0.75, ['tax'], isNif),
  row('ES_NIE', 'A9999999A', 0.75, ['tax'], isNie),
  row('SG_NRIC_FIN', 'A9999999A', 0.75, ['tax'], isNric),
  row('UK_NINO', 'AA999999A', 0.6, ['tax'], isNino),
  row('MEDICAL_LICENSE', 'AA9999999', 0.55, ['license'], isDea),
  row('US_PASSPORT', 'A99999999', 0.1, ['passport'], unchecked),
  row('DE_PASSPORT', 'XXXXXXXXX', 0.05, ['passport'], isGermanDocument),
  row('DE_ID_CARD', 'XXXXXXXXX', 0.05, ['de_id'], isGermanDocument),
  row('DE_ID_CARD', 'XXXXXXXXX9', 0.1, ['de_id'], isGermanCard),
  row('DE_PASSPORT', 'XXXXXXXXX9', 0.1, ['passport'], isGermanCard),
  row('IN_PAN', 'AAAAA9999A', 0.55, ['pan'], isPan),
  row('DE_HEALTH_INSURANCE', 'A999999999', 0.4, ['health'], isHealthInsurance),
  row('FI_PERSONAL_IDENTITY_CODE', '999999A999X', 0.75, [], isHetu),
  row('DE_SOCIAL_SECURITY', '99999999A999', 0.6, ['ssn_de'], isPensionInsurance),
  row('IT_FISCAL_CODE', 'AAAAAAXXAXXAXXXA', 0.9, [], isFiscalCode),
]

function row(
  ...[entity, form, score, roles, isValid]: [
    entity: Entity,
    form: string,
    score: number,
    roles: readonly Role[],
    isValid: MixedId['isValid'],
  ]
): MixedId {
  return { entity, form, score, roles: roles.map((name) => role(name)), isValid }
}

/** Identifiers by their number of characters. */
const BY_SIZE = Array.from({ length: 17 }, (_, size) =>
  IDS.filter(({ form }) => form.length === size),
)

export function mixedIdsOf(size: number): readonly MixedId[] {
  return BY_SIZE[size] ?? []
}

/** Whether the values have digits and letters in the places of the form. */
export function hasForm(form: string, values: Uint8Array): boolean {
  for (let i = 0; i < form.length; i++) {
    const kind = form.charCodeAt(i)
    const of = values[i] ?? 0
    if (kind === 0x39 ? of >= LETTER : kind === 0x41 && of < LETTER) return false
  }
  return true
}
