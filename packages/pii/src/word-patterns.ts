// Finds identifiers in one word of letters and digits, and those that are written in parts.

import { hash } from 'node:crypto'
import { characterValue, isMod97 } from './checksums.ts'
import { CONTEXT } from './digit-ids.ts'
import { isDigit } from './fold.ts'
import type { Matches } from './matches.ts'
import { hasForm, hetuCheck, mixedIdsOf } from './mixed-ids.ts'
import { FOREIGN, LETTERS, MIXED, role, type Scan } from './scan.ts'

const LICENSE = role('license')
const OTHER = role('other')
const ZIP = role('zip')

const values = new Uint8Array(16)

/** Finds identifiers at a word that has letters and digits. */
export function findMixed(scan: Scan, word: number, found: Matches): void {
  const size = scan.length(word)
  const start = scan.start(word)
  if (size >= 4) findIban(scan, word, found)
  if (size >= 14) findCrypto(scan, word, found)
  if (size <= 4) findPostcode(scan, word, found)
  if (size < 5 || size > 20 || isJoined(scan, word)) return
  if (size <= 16) findByForm(scan, word, found)
  if (size >= 6 && scan.near(LICENSE, start, scan.end(word)) && digitsOf(scan, word) >= 4)
    found.add('US_DRIVER_LICENSE', start, scan.end(word), 0.5)
}

/** Whether a word is part of a path, a file name or a longer identifier. */
function isJoined(scan: Scan, word: number): boolean {
  const before = scan.at(scan.start(word) - 1)
  const after = scan.at(scan.end(word))
  if (before === 0x5f || after === 0x5f || before === 0x2f) return true
  return before === 0x2d && word > 0 && scan.kinds[word - 1] === MIXED
}

function digitsOf(scan: Scan, word: number): number {
  let count = 0
  for (let i = scan.start(word); i < scan.end(word); i++) if (scan.at(i) < 58) count++
  return count
}

function findByForm(scan: Scan, word: number, found: Matches): void {
  const ids = mixedIdsOf(scan.length(word))
  if (ids.length === 0) return
  const start = scan.start(word)
  const end = scan.end(word)
  for (let i = start; i < end; i++) values[i - start] = characterValue(scan.at(i))
  for (const id of ids) {
    if (!hasForm(id.form, values)) continue
    const named = id.roles.some((name) => scan.near(name, start, end))
    if ((!named && id.score < 0.1) || !id.isValid(values)) continue
    const other = !named && scan.justBefore(OTHER, start, 20) ? 0.25 : 0
    found.add(id.entity, start, end, id.score + (named ? CONTEXT : 0) - other)
  }
}

function findCrypto(scan: Scan, word: number, found: Matches): void {
  const start = scan.start(word)
  const end = scan.end(word)
  const first = scan.at(start)
  if (first === 0x31 || first === 0x33) {
    if (isBase58Address(scan.codes, start, end)) found.add('CRYPTO', start, end, 0.95)
  } else if ((first | 0x20) === 0x62 && (scan.at(start + 1) | 0x20) === 0x63)
    if (scan.at(start + 2) === 0x31 && isBech32Address(scan.codes, start, end))
      found.add('CRYPTO', start, end, 0.95)
}

/** Finds postcodes such as "SW1A 1AA": outward part, space, digit and two letters, in capitals. */
function findPostcode(scan: Scan, word: number, found: Matches): void {
  const next = word + 1
  const start = scan.start(word)
  if (scan.length(next) !== 3 || scan.kinds[next] !== MIXED) return
  if (scan.start(next) !== scan.end(word) + 1 || scan.at(scan.end(word)) !== 0x20) return
  if (!isCapital(scan.at(start)) || !isOutward(scan, word)) return
  const from = scan.start(next)
  if (scan.at(from) > 57 || !isCapital(scan.at(from + 1)) || !isCapital(scan.at(from + 2))) return
  const named = scan.near(ZIP, start, scan.end(next))
  found.add('UK_POSTCODE', start, scan.end(next), named ? 0.8 : 0.5)
}

/** Whether a word is one or two letters, a digit, and optionally a digit or letter. */
function isOutward(scan: Scan, word: number): boolean {
  const start = scan.start(word)
  const letters = scan.at(start + 1) > 57 ? 2 : 1
  const rest = scan.length(word) - letters
  return rest >= 1 && rest <= 2 && scan.at(start + letters) <= 57
}

function isCapital(code: number): boolean {
  return code >= 65 && code <= 90
}

/** Finds identifiers of digits that continue after a dash: NIF, Finnish identity codes. */
export function findDashed(scan: Scan, word: number, found: Matches): void {
  const size = scan.length(word)
  const start = scan.start(word)
  const next = word + 1
  const end = scan.end(word)
  if ((size !== 8 && size !== 6) || scan.start(next) !== end + 1) return
  const gap = scan.at(end)
  if (size === 8 && scan.length(next) === 1 && scan.kinds[next] === LETTERS && gap === 0x2d) {
    for (let i = 0; i < 8; i++) values[i] = scan.at(start + i) - 48
    values[8] = characterValue(scan.at(scan.start(next)))
    const [nif] = mixedIdsOf(9)
    if (nif?.isValid(values)) found.add('ES_NIF', start, scan.end(next), 0.75)
  }
  if (size === 6 && scan.length(next) === 4 && (gap === 0x2d || gap === 0x2b))
    findHetu(scan, word, found)
}

/** Finds a Finnish identity code. The sign of the century is - for 1900 and + for 1800. */
function findHetu(scan: Scan, word: number, found: Matches): void {
  const start = scan.start(word)
  const from = scan.start(word + 1)
  let number = 0
  for (let i = start; i < from + 3; i++) {
    const code = scan.at(i)
    if (i !== from - 1 && code > 57) return
    if (i !== from - 1) number = number * 10 + code - 48
  }
  const check = String.fromCharCode(scan.at(from + 3) & (scan.at(from + 3) > 57 ? 0xdf : 0xff))
  if (hetuCheck(number) === check)
    found.add('FI_PERSONAL_IDENTITY_CODE', start, scan.end(word + 1), 0.75)
}

/** Finds "QQ 12 34 56 C": five parts, separated by one space or dash. */
export function findSpacedNino(scan: Scan, word: number, found: Matches): void {
  if (scan.length(word) !== 2 || word + 4 >= scan.count || scan.length(word + 4) !== 1) return
  for (let i = 0; i < 4; i++) {
    const gap = scan.at(scan.end(word + i))
    if (scan.start(word + i + 1) !== scan.end(word + i) + 1) return
    if (gap !== 0x20 && gap !== 0x2d) return
    if (i > 0 && (scan.length(word + i) !== 2 || !scan.isDigits(word + i))) return
  }
  const start = scan.start(word)
  const last = scan.start(word + 4)
  values[0] = characterValue(scan.at(start))
  values[1] = characterValue(scan.at(start + 1))
  values[8] = characterValue(scan.at(last))
  const nino = mixedIdsOf(9).find(({ entity }) => entity === 'UK_NINO')
  if (nino?.isValid(values)) found.add('UK_NINO', start, last + 1, 0.7)
}

const LENGTHS =
  'AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 ' +
  'DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 ' +
  'HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 ' +
  'MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 ' +
  'RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 ' +
  'VA22 VG24 XK20 YE30'

const BY_COUNTRY = new Uint8Array(36 * 36)
for (const row of LENGTHS.split(' '))
  BY_COUNTRY[characterValue(row.charCodeAt(0)) * 36 + characterValue(row.charCodeAt(1))] = Number(
    row.slice(2),
  )

const characters = new Uint8Array(34)

/**
 * Finds an IBAN at a word that begins with a country and two digits. Following groups, separated by
 * one space or dash, are added up to the country's length.
 */
function findIban(scan: Scan, word: number, found: Matches): void {
  const start = scan.start(word)
  const country = characterValue(scan.at(start)) * 36 + characterValue(scan.at(start + 1))
  const size = country < 0 ? 0 : (BY_COUNTRY[country] ?? 0)
  if (
    size === 0 ||
    scan.length(word) > size ||
    !isDigit(scan.at(start + 2)) ||
    !isDigit(scan.at(start + 3))
  )
    return
  let count = 0
  let last = word
  for (; ; last++) {
    if (((scan.kinds[last] ?? FOREIGN) & FOREIGN) !== 0 || count + scan.length(last) > size) return
    for (let i = scan.start(last); i < scan.end(last); i++) characters[count++] = scan.at(i)
    if (count === size) break
    if (last + 1 >= scan.count || scan.start(last + 1) !== scan.end(last) + 1) return
    const gap = scan.at(scan.end(last))
    if (gap !== 0x20 && gap !== 0x2d) return
  }
  if (isMod97(characters, size)) found.add('IBAN_CODE', start, scan.end(last), 0.95)
}

const BASE58 = positions('123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz')
const BECH32 = positions('qpzry9x8gf2tvdw0s3jn54khce6mua7l')
const ADDRESS_BYTES = 25
/** The remaining bytes are the check: the first bytes of SHA-256(SHA-256) of these. */
const HASHED_BYTES = 21

const sha256 = (bytes: Uint8Array): Buffer => hash('sha256', bytes, 'buffer')

/** Whether a word is 26 to 35 characters of Base58 that begin with 1 or 3, with a valid check. */
function isBase58Address(codes: Uint8Array, from: number, to: number): boolean {
  const size = to - from
  if (size < 26 || size > 35 || (codes[from] !== 0x31 && codes[from] !== 0x33)) return false
  const bytes = base58Bytes(codes, from, to)
  if (bytes === undefined || (bytes[0] !== 0 && bytes[0] !== 5)) return false
  if (leading(codes, from, 0x31) !== leading(bytes, 0, 0)) return false
  const check = sha256(sha256(bytes.subarray(0, HASHED_BYTES)))
  return bytes.subarray(HASHED_BYTES).every((byte, at) => byte === check[at])
}

/** Counts a leading value. Each leading zero byte is written as one "1", and nothing else is. */
function leading(values: Uint8Array, from: number, value: number): number {
  let count = 0
  while (values[from + count] === value) count++
  return count
}

const bytes25 = new Uint8Array(ADDRESS_BYTES)
const limbs = new Float64Array(9)
/** Characters per step: 58 to the fourth times a limb of 24 bits is exact in a double. */
const AT_ONCE = 4
const LIMB_DOWN = 1 / 0x1000000

/** Decodes Base58. Nine limbs of 24 bits hold 35 characters; only 25 bytes are an address. */
function base58Bytes(codes: Uint8Array, from: number, to: number): Uint8Array | undefined {
  limbs.fill(0)
  for (let i = from; i < to; i += AT_ONCE) {
    let carry = 0
    let factor = 1
    for (let j = i; j < to && j < i + AT_ONCE; j++) {
      const value = BASE58[codes[j] ?? 0] ?? 255
      if (value === 255) return undefined
      carry = carry * 58 + value
      factor *= 58
    }
    for (let limb = 0; limb < limbs.length; limb++) {
      const sum = (limbs[limb] ?? 0) * factor + carry
      carry = Math.floor(sum * LIMB_DOWN)
      limbs[limb] = sum - carry * 0x1000000
    }
    if (carry > 0) return undefined
  }
  if ((limbs[8] ?? 0) > 255) return undefined
  for (let i = 0; i < ADDRESS_BYTES; i++) {
    const fromEnd = ADDRESS_BYTES - 1 - i
    bytes25[i] = ((limbs[Math.floor(fromEnd / 3)] ?? 0) >>> ((fromEnd % 3) * 8)) & 0xff
  }
  return bytes25
}

/** Whether a word is a Bech32 address: it begins with bc1 and has one case throughout. */
function isBech32Address(codes: Uint8Array, from: number, to: number): boolean {
  const size = to - from
  if (size < 14 || size > 74) return false
  const lower = codes[from] === 0x62
  let check = 1
  // The expanded part before the separator: high bits of "bc", zero, low bits.
  for (const value of [3, 3, 0, 2, 3]) check = polymodStep(check, value)
  for (let i = from + 3; i < to; i++) {
    const code = codes[i] ?? 0
    const letter = code >= 65
    if (letter && lower !== code >= 97) return false
    const value = BECH32[letter ? code | 0x20 : code] ?? 255
    if (value === 255) return false
    check = polymodStep(check, value)
  }
  return check === 1 || check === 0x2bc830a3
}

function polymodStep(check: number, value: number): number {
  const top = check >>> 25
  let next = ((check & 0x1ffffff) << 5) ^ value
  if (top & 1) next ^= 0x3b6a57b2
  if (top & 2) next ^= 0x26508e6d
  if (top & 4) next ^= 0x1ea119fa
  if (top & 8) next ^= 0x3d4233dd
  if (top & 16) next ^= 0x2a1462b3
  return next
}

function positions(alphabet: string): Uint8Array {
  const table = new Uint8Array(256).fill(255)
  for (let i = 0; i < alphabet.length; i++) table[alphabet.charCodeAt(i)] = i
  return table
}
