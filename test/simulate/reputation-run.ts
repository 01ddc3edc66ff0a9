// The scenarios of reputation: who reviews, and what that does to scores with and without caps.

import { type AgentEvidence, RATING_UNIT, reviewerWeight, score } from '@custos/proof'
import { calibrationError, kendall, mean, spearman } from './reputation-measures.ts'
import { type Crowd, evidenceOf, reviewsOf, type World, worldOf } from './reputation-world.ts'

const HONEST: Crowd = { honest: 12, random: 0, inverted: 0, sybils: 0, trained: 0 }
const MIXED: Crowd = { ...HONEST, random: 6, inverted: 6 }

/** Of the reviewers with no track record: nine in ten of all reviewers. */
const SYBILS = 9 * (MIXED.honest + MIXED.random + MIXED.inverted)

export const SCENARIOS = {
  'no reviewers': { ...HONEST, honest: 0 },
  'honest reviewers': HONEST,
  'and random, inverted ones': MIXED,
  '90 % Sybils': { ...MIXED, sybils: SYBILS },
  '6 trained colluders': { ...MIXED, trained: 6 },
  'Sybils and trained': { ...MIXED, sybils: SYBILS, trained: 6 },
} as const satisfies Readonly<Record<string, Crowd>>
export type Scenario = keyof typeof SCENARIOS

/** What an attack is compared with: the same world, the same other reviewers. */
const UNATTACKED: Crowd = MIXED

export type Scorer = 'with caps' | 'without caps'

/** The posterior mean of contract and caps, or of the contract alone. */
const SCORERS: Readonly<Record<Scorer, (evidence: AgentEvidence) => number>> = {
  'with caps': (evidence) => score(evidence).cgr_score,
  'without caps': (evidence) => {
    const { n_success, n_failure, reviews } = evidence
    let [alpha, beta] = [1 + n_success, 1 + n_failure]
    for (const row of reviews) {
      const good = (reviewerWeight(row) * row.rating_sum_e6) / RATING_UNIT
      alpha += good
      beta += reviewerWeight(row) * row.count - good
    }
    return alpha / (alpha + beta)
  },
}

export interface Row {
  readonly scenario: Scenario
  readonly scorer: Scorer
  readonly spearman: number
  readonly kendall: number
  readonly calibration: number
  /** How far scores are from where the same world without the attack has them. */
  readonly shift_mean: number
  readonly shift_max: number
}

interface Scored {
  readonly world: World
  readonly scores: readonly number[]
  readonly shifts: readonly number[]
}

function scoreWorld(seed: number, scenario: Scenario, scorer: Scorer): Scored {
  const world = worldOf(seed)
  const scoresOf = (crowd: Crowd) =>
    evidenceOf(world, reviewsOf(world, crowd, seed)).map(SCORERS[scorer])
  const scores = scoresOf(SCENARIOS[scenario])
  const before = scoresOf(UNATTACKED)
  const shifts = scores.map((value, at) => Math.abs(value - (before[at] ?? 0)))
  return { world, scores, shifts }
}

/** Agents whose holder has left are out of the ranks: nobody deals with them any more. */
function present({ world, scores }: Scored) {
  const all = world.agents.map(({ left, truth }, at) => ({ left, truth, value: scores[at] ?? 0 }))
  const here = all.filter(({ left }) => !left)
  return { values: here.map(({ value }) => value), truths: here.map(({ truth }) => truth) }
}

export function measure(scenario: Scenario, scorer: Scorer, seeds: readonly number[]): Row {
  const runs = seeds.map((seed) => scoreWorld(seed, scenario, scorer))
  const ranked = runs.map(present)
  const shifts = runs.flatMap((run) => run.shifts)
  return {
    scenario,
    scorer,
    spearman: mean(ranked.map(({ values, truths }) => spearman(values, truths))),
    kendall: mean(ranked.map(({ values, truths }) => kendall(values, truths))),
    calibration: calibrationError(
      ranked.flatMap(({ values }) => values),
      ranked.flatMap(({ truths }) => truths),
    ),
    shift_mean: mean(shifts),
    shift_max: Math.max(...shifts),
  }
}

/** Mean score and mean truth of each kind of agent. */
export function meansByKind(scenario: Scenario, seeds: readonly number[]) {
  const rows = seeds.flatMap((seed) => {
    const { world, scores } = scoreWorld(seed, scenario, 'with caps')
    return world.agents.map((agent, at) => ({ ...agent, value: scores[at] ?? 0 }))
  })
  const kinds = Map.groupBy(rows, ({ kind, left }) => (left ? `${kind}, left behind` : kind))
  return [...kinds].map(([kind, own]) => ({
    kind,
    agents: own.length,
    truth: mean(own.map(({ truth }) => truth)),
    score: mean(own.map(({ value }) => value)),
  }))
}

export const seedsOf = (count: number): readonly number[] =>
  Array.from({ length: count }, (_, i) => i + 1)
