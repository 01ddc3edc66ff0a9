// A seeded world of agents, outcomes and reviewers, and the evidence a service would hold of it.

import { type AgentEvidence, RATING_UNIT, type ReviewEvidence } from '@custos/proof'

/** Numbers in [0, 1), the same for the same seed (mulberry32). */
export type Random = () => number

export function randomOf(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/**
 * honest: certifies what it has looked at. lazy: certifies everything. colluding: mostly wrong,
 * with friends among the reviewers. whitewashing: as wrong, takes a new identity when it shows.
 */
export type AgentKind = 'honest' | 'lazy' | 'colluding' | 'whitewashing'

interface Habits {
  readonly kind: AgentKind
  readonly count: number
  /** The share of its certifies that turn out well lies in this range. */
  readonly truth: readonly [number, number]
  /** Certifies per round, and rounds until an outcome is known, on average. */
  readonly rate: number
  readonly delay: number
}

const HABITS: readonly Habits[] = [
  { kind: 'honest', count: 24, truth: [0.6, 0.98], rate: 0.6, delay: 6 },
  { kind: 'lazy', count: 6, truth: [0.45, 0.65], rate: 1, delay: 6 },
  { kind: 'colluding', count: 5, truth: [0.2, 0.45], rate: 0.6, delay: 15 },
  { kind: 'whitewashing', count: 5, truth: [0.2, 0.45], rate: 0.6, delay: 6 },
]
const ROUNDS = 40
/** Outcomes that never become known. */
const NEVER = 0.15
/** A whitewasher leaves an identity with this many outcomes and fewer than half of them good. */
const WHITEWASH_AFTER = 5

/** An identity that a score is given to. `left`: its holder has gone on to another. */
export interface Agent {
  readonly kind: AgentKind
  readonly truth: number
  left: boolean
}

export interface Decision {
  readonly agent: number
  readonly good: boolean
  /** Whether the outcome is known at the end. */
  readonly resolved: boolean
}

export interface World {
  readonly agents: readonly Agent[]
  readonly decisions: readonly Decision[]
}

/** Nothing here depends on reviews, so that worlds with and without an attack can be compared. */
export function worldOf(seed: number): World {
  const random = randomOf(seed)
  const agents: Agent[] = []
  const decisions: Decision[] = []
  for (const habits of HABITS)
    for (let i = 0; i < habits.count; i++) live(habits, random, { agents, decisions })
  return { agents, decisions }
}

type Growing = { readonly agents: Agent[]; readonly decisions: Decision[] }

function live(habits: Habits, random: Random, { agents, decisions }: Growing): void {
  const [least, most] = habits.truth
  const truth = least + (most - least) * random()
  const begin = () => agents.push({ kind: habits.kind, truth, left: false }) - 1
  let agent = begin()
  let seen: { readonly good: boolean; readonly at: number }[] = []
  for (let round = 0; round < ROUNDS; round++) {
    if (random() < habits.rate) {
      const good = random() < truth
      const at = random() < NEVER ? ROUNDS : round + 1 + 2 * habits.delay * random()
      decisions.push({ agent, good, resolved: at < ROUNDS })
      seen.push({ good, at })
    }
    const known = seen.filter(({ at }) => at <= round)
    const bad = known.filter(({ good }) => !good).length
    if (habits.kind !== 'whitewashing' || known.length < WHITEWASH_AFTER) continue
    if (2 * bad <= known.length) continue
    const [old] = agents.slice(agent)
    if (old !== undefined) old.left = true
    agent = begin()
    seen = []
  }
}

export interface Review {
  readonly reviewer: string
  readonly decision: number
  /** In [0, 1]. */
  readonly rating: number
}

/** Whether an honest look at a decision tells how it will turn out. */
const ACCURACY = 0.85
/** The share of all decisions that a reviewer looks at. */
const DILIGENCE = 0.08

type Opinion = (good: boolean, random: Random) => number

const honest: Opinion = (good, random) => {
  const right = random() < ACCURACY
  return (good === right ? 0.75 : 0.05) + 0.2 * random()
}
const careless: Opinion = (_good, random) => random()
const inverted: Opinion = (good, random) => 1 - honest(good, random)

function reviewsBy(name: string, opinion: Opinion, world: World, random: Random): Review[] {
  const seen = world.decisions.map((decision, at) => ({ decision, at }))
  return seen
    .filter(() => random() < DILIGENCE)
    .map(({ decision, at }) => {
      return { reviewer: name, decision: at, rating: opinion(decision.good, random) }
    })
}

export interface Crowd {
  readonly honest: number
  readonly random: number
  readonly inverted: number
  /** Reviewers who push, each with fewer observations than make a track record. */
  readonly sybils: number
  /** Reviewers who earned a track record with honest ratings before they push. */
  readonly trained: number
}

/** Reviews of everybody in the crowd. Each group has chance of its own. */
export function reviewsOf(world: World, crowd: Crowd, seed: number): readonly Review[] {
  const group = (salt: number, count: number, prefix: string, by: Opinion) => {
    const random = randomOf(seed * 31 + salt)
    const names = Array.from({ length: count }, (_, i) => `${prefix}-${i}`)
    return names.flatMap((name) => reviewsBy(name, by, world, random))
  }
  return [
    ...group(1, crowd.honest, 'honest', honest),
    ...group(2, crowd.random, 'random', careless),
    ...group(3, crowd.inverted, 'inverted', inverted),
    ...sybilReviews(world, crowd.sybils, randomOf(seed * 31 + 4)),
    ...trainedReviews(world, crowd.trained, randomOf(seed * 31 + 5)),
  ]
}

/** What pushes: praise for the colluding agents, blame for the best of the honest. */
function pushesOf(world: World): readonly Omit<Review, 'reviewer'>[] {
  const best = world.agents
    .map(({ kind, truth }, agent) => ({ kind, truth, agent }))
    .filter(({ kind }) => kind === 'honest')
    .sort((a, b) => b.truth - a.truth)
  const rivals = new Set(best.slice(0, 5).map(({ agent }) => agent))
  return world.decisions.flatMap(({ agent, resolved }, decision) => {
    if (resolved) return []
    if (world.agents[agent]?.kind === 'colluding') return [{ decision, rating: 1 }]
    return rivals.has(agent) ? [{ decision, rating: 0 }] : []
  })
}

/** Pushes of one name, so that it never collects the observations of a track record. */
const SYBIL_REVIEWS = 4

function sybilReviews(world: World, count: number, random: Random): Review[] {
  const pushes = pushesOf(world)
  const names = Array.from({ length: count }, (_, i) => `sybil-${i}`)
  return names.flatMap((reviewer) => {
    const first = Math.floor(random() * pushes.length)
    const chosen = [...pushes.slice(first), ...pushes].slice(0, SYBIL_REVIEWS)
    return chosen.map((push) => ({ reviewer, ...push }))
  })
}

function trainedReviews(world: World, count: number, random: Random): Review[] {
  const names = Array.from({ length: count }, (_, i) => `trained-${i}`)
  const pushes = pushesOf(world)
  return names.flatMap((name) => {
    const earned = reviewsBy(name, honest, world, random)
    const known = earned.filter(({ decision }) => world.decisions[decision]?.resolved)
    return [...known, ...pushes.map((push) => ({ reviewer: name, ...push }))]
  })
}

/** What the service holds of every agent at the end: the rules of docs/reputation.md. */
export function evidenceOf(world: World, reviews: readonly Review[]): readonly AgentEvidence[] {
  const rated = reviews.flatMap((review) => {
    const decision = world.decisions[review.decision]
    const rating_e6 = Math.round(review.rating * RATING_UNIT)
    return decision === undefined ? [] : [{ ...review, ...decision, rating_e6 }]
  })
  const records = Map.groupBy(
    rated.filter(({ resolved }) => resolved),
    ({ reviewer }) => reviewer,
  )
  const live = Map.groupBy(
    rated.filter(({ resolved }) => !resolved),
    ({ agent }) => agent,
  )
  const decided = Map.groupBy(world.decisions, ({ agent }) => agent)
  const recordOf = (reviewer: string) => {
    const observed = records.get(reviewer) ?? []
    const errors = observed.map(({ rating_e6, good }) => rating_e6 - (good ? RATING_UNIT : 0))
    const error_sum_e12 = errors.reduce((sum, error) => sum + BigInt(error) ** 2n, 0n)
    return { reviewer, observations: observed.length, error_sum_e12 }
  }
  const rowsOf = (agent: number): ReviewEvidence[] =>
    [...Map.groupBy(live.get(agent) ?? [], ({ reviewer }) => reviewer)].map(([reviewer, own]) => {
      const rating_sum_e6 = own.reduce((sum, { rating_e6 }) => sum + rating_e6, 0)
      return { ...recordOf(reviewer), count: own.length, rating_sum_e6 }
    })
  return world.agents.map((_, agent) => {
    const own = decided.get(agent) ?? []
    const n_success = own.filter(({ resolved, good }) => resolved && good).length
    const n_failure = own.filter(({ resolved, good }) => resolved && !good).length
    const n_pending = own.length - n_success - n_failure
    return { n_success, n_failure, n_pending, reviews: rowsOf(agent) }
  })
}
