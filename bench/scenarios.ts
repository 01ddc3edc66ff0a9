// The scenarios: their requests, the data of the service, the ceilings and the goals.

import { get, type HttpRequest, post } from './load.ts'
import {
  AGENTS,
  type Checkpoint,
  decisionBody,
  factBody,
  MODEL,
  NO_CHECKPOINT,
  PERSON,
  REFERENTS,
  referentOf,
  type Stage,
  stages,
} from './stages.ts'
import { randomOf, sentence } from './texts.ts'

/** Makes requests of one kind, all of them different. */
export interface Operation {
  readonly name: string
  readonly connections: number
  /** Number of memories or decisions in one request, if rates count these. */
  readonly items?: number
  /** For requests that use up the data of the service: seconds before the rounds. */
  readonly warm_up_s_max?: number
  /** @param checkpoint the checkpoint for requests of proofs */
  make(index: number, checkpoint?: Checkpoint): HttpRequest
}

/**
 * What the service is compared with. `spike`: bench/spike.ts. `bare`: a route that returns the same
 * answer. `10k`: the service with 10,000 memories. `embedded`: the service on the embedded engine.
 */
export type Ceiling = 'spike' | 'bare' | '10k' | 'embedded'

/** A bound on one figure of the service. */
export type Goal =
  | { readonly kind: 'ratio'; readonly to: Ceiling; readonly min: number }
  | { readonly kind: 'cpu_ratio'; readonly to: Ceiling; readonly max: number }
  | { readonly kind: 'times_before'; readonly min: number }
  | { readonly kind: 'items_per_core'; readonly min: number }
  | {
      readonly kind: 'p99_ms' | 'longest_ms' | 'other_ms' | 'main_us'
      readonly max: number
    }

export interface Scenario {
  readonly name: string
  readonly operation: Operation
  readonly stage: Stage
  readonly ceilings: readonly Ceiling[]
  /** Requests that are sent to the same service at the same time, and not measured. */
  readonly meanwhile?: Operation
  /** Whether the wait of other requests is measured meanwhile. */
  readonly others?: boolean
  readonly goals: readonly Goal[]
  /** Takes many minutes and runs only if requested. */
  readonly long?: boolean
}

/** Offset that makes the texts of requests differ from those of the stage. */
const NEW = 10_000_000

export const log: Operation = {
  name: 'decision log',
  connections: 32,
  make: (index) => post('/v1/decisions/log', decisionBody(NEW + index)),
}

export const write: Operation = {
  name: 'write',
  connections: 32,
  make: (index) => post('/v1/stores/default/write', factBody(NEW + index)),
}

const BATCH = 100

const writeBatch: Operation = {
  name: 'write_batch of 100',
  connections: 8,
  items: BATCH,
  make: (index) =>
    post('/v1/stores/default/write_batch', {
      items: Array.from({ length: BATCH }, (_, i) => factBody(NEW + index * BATCH + i)),
    }),
}

const evaluate: Operation = {
  name: 'evaluate, 20 policies',
  connections: 8,
  make: (index) =>
    post('/v1/governance/evaluate', {
      operation: 'inference',
      context: {
        model_id: MODEL,
        store_id: 'default',
        query: `${sentence(randomOf(index), 14)}?`,
        tokens: 900,
      },
    }),
}

/** Outcomes that differ from the current one, so that each request changes it. */
const outcome: Operation = {
  name: 'outcome',
  connections: 32,
  make: (index) =>
    post('/v1/governed/outcomes', {
      invoice_ref: referentOf(index),
      outcome: Math.floor(index / REFERENTS) % 2 === 0 ? 'paid' : 'default',
      outcome_date: '2026-01-31T09:30:00Z',
      amount_recovered: 1_234.5,
      source: 'ledger',
    }),
}

const retrieve: Operation = {
  name: 'retrieve',
  connections: 8,
  make: (index) =>
    post('/v1/stores/default/retrieve', {
      query: sentence(randomOf(index), 12),
      budget_tokens: 512,
    }),
}

/** The first of the refs that no decision of the bench names. */
const FIRST_ERASED = 11

const erase: Operation = {
  name: 'erasure',
  connections: 8,
  warm_up_s_max: 2,
  make: (index) => post('/v1/erasure/issue', { fact_ref: FIRST_ERASED + index }),
}

const score: Operation = {
  name: 'score read',
  connections: 8,
  make: (index) => get(`/v1/cgr/scores/agent-${index % AGENTS}`),
}

const list: Operation = {
  name: 'list of 100 decisions',
  connections: 8,
  make: () => get('/v1/decisions?limit=100'),
}

const exported: Operation = {
  name: 'export, a decision',
  connections: 1,
  items: stages.small.decisions,
  make: () => get('/v1/decisions/export'),
}

const proof: Operation = {
  name: 'proof of an entry',
  connections: 8,
  make: (index, { epoch_number, tree_size } = NO_CHECKPOINT) =>
    get(`/v1/gcrumbs/epochs/${epoch_number}/proof?seq=${(index * 7) % tree_size}`),
}

const statistics: Operation = {
  name: 'statistics of a store',
  connections: 1,
  make: () => get('/v1/stores/default/stats'),
}

const access: Operation = {
  name: 'access of a person',
  connections: 1,
  make: () => post('/v1/erasure/subject/access', { find: { text: PERSON } }),
}

const ofBare = (min: number): Goal => ({ kind: 'ratio', to: 'bare', min })
const ofSpike = (min: number): Goal => ({ kind: 'ratio', to: 'spike', min })
const p99 = (max: number): Goal => ({ kind: 'p99_ms', max })

/** Goals for PostgreSQL. On the embedded engine there is nothing to compare with. */
const onPostgres: readonly Goal[] = [
  { kind: 'ratio', to: 'embedded', min: 0.7 },
  { kind: 'cpu_ratio', to: 'embedded', max: 1.4 },
]

const OTHERS_MAX_MS = 50
const longest: Goal = { kind: 'longest_ms', max: 250 }

type ScenarioOptions = Partial<Omit<Scenario, 'operation' | 'stage'>>

const scenario = (operation: Operation, stage: Stage, options: ScenarioOptions = {}): Scenario => ({
  name: operation.name,
  operation,
  stage,
  ceilings: [],
  goals: [],
  ...options,
})

const { small, policies } = stages

const retrieveIn = (stage: Stage, p99_ms: number, options: ScenarioOptions = {}): Scenario =>
  scenario(retrieve, stage, {
    name: `retrieve in ${stage.name}`,
    others: true,
    goals: [p99(p99_ms), { kind: 'other_ms', max: OTHERS_MAX_MS }],
    ...options,
  })

/** Scenarios in a large store: as fast as in a small one, without long waits during searches. */
const inLargeStore = (operation: Operation): Scenario[] => [
  scenario(operation, stages['100k'], {
    name: `${operation.name} at 100k`,
    ceilings: ['10k'],
    goals: [{ kind: 'ratio', to: '10k', min: 0.8 }, longest],
  }),
  scenario(operation, stages['100k'], {
    name: `${operation.name} at 100k, searched`,
    meanwhile: retrieve,
    goals: [longest],
  }),
]

/** Scenarios grouped by stage, reads before writes, so that its services are started once. */
export const scenarios: readonly Scenario[] = [
  scenario(list, small, { ceilings: ['bare'], goals: [ofBare(0.2)] }),
  scenario(exported, small, { ceilings: ['bare'] }),
  scenario(proof, small, { ceilings: ['bare'], goals: [ofBare(0.4)] }),
  scenario(score, small, { ceilings: ['bare'] }),
  scenario(access, small),
  scenario(outcome, small, { ceilings: ['bare'] }),
  ...[log, write].map((operation) =>
    scenario(operation, small, {
      ceilings: ['spike', 'embedded', 'bare'],
      goals: [ofSpike(0.8), ...onPostgres],
    }),
  ),
  scenario(writeBatch, small, {
    goals: [
      { kind: 'items_per_core', min: 5_000 },
      { kind: 'main_us', max: 40 },
    ],
  }),
  scenario(evaluate, policies, { ceilings: ['bare'], goals: [ofBare(0.5), p99(5)] }),
  retrieveIn(stages['10k'], 10, { ceilings: ['bare'] }),
  scenario(erase, stages['10k'], { goals: [{ kind: 'times_before', min: 3 }] }),
  retrieveIn(stages['100k'], 40),
  scenario(statistics, stages['100k'], {
    name: 'statistics at 100k',
    others: true,
    goals: [{ kind: 'other_ms', max: OTHERS_MAX_MS }],
  }),
  ...[score, log, erase, write].flatMap(inLargeStore),
  retrieveIn(stages['1M'], 250, { long: true }),
]
