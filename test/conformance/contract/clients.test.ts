// Requests in the shapes that existing clients send: each is accepted, and what an operation does
// not use is neither stored nor in the way.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { TestService } from '../../../packages/server/src/testing/harness.ts'
import { landingRequest } from './testing/landing.ts'
import { startContractService } from './testing/payments.ts'
import { operationOf, operations, type Sent } from './testing/table.ts'
import { newTenant, type Tenant } from './testing/tenant.ts'

let service: TestService
let tenant: Tenant

before(async () => {
  service = await startContractService()
  tenant = await newTenant(service)
})

after(() => service.stop())

const DIGEST = 'c3'.repeat(32)
/** In what an operation does not use: it must never be read again. */
const CANARY = 'canary-of-a-client'
const params = { store_id: 'default' }
const wholeOptions = { valid_from: null, tenant_id: null, signing_key: null, metadata: {} }
const certification = { decision: 'certify', reason: 'the amounts agree' }
const decision = { store_id: 'default', model_id: 'model-a', query: 'Where is home?' }
const ref = async (): Promise<number> =>
  (await tenant.ok('memory.write', { params, body: { content: 'Aria lives in Rome' } })).ref

type Call = readonly [about: string, id: string, sent: Sent | (() => Promise<Sent>)]

const SYNC: readonly Call[] = [
  ['a store', 'memory.create_store', { body: { name: 'notes', backend: 'postgres' } }],
  ['flush without a body', 'memory.flush', { params }],
  [
    'a write',
    'memory.write',
    { params, body: { content: 'Aria', options: { metadata: { topic: 'home' } } } },
  ],
  [
    'a batch',
    'memory.write_batch',
    {
      params,
      body: { items: [{ content: 'One', options: { metadata: {} } }, { content: 'Two' }] },
    },
  ],
  [
    'a retrieval',
    'memory.retrieve',
    { params, body: { query: 'Where is Aria?', options: { top_k: 5 } } },
  ],
  [
    'a new version',
    'memory.supersede',
    async () => ({
      params,
      body: { old_ref: await ref(), content: 'In Porto', options: { metadata: {} } },
    }),
  ],
  ['a deletion', 'memory.delete', async () => ({ params, body: { ref: await ref() } })],
  [
    'a policy',
    'governance.create_policy',
    {
      body: {
        name: 'Small models',
        policy_type: 'model_allowlist',
        description: '',
        action: 'log_only',
        config: { models: ['model-a'] },
        enabled: true,
        priority: 100,
      },
    },
  ],
  ['policies', 'governance.list_policies', { query: { enabled_only: false } }],
  ['an evaluation without context', 'governance.evaluate', { body: { operation: 'inference' } }],
  ['evaluations', 'governance.logs', { query: { limit: 50 } }],
  ['decisions', 'decisions.list', { query: { limit: 20 } }],
  [
    'an erasure',
    'erasure.issue',
    async () => ({
      body: {
        fact_ref: await ref(),
        legal_basis: 'GDPR Article 17 — Right to Erasure',
        memory_deleted: true,
        requested_by: 'data_subject',
        fact_content: CANARY,
      },
    }),
  ],
  ['a report', 'reports.generate', { body: { framework: 'gdpr' } }],
  [
    'a landing certificate with the whole answer of the conformance checks',
    'landing.issue',
    () => conformanceAnswer(),
  ],
  [
    'an artifact from the whole descriptor of a composition',
    'artifacts.register',
    {
      body: {
        artifact_ref: 'stacks/support',
        composition_id: '0'.repeat(32),
        members: [CANARY],
        kind: 'stack',
        status: 'governed',
        base_model_ref: 'models/base',
        layers: [{ digest: DIGEST }],
      },
    },
  ],
  [
    'a corpus whose sources have fields of their own',
    'provenance.register',
    {
      body: {
        name: 'corp',
        sources: [
          { id: 's1', license: 'MIT', content_hash: DIGEST, record_count: 3, team: 'blue' },
          { id: 's3', lawful_basis: 'consent' },
        ],
        attestations: { representativeness: 'by region', bias_examination: 'in 2025' },
        processing: [],
        metadata: {},
      },
    },
  ],
  [
    'a type',
    'world_model.register_type',
    {
      body: {
        kind: 'object',
        name: 'Account',
        spec: { properties: { id: { type: 'string', required: true } } },
      },
    },
  ],
]

async function conformanceAnswer(): Promise<Sent> {
  const request = landingRequest('adapters/support')
  const { artifact_ref, layer_hashes, data_provenance } = request
  const conformance = await tenant.ok('landing.conformance', {
    body: { artifact_ref, layer_hashes, data_provenance },
  })
  return { body: { ...request, conformance } }
}

const ASYNC: readonly Call[] = [
  ['a store', 'memory.get_store', { params }],
  ['a retrieval', 'memory.retrieve', { params, body: { query: 'Where is Aria?', limit: 5 } }],
  ...[
    'memory.list_stores',
    'decisions.list',
    'erasure.list',
    'reports.list',
    'governance.logs',
    'governance.list_policies',
    'governance.policy_types',
    'reports.frameworks',
  ].map((id): Call => ['a page', id, { query: { limit: 100, offset: 0 } }]),
]

const WIRE: readonly Call[] = [
  ['a store', 'memory.create_store', { body: {} }],
  [
    'a write with every option',
    'memory.write',
    { params, body: { content: 'x', options: wholeOptions } },
  ],
  [
    'a batch with every option',
    'memory.write_batch',
    { params, body: { items: [{ content: 'x', options: wholeOptions }] } },
  ],
  [
    'a new version with every option',
    'memory.supersede',
    async () => ({ params, body: { old_ref: await ref(), content: 'y', options: wholeOptions } }),
  ],
  [
    'a retrieval with every option',
    'memory.retrieve',
    {
      params,
      body: {
        query: 'Where?',
        options: { budget_tokens: 512, as_of: null, tenant_id: null, top_k: null },
      },
    },
  ],
  ['flush with an empty body', 'memory.flush', { params, body: {} }],
]

const HTTP: readonly Call[] = [
  [
    'a decision with every field',
    'decisions.log',
    {
      body: {
        ...decision,
        session_id: 's1',
        raw_output: 'Porto',
        retrieved_fact_refs: [1],
        retrieved_contents: ['home is in Porto'],
        retrieval_scores: [0.5],
        retrieval_options: { top_k: 5 },
        prompt_template_hash: '46fb7408d4f285228f4af516ea25851b',
        parameters: { temperature: 0 },
        parsed_output: { city: CANARY },
        output_tokens: 12,
        latency_ms: 12,
        parent_decision_id: '6a36769ec3d2f70cb3383f28170e7950',
      },
    },
  ],
  [
    'a decision with its nulls',
    'decisions.log',
    {
      body: {
        ...decision,
        session_id: null,
        raw_output: 'Porto',
        retrieved_fact_refs: [],
        retrieval_options: {},
        prompt_template_hash: null,
        parameters: {},
        parsed_output: null,
        output_tokens: null,
        latency_ms: null,
        parent_decision_id: null,
        signing_key: null,
      },
    },
  ],
  [
    'an erasure with its nulls',
    'erasure.issue',
    async () => ({
      body: {
        fact_ref: await ref(),
        fact_content: null,
        memory_deleted: true,
        legal_basis: 'GDPR Article 17 — Right to Erasure',
        requested_by: 'data_subject',
        signing_key: null,
      },
    }),
  ],
  [
    'receipts to verify',
    'gcrumbs.verify_envelope',
    { body: { receipts: [], public_key_b64: null } },
  ],
  [
    'a governed decision with its nulls',
    'cgr.decide',
    { body: { ...certification, invoice_id: null, context: { amount: 12 } } },
  ],
  [
    'a review with its nulls',
    'cgr.review',
    {
      body: {
        invoice_ref: 'INV-9',
        reviewer_handle: 'reviewer@example',
        rating: 0.75,
        agent_handle: null,
        decision_id: null,
        source: 'manual',
      },
    },
  ],
]

const CLIENTS = { 'sync SDK': SYNC, 'async SDK': ASYNC, 'wire client': WIRE, 'plain HTTP': HTTP }

for (const [client, calls] of Object.entries(CLIENTS))
  describe(`the ${client}`, () => {
    for (const [about, id, sent] of calls)
      test(`is served by ${id}: ${about}`, async () => {
        const { status, text } = await tenant.ask(
          id,
          typeof sent === 'function' ? await sent() : sent,
        )
        assert.equal(status, operationOf(id).status, text)
        assert.ok(!text.includes(CANARY), text)
      })
  })

test('an export, an audit and a retrieval can be imported as they come', async () => {
  await ref()
  const { text } = await tenant.ask('memory.export', { params })
  const { memories } = await tenant.ok('memory.audit', { params })
  const retrieved = await tenant.ok('memory.retrieve', { params, body: { query: 'Aria Rome' } })
  assert.ok(memories.length > 0 && retrieved.memories.length > 0)
  const lines = (items: readonly unknown[]) =>
    items.map((item) => `${JSON.stringify(item)}\n`).join('')
  for (const raw of [text, lines(memories), lines(retrieved.memories)]) {
    const other = await newTenant(service)
    const headers = { 'content-type': 'application/x-ndjson' }
    const { imported } = await other.ok('memory.import', { params, raw, headers })
    assert.ok(imported > 0)
  }
})

test('a private key is refused wherever a null in its place is accepted', async () => {
  const options = { signing_key: '1'.repeat(64) }
  for (const [id, sent] of [
    ['memory.write', { params, body: { content: 'x', options } }],
    ['memory.write_batch', { params, body: { items: [{ content: 'x', options }] } }],
    ['decisions.log', { body: { ...decision, output: 'x', ...options } }],
    ['erasure.issue', { body: { fact_ref: 1, ...options } }],
  ] as const)
    assert.equal((await tenant.ask(id, sent)).body.error, 'signing_key_refused', id)
})

test('a tolerated name is one that the operation does not declare, in an object it does', () => {
  for (const { id, tolerated = [], query, body } of operations)
    for (const name of tolerated) {
      const [place, ...steps] = name.replaceAll('[]', '.[]').split('.')
      const last = steps.pop()
      assert.ok(last !== undefined && (place === 'query' || place === 'body'), `${id} ${name}`)
      const start: unknown = place === 'query' ? query : body
      const object = steps.reduce(memberOf, start)
      assert.ok(place === 'query' || propertiesOf(object), `${id} ${name}: there is no such object`)
      assert.ok(!(last in (propertiesOf(object) ?? {})), `${id} declares ${name}`)
    }
})

const branchesOf = (schema: unknown): Record<string, unknown>[] => {
  const { anyOf } = Object(schema)
  return Array.isArray(anyOf) ? anyOf.map(Object) : [Object(schema)]
}

const memberOf = (schema: unknown, step: string): unknown =>
  branchesOf(schema)
    .map((branch) => (step === '[]' ? branch['items'] : Object(branch['properties'])[step]))
    .find(Boolean)

const propertiesOf = (schema: unknown): object | undefined =>
  branchesOf(schema)
    .map((branch) => branch['properties'])
    .find((properties) => typeof properties === 'object' && properties !== null)
