// SHA-256 (FIPS 180-4) and BLAKE2b (RFC 7693) in little code. The build of the page replaces
// @noble/hashes by them; they are tested against it.

/** The integer part of the root of `n`, computed exactly. */
function rootOf(n: bigint, degree: bigint): bigint {
  let root = 0n
  for (let bit = 1n << 72n; bit > 0n; bit >>= 1n) if ((root | bit) ** degree <= n) root |= bit
  return root
}

const PRIMES = Array.from({ length: 312 }, (_, i) => i).filter(
  (n) => n > 1 && !Array.from({ length: n }, (_, i) => i).some((d) => d > 1 && n % d === 0),
)
/** The constants of both hashes: fractional parts of roots of the first primes. */
const ROUNDS = PRIMES.map((n) => Number(BigInt.asIntN(32, rootOf(BigInt(n) << 96n, 3n))))
const BLAKE_START = PRIMES.slice(0, 8).map((n) => BigInt.asUintN(64, rootOf(BigInt(n) << 128n, 2n)))
const START = BLAKE_START.map((word) => Number(word >> 32n))
const SIGMA = (
  '0123456789abcdef ea489fd61c02b753 b8c052fdae367194 7931dcbe265a40f8 905724afe1bc683d ' +
  '2c6a0b834d75fe19 c51fed4a0763928b db7ec13950f4862a 6fe9b308c2d714a5 a2847615fb9e3cd0'
)
  .split(' ')
  .map((row) => Array.from(row, (digit) => Number.parseInt(digit, 16)))

const rotate = (word: number, by: number): number => (word >>> by) | (word << (32 - by))

export function sha256(bytes: Uint8Array): Uint8Array {
  const blocks = (bytes.length + 72) >>> 6
  const padded = new Uint8Array(blocks * 64)
  padded.set(bytes)
  padded[bytes.length] = 0x80
  const view = new DataView(padded.buffer)
  view.setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n)
  const state = Int32Array.from(START)
  const schedule = new Int32Array(64)
  for (let at = 0; at < padded.length; at += 64) {
    for (let i = 0; i < 16; i += 1) schedule[i] = view.getInt32(at + 4 * i)
    expand(schedule)
    compress(state, schedule)
  }
  const digest = new DataView(new ArrayBuffer(32))
  for (const [i, word] of state.entries()) digest.setInt32(4 * i, word)
  return new Uint8Array(digest.buffer)
}

function expand(w: Int32Array): void {
  const at = (i: number): number => w[i] ?? 0
  for (let i = 16; i < 64; i += 1) {
    const [x, y] = [at(i - 15), at(i - 2)]
    const low = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3)
    const high = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10)
    w[i] = at(i - 16) + low + at(i - 7) + high
  }
}

function compress(state: Int32Array, schedule: Int32Array): void {
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
  for (let i = 0; i < 64; i += 1) {
    const high = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
    const first = (h + high + ((e & f) ^ (~e & g)) + (ROUNDS[i] ?? 0) + (schedule[i] ?? 0)) | 0
    const low = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
    const second = (low + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + first) | 0
    d = c
    c = b
    b = a
    a = (first + second) | 0
  }
  for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) state[i] = (state[i] ?? 0) + word
}

/** Unkeyed BLAKE2b with a digest of `dkLen` bytes. Slow 64-bit BigInts suffice for short inputs. */
export function blake2b(bytes: Uint8Array, { dkLen }: { dkLen: number }): Uint8Array {
  const state = BigUint64Array.from(BLAKE_START)
  state[0] = (state[0] ?? 0n) ^ 0x01010000n ^ BigInt(dkLen)
  const blocks = Math.max(1, Math.ceil(bytes.length / 128))
  const padded = new Uint8Array(blocks * 128)
  padded.set(bytes)
  const view = new DataView(padded.buffer)
  for (let block = 1; block <= blocks; block += 1) {
    const at = (block - 1) * 128
    const message = Array.from({ length: 16 }, (_, i) => view.getBigUint64(at + 8 * i, true))
    const last = block === blocks
    mixBlock(state, message, { count: BigInt(last ? bytes.length : block * 128), last })
  }
  const digest = new DataView(new ArrayBuffer(64))
  for (const [i, word] of state.entries()) digest.setBigUint64(8 * i, word, true)
  return new Uint8Array(digest.buffer).slice(0, dkLen)
}

function mixBlock(
  state: BigUint64Array,
  message: readonly bigint[],
  { count, last }: { count: bigint; last: boolean },
): void {
  const v = BigUint64Array.from([...state, ...BLAKE_START])
  v[12] = (v[12] ?? 0n) ^ count
  if (last) v[14] = ~(v[14] ?? 0n)
  for (let round = 0; round < 12; round += 1) {
    const order = SIGMA[round % 10] ?? []
    for (let i = 0; i < 8; i += 1) {
      // Four columns, then four diagonals.
      const turn = i < 4 ? 0 : 1
      const [a, b, c, d] = [0, 1, 2, 3].map((row) => 4 * row + ((i + turn * row) % 4))
      mix(
        v,
        [a ?? 0, b ?? 0, c ?? 0, d ?? 0],
        [message[order[2 * i] ?? 0] ?? 0n, message[order[2 * i + 1] ?? 0] ?? 0n],
      )
    }
  }
  for (let i = 0; i < 8; i += 1) state[i] = (state[i] ?? 0n) ^ (v[i] ?? 0n) ^ (v[i + 8] ?? 0n)
}

function mix(
  v: BigUint64Array,
  [a, b, c, d]: readonly [number, number, number, number],
  [x, y]: readonly [bigint, bigint],
): void {
  const at = (i: number): bigint => v[i] ?? 0n
  const turn = (word: bigint, by: bigint): bigint =>
    (BigInt.asUintN(64, word) >> by) | (word << (64n - by))
  for (const [word, first, second] of [
    [x, 32n, 24n],
    [y, 16n, 63n],
  ] as const) {
    v[a] = at(a) + at(b) + word
    v[d] = turn(at(d) ^ at(a), first)
    v[c] = at(c) + at(d)
    v[b] = turn(at(b) ^ at(c), second)
  }
}
