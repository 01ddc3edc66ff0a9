// Scores: the rows of the contract, the caps on reviews, and the same bits from the same evidence.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sha256 } from '../core/digest.ts'
import { toHex } from '../core/encoding.ts'
import { ProofError } from '../core/errors.ts'
import { readVector } from '../testing/fixtures.ts'
import {
  type AgentEvidence,
  type AgentScore,
  gateFactor,
  type ReviewEvidence,
  type ReviewerGate,
  reviewerWeight,
  score,
} from './scoring.ts'

const evidence = (members: Partial<AgentEvidence>): AgentEvidence => ({
  n_success: 0,
  n_failure: 0,
  n_pending: 0,
  reviews: [],
  ...members,
})

const review = (members: Partial<ReviewEvidence>): ReviewEvidence => ({
  reviewer: 'r-1',
  count: 1,
  rating_sum_e6: 1_000_000,
  observations: 0,
  error_sum_e12: 0n,
  ...members,
})

/** Five ratings, each off by 0.1. */
const TRUSTED = { observations: 5, error_sum_e12: 5n * 10_000_000_000n }

const near = (found: number, expected: number, about: string, error = 1e-15) =>
  assert.ok(Math.abs(found - expected) <= error * expected, `${about}: ${found} for ${expected}`)

// Case, evidence, score, confidence, resolved/pending, band.
const ROWS: readonly (readonly [string, Partial<AgentEvidence>, number, number, string, string])[] =
  [
    ['nothing resolved, 2 certifies', { n_pending: 2 }, 0.5, 2, '0/2', 'unproven'],
    ['3 paid', { n_success: 3 }, 0.8, 5, '3/0', 'bronze'],
    ['20 paid, 2 default', { n_success: 20, n_failure: 2 }, 0.875, 24, '22/0', 'gold'],
    ['12 paid', { n_success: 12 }, 13 / 14, 14, '12/0', 'silver'],
    ['2 paid, 3 others', { n_success: 2, n_pending: 3 }, 0.75, 4, '2/3', 'unproven'],
    [
      '1 pending, one unknown reviewer',
      { n_pending: 1, reviews: [review({})] },
      1.05 / 2.05,
      2.05,
      '0/1',
      'unproven',
    ],
    [
      'pending, rated 1.0 by weight 0.96',
      { n_pending: 1, reviews: [review(TRUSTED)] },
      1.96 / 2.96,
      2.96,
      '0/1',
      'unproven',
    ],
    ['that one paid', { n_success: 1 }, 2 / 3, 3, '1/0', 'unproven'],
    ['tier 0.75', { tier: 0.75 }, 4 / 6, 6, '0/0', 'unproven'],
    ['tier 0.5, 10 paid', { tier: 0.5, n_success: 10 }, 0.76, 16, '10/0', 'silver'],
    ['tier 0.5, 20 paid', { tier: 0.5, n_success: 20 }, 23 / 26, 26, '20/0', 'gold'],
    ['paid, then default', { n_failure: 1 }, 1 / 3, 3, '1/0', 'unproven'],
    ['rule certify and reject', {}, 0.5, 2, '0/0', 'unproven'],
  ]

for (const [about, members, value, confidence, counts, band] of ROWS)
  test(`contract: ${about}`, () => {
    const found = score(evidence(members))
    assert.equal(found.cgr_score, value)
    assert.equal(found.confidence, confidence)
    assert.equal(`${found.n_resolved}/${found.n_pending}`, counts)
    assert.equal(found.band, band)
    assert.ok(found.cgr_lower > 0 && found.cgr_lower < found.cgr_score)
  })

test('contract: the weight of a reviewer', () => {
  assert.equal(reviewerWeight(TRUSTED), 0.96)
  assert.equal(reviewerWeight({ observations: 4, error_sum_e12: 0n }), 0.05)
  assert.equal(reviewerWeight({ observations: 0, error_sum_e12: 0n }), 0.05)
  const coin = 250_000_000_000n
  assert.equal(reviewerWeight({ observations: 8, error_sum_e12: 8n * coin }), 0)
  assert.equal(reviewerWeight({ observations: 8, error_sum_e12: 24n * coin }), 0)
  assert.equal(reviewerWeight({ observations: 1_000_000, error_sum_e12: 0n }), 1)
})

test('contract: the gate halves a weight of 0.55 at 0.1, and one source at twice the cap', () => {
  const gate: ReviewerGate = {
    tau: 0.1,
    cap_k: 3,
    weights: new Map([
      ['r-1', 0.55],
      ['full', 1],
    ]),
  }
  near(gateFactor(gate, 'r-1'), 0.5, 'factor')
  assert.equal(gateFactor(gate, 'unknown'), 0)
  assert.equal(gateFactor({ ...gate, tau: 1 }, 'full'), 0)
  assert.equal(gateFactor({ ...gate, tau: Number.NaN }, 'full'), 0)
  const flawless = { observations: 9, error_sum_e12: 0n }
  const six = review({ ...flawless, reviewer: 'full', count: 6, rating_sum_e6: 6_000_000 })
  const known = evidence({ n_success: 9, reviews: [six] })
  assert.equal(score(known).review_mass, 6)
  assert.equal(score(known, gate).review_mass, 3)
  const faint = evidence({ n_pending: 1, reviews: [review(TRUSTED)] })
  near(score(faint, gate).review_mass, 0.48, 'gated mass')
  assert.equal(score(evidence({ reviews: [review({ reviewer: 'x' })] }), gate).review_mass, 0)
})

type Case = { name: string; evidence: unknown; score: Record<string, number> }
type Given = Omit<AgentEvidence, 'reviews'> & {
  reviews: (Omit<ReviewEvidence, 'error_sum_e12'> & { error_sum_e12: string })[]
}

test('vectors: exact fractions, rounded once, agree to the last digits', () => {
  const { cases } = readVector<{ cases: (Case & { evidence: Given })[] }>('reputation-scores.json')
  assert.equal(cases.length, 14)
  for (const one of cases) {
    const reviews = one.evidence.reviews.map((row) => ({
      ...row,
      error_sum_e12: BigInt(row.error_sum_e12),
    }))
    const found = new Map(Object.entries(score({ ...one.evidence, reviews })))
    for (const [field, value] of Object.entries(one.score))
      near(Number(found.get(field)), value, `${one.name}, ${field}`, 1e-15)
  }
})

const count = fc.integer({ min: 0, max: 400 })
const reviewRow = fc
  .record({
    count: fc.integer({ min: 0, max: 50 }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    observations: fc.integer({ min: 0, max: 40 }),
    error: fc.integer({ min: 0, max: 500_000_000_000 }),
  })
  .map(({ count, share, observations, error }) => ({
    count,
    rating_sum_e6: Math.floor(share * count * 1_000_000),
    observations,
    error_sum_e12: BigInt(error) * BigInt(observations),
  }))
const reviewRows = fc
  .array(reviewRow, { maxLength: 60 })
  .map((rows) => rows.map((row, i) => ({ ...row, reviewer: `r-${i}` })))
const anyEvidence = fc.record({
  n_success: count,
  n_failure: count,
  n_pending: count,
  reviews: reviewRows,
})

const bits = (found: AgentScore): string =>
  JSON.stringify(
    [
      ...new Float64Array([
        found.cgr_score,
        found.confidence,
        found.post_alpha,
        found.post_beta,
        found.cgr_lower,
        found.review_mass,
      ]),
    ].map(String),
  )

test('neither the order of reviewers nor their names change a bit', () => {
  fc.assert(
    fc.property(anyEvidence, fc.infiniteStream(fc.nat()), (given, order) => {
      const expected = bits(score(given))
      const shuffled = given.reviews
        .map((row) => ({ row, at: order.next().value ?? 0 }))
        .sort((a, b) => a.at - b.at)
        .map(({ row }, i) => ({ ...row, reviewer: `other-${i}` }))
      assert.equal(bits(score({ ...given, reviews: shuffled })), expected)
    }),
  )
})

test('the bits of a thousand scores are these, on every machine', () => {
  let state = 7
  const next = (end: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return (state >>> 8) % end
  }
  let text = ''
  for (let i = 0; i < 1000; i++) {
    const reviews = Array.from({ length: next(12) }, (_, r) => {
      const [ratings, observations] = [next(9), next(12)]
      const rating_sum_e6 = next(ratings * 1_000_000 + 1)
      const error_sum_e12 = BigInt(next(8_000_000)) * 50_000n * BigInt(observations)
      return { reviewer: `r-${r}`, count: ratings, rating_sum_e6, observations, error_sum_e12 }
    })
    const counts = { n_success: next(300), n_failure: next(100), n_pending: next(50) }
    text += bits(score({ ...counts, reviews }))
  }
  assert.equal(
    toHex(sha256(new TextEncoder().encode(text))),
    '11bc30c1399b6d2df868b981545e11aad7573531046bf714c80407dad160a936',
  )
})

test('who is without a track record moves a score by at most 0.05, whatever their number', () => {
  const few = reviewRow.map((row) => ({ ...row, observations: 0, error_sum_e12: 0n }))
  const sybils = fc.array(few, { maxLength: 200 })
  fc.assert(
    fc.property(anyEvidence, sybils, (given, rows) => {
      const added = rows.map((row, i) => ({ ...row, reviewer: `sybil-${i}` }))
      const before = score(given).cgr_score
      const after = score({ ...given, reviews: [...given.reviews, ...added] }).cgr_score
      assert.ok(Math.abs(after - before) <= 0.05, `${before} to ${after}`)
    }),
    { numRuns: 500 },
  )
})

test('reviews never weigh more than the caps, nor change what is resolved', () => {
  fc.assert(
    fc.property(anyEvidence, (given) => {
      const found = score(given)
      const n = given.n_success + given.n_failure
      assert.equal(found.n_resolved, n)
      assert.ok(found.review_mass <= (Math.max(1, n) + 0.05 * (2 + n)) * (1 + 1e-15))
      assert.ok(found.cgr_score > 0 && found.cgr_score < 1)
      assert.ok(found.cgr_lower < found.cgr_score)
      near(found.post_alpha + found.post_beta, found.confidence, 'confidence')
    }),
  )
})

test('what exceeds a cap is scaled down in proportion: the mean of the ratings stays', () => {
  const flawless = { observations: 20, error_sum_e12: 0n }
  const rows = [
    review({ ...flawless, reviewer: 'a', count: 30, rating_sum_e6: 30_000_000 }),
    review({ ...flawless, reviewer: 'b', count: 10, rating_sum_e6: 0 }),
  ]
  const found = score(evidence({ n_success: 4, n_failure: 4, reviews: rows }))
  assert.equal(found.review_mass, 8)
  near(found.post_alpha, 5 + 6, 'alpha')
  near(found.post_beta, 5 + 2, 'beta')
})

test('a rationale has three decimals, a tie to the even one', () => {
  const text = (s: number, f: number) => score(evidence({ n_success: s, n_failure: f })).rationale
  assert.equal(text(1, 1), 'n_resolved=2 < proven floor 3')
  assert.equal(text(3, 0), 'score 0.800 ≥ 0.0 and n_resolved 3 ≥ 3')
  assert.equal(text(12, 2), 'score 0.812 ≥ 0.65 and n_resolved 14 ≥ 10')
  assert.equal(text(6, 8), 'score 0.438 ≥ 0.0 and n_resolved 14 ≥ 3')
  assert.equal(text(20, 2), 'score 0.875 ≥ 0.8 and n_resolved 22 ≥ 20')
})

const REFUSED: Readonly<Record<string, Partial<AgentEvidence>>> = {
  'a negative count': { n_success: -1 },
  'a part of a count': { n_failure: 0.5 },
  'a tier above one': { tier: 1.1 },
  'a tier that is no number': { tier: Number.NaN },
  'a reviewer twice': { reviews: [review({}), review({})] },
  'ratings above one': { reviews: [review({ rating_sum_e6: 1_000_001 })] },
  'negative ratings': { reviews: [review({ rating_sum_e6: -1 })] },
  'negative errors': { reviews: [review({ error_sum_e12: -1n })] },
}
for (const [about, members] of Object.entries(REFUSED))
  test(`evidence with ${about} is refused`, () => {
    assert.throws(
      () => score(evidence(members)),
      (error) => error instanceof ProofError && error.code === 'out_of_range',
    )
  })
