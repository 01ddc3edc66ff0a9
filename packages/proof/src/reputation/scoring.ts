// Reputation scores: computes posterior, bounds, band and rationale from evidence in integers.
import { ProofError } from '../core/errors.ts'
import { isCount } from '../core/shape.ts'
import { betaQuantile } from './beta.ts'

/** The dimension of decisions without one. */
export const DEFAULT_DIMENSION = 'receivables'

/** The rating 1. Ratings are whole millionths, so that their sums are exact in any order. */
export const RATING_UNIT = 1_000_000

/** Weight of a reviewer whose ratings have not yet been compared with enough outcomes. */
export const FLOOR_WEIGHT = 0.05
/** How many rated decisions with a known outcome give a reviewer a track record. */
export const TRACK_RECORD_MIN = 5

/** Strength of a tier's prior, distance of its ceiling, resolved decisions that remove it. */
const PRIOR_STRENGTH = 4
const CEILING_MARGIN = 0.02
const LIFT_COUNT = 20
/** `cgr_lower` is the quantile of the posterior at this probability. */
const LOWER_TAIL = 0.05

/** How well a reviewer has rated so far. The sum of squared errors is in millionths squared. */
export type TrackRecord = {
  readonly observations: number
  readonly error_sum_e12: bigint
}

/** One reviewer's live reviews of one agent, that is, of its unresolved certifying judgments. */
export type ReviewEvidence = TrackRecord & {
  readonly reviewer: string
  readonly count: number
  readonly rating_sum_e6: number
}

/** Everything a score depends on, in integers, for one agent identity and dimension. */
export type AgentEvidence = {
  readonly n_success: number
  readonly n_failure: number
  readonly n_pending: number
  /** A tier in [0, 1]; the service does not pass one. */
  readonly tier?: number | null
  /** One row per reviewer, in any order. */
  readonly reviews: readonly ReviewEvidence[]
}

/** A measured weight per reviewer; others have weight 0. The service does not pass a gate. */
export type ReviewerGate = {
  readonly tau: number
  /** The largest weight of one reviewer on one agent. */
  readonly cap_k: number
  readonly weights: ReadonlyMap<string, number>
}

export type AgentScore = {
  readonly cgr_score: number
  readonly confidence: number
  readonly n_resolved: number
  readonly n_pending: number
  readonly post_alpha: number
  readonly post_beta: number
  /** The 5 % quantile of the posterior, with the same ceiling as the score. */
  readonly cgr_lower: number
  /** The part of the posterior's mass that reviews contribute. */
  readonly review_mass: number
  readonly band: Band
  readonly rationale: string
}

/**
 * The weight of a reviewer: 0.05 below 5 observations, otherwise 1 - mean squared error / 0.25,
 * clamped to [0, 1]. It is one quotient of two integers, so it is rounded once.
 */
export function reviewerWeight(record: TrackRecord): number {
  if (record.observations < TRACK_RECORD_MIN) return FLOOR_WEIGHT
  const whole = BigInt(record.observations) * 1_000_000_000_000n
  return clamp(Number(whole - 4n * record.error_sum_e12) / Number(whole))
}

/** The factor of the gate for a reviewer's weight: 0 for an unknown reviewer. */
export function gateFactor(gate: ReviewerGate, reviewer: string): number {
  const weight = gate.weights.get(reviewer)
  if (weight === undefined || !(gate.tau >= 0 && gate.tau < 1)) return 0
  return clamp((weight - gate.tau) / (1 - gate.tau))
}

/**
 * Scores one agent in one dimension. The same evidence gives the same bits on every machine and in
 * every order of `reviews`: sums are of integers, weights are added in order of size, and doubles
 * take part only in + - * / and comparisons, which IEEE 754 fixes to the last bit.
 * Throws ProofError `out_of_range` for invalid counts.
 */
export function score(evidence: AgentEvidence, gate?: ReviewerGate): AgentScore {
  requireEvidence(evidence)
  const { n_success, n_failure, n_pending } = evidence
  const n_resolved = n_success + n_failure
  const tier = evidence.tier ?? null
  const reviews = reviewMass(evidence, gate)
  const post_alpha = priorOf(tier) + n_success + reviews.alpha
  const post_beta = priorOf(tier === null ? null : 1 - tier) + n_failure + reviews.beta
  const confidence = post_alpha + post_beta
  const ceiling = ceilingOf(tier, n_resolved)
  const cgr_score = Math.min(post_alpha / confidence, ceiling)
  return {
    cgr_score,
    confidence,
    n_resolved,
    n_pending,
    post_alpha,
    post_beta,
    cgr_lower: Math.min(betaQuantile(LOWER_TAIL, post_alpha, post_beta), ceiling),
    review_mass: reviews.alpha + reviews.beta,
    band: bandOf(cgr_score, n_resolved),
    rationale: rationaleOf(cgr_score, n_resolved),
  }
}

function priorOf(tier: number | null): number {
  return tier === null ? 1 : 1 + PRIOR_STRENGTH * tier
}

function ceilingOf(tier: number | null, resolved: number): number {
  if (tier === null) return 1
  const start = tier + CEILING_MARGIN
  return start + (1 - start) * clamp(resolved / LIFT_COUNT)
}

/**
 * Reviewers without a track record together weigh at most 0.05 (2 + n_resolved), so they move a
 * score by less than 0.05; those with one together at most max(1, n_resolved), so that reviews
 * never outweigh outcomes. What exceeds a cap is scaled down proportionally.
 */
function reviewMass(evidence: AgentEvidence, gate: ReviewerGate | undefined) {
  const resolved = evidence.n_success + evidence.n_failure
  const known = evidence.reviews.filter((row) => row.observations >= TRACK_RECORD_MIN)
  const unknown = evidence.reviews.filter((row) => row.observations < TRACK_RECORD_MIN)
  const heard = cappedMass(sharesOf(known, gate), Math.max(1, resolved))
  const faint = cappedMass(sharesOf(unknown, gate), FLOOR_WEIGHT * (2 + resolved))
  return { alpha: heard.alpha + faint.alpha, beta: heard.beta + faint.beta }
}

/** The sum of reviews with equal weight. */
type Share = { weight: number; count: number; rating_sum_e6: number }

// Sorted by weight, so that the order does not depend on the names of the reviewers.
function sharesOf(
  rows: readonly ReviewEvidence[],
  gate: ReviewerGate | undefined,
): readonly Share[] {
  const shares = new Map<number, Share>()
  for (const row of rows) {
    const weight = weightOf(row, gate)
    const share = shares.get(weight) ?? { weight, count: 0, rating_sum_e6: 0 }
    share.count += row.count
    share.rating_sum_e6 += row.rating_sum_e6
    shares.set(weight, share)
  }
  return [...shares.values()].sort((a, b) => a.weight - b.weight)
}

function weightOf(row: ReviewEvidence, gate: ReviewerGate | undefined): number {
  if (gate === undefined) return reviewerWeight(row)
  const weight = reviewerWeight(row) * gateFactor(gate, row.reviewer)
  const total = weight * row.count
  return total > gate.cap_k ? weight * (gate.cap_k / total) : weight
}

function cappedMass(shares: readonly Share[], cap: number) {
  const total = shares.reduce((sum, { weight, count }) => sum + weight * count, 0)
  const scale = total > cap ? cap / total : 1
  let [alpha, beta] = [0, 0]
  for (const { weight, count, rating_sum_e6 } of shares) {
    alpha += weight * scale * (rating_sum_e6 / RATING_UNIT)
    beta += weight * scale * ((count * RATING_UNIT - rating_sum_e6) / RATING_UNIT)
  }
  return { alpha, beta }
}

function clamp(value: number): number {
  return Math.min(Math.max(value, 0), 1)
}

function requireEvidence({ n_success, n_failure, n_pending, tier, reviews }: AgentEvidence): void {
  const counts = [n_success, n_failure, n_pending].every(isCount)
  const tiered = (tier ?? null) === null || (Number(tier) >= 0 && Number(tier) <= 1)
  const names = new Set(reviews.map(({ reviewer }) => reviewer))
  if (counts && tiered && names.size === reviews.length && reviews.every(isReview)) return
  throw new ProofError('out_of_range', 'not the evidence of one agent')
}

function isReview({ count, rating_sum_e6, observations, error_sum_e12 }: ReviewEvidence): boolean {
  const fits = isCount(count * RATING_UNIT) && isCount(rating_sum_e6) && isCount(observations)
  return fits && rating_sum_e6 <= count * RATING_UNIT && error_sum_e12 >= 0n
}

export const BANDS = ['gold', 'silver', 'bronze', 'unproven'] as const
export type Band = (typeof BANDS)[number]

/** The fewest resolved decisions for a band. */
const PROVEN_MIN = 3

/** The bands, best first; the first that fits applies. `text` is the limit in the rationale. */
const RULES = [
  { band: 'gold', score: 0.8, text: '0.8', resolved: 20 },
  { band: 'silver', score: 0.65, text: '0.65', resolved: 10 },
  { band: 'bronze', score: 0, text: '0.0', resolved: PROVEN_MIN },
] as const

export function bandOf(score: number, resolved: number): Band {
  return ruleOf(score, resolved)?.band ?? 'unproven'
}

export function rationaleOf(score: number, resolved: number): string {
  const rule = ruleOf(score, resolved)
  if (rule === undefined) return `n_resolved=${resolved} < proven floor ${PROVEN_MIN}`
  const { text } = rule
  return `score ${thousandths(score)} ≥ ${text} and n_resolved ${resolved} ≥ ${rule.resolved}`
}

function ruleOf(score: number, resolved: number) {
  return RULES.find((rule) => score >= rule.score && resolved >= rule.resolved)
}

/**
 * Formats with three decimals, rounding ties to even. The text is signed, and `toFixed` would round
 * ties up. In binary, only odd sixteenths lie halfway between two thousandths.
 */
function thousandths(score: number): string {
  if ((score * 16) % 2 !== 1) return score.toFixed(3)
  const below = Math.floor(score * 1000)
  return ((below % 2 === 0 ? below : below + 1) / 1000).toFixed(3)
}
