// What the bench sends: bodies of realistic size, all different, made from a seed.

export interface Scenario {
  readonly name: string
  readonly path: string
  readonly connections: number
  readonly bodies: readonly string[]
  /** Facts the store holds before the first round. */
  readonly preload: number
  /** Policies the tenant has before the first round. */
  readonly policies?: readonly object[]
  /** Requests made before the first round. */
  readonly before?: readonly { readonly path: string; readonly body: object }[]
  /** The ratio to the echo ceiling this is held to, where there is one. */
  readonly goal?: number
  /** The 99th percentile in milliseconds this is held to, where there is one. */
  readonly goal_p99_ms?: number
}

const SYLLABLES = (
  'ba be bi bo bu da de di do du ka ke ki ko ku la le li lo lu ma me mi mo mu na ne ni no nu ' +
  'ra re ri ro ru sa se si so su ta te ti to tu va ve vi vo vu'
).split(' ')

const VOCABULARY = 8_000

/** Word number `rank`: three syllables, so that no two are alike. */
function word(rank: number): string {
  const base = SYLLABLES.length
  const digits = [rank % base, Math.floor(rank / base) % base, Math.floor(rank / base ** 2)]
  return digits.map((digit) => SYLLABLES[digit % base]).join('')
}

/** A small linear congruential generator: the same texts in every run. */
function random(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

const FUNCTION_WORDS = 'the of and to in a is that it was for on are as with his they at be'.split(
  ' ',
)
/** Ranks that function words take up: content words begin behind them. */
const RANKS_BEFORE = 100

/**
 * Every other word is an English function word; the rest are content words, drawn as people use
 * them: the n-th most common in proportion to 1 / (n + 100) (Zipf's law behind the function words).
 */
function sentence(next: () => number, words: number): string {
  const content = () => {
    const rank = RANKS_BEFORE * ((VOCABULARY + RANKS_BEFORE) / RANKS_BEFORE) ** next()
    return word(Math.floor(rank) - RANKS_BEFORE)
  }
  const filler = () => FUNCTION_WORDS[Math.floor(next() * FUNCTION_WORDS.length)]
  return Array.from({ length: words }, (_, i) => (i % 2 === 0 ? content() : filler())).join(' ')
}

const BODIES = 2_000

function make(seed: number, one: (next: () => number, index: number) => unknown): string[] {
  const next = random(seed)
  return Array.from({ length: BODIES }, (_, index) => JSON.stringify(one(next, index)))
}

const fact = (next: () => number, index: number) => ({
  content: `${sentence(next, 18)} ${index}-${Math.floor(next() * 1e9)}`,
  options: { metadata: { session_id: `s${index % 50}` } },
})

export const preloadItems = (count: number): object[] => {
  const next = random(7)
  return Array.from({ length: count }, (_, index) => fact(next, index))
}

const decision = (next: () => number, index: number) => ({
  store_id: 'default',
  model_id: 'model-1',
  session_id: `s${index % 50}`,
  query: `${sentence(next, 14)}?`,
  retrieved_refs: [1, 2, 3],
  retrieved_contents: [sentence(next, 16), sentence(next, 16), sentence(next, 16)],
  retrieved_scores: [0.9, 0.7, 0.4],
  output: `${sentence(next, 40)}.`,
  token_count: 180,
  latency_ms: 412.5,
})

const patterns = [
  '\\b\\d{3}-\\d{2}-\\d{4}\\b',
  '\\b[A-Z]{2}\\d{2}[A-Z0-9]{4}\\d{7}\\b',
  'top\\s+secret',
]

/** Of every type, and every one lets the requests pass. */
const twentyPolicies = [
  { policy_type: 'rate_limit', config: { max_requests: 1_000_000, window_seconds: 60 } },
  { policy_type: 'rate_limit', config: { max_requests: 1_000_000, window_seconds: 3_600 } },
  ...Array.from({ length: 3 }, (_, i) => [
    { policy_type: 'model_allowlist', config: { models: ['model-1', `model-${i + 2}`] } },
    { policy_type: 'content_filter', config: { patterns } },
    { policy_type: 'data_scope', config: { allowed_stores: ['default', `store-${i}`] } },
    { policy_type: 'pii_guard', config: { patterns, check_fields: ['query'] } },
    { policy_type: 'tool_deny', config: { denied_tools: ['shell', `net\\.${i}.*`] } },
  ]).flat(),
  { policy_type: 'token_budget', config: { max_tokens_per_request: 10_000 } },
  { policy_type: 'hitl_required', config: { operations: ['tool_execution'], tools: ['pay'] } },
  { policy_type: 'world_model_constraint', config: { require_params: ['amount'] } },
].map((policy, i) => ({ name: `policy ${i + 1}`, priority: i, ...policy }))

const evaluation = (next: () => number) => ({
  operation: 'inference',
  context: {
    model_id: 'model-1',
    store_id: 'default',
    query: `${sentence(next, 14)}?`,
    tokens: 900,
  },
})

/** Divisible by the number of connections: each sends both outcomes of a referent alternately. */
const REFERENTS = 1_024

const certified = Array.from({ length: REFERENTS }, (_, at) => ({
  path: '/v1/governed/decisions',
  body: { decision: 'certify', agent_handle: `agent-${at % 50}`, invoice_id: `invoice ${at}` },
}))

/** Never the outcome there is: each request changes it. */
const outcomes = ['paid', 'default'].flatMap((outcome) =>
  certified.map(({ body }) =>
    JSON.stringify({
      invoice_ref: body.invoice_id,
      outcome,
      outcome_date: '2026-01-31T09:30:00Z',
      amount_recovered: 1_234.5,
      source: 'ledger',
    }),
  ),
)

export const scenarios: readonly Scenario[] = [
  {
    name: 'decision log',
    path: '/v1/decisions/log',
    connections: 32,
    bodies: make(1, decision),
    preload: 100,
    goal: 0.35,
  },
  {
    name: 'write',
    path: '/v1/stores/default/write',
    connections: 32,
    bodies: make(2, fact),
    preload: 0,
    goal: 0.3,
  },
  {
    name: 'write_batch of 100',
    path: '/v1/stores/default/write_batch',
    connections: 8,
    bodies: make(3, (next, i) => ({
      items: Array.from({ length: 100 }, (_, k) => fact(next, i * 100 + k)),
    })).slice(0, 200),
    preload: 0,
  },
  {
    name: 'evaluate, 20 policies',
    path: '/v1/governance/evaluate',
    connections: 8,
    bodies: make(6, evaluation),
    preload: 0,
    policies: twentyPolicies,
    goal: 0.45,
    goal_p99_ms: 5,
  },
  {
    name: 'outcome',
    path: '/v1/governed/outcomes',
    connections: 32,
    bodies: outcomes,
    preload: 0,
    before: certified,
    goal: 0.3,
  },
  {
    name: 'retrieve, 1k facts',
    path: '/v1/stores/default/retrieve',
    connections: 8,
    bodies: make(4, (next) => ({ query: sentence(next, 12), budget_tokens: 512 })),
    preload: 1_000,
  },
  {
    name: 'retrieve, 10k facts',
    path: '/v1/stores/default/retrieve',
    connections: 8,
    bodies: make(5, (next) => ({ query: sentence(next, 12), budget_tokens: 512 })),
    preload: 10_000,
    goal_p99_ms: 15,
  },
]
