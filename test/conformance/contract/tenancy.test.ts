// Two tenants: nothing of one is seen, named or changed by the other, in any operation.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { OperationSpec } from '@custos/contract'
import { signedIn } from '../../../packages/server/src/slices/identity/testing/browser.ts'
import type { Answer, TestService } from '../../../packages/server/src/testing/harness.ts'
import { noteCounts } from '../../../packages/server/src/testing/sweep.ts'
import { exampleOf } from './examples.ts'
import { startContractService } from './testing/payments.ts'
import { operations, type Sent } from './testing/table.ts'
import { newTenant, send, type Tenant } from './testing/tenant.ts'
import { buildWorld, GHOSTS, type Ids, type World } from './testing/world.ts'

let service: TestService
let world: World
let untouched: string
/** Texts that no answer to another tenant may contain. */
let marks: readonly string[]

before(async () => {
  service = await startContractService()
  world = await buildWorld(service)
  untouched = await everythingOf(world)
  marks = marksOf(world)
})

after(() => service.stop())

function marksOf({ tenant, ids, word }: World): string[] {
  const { tenant_id, store_id, decision_id, certificate_id, job_id, key_id, policy_id } = ids
  const minted = [tenant_id, store_id, decision_id, certificate_id, job_id, key_id, policy_id]
  const { webhook_id, delivery_id } = ids
  const others = [
    ids.request_id,
    ids.approver_id,
    webhook_id,
    delivery_id,
    ids.session_id,
    ids.user_id,
  ]
  return [...minted, ...others, word, tenant.api_key]
}

/** All that the tenant can read about itself, as one text. */
async function everythingOf({ tenant, ids }: World): Promise<string> {
  const answers: [string, Sent][] = [
    ['memory.list_stores', {}],
    ['memory.export', { params: { store_id: ids.store_id } }],
    ['memory.audit', { params: { store_id: ids.store_id } }],
    ['decisions.export', {}],
    ['decisions.replay', { params: { decision_id: ids.decision_id } }],
    ['erasure.list', {}],
    ['gcrumbs.breadcrumbs', { query: { limit: 1000 } }],
    ['gcrumbs.epochs', {}],
    ['gcrumbs.checkpoint', {}],
    ['gcrumbs.tile', { params: { tile: 'entries/000.p/1' } }],
    ['reports.get', { params: { report_id: ids.report_id } }],
    ['subjects.list', {}],
    ['subjects.manifest', { params: { request_id: ids.subject_id } }],
    ['assurance.runs', {}],
    ['assurance.schedules', {}],
    ['assurance.get_run', { params: { run_id: ids.run_id } }],
    ['jobs.get', { params: { job_id: ids.job_id } }],
    ['keys.list', {}],
    ['governance.get_policy', { params: { policy_id: ids.policy_id } }],
    ['governance.stats', {}],
    ['compositions.list', {}],
    ['compositions.verify', { params: { composition_id: ids.composition_id } }],
    ['approvals.requests', { query: { status: 'all' } }],
    ['approvals.request', { params: { request_id: ids.request_id } }],
    ['approvals.approvers', {}],
    ['approvals.settings', {}],
    ['tenants.get', { params: { tenant_id: ids.tenant_id } }],
  ]
  const texts: string[] = []
  for (const [id, sent] of answers) {
    const { status, text } = await tenant.ask(id, sent)
    assert.ok(status < 300, `${id}: ${text}`)
    // A key was last used whenever that is stored: half a minute late.
    texts.push(text.replaceAll(/"(exported_at|last_used_at)":("[^"]*"|null)/g, ''))
  }
  return texts.join('\n')
}

/** An answer without what differs from one request to the next. */
function comparable({ status, text, headers }: Answer): unknown {
  const settled = text
    .replaceAll(/"request_id":"[^"]*"/g, '"request_id":""')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
  return { status, text: settled, type: headers.get('content-type') }
}

const asked = (operation: OperationSpec, tenant: Tenant, ids: Ids): Promise<Answer> =>
  send(service, operation.id, exampleOf(operation.id, ids), { key: tenant.api_key })

/** Operations that name a thing of the tenant in their path. */
const naming = operations.filter(
  ({ access, path }) => access !== 'public' && access !== 'operator' && path.includes('{'),
)
// A number that names nothing is no error here: there is simply nothing to replace.
const ANSWERS_ANY_NUMBER = new Set(['decisions.scrub'])

describe('an id of another tenant', () => {
  for (const operation of naming)
    test(`${operation.id} answers it exactly as one that never existed`, async () => {
      const other = await newTenant(service)
      const foreign = await asked(operation, other, world.ids)
      const ghost = await asked(operation, other, GHOSTS)
      const expected = ANSWERS_ANY_NUMBER.has(operation.id) ? 200 : 404
      assert.equal(foreign.status, expected, foreign.text)
      if (expected === 404) assert.deepEqual(comparable(foreign), comparable(ghost))
      for (const mark of marks) assert.ok(!foreign.text.includes(mark), foreign.text)
      noteCounts({ 'operations that name a thing': 1 })
    })
})

// The body of a sign-in is a credential of the tenant that its answer shows.
const SIGNS_IN = new Set([
  'identity.sign_in',
  'identity.accept',
  'identity.callback',
  'identity.exchange',
])
const readable = operations.filter(({ id, access }) => access !== 'operator' && !SIGNS_IN.has(id))

describe('a session of another tenant', () => {
  for (const operation of readable)
    test(`${operation.id} shows and changes nothing of the first tenant in it`, async () => {
      const other = await newTenant(service)
      const browser = await signedIn(service, other.api_key)
      const sent = exampleOf(operation.id, world.ids)
      const ghost = exampleOf(operation.id, GHOSTS)
      const headers = { ...sent.headers, ...browser.headers }
      const answer = await send(service, operation.id, { ...sent, headers })
      const own = JSON.stringify([sent.body ?? null, sent.params ?? null])
      for (const mark of marks)
        if (!own.includes(mark)) assert.ok(!answer.text.includes(mark), answer.text)
      if (!naming.includes(operation)) return
      const expected = ANSWERS_ANY_NUMBER.has(operation.id) ? 200 : 404
      assert.equal(answer.status, expected, answer.text)
      if (expected === 200) return
      const never = await send(service, operation.id, { ...ghost, headers })
      assert.deepEqual(comparable(answer), comparable(never))
      noteCounts({ 'the same with a session': 1 })
    })
})

describe('any answer to another tenant', () => {
  for (const operation of readable)
    test(`${operation.id} holds nothing of the first tenant`, async () => {
      const other = await newTenant(service)
      const sent = exampleOf(operation.id, world.ids)
      // What the caller sends itself may come back.
      const own = JSON.stringify([sent.body ?? null, sent.params ?? null])
      const { text, headers } = await send(service, operation.id, sent, { key: other.api_key })
      for (const mark of marks)
        if (!own.includes(mark)) assert.ok(!text.includes(mark), `${operation.id}: ${text}`)
      assert.ok(![...headers.values()].join('\n').includes(world.word))
      noteCounts({ 'operations whose answer was searched': 1 })
    })
})

test('bodies that name things of another tenant reach nothing', async () => {
  const other = await newTenant(service)
  const { store_id } = await other.ok('memory.create_store', { body: {} })
  const { ref, old_ref, erased_ref, decision_id } = world.ids
  const params = { store_id }

  // Before it has memories of its own: refs are numbers of one tenant.
  assert.equal(
    (await other.ok('memory.delete', { params, body: { ref: erased_ref } })).deleted,
    false,
  )

  for (const fact_ref of [old_ref, erased_ref]) {
    const issued = await other.ok('erasure.issue', { body: { fact_ref } })
    assert.equal(issued.deleted, false)
    assert.equal(issued.outcome, 'nothing_found')
    assert.equal(issued.store_id, null)
  }
  const logged = await other.ok('decisions.log', {
    body: {
      store_id: world.ids.store_id,
      model_id: 'm',
      query: 'q',
      output: 'o',
      retrieved_refs: [old_ref, erased_ref],
    },
  })
  assert.notEqual(logged.decision_id, decision_id)
  const replayed = await other.ok('decisions.replay', {
    params: { decision_id: logged.decision_id },
  })
  assert.deepEqual(replayed.memory_state, [])
  assert.deepEqual(replayed.facts_since_deleted, [])
  for (const fact of replayed.facts_used)
    assert.deepEqual([fact.content, fact.state], [null, 'unknown'])

  const plain = await other.ok('memory.supersede', {
    params,
    body: { old_ref: ref, content: 'mine' },
  })
  assert.equal(plain.warning, 'unknown_ref')
})

test('lists, totals and searches of another tenant hold its own only', async () => {
  const other = await newTenant(service)
  const { store_id } = await other.ok('memory.create_store', { body: {} })
  const params = { store_id }
  const { memories } = await other.ok('memory.retrieve', { params, body: { query: world.word } })
  assert.deepEqual(memories, [])
  const stores = await other.ok('memory.list_stores')
  assert.deepEqual(
    stores.stores.map((store: { store_id: string }) => store.store_id),
    [store_id, 'default'],
  )
  assert.equal(stores.tenant_stats.fact_count, 0)
  const model = { query: { model_id: `${world.word}-model` } }
  assert.deepEqual((await other.ok('decisions.list', model)).decisions, [])
  const session = { query: { session_id: `${world.word}-session` } }
  assert.deepEqual((await other.ok('decisions.list', session)).decisions, [])
  assert.equal((await other.ok('decisions.stats')).total, 0)
  assert.equal((await other.ask('decisions.export')).text, '')
  assert.equal((await other.ok('erasure.stats')).total, 0)
  assert.deepEqual((await other.ok('erasure.list')).certificates, [])
  assert.equal((await other.ok('gcrumbs.stats')).total_epochs, 0)
  assert.deepEqual((await other.ok('gcrumbs.epochs')).epochs, [])
  const { keys } = await other.ok('keys.list')
  assert.ok(!keys.some((key: { key_id: string }) => key.key_id === world.ids.key_id))
  const numbers = await other.ok('monitoring.stats')
  assert.deepEqual([numbers.memories, numbers.decisions, numbers.certificates], [0, 0, 0])
  assert.equal((await other.ok('tenants.current_usage')).governed_decisions, 0)
  assert.deepEqual((await other.ok('cgr.scores')).scores, [])
  assert.deepEqual((await other.ok('cgr.attestations')).attestations, [])
  assert.deepEqual((await other.ok('webhooks.list')).webhooks, [])
  for (const crumb of (await other.ok('gcrumbs.breadcrumbs')).breadcrumbs)
    assert.equal(crumb.tenant_id, other.tenant_id)
})

test('a cursor another tenant got continues in the caller’s own list', async () => {
  const other = await newTenant(service)
  const { next_cursor } = await world.tenant.ok('gcrumbs.breadcrumbs', { query: { limit: 1 } })
  const { breadcrumbs } = await other.ok('gcrumbs.breadcrumbs', { query: { cursor: next_cursor } })
  for (const crumb of breadcrumbs) assert.equal(crumb.tenant_id, other.tenant_id)
  const of = { params: { store_id: world.ids.store_id }, query: { limit: 1 } }
  const page = await world.tenant.ok('memory.memories', of)
  const { store_id } = await other.ok('memory.create_store', { body: {} })
  const { memories } = await other.ok('memory.memories', {
    params: { store_id },
    query: { cursor: page.next_cursor },
  })
  assert.deepEqual(memories, [])
})

test('idempotency keys of two tenants never meet', async () => {
  const [one, two] = [await newTenant(service), await newTenant(service)]
  const sent = { body: { name: 'same' }, headers: { 'idempotency-key': 'shared' } }
  const first = await one.ok('memory.create_store', sent)
  const second = await two.ok('memory.create_store', sent)
  assert.notEqual(first.store_id, second.store_id)
})

test('after all of this the first tenant reads exactly what it read before', async () => {
  assert.equal(await everythingOf(world), untouched)
  const { status } = await world.tenant.ok('gcrumbs.verify', { query: { full: true } })
  assert.equal(status, 'intact')
})
