// The rankings the grid compares: each orders the facts of one question, best first. Pure.

import type {
  RawScores,
  ScoredFacts,
} from '../packages/server/src/slices/memory/testing/in-process-scores.ts'

export interface GridQuestion extends RawScores {
  readonly scored: ScoredFacts
  readonly sessions: readonly string[]
  readonly text: string
}

export interface Variant {
  readonly label: string
  order(asked: GridQuestion): number[]
}

const byScore = (scores: Float64Array): number[] =>
  [...scores.keys()].sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b)

const best = (scores: Float64Array): number => scores.reduce((most, x) => Math.max(most, x), 0) || 1

/** Words plus `weight` times the best words times the cosine. */
function fuse({ words, likeness }: RawScores, weight: number): Float64Array {
  const most = best(words)
  return words.map((own, at) => own + weight * most * Math.max(0, likeness[at] ?? 0))
}

/** Each fact's likeness plus a share of the best among the two before and after in its session. */
function lend(asked: GridQuestion, share: number): GridQuestion {
  const { likeness, sessions } = asked
  const near = (at: number) =>
    [at - 2, at - 1, at + 1, at + 2].filter((other) => sessions[other] === sessions[at])
  const lent = likeness.map((own, at) => {
    const around = near(at).map((other) => likeness[other] ?? 0)
    return Math.max(0, own) + share * Math.max(0, ...around)
  })
  return { ...asked, likeness: lent }
}

/** Pseudo-relevance feedback: rare words of the first hits are asked for too. */
function feedback(asked: GridQuestion, hits: number, terms: number): GridQuestion {
  const { scored, words, text } = asked
  const inFacts = new Map<string, number>()
  for (const own of scored.terms)
    for (const term of new Set(own)) inFacts.set(term, (inFacts.get(term) ?? 0) + 1)
  const weights = new Map<string, number>()
  for (const at of byScore(words).slice(0, hits))
    for (const term of new Set(scored.terms[at])) {
      const rarity = Math.log(1 + scored.terms.length / (inFacts.get(term) ?? 1))
      weights.set(term, (weights.get(term) ?? 0) + (words[at] ?? 0) * rarity)
    }
  const asks = new Set(text.toLowerCase().split(/\W+/))
  const added = [...weights]
    .filter(([term]) => !asks.has(term) && (inFacts.get(term) ?? 0) > 1)
    .sort(([, a], [, b]) => b - a)
    .slice(0, terms)
  const more = scored.words(added.map(([term]) => term).join(' '))
  const most = best(words)
  const scale = (0.2 * most) / best(more)
  return { ...asked, words: words.map((own, at) => own + scale * (more[at] ?? 0)) }
}

/** Facts looked at when choosing for variety. */
const POOL = 100

/** Maximal marginal relevance: what is like what was chosen already counts for less. */
function diversify(asked: GridQuestion, scores: Float64Array, penalty: number): number[] {
  const order = byScore(scores)
  const pool = new Set(order.slice(0, POOL))
  const most = best(scores)
  const nearest = new Map<number, number>()
  const chosen: number[] = []
  while (pool.size > 0) {
    const worth = (at: number) => (scores[at] ?? 0) - penalty * most * (nearest.get(at) ?? 0)
    const next = [...pool].reduce((a, b) => (worth(b) > worth(a) ? b : a))
    pool.delete(next)
    chosen.push(next)
    for (const at of pool)
      nearest.set(at, Math.max(nearest.get(at) ?? 0, asked.scored.alike(at, next)))
  }
  return [...chosen, ...order.slice(POOL)]
}

/** Shorter facts first among equals, the more so the higher the power. */
const byDensity = ({ scored }: GridQuestion, scores: Float64Array, power: number): number[] =>
  byScore(scores.map((score, at) => score / Math.max(1, scored.tokens[at] ?? 1) ** power))

/** As built: one and a half. */
const CHOSEN = 1.5

export const variants: readonly Variant[] = [
  { label: 'words alone', order: ({ words }) => byScore(words) },
  { label: 'likeness alone', order: ({ likeness }) => byScore(likeness) },
  ...[0.25, 0.5, 0.75, 1, CHOSEN, 2, 3].map((weight) => ({
    label: `words + ${weight} likeness${weight === CHOSEN ? ' (as built)' : ''}`,
    order: (asked: GridQuestion) => byScore(fuse(asked, weight)),
  })),
  ...[0.3, 0.5].map((share) => ({
    label: `as built, neighbours lend ${share} of likeness`,
    order: (asked: GridQuestion) => byScore(fuse(lend(asked, share), CHOSEN)),
  })),
  ...[
    [3, 5],
    [10, 10],
  ].map(([hits = 0, terms = 0]) => ({
    label: `as built, ${terms} words of the first ${hits} asked for too`,
    order: (asked: GridQuestion) => byScore(fuse(feedback(asked, hits, terms), CHOSEN)),
  })),
  ...[0.1, 0.2].map((penalty) => ({
    label: `as built, likeness to what is chosen costs ${penalty}`,
    order: (asked: GridQuestion) => diversify(asked, fuse(asked, CHOSEN), penalty),
  })),
  ...[0.1, 0.3].map((power) => ({
    label: `as built, by score over tokens^${power}`,
    order: (asked: GridQuestion) => byDensity(asked, fuse(asked, CHOSEN), power),
  })),
]
