// Every declared limit at min-1, min, max and max+1.

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { limits } from '@custos/contract'
import type { Answer, TestService } from '../../../packages/server/src/testing/harness.ts'
import { exampleOf } from './examples.ts'
import { HELD_BESIDE, queryBounds } from './testing/bounds.ts'
import { startContractService } from './testing/payments.ts'
import type { Sent } from './testing/table.ts'
import { assertRefusal, newTenant, send, type Tenant } from './testing/tenant.ts'
import { buildWorld, type World } from './testing/world.ts'

let service: TestService
let world: World
let tenant: Tenant
let store: { readonly params: { readonly store_id: string } }
let endpoint: { readonly params: { readonly webhook_id: string } }

before(async () => {
  service = await startContractService()
  world = await buildWorld(service)
  tenant = world.tenant
  store = { params: { store_id: world.ids.store_id } }
  endpoint = { params: { webhook_id: world.ids.webhook_id } }
})

after(() => service.stop())

describe('whole-number parameters', () => {
  for (const { operation, name, min, max } of queryBounds)
    test(`${operation.id} takes ${name} from ${min} to ${max} and nothing beyond`, async () => {
      const sent = exampleOf(operation.id, world.ids)
      const key = operation.access === 'operator' ? service.operator_key : tenant.api_key
      const ask = (value: number | string) =>
        send(service, operation.id, { ...sent, query: { ...sent.query, [name]: value } }, { key })
      for (const inside of [min, max]) {
        const { status, text } = await ask(inside)
        // A number of the right form may still name an epoch that is not there.
        assert.ok(status === operation.status || status === 404, `${name}=${inside}: ${text}`)
      }
      for (const beyond of [min - 1, String(BigInt(max) + 1n)]) {
        const answer = await ask(beyond)
        assertRefusal(answer, 'validation', `${operation.id} ${name}=${beyond}`)
        assert.deepEqual(answer.body.detail[0].loc, ['query', name])
      }
    })
})

interface Edge {
  readonly limit: keyof typeof limits
  readonly id: string
  /** A request that uses `n` of what is limited. */
  readonly at: (n: number) => Sent
  readonly max: number
  readonly status: number
  /** Where less is refused as well. */
  readonly min?: number
  readonly ok?: (answer: Answer) => boolean
}

const write = (body: unknown): Sent => ({ ...store, body })
const log = (more: Readonly<Record<string, unknown>>): Sent => ({
  body: { store_id: 's', model_id: 'm', query: 'q', output: 'o', ...more },
})
const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) })
/** Metadata whose JSON has exactly `bytes` bytes. */
const metadata = (bytes: number) => ({ a: 'x'.repeat(Math.max(0, bytes - 8)) })
const token = (more: Readonly<Record<string, unknown>>): Sent => ({
  body: { store_id: 'default', namespace: 'n', scopes: ['memory:read'], ...more },
})
/** Disabled: what follows is not held to it. */
const policy = (more: Readonly<Record<string, unknown>>): Sent => ({
  body: {
    name: 'n',
    policy_type: 'content_filter',
    config: { patterns: ['x'] },
    enabled: false,
    ...more,
  },
})
const models = (names: readonly string[]): Sent =>
  policy({ policy_type: 'model_allowlist', config: { models: names } })

/** Names whose configuration has exactly `bytes` bytes as JSON. */
function modelsOfBytes(bytes: number): string[] {
  const names: string[] = []
  const left = () => bytes - JSON.stringify({ models: [...names, ''] }).length
  while (left() > 250) names.push('x'.repeat(200))
  return [...names, 'x'.repeat(left())]
}

/** Blanks count: a body may have no field that is not declared. */
const padded = (body: Readonly<Record<string, unknown>>, bytes: number): string =>
  JSON.stringify(body).padEnd(bytes)

/** Of one endpoint. */
const ofWebhook = (body: object): Sent => ({ ...endpoint, body })
const webhook = (more: object): Sent => ({
  body: { url: 'https://hooks.invalid/', events: ['webhook.disabled'], ...more },
})

const EDGES: readonly Edge[] = [
  {
    limit: 'webhook_url_chars',
    id: 'webhooks.create',
    at: (n) => webhook({ url: 'https://hooks.invalid/'.padEnd(n, 'a') }),
    max: limits.webhook_url_chars,
    status: 422,
  },
  {
    limit: 'webhook_events',
    id: 'webhooks.create',
    at: (n) => webhook({ events: Array(n).fill('webhook.disabled') }),
    min: 1,
    max: limits.webhook_events,
    status: 422,
  },
  {
    limit: 'webhook_overlap_h',
    id: 'webhooks.rotate_secret',
    at: (n) => ofWebhook({ overlap_hours: n }),
    min: limits.webhook_overlap_h.min,
    max: limits.webhook_overlap_h.max,
    status: 422,
  },
  {
    limit: 'webhook_replay_entries',
    id: 'webhooks.replay',
    at: (n) => ofWebhook({ from_seq: 0, to_seq: n - 1 }),
    max: limits.webhook_replay_entries,
    status: 422,
  },
  {
    limit: 'body_bytes',
    id: 'memory.write',
    at: (n) => ({ ...store, raw: padded({ content: 'large body' }, n) }),
    max: limits.body_bytes,
    status: 413,
  },
  {
    limit: 'verify_body_bytes',
    id: 'gcrumbs.verify_envelope',
    at: (n) => ({ raw: padded({ type: 'epoch' }, n) }),
    max: limits.verify_body_bytes,
    status: 413,
  },
  {
    limit: 'json_depth',
    id: 'governance.evaluate',
    at: (n) => ({ body: { operation: 'custom.depth', dry_run: true, context: nested(n - 1) } }),
    max: limits.json_depth,
    status: 422,
  },
  {
    limit: 'ttl_s',
    id: 'memory.write',
    at: (n) => write({ content: 'ends', ttl_s: n }),
    min: limits.ttl_s.min,
    max: limits.ttl_s.max,
    status: 422,
  },
  {
    limit: 'ticket_ttl_s',
    id: 'streams.ticket',
    at: (n) => ({ body: { path: '/v1/events/stream', ttl_s: n } }),
    min: limits.ticket_ttl_s.min,
    max: limits.ticket_ttl_s.max,
    status: 422,
  },
  {
    limit: 'event_names_chars',
    id: 'streams.events',
    at: (n) => ({ query: { events: `${' '.repeat(n - 14)}memory.written` } }),
    max: limits.event_names_chars,
    status: 422,
  },
  {
    limit: 'subject_find_groups',
    id: 'subjects.access',
    at: (n) => {
      const find = Array.from({ length: n }, (_, i) => ({ text: `person ${i}` }))
      return { query: { format: 'json' }, body: { find } }
    },
    min: 1,
    max: limits.subject_find_groups,
    status: 422,
  },
  {
    limit: 'batch_items',
    id: 'memory.write_batch',
    at: (n) => write({ items: Array.from({ length: n }, (_, i) => ({ content: `item ${i}` })) }),
    max: limits.batch_items,
    status: 422,
  },
  {
    limit: 'content_bytes',
    id: 'memory.write',
    at: (n) => write({ content: `é${'x '.repeat(n / 2)}`.slice(0, n - 1) }),
    max: limits.content_bytes,
    status: 422,
  },
  {
    limit: 'query_bytes',
    id: 'memory.retrieve',
    at: (n) => write({ query: `é${'x '.repeat(n / 2)}`.slice(0, n - 1) }),
    max: limits.query_bytes,
    status: 422,
  },
  {
    limit: 'query_bytes',
    id: 'decisions.log',
    at: (n) => log({ query: 'é'.repeat(n / 2) + 'x'.repeat(n % 2) }),
    max: limits.query_bytes,
    status: 422,
  },
  {
    limit: 'metadata_bytes',
    id: 'memory.write',
    at: (n) => write({ content: 'm', options: { metadata: metadata(n) } }),
    max: limits.metadata_bytes,
    status: 422,
  },
  {
    limit: 'metadata_bytes',
    id: 'decisions.log',
    at: (n) => log({ parameters: metadata(n) }),
    max: limits.metadata_bytes,
    status: 422,
  },
  {
    limit: 'metadata_depth',
    id: 'memory.write',
    at: (n) => write({ content: 'd', options: { metadata: nested(n) } }),
    max: limits.metadata_depth,
    status: 422,
  },
  {
    limit: 'latency_ms',
    id: 'decisions.log',
    at: (n) => log({ latency_ms: n }),
    max: limits.latency_ms,
    status: 422,
  },
  {
    limit: 'refs_per_decision',
    id: 'decisions.log',
    at: (n) => log({ retrieved_refs: Array.from({ length: n }, (_, i) => i) }),
    max: limits.refs_per_decision,
    status: 422,
  },
  ...(['model_id', 'store_id', 'session_id'] as const).map(
    (name): Edge => ({
      limit: 'label_chars',
      id: 'decisions.log',
      at: (n) => log({ [name]: 'a'.repeat(n) }),
      min: 1,
      max: limits.label_chars,
      status: 422,
    }),
  ),
  {
    limit: 'namespace_chars',
    id: 'memory.write',
    at: (n) => write({ content: 'n', options: { namespace: 'n'.repeat(n) } }),
    min: 1,
    max: limits.namespace_chars,
    status: 422,
  },
  {
    limit: 'name_chars',
    id: 'memory.create_store',
    at: (n) => ({ body: { name: 'n'.repeat(n) } }),
    min: 1,
    max: limits.name_chars,
    status: 422,
  },
  {
    limit: 'name_chars',
    id: 'keys.create',
    at: (n) => ({ body: { name: 'n'.repeat(n) } }),
    min: 1,
    max: limits.name_chars,
    status: 422,
  },
  {
    limit: 'namespace_chars',
    id: 'keys.create_token',
    at: (n) => token({ namespace: 'n'.repeat(n) }),
    min: 1,
    max: limits.namespace_chars,
    status: 422,
  },
  {
    limit: 'token_ttl_s',
    id: 'keys.create_token',
    at: (ttl_s) => token({ ttl_s }),
    ...limits.token_ttl_s,
    status: 422,
  },
  {
    limit: 'name_chars',
    id: 'governance.create_policy',
    at: (n) => policy({ name: 'n'.repeat(n) }),
    min: 1,
    max: limits.name_chars,
    status: 422,
  },
  {
    limit: 'pattern_chars',
    id: 'governance.create_policy',
    at: (n) => policy({ config: { patterns: [n < 3 ? 'x'.repeat(n) : `[${'x'.repeat(n - 2)}]`] } }),
    min: 1,
    max: limits.pattern_chars,
    status: 422,
  },
  {
    limit: 'patterns_per_policy',
    id: 'governance.create_policy',
    at: (n) => policy({ config: { patterns: Array.from({ length: n }, () => 'x') } }),
    min: 1,
    max: limits.patterns_per_policy,
    status: 422,
  },
  {
    limit: 'policy_list_items',
    id: 'governance.create_policy',
    at: (n) => models(Array.from({ length: n }, (_, i) => `model-${i}`)),
    min: 1,
    max: limits.policy_list_items,
    status: 422,
  },
  {
    limit: 'policy_config_bytes',
    id: 'governance.create_policy',
    at: (n) => models(modelsOfBytes(n)),
    max: limits.policy_config_bytes,
    status: 422,
  },
  {
    limit: 'idempotency_key_chars',
    id: 'memory.write',
    at: (n) => ({ ...write({ content: 'k' }), headers: { 'idempotency-key': 'k'.repeat(n) } }),
    min: 1,
    max: limits.idempotency_key_chars,
    status: 422,
  },
  {
    limit: 'import_line_bytes',
    id: 'memory.import',
    at: (n) => ({
      ...store,
      raw: `${padded({ content: 'one line' }, n)}\n`,
      headers: { 'content-type': 'application/x-ndjson' },
    }),
    max: limits.import_line_bytes,
    status: 422,
  },
]

describe('limits of bodies', () => {
  for (const { limit, id, at, min, max, status } of EDGES) {
    const field = at(max).body === undefined ? '' : ` (${Object.keys(Object(at(max).body))})`
    test(`${id} keeps ${limit} of ${max} to the unit${field}`, async () => {
      for (const inside of [...(min === undefined ? [] : [min]), max - 1, max])
        await tenant.ok(id, at(inside))
      const beyond = [...(min === undefined ? [] : [min - 1]), max + 1]
      for (const n of beyond) {
        const answer = await tenant.ask(id, at(n))
        assert.equal(answer.status, status, `${limit} ${n}: ${answer.text.slice(0, 200)}`)
      }
    })
  }
})

test('memory.retrieve clamps a budget to 2^30, takes 1,024 without one, none below 0', async () => {
  const cases = [
    [undefined, limits.budget_tokens_default],
    [0, 0],
    [1, 1],
    [limits.budget_tokens - 1, limits.budget_tokens - 1],
    [limits.budget_tokens, limits.budget_tokens],
    [limits.budget_tokens + 1, limits.budget_tokens],
  ] as const
  for (const [asked, given] of cases) {
    const budget = asked === undefined ? {} : { budget_tokens: asked }
    const { budget_tokens, tokens_used } = await tenant.ok('memory.retrieve', {
      ...store,
      body: { query: 'anything', ...budget },
    })
    assert.equal(budget_tokens, given)
    assert.ok(tokens_used <= given)
  }
  const below = await tenant.ask('memory.retrieve', {
    ...store,
    body: { query: 'anything', budget_tokens: -1 },
  })
  assertRefusal(below, 'validation', 'memory.retrieve')
})

test('memory.import refuses an announced body beyond import_bytes before reading it', async () => {
  const head = [
    `POST /v1/stores/${world.ids.store_id}/import HTTP/1.1`,
    'host: localhost',
    `authorization: Bearer ${tenant.api_key}`,
    'content-type: application/x-ndjson',
    `content-length: ${limits.import_bytes + 1}`,
  ]
  const { hostname, port } = new URL(service.url)
  const text = await new Promise<string>((resolve, reject) => {
    const socket = connect(Number(port), hostname, () =>
      socket.write(`${head.join('\r\n')}\r\n\r\n`),
    )
    socket.once('data', (bytes) => {
      socket.destroy()
      resolve(bytes.toString())
    })
    socket.once('error', reject)
  })
  assert.match(text, /^HTTP\/1\.1 413 /)
  assert.match(text, /"error":"body_too_large"/)
})

test('a tenant has at most keys_per_tenant live keys, and revoking one makes room', async () => {
  const crowded = await newTenant(service)
  const create = () => crowded.ask('keys.create', { body: {} })
  let spare = ''
  for (let made = 1; made < limits.keys_per_tenant; made += 50) {
    const left = Math.min(50, limits.keys_per_tenant - made)
    const answers = await Promise.all(Array.from({ length: left }, create))
    for (const { status, text } of answers) assert.equal(status, 201, text)
    spare = answers[0]?.body.key_id
  }
  assertRefusal(await create(), 'rejected', 'one key too many')
  await crowded.ok('keys.revoke', { params: { key_id: spare } })
  assert.equal((await create()).status, 201)
})

test('every limit of the contract is held by a test', () => {
  const held = new Set<string>([
    ...EDGES.map(({ limit }) => limit),
    // Bounds of `limit` parameters, walked from the schemas above.
    'page',
    'erasure_page',
    'policies_page',
    'governance_logs_page',
    'records_page',
    'assurance_runs_page',
    'assurance_drift_page',
    'audits_page',
    'deliveries_page',
    'history_page',
    // How many versions one answer walks, not a bound of a request: tested in history.test.ts.
    'history_versions',
    // Tested with webhooks.
    'webhooks_per_tenant',
    'webhook_tests_per_minute',
    'webhook_payload_bytes',
    // Tested in limits-items.test.ts.
    ...'item_namespace_labels item_key_chars item_index_paths'.split(' '),
    ...'item_batch_operations item_search'.split(' '),
    // Tested with assurance.
    'assurance_schedules',
    'assurance_runs_kept',
    'assurance_baselines_kept',
    // Tested with requests of data subjects.
    ...'subject_text_chars subject_metadata_keys subject_stores'.split(' '),
    ...'subject_items subject_html_chars subject_pdf_chars'.split(' '),
    // Tested with retention and legal holds.
    'retain_days',
    'holds_per_store',
    // Tested with digests of sessions.
    'digest_after_s',
    // Tested in limits-registries.test.ts.
    ...'ref_chars reason_chars layers_per_artifact'.split(' '),
    // Tested above by name.
    'budget_tokens',
    'budget_tokens_default',
    'import_bytes',
    'keys_per_tenant',
    // Tested with event streams.
    'open_streams',
    ...HELD_BESIDE,
    // Tested with tokens.
    'live_tokens_per_key',
    // Tested with policies and evaluations.
    'policies_per_tenant',
    'pattern_field_bytes',
    'recogniser_field_bytes',
    // The size of a transaction, not of a request: seen in the progress of a store's deletion.
    'store_delete_facts_per_transaction',
  ])
  assert.deepEqual(
    Object.keys(limits).filter((name) => !held.has(name)),
    [],
  )
})
