// Checks that 32 bytes are an Ed25519 public key that only its owner can sign with (RFC 8032,
// section 5.1.3).

const P = 2n ** 255n - 19n
/** The order of the prime-order subgroup, which contains every properly generated key. */
const L = 2n ** 252n + 27742317777372353535851937790883648493n
const Y_MASK = 2n ** 255n - 1n

const mod = (value: bigint): bigint => {
  const rest = value % P
  return rest < 0n ? rest + P : rest
}

function power(base: bigint, exponent: bigint): bigint {
  let [result, square] = [1n, base]
  for (let left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) result = mod(result * square)
    square = mod(square * square)
  }
  return result
}

const D = mod(-121665n * power(121666n, P - 2n))
const ROOT_OF_MINUS_ONE = power(2n, (P - 1n) / 4n)

/** A point in extended coordinates: x = X/Z, y = Y/Z, T = XY/Z. */
interface Point {
  readonly X: bigint
  readonly Y: bigint
  readonly Z: bigint
  readonly T: bigint
}

const IDENTITY: Point = { X: 0n, Y: 1n, Z: 1n, T: 0n }

/**
 * Whether the key is canonically encoded, on the curve, and of order L. Under a key of small order,
 * such as all zeros, forged signatures verify.
 */
export function isSoundPublicKey(bytes: Uint8Array): boolean {
  const point = decode(bytes)
  return point !== null && !isIdentity(point) && isIdentity(multiply(point, L))
}

function decode(bytes: Uint8Array): Point | null {
  if (bytes.length !== 32) return null
  const value = BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)
  const y = value & Y_MASK
  if (y >= P) return null
  const x = rootOf(mod(y * y - 1n), mod(D * y * y + 1n))
  if (x === null) return null
  const odd = value >> 255n
  if (x === 0n && odd === 1n) return null
  const X = (x & 1n) === odd ? x : P - x
  return { X, Y: y, Z: 1n, T: mod(X * y) }
}

/** A square root of u/v, or null. */
function rootOf(u: bigint, v: bigint): bigint | null {
  const v3 = mod(v * v * v)
  const x = mod(u * v3 * power(mod(u * v3 * v3 * v), (P - 5n) / 8n))
  const found = mod(v * x * x)
  if (found === u) return x
  return found === mod(-u) ? mod(x * ROOT_OF_MINUS_ONE) : null
}

// RFC 8032, section 5.1.4. The formula is complete, so doubling needs no formula of its own.
function add(p: Point, q: Point): Point {
  const a = mod((p.Y - p.X) * (q.Y - q.X))
  const b = mod((p.Y + p.X) * (q.Y + q.X))
  const c = mod(2n * D * p.T * q.T)
  const d = mod(2n * p.Z * q.Z)
  const [e, f, g, h] = [b - a, d - c, d + c, b + a]
  return { X: mod(e * f), Y: mod(g * h), Z: mod(f * g), T: mod(e * h) }
}

function multiply(point: Point, scalar: bigint): Point {
  let [sum, addend] = [IDENTITY, point]
  for (let left = scalar; left > 0n; left >>= 1n) {
    if (left & 1n) sum = add(sum, addend)
    addend = add(addend, addend)
  }
  return sum
}

const isIdentity = ({ X, Y, Z }: Point): boolean => X === 0n && Y === Z
