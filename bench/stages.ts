// The data of a service before it is measured: memories, decisions, policies, reputation.

import { ask, get, type HttpRequest, post } from './load.ts'
import { randomOf, sentence } from './texts.ts'

export interface Stage {
  readonly name: string
  readonly facts: number
  readonly decisions: number
  readonly policies: number
}

export const stages = {
  small: { name: 'small', facts: 1_000, decisions: 2_000, policies: 0 },
  policies: { name: 'policies', facts: 0, decisions: 0, policies: 20 },
  '10k': { name: '10k', facts: 10_000, decisions: 100, policies: 0 },
  '100k': { name: '100k', facts: 100_000, decisions: 100, policies: 0 },
  '1M': { name: '1M', facts: 1_000_000, decisions: 100, policies: 0 },
} as const satisfies Record<string, Stage>

export const MODEL = 'model-1'
/** A person named in few memories and decisions, and in no memory that decisions use. */
export const PERSON = 'Jana Novak'
const NAMED_EVERY = 20
const FIRST_NAMED = 10
/** Divisible by the number of connections, each of which sends outcomes of its own referents. */
export const REFERENTS = 1_024
export const AGENTS = 50
const FACTS_AT_ONCE = 500
const REQUESTS_AT_ONCE = 32

const named = (index: number): string =>
  index % NAMED_EVERY === FIRST_NAMED ? ` for ${PERSON}` : ''

export const factBody = (index: number) => ({
  content: `${sentence(randomOf(index), 18)} ${index}${named(index)}`,
  options: { metadata: { session_id: `s${index % 50}` } },
})

export function decisionBody(index: number) {
  const next = randomOf(index)
  return {
    store_id: 'default',
    model_id: MODEL,
    session_id: `s${index % 50}`,
    query: `${sentence(next, 14)} ${index}${named(index)}?`,
    retrieved_refs: [1, 2, 3],
    retrieved_contents: [sentence(next, 16), sentence(next, 16), sentence(next, 16)],
    retrieved_scores: [0.9, 0.7, 0.4],
    output: `${sentence(next, 40)}.`,
    token_count: 180,
    latency_ms: 412.5,
  }
}

/** The referent of the certified decision to which the outcome with this number belongs. */
export const referentOf = (index: number): string => `invoice ${index % REFERENTS}`

const certified = (index: number) => ({
  decision: 'certify',
  agent_handle: `agent-${index % AGENTS}`,
  invoice_id: referentOf(index),
})

const patterns = [
  '\\b\\d{3}-\\d{2}-\\d{4}\\b',
  '\\b[A-Z]{2}\\d{2}[A-Z0-9]{4}\\d{7}\\b',
  'top\\s+secret',
]

/** Policies of every type, all of which allow the requests. */
const twentyPolicies = [
  { policy_type: 'rate_limit', config: { max_requests: 1_000_000, window_seconds: 60 } },
  { policy_type: 'rate_limit', config: { max_requests: 1_000_000, window_seconds: 3_600 } },
  ...Array.from({ length: 3 }, (_, i) => [
    { policy_type: 'model_allowlist', config: { models: [MODEL, `model-${i + 2}`] } },
    { policy_type: 'content_filter', config: { patterns } },
    { policy_type: 'data_scope', config: { allowed_stores: ['default', `store-${i}`] } },
    { policy_type: 'pii_guard', config: { patterns, check_fields: ['query'] } },
    { policy_type: 'tool_deny', config: { denied_tools: ['shell', `net\\.${i}.*`] } },
  ]).flat(),
  { policy_type: 'token_budget', config: { max_tokens_per_request: 10_000 } },
  { policy_type: 'hitl_required', config: { operations: ['tool_execution'], tools: ['pay'] } },
  { policy_type: 'world_model_constraint', config: { require_params: ['amount'] } },
].map((policy, i) => ({ name: `policy ${i + 1}`, priority: i, ...policy }))

/** @param authorization the credential of the tenant; empty in local mode */
export async function fillFacts(base: string, count: number, authorization = ''): Promise<void> {
  for (let at = 0; at < count; at += FACTS_AT_ONCE) {
    const some = Math.min(FACTS_AT_ONCE, count - at)
    const items = Array.from({ length: some }, (_, i) => factBody(at + i))
    await ask(base, post('/v1/stores/default/write_batch', { items }), authorization)
  }
}

/** Fills an empty service in local mode. */
export async function fill(base: string, stage: Stage): Promise<void> {
  await fillFacts(base, stage.facts)
  await askAll(base, stage.decisions, (at) => post('/v1/decisions/log', decisionBody(at)))
  if (stage.facts > 0) {
    await askAll(base, REFERENTS, (at) => post('/v1/governed/decisions', certified(at)))
    const late = Array.from({ length: REFERENTS }, (_, at) => referentOf(at))
    const outcomes = late.map((invoice_ref) => ({ invoice_ref, outcome: 'late' }))
    await ask(base, post('/v1/governed/outcomes/bulk', outcomes))
  }
  for (const policy of twentyPolicies.slice(0, stage.policies))
    await ask(base, post('/v1/governance/policies', policy))
  await ask(base, { method: 'POST', path: '/v1/gcrumbs/roll' })
}

async function askAll(
  base: string,
  count: number,
  make: (at: number) => HttpRequest,
): Promise<void> {
  for (let at = 0; at < count; at += REQUESTS_AT_ONCE) {
    const some = Math.min(REQUESTS_AT_ONCE, count - at)
    await Promise.all(Array.from({ length: some }, (_, i) => ask(base, make(at + i))))
  }
}

/** The checkpoint over most entries, for requests of proofs. */
export interface Checkpoint {
  readonly epoch_number: number
  readonly tree_size: number
}

export const NO_CHECKPOINT: Checkpoint = { epoch_number: 0, tree_size: 1 }

export async function findCheckpoint(base: string): Promise<Checkpoint> {
  const { epochs }: { epochs: Checkpoint[] } = JSON.parse(
    (await ask(base, get('/v1/gcrumbs/epochs?limit=100'))).text,
  )
  const [last] = epochs.toSorted((a, b) => b.tree_size - a.tree_size)
  if (!last) throw new Error('there is no checkpoint')
  return last
}
