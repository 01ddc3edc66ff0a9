// The beta distribution and its quantiles, computed with only + - * /: `Math.log` and `Math.exp`
// may differ in the last bits between engines, and a score must not.

/** Bounds the iterations, so that no input blocks the caller; far more than convergence needs. */
const STEPS_MAX = 100_000
const NEWTON_STEPS_MAX = 200
const EPSILON = 2 ** -52
/** Replaces a denominator of zero in the continued fraction (Lentz). */
const TINY = 2 ** -1000

// ln 2 in two parts, so that a product of the first with a small integer is exact.
const LN2_HIGH = 0x162e42fee00000 * 2 ** -53
const LN2_LOW = 1.9082149292705877e-10
const HALF_LN_2PI = 0.9189385332046728

/**
 * The x below which a beta(a, b) variable lies with probability p; a, b > 0 and 0 < p < 1. Newton's
 * method from the mean, within a bracket that is bisected if a step would leave it.
 */
export function betaQuantile(p: number, a: number, b: number): number {
  const lnB = lnBeta(a, b)
  let [low, high] = [0, 1]
  let x = a / (a + b)
  for (let step = 0; step < NEWTON_STEPS_MAX && high - low > EPSILON * high; step++) {
    const excess = cdfWith(x, a, b, lnB) - p
    if (excess === 0) return x
    if (excess > 0) high = x
    else low = x
    const slope = exp((a - 1) * ln(x) + (b - 1) * ln(1 - x) - lnB)
    const next = x - excess / slope
    const inside = next > low && next < high
    const moved = inside ? next : (low + high) / 2
    if (inside && Math.abs(moved - x) <= EPSILON * x) return moved
    x = moved
  }
  return x
}

/** The regularised incomplete beta function I_x(a, b): the probability of a value below x. */
export function betaCdf(x: number, a: number, b: number): number {
  return cdfWith(x, a, b, lnBeta(a, b))
}

// The fraction converges fast below the mean; above it, I_x(a, b) = 1 - I_{1-x}(b, a).
function cdfWith(x: number, a: number, b: number, lnB: number): number {
  if (x <= 0) return 0
  if (x >= 1) return 1
  const front = exp(a * ln(x) + b * ln(1 - x) - lnB)
  if (x < (a + 1) / (a + b + 2)) return (front * fraction(x, a, b)) / a
  return 1 - (front * fraction(1 - x, b, a)) / b
}

/** The continued fraction of DLMF 8.17.22, by the modified Lentz method (DLMF 3.10(iii)). */
function fraction(x: number, a: number, b: number): number {
  let c = 1
  let d = 1 / notZero(1 - ((a + b) * x) / (a + 1))
  let value = d
  for (let m = 1; m < STEPS_MAX; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
    d = 1 / notZero(1 + even * d)
    c = notZero(1 + even / c)
    value *= d * c
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))
    d = 1 / notZero(1 + odd * d)
    c = notZero(1 + odd / c)
    value *= d * c
    if (Math.abs(d * c - 1) <= EPSILON) break
  }
  return value
}

function notZero(value: number): number {
  return Math.abs(value) < TINY ? TINY : value
}

function lnBeta(a: number, b: number): number {
  return lnGamma(a) + lnGamma(b) - lnGamma(a + b)
}

/** Stirling's series (DLMF 5.11.1), with Γ(z) = Γ(z + k) / (z … (z + k - 1)) to make z large. */
function lnGamma(z: number): number {
  let product = 1
  let large = z
  for (; large < 16; large += 1) product *= large
  const inverse = 1 / large
  const square = inverse * inverse
  const series =
    inverse *
    (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188))))
  return (large - 0.5) * ln(large) - large + HALF_LN_2PI + series - ln(product)
}

/** ln(m 2^k) = k ln 2 + 2 artanh((m - 1) / (m + 1)) with m near 1; x is positive and finite. */
function ln(x: number): number {
  let [m, k] = [x, 0]
  while (m > Math.SQRT2) [m, k] = [m / 2, k + 1]
  while (m < Math.SQRT1_2) [m, k] = [m * 2, k - 1]
  const s = (m - 1) / (m + 1)
  const square = s * s
  // |s| < 0.172, so the term after these twelve is below 2^-60.
  let series = 0
  for (let n = 23; n >= 3; n -= 2) series = (series + 1 / n) * square
  return k * LN2_HIGH + (2 * s + (2 * s * series + k * LN2_LOW))
}

/** 2^k times the series of e^r, |r| < 0.35; below e^-745 it is zero. */
function exp(x: number): number {
  if (x < -745) return 0
  const k = Math.floor(x / Math.LN2 + 0.5)
  const r = x - k * LN2_HIGH - k * LN2_LOW
  let series = 1
  for (let n = 16; n >= 1; n--) series = 1 + (series * r) / n
  let scale = 1
  for (let i = Math.abs(k); i > 0; i--) scale *= k < 0 ? 0.5 : 2
  return series * scale
}
