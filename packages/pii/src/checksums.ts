// Check digits and check characters of identifiers.

/** Digits as values 0 to 9. Functions read the first `count` of them. */
type Digits = Uint8Array

/** For numbers that have no check digit. */
export const unchecked = (): boolean => true

export function isLuhn(digits: Digits, count: number): boolean {
  let sum = 0
  for (let i = 0; i < count; i++) {
    const digit = digits[count - 1 - i] ?? 0
    const doubled = digit * 2
    sum += i % 2 === 0 ? digit : doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}

export function weighted(digits: Digits, weights: readonly number[]): number {
  let sum = 0
  for (let i = 0; i < weights.length; i++) sum += (digits[i] ?? 0) * (weights[i] ?? 0)
  return sum
}

/** ISO 7064 MOD 11,10: German tax numbers. */
export function isMod1110(digits: Digits, count: number): boolean {
  let product = 10
  for (let i = 0; i < count - 1; i++) {
    const sum = ((digits[i] ?? 0) + product) % 10 || 10
    product = (sum * 2) % 11
  }
  return (11 - product) % 10 === digits[count - 1]
}

const VERHOEFF_PERMUTED = [
  '0123456789',
  '1576283094',
  '5803796142',
  '8916043527',
  '9453126870',
  '4286573901',
  '2793806415',
  '7046913258',
].map((row) => Array.from(row, Number))

/** Verhoeff's scheme over the dihedral group of ten: Aadhaar. */
export function isVerhoeff(digits: Digits, count: number): boolean {
  let check = 0
  for (let i = 0; i < count; i++) {
    const digit = VERHOEFF_PERMUTED[i % 8]?.[digits[count - 1 - i] ?? 0] ?? 0
    check = dihedral(check, digit)
  }
  return check === 0
}

function dihedral(a: number, b: number): number {
  if (a < 5) return b < 5 ? (a + b) % 5 : 5 + ((a + b - 5) % 5)
  return b < 5 ? 5 + ((a - 5 - b + 5) % 5) : (a - b + 5) % 5
}

/** 0 to 9 and A to Z as 0 to 35; other characters as -1. Small letters count as capitals. */
export function characterValue(code: number): number {
  if (code >= 48 && code <= 57) return code - 48
  const capital = code & 0xdf
  return capital >= 65 && capital <= 90 ? capital - 55 : -1
}

/** ISO 7064 MOD 97-10 of an IBAN, with its first four characters moved to the end. */
export function isMod97(characters: Uint8Array, count: number): boolean {
  let rest = 0
  for (let i = 0; i < count; i++) {
    const value = characterValue(characters[(i + 4) % count] ?? 0)
    rest = value > 9 ? (rest * 100 + value) % 97 : (rest * 10 + value) % 97
  }
  return rest === 1
}

/** The weights 7, 3, 1 of machine-readable documents (ICAO 9303). */
export function icaoCheck(characters: Uint8Array, count: number): number {
  let sum = 0
  for (let i = 0; i < count; i++)
    sum += characterValue(characters[i] ?? 0) * ([7, 3, 1][i % 3] ?? 0)
  return sum % 10
}

const MONTH_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

export function isDay(month: number, day: number): boolean {
  return day >= 1 && day <= (MONTH_DAYS[month - 1] ?? 0)
}
