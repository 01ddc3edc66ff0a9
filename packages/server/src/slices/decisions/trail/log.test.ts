// `decisions.log` through HTTP: identity, signature, digest, refusals, limits.

import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { limits } from '@custos/contract'
import { decisionId, verifyDecision } from '@custos/proof'
import { formatTime } from '../../../platform/clock.ts'
import { KeyringError } from '../../../platform/keys/keyring-error.ts'
import { openScene, type Scene } from '../../../testing/erasure-scene.ts'
import { MARKER } from './redact-text.ts'

let scene: Scene

before(async () => {
  scene = await openScene()
})
after(() => scene.stop())

const PLAIN = { store_id: 'label', model_id: 'model-a', query: 'What is due?', output: '10 €' }

const log = (more: Readonly<Record<string, unknown>> = {}) =>
  scene.api('POST', '/v1/decisions/log', { ...PLAIN, ...more })

const crumbAt = async (seq: number) =>
  (await scene.api('GET', `/v1/gcrumbs/breadcrumbs?offset=${seq}&limit=1`)).body.breadcrumbs[0]

test('decisions.log answers the record with identity, signature and every default', async () => {
  const { status, body, text } = await log()
  assert.equal(status, 200, text)
  const { tenant_id, timestamp } = body
  assert.equal(tenant_id, scene.tenant_id)
  assert.match(timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
  assert.equal(body.decision_id, decisionId({ ...PLAIN, tenant_id, timestamp }))
  const expected = {
    ...PLAIN,
    session_id: null,
    retrieved_refs: [],
    retrieved_contents: [],
    retrieved_scores: [],
    token_count: null,
    latency_ms: null,
    parameters: null,
    redacted: false,
    redactions: [],
    created_at: timestamp,
    retrieved_fact_refs: [],
    retrieval_scores: [],
    output_tokens: null,
  }
  for (const [field, value] of Object.entries(expected)) assert.deepEqual(body[field], value, field)
  const { keys } = (await scene.api('GET', '/v1/gcrumbs/public_key')).body
  const verdict = await verifyDecision(body, keys)
  assert.equal(verdict.valid, true, verdict.reason)
  const altered = await verifyDecision({ ...body, query: 'What is owed?' }, keys)
  assert.equal(altered.valid, false)
})

test('every field comes back as it was sent, from log and from get', async () => {
  const given = {
    session_id: 'session 1',
    retrieved_refs: [900_001, 900_002, 900_001],
    retrieved_contents: ['a', 'b', 'a'],
    retrieved_scores: [0.5, -1.25, 1e-7],
    token_count: 0,
    latency_ms: 12.5,
    parameters: { temperature: 0.2, nested: { list: [1, 'two', null, true] } },
  }
  const { body } = await log(given)
  for (const [field, value] of Object.entries(given)) assert.deepEqual(body[field], value, field)
  const read = await scene.api('GET', `/v1/decisions/${body.decision_id}`)
  assert.deepEqual(read.body, body)
})

test('the audit log has digest, labels and counts of a decision, none of its text', async () => {
  const { body } = await log({ query: 'a canary sings', session_id: 'canary session' })
  const crumb = await crumbAt(body.log_seq)
  assert.equal(crumb.event_type, 'decision.logged')
  assert.equal(crumb.subject, body.decision_id)
  assert.equal(crumb.payload.record_digest, body.record_digest)
  assert.equal(crumb.payload.refs, 0)
  assert.equal(crumb.payload.memory_seq, body.log_seq)
  assert.ok(!JSON.stringify(crumb).includes('canary'))
})

test('aliases of existing clients are taken, and the canonical name wins', async () => {
  const { output: _, ...rest } = PLAIN
  const aliases = {
    raw_output: 'raw',
    retrieved_fact_refs: [900_003],
    retrieval_scores: [0.1],
    output_tokens: 7,
    prompt_template_hash: 'ignored',
  }
  const one = await scene.api('POST', '/v1/decisions/log', { ...rest, ...aliases })
  assert.equal(one.status, 200, one.text)
  assert.equal(one.body.output, 'raw')
  assert.deepEqual(one.body.retrieved_refs, [900_003])
  assert.deepEqual(one.body.retrieved_scores, [0.1])
  assert.equal(one.body.token_count, 7)
  assert.equal(one.body.output_tokens, 7)
  const twice = { raw_output: 'x', output: 'x', token_count: 7, output_tokens: 7 }
  assert.equal((await log(twice)).body.token_count, 7)
})

test('two names of one field with different values are refused', async () => {
  for (const [name, alias] of [
    [{ output: 'a' }, { raw_output: 'b' }],
    [{ retrieved_refs: [1] }, { retrieved_fact_refs: [2] }],
    [{ retrieved_scores: [1] }, { retrieval_scores: [2] }],
    [{ token_count: 1 }, { output_tokens: 2 }],
  ]) {
    const refused = await scene.api('POST', '/v1/decisions/log', { ...PLAIN, ...name, ...alias })
    assert.equal(refused.status, 422, refused.text)
    assert.deepEqual(refused.body.detail[0].loc, ['body', ...Object.keys(Object(alias))])
  }
})

test('each required field is required, output under either name', async () => {
  for (const field of ['store_id', 'model_id', 'query', 'output']) {
    const { [field]: _, ...rest } = PLAIN as Record<string, unknown>
    const { status, body } = await scene.api('POST', '/v1/decisions/log', rest)
    assert.equal(status, 422, field)
    assert.equal(body.detail[0].loc[0], 'body')
    assert.ok(JSON.stringify(body.detail).includes(field), JSON.stringify(body))
  }
})

test('arrays that differ in length are refused with lengths_differ', async () => {
  for (const more of [
    { retrieved_refs: [1, 2], retrieved_contents: ['a'] },
    { retrieved_refs: [1], retrieved_scores: [0.1, 0.2] },
    { retrieved_contents: ['a'] },
  ]) {
    const { status, body } = await log(more)
    assert.equal(status, 422)
    assert.equal(body.error, 'lengths_differ')
  }
})

test('values outside their bounds are refused, values at the edge are taken', async () => {
  const refs = (count: number) => Array.from({ length: count }, (_, i) => i + 1_000_000)
  const filler = 'x'.repeat(limits.metadata_bytes - '{"p":""}'.length)
  const taken = [
    { retrieved_refs: refs(limits.refs_per_decision) },
    { retrieved_refs: [Number.MAX_SAFE_INTEGER] },
    { parameters: { p: filler } },
    { store_id: 's'.repeat(limits.label_chars) },
    { query: 'q'.repeat(limits.query_bytes) },
    { query: '', output: '' },
    { latency_ms: 0 },
  ]
  for (const more of taken) {
    const { status, text } = await log(more)
    assert.equal(status, 200, text.slice(0, 200))
  }
  const refused = [
    { retrieved_refs: refs(limits.refs_per_decision + 1) },
    { retrieved_refs: [-1] },
    { retrieved_refs: [1.5] },
    { retrieved_refs: ['1'] },
    { parameters: { p: `${filler}x` } },
    { parameters: [] },
    { store_id: 's'.repeat(limits.label_chars + 1) },
    { store_id: '' },
    { query: 'q'.repeat(limits.query_bytes + 1) },
    { query: null },
    { token_count: -1 },
    { token_count: 1.5 },
    { latency_ms: -0.1 },
    { memory_seq: -1 },
    { session_id: '' },
  ]
  const total = async () => (await scene.api('GET', '/v1/decisions/stats')).body.total
  const before = await total()
  for (const more of refused) {
    const { status, text } = await log(more)
    assert.equal(status, 422, `${JSON.stringify(more).slice(0, 60)}: ${text.slice(0, 200)}`)
  }
  assert.equal(await total(), before)
})

test('memory_seq is kept up to the size of the log and refused beyond it', async () => {
  const { body } = await log({ memory_seq: 0 })
  assert.equal(body.memory_seq, 0)
  const size = body.log_seq + 1
  assert.equal((await log({ memory_seq: size })).body.memory_seq, size)
  const beyond = await log({ memory_seq: size + 2 })
  assert.equal(beyond.status, 422)
  assert.equal(beyond.body.error, 'rejected')
})

test('a content equal to the stored fact is referred to, another one is kept', async () => {
  const ref = await scene.write('Rents are due on the first')
  const { body } = await log({
    retrieved_refs: [ref, ref],
    retrieved_contents: ['Rents are due on the first', 'Rents are due'],
  })
  assert.deepEqual(body.retrieved_contents, ['Rents are due on the first', 'Rents are due'])
  const read = await scene.api('GET', `/v1/decisions/${body.decision_id}`)
  assert.deepEqual(read.body, body)
})

test('decisions that arrive together name live, erased and unwritten memories alike', async () => {
  const erased = await scene.write('Carla Roth moved out')
  const live = await scene.write('Rents rise in May')
  assert.equal((await scene.issue(erased)).status, 200)
  // Its number and its secret may be reserved already, but there is no memory.
  const unwritten = live + 1
  const states = new Map([
    [live, 'live'],
    [erased, 'erased'],
    [unwritten, 'unknown'],
  ])
  const named = [[live], [erased], [unwritten], [live, unwritten], [live, erased], []]
  const ask = async (refs: number[], contents: string[]) => {
    const answer = await log({ retrieved_refs: refs, retrieved_contents: contents })
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(answer.body.retrieved_refs, refs)
    const { body } = await scene.api('GET', `/v1/decisions/${answer.body.decision_id}/replay`)
    assert.deepEqual(
      body.facts_used.map((used: { ref: number; state: string }) => [used.ref, used.state]),
      refs.map((ref) => [ref, states.get(ref)]),
    )
  }
  await Promise.all(
    named.flatMap((refs) => [
      ask(refs, []),
      ask(
        refs,
        refs.map((ref) => `content of ${ref}`),
      ),
    ]),
  )
})

test('a content that arrives for an erased ref is stored as the marker', async () => {
  const ref = await scene.write('Bruno Keller owes 300 francs')
  assert.equal((await scene.issue(ref)).status, 200)
  const { body } = await log({
    retrieved_refs: [ref],
    retrieved_contents: ['Bruno Keller owes 300 francs'],
  })
  assert.deepEqual(body.retrieved_contents, [MARKER])
  const { body: replay } = await scene.api('GET', `/v1/decisions/${body.decision_id}/replay`)
  assert.equal(replay.facts_used[0].state, 'erased')
  assert.deepEqual(replay.facts_since_deleted, [])
})

test('a private key in the body is refused', async () => {
  const { status, body } = await log({ signing_key: '00'.repeat(32) })
  assert.equal(status, 422)
  assert.equal(body.error, 'signing_key_refused')
})

test('the same decision logged twice in a row has two ids', async () => {
  const [one, two] = await Promise.all([log(), log()])
  assert.notEqual(one.body.decision_id, two.body.decision_id)
})

test('a repeated request with one Idempotency-Key answers the same record once', async () => {
  const headers = { 'idempotency-key': 'log-1' }
  const send = (body: unknown) => scene.api('POST', '/v1/decisions/log', body, headers)
  const first = await send(PLAIN)
  const again = await send(PLAIN)
  assert.deepEqual(again.body, first.body)
  assert.equal(again.headers.get('idempotency-replayed'), 'true')
  const other = await send({ ...PLAIN, query: 'another' })
  assert.equal(other.status, 409)
  assert.equal(other.body.error, 'idempotency_key_reused')
})

test('50 decisions at once take 50 consecutive log positions, each with its own id', async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => log({ query: `q${i}` })))
  const seqs = answers.map(({ body }) => body.log_seq).sort((a, b) => a - b)
  assert.equal(seqs[49] - seqs[0], 49)
  assert.equal(new Set(seqs).size, 50)
  assert.equal(new Set(answers.map(({ body }) => body.decision_id)).size, 50)
  const verdict = await scene.api('GET', '/v1/gcrumbs/verify?full=true')
  assert.equal(verdict.body.status, 'intact')
})

test('a credential bound to stores logs for those only', async () => {
  const { body: key } = await scene.api('POST', '/v1/keys', {
    class: 'service',
    allowed_stores: [scene.store_id],
  })
  const as = (store_id: string) =>
    scene.service.request('POST', '/v1/decisions/log', {
      key: key.api_key,
      body: { ...PLAIN, store_id },
    })
  assert.equal((await as(scene.store_id)).status, 200)
  const refused = await as('label')
  assert.equal(refused.status, 404)
  assert.equal(refused.body.error, 'store_not_found')
})

test('a decision whose key is rotated while it is logged is signed with the new one', async (t) => {
  const { keyring } = scene.service.kernel
  const current = keyring.signer.bind(keyring)
  let left = 1
  t.mock.method(keyring, 'signer', (purpose: Parameters<typeof current>[0]) => {
    const signer = current(purpose)
    return {
      ...signer,
      sign(message: Uint8Array) {
        if (purpose === 'decision' && left-- > 0)
          throw new KeyringError('signing_key_retired', 'the key is retired')
        return signer.sign(message)
      },
    }
  })
  const { status, body, text } = await log({ query: 'Which key?' })
  assert.equal(status, 200, text)
  assert.equal(left, -1)
  const { keys } = (await scene.api('GET', '/v1/gcrumbs/public_key')).body
  assert.equal((await verifyDecision(body, keys)).valid, true)
})

test('without a decision key nothing is logged and the answer is no_signing_key', async () => {
  const lone = await openScene()
  try {
    const { keyring, clock } = lone.service.kernel
    await keyring.retireSigningKey('decision', formatTime(clock.now()))
    const refused = await lone.api('POST', '/v1/decisions/log', PLAIN)
    assert.equal(refused.status, 503)
    assert.equal(refused.body.error, 'no_signing_key')
    assert.equal((await lone.api('GET', '/v1/decisions/stats')).body.total, 0)
  } finally {
    await lone.stop()
  }
})
