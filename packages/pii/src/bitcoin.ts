// Whether a word is a Bitcoin address: Base58Check, Bech32 and Bech32m (BIP 173, BIP 350).

import { hash } from 'node:crypto'

const BASE58 = positions('123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz')
const BECH32 = positions('qpzry9x8gf2tvdw0s3jn54khce6mua7l')
const ADDRESS_BYTES = 25
/** The rest is the check: the first bytes of the SHA-256 of the SHA-256 of these. */
const HASHED_BYTES = 21

const sha256 = (bytes: Uint8Array): Buffer => hash('sha256', bytes, 'buffer')

/** A word from `from` to `to`: 26 to 35 characters of Base58 that begin with 1 or 3. */
export function isBase58Address(codes: Uint8Array, from: number, to: number): boolean {
  const size = to - from
  if (size < 26 || size > 35 || (codes[from] !== 0x31 && codes[from] !== 0x33)) return false
  const bytes = base58Bytes(codes, from, to)
  if (bytes === undefined || (bytes[0] !== 0 && bytes[0] !== 5)) return false
  if (leading(codes, from, 0x31) !== leading(bytes, 0, 0)) return false
  const check = sha256(sha256(bytes.subarray(0, HASHED_BYTES)))
  return bytes.subarray(HASHED_BYTES).every((byte, at) => byte === check[at])
}

/** How often a value stands in front: each zero byte is written as one "1", and nothing else is. */
function leading(values: Uint8Array, from: number, value: number): number {
  let count = 0
  while (values[from + count] === value) count++
  return count
}

const bytes25 = new Uint8Array(ADDRESS_BYTES)
const limbs = new Float64Array(9)
/** Characters taken at once: 58 to the fourth times a limb of 24 bits is exact in a number. */
const AT_ONCE = 4
const LIMB_DOWN = 1 / 0x1000000

/** Nine limbs of 24 bits hold what 35 characters may say; only 25 bytes are an address. */
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

/** A word that begins with bc1, in one case throughout. */
export function isBech32Address(codes: Uint8Array, from: number, to: number): boolean {
  const size = to - from
  if (size < 14 || size > 74) return false
  const lower = codes[from] === 0x62
  let check = 1
  // The part before the separator, expanded: high bits of "bc", zero, low bits.
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
