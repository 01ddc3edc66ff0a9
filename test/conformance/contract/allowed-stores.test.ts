// A key limited to some stores: nothing of the others shows or changes, in any operation.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { TestService } from '../../../packages/server/src/testing/harness.ts'
import { exampleOf } from './examples.ts'
import { startContractService } from './testing/payments.ts'
import { operations } from './testing/table.ts'
import { assertRefusal, newTenant, type Tenant } from './testing/tenant.ts'
import { fillStore, GHOSTS, type Ids, waitForJob } from './testing/world.ts'

const OWN = 'ownword'
const HIDDEN = 'hiddenword'

let service: TestService
let owner: Tenant
let limited: Tenant
let own: Ids
let hidden: Ids
let untouched: string

before(async () => {
  service = await startContractService()
  owner = await newTenant(service)
  const { tenant_id } = owner
  own = { ...GHOSTS, tenant_id, ...(await fillStore(owner, OWN)) }
  hidden = { ...GHOSTS, tenant_id, ...(await fillStore(owner, HIDDEN)) }
  await owner.ok('gcrumbs.roll')
  limited = await owner.withKey({ class: 'tenant', scopes: ['*'], allowed_stores: [own.store_id] })
  untouched = await hiddenState()
})

after(() => service.stop())

async function hiddenState(): Promise<string> {
  const { store_id, decision_id, certificate_id } = hidden
  const texts = [
    await owner.ask('memory.audit', { params: { store_id } }),
    await owner.ask('decisions.get', { params: { decision_id } }),
    await owner.ask('erasure.get', { params: { certificate_id } }),
  ].map(({ text }) => text)
  return texts.join('\n')
}

const factsIn = async ({ store_id }: Ids): Promise<number> =>
  (await owner.ok('memory.stats', { params: { store_id } })).facts

// The log is proven as a whole: its entries cannot be left out, and say ids and digests only.
const SHOWS_STORE_IDS = new Set([
  'gcrumbs.breadcrumbs',
  'gcrumbs.proof',
  'gcrumbs.tile',
  'streams.events',
])

describe('a key limited to one store', () => {
  for (const operation of operations) {
    if (operation.access === 'public' || operation.access === 'operator') continue
    if (operation.id === 'tenants.rotate_key') continue
    test(`${operation.id} shows nothing of another store`, async () => {
      const sent = exampleOf(operation.id, hidden)
      const answer = await limited.ask(operation.id, sent)
      if (operation.path.includes('{store_id}'))
        assertRefusal(answer, 'store_not_found', operation.id)
      const given = JSON.stringify([sent.params ?? null, sent.body ?? null])
      const marks = [HIDDEN, hidden.decision_id, hidden.certificate_id]
      if (!SHOWS_STORE_IDS.has(operation.id)) marks.push(hidden.store_id)
      for (const mark of marks)
        if (!given.includes(mark)) assert.ok(!answer.text.includes(mark), answer.text)
    })
  }
})

test('what is not of its stores is not found one by one', async () => {
  const { decision_id, certificate_id, old_ref, erased_ref, store_id } = hidden
  const refusals = [
    ['decisions.get', { params: { decision_id } }, 'decision_not_found'],
    ['decisions.replay', { params: { decision_id } }, 'decision_not_found'],
    ['decisions.redact', { params: { decision_id }, body: {} }, 'decision_not_found'],
    ['erasure.get', { params: { certificate_id } }, 'certificate_not_found'],
    ['erasure.verify', { params: { certificate_id } }, 'certificate_not_found'],
    ['erasure.by_fact', { params: { fact_ref: erased_ref } }, 'certificate_not_found'],
    ['erasure.issue', { body: { fact_ref: old_ref } }, 'memory_not_found'],
    ['erasure.issue', { body: { fact_ref: erased_ref } }, 'memory_not_found'],
    [
      'decisions.log',
      { body: { store_id, model_id: 'm', query: 'q', output: 'o' } },
      'store_not_found',
    ],
    ['memory.memory', { params: { store_id: own.store_id, ref: old_ref } }, 'memory_not_found'],
  ] as const
  for (const [id, sent, code] of refusals) assertRefusal(await limited.ask(id, sent), code, id)
})

test('refs of another store reach nothing through its own store', async () => {
  const params = { store_id: own.store_id }
  const deleted = await limited.ok('memory.delete', { params, body: { ref: hidden.ref } })
  assert.deepEqual([deleted.deleted, deleted.erasure_certificate_id], [false, undefined])
  const written = await limited.ok('memory.supersede', {
    params,
    body: { old_ref: hidden.ref, content: `${OWN} again` },
  })
  assert.equal(written.warning, 'unknown_ref')
  const scrubbed = await limited.ok('decisions.scrub', { params: { fact_ref: hidden.ref } })
  assert.equal(scrubbed.decisions_affected, 0)
  const logged = await limited.ok('decisions.log', {
    body: {
      store_id: own.store_id,
      model_id: 'm',
      query: 'q',
      output: 'o',
      retrieved_refs: [hidden.old_ref, hidden.ref],
    },
  })
  const { decision_id } = logged
  const { text } = await limited.ask('decisions.replay', { params: { decision_id } })
  assert.ok(!text.includes(HIDDEN), text)
})

test('a replay says of refs of another store no more than of a label', async () => {
  const refs = [own.old_ref, hidden.old_ref, hidden.ref, 9_000_000_001]
  const { store_id } = own
  const doomed = await owner.ok('memory.write', {
    params: { store_id: hidden.store_id },
    body: { content: 'soon gone' },
  })
  const body = { store_id, model_id: 'm', query: 'q', output: 'o' }
  const { decision_id } = await owner.ok('decisions.log', {
    body: { ...body, retrieved_refs: [...refs, doomed.ref] },
  })
  await owner.ok('erasure.issue', { body: { fact_ref: doomed.ref } })
  const params = { decision_id }
  const statesFor = async (who: Tenant) => {
    const { facts_used, facts_since_deleted } = await who.ok('decisions.replay', { params })
    const states = facts_used.map(({ state }: { state: string }) => state)
    return { states, facts_since_deleted }
  }
  const [whole, part] = [await statesFor(owner), await statesFor(limited)]
  assert.equal(whole.states[4], 'erased')
  assert.deepEqual(whole.facts_since_deleted, [doomed.ref])
  assert.notEqual(whole.states[2], 'unknown')
  const [first, ...others] = part.states
  assert.equal(first, whole.states[0])
  assert.deepEqual(others, ['unknown', 'unknown', 'unknown', 'unknown'])
  assert.deepEqual(part.facts_since_deleted, [])
})

test('keys of different stores get no reply to each other’s Idempotency-Key', async () => {
  const other = await owner.withKey({
    class: 'tenant',
    scopes: ['*'],
    allowed_stores: [hidden.store_id],
  })
  const sides = [
    { who: limited, of: own, stranger: other, word: OWN },
    { who: other, of: hidden, stranger: limited, word: HIDDEN },
  ]
  const keyed = (name: string) => ({ headers: { 'idempotency-key': name } })
  for (const { who, of, stranger, word } of sides) {
    const params = { store_id: of.store_id }
    const written = { params, body: { content: `${word} again` }, ...keyed('write') }
    const { ref } = await who.ok('memory.write', written)
    const erased = { body: { fact_ref: ref }, ...keyed(`erase-${ref}`) }
    await who.ok('erasure.issue', erased)
    assert.equal((await who.ok('erasure.issue', erased)).fact_ref, ref)
    assertRefusal(await stranger.ask('erasure.issue', erased), 'memory_not_found', word)
  }
  untouched = await hiddenState()
})

test('lists and totals count its own stores only', async () => {
  const { stores } = await limited.ok('memory.list_stores')
  assert.deepEqual(
    stores.map((store: { store_id: string }) => store.store_id),
    [own.store_id],
  )
  const { decisions } = await limited.ok('decisions.list', { query: { limit: 1000 } })
  assert.ok(decisions.length > 0)
  for (const decision of decisions) assert.equal(decision.store_id, own.store_id)
  const other = { query: { store_id: hidden.store_id } }
  assert.deepEqual((await limited.ok('decisions.list', other)).decisions, [])
  assert.equal((await limited.ok('decisions.stats')).stores_used, 1)
  const { text } = await limited.ask('decisions.export')
  for (const line of text.trimEnd().split('\n'))
    assert.equal(JSON.parse(line).store_id, own.store_id)
  const numbers = await limited.ok('monitoring.stats')
  assert.equal(numbers.stores.active, 1)
  assert.equal(numbers.decisions, (await limited.ok('decisions.stats')).total)
  assert.equal(numbers.memories, await factsIn(own))
  const { certificates: issued, log_size, usage_this_month, metrics } = numbers
  const { memory_operations, erasure_certificates } = metrics
  for (const whole of [issued, log_size, usage_this_month, memory_operations, erasure_certificates])
    assert.equal(whole, null)
  const all = await owner.ok('monitoring.stats')
  assert.equal(all.memories, (await factsIn(own)) + (await factsIn(hidden)))
  assert.equal(all.metrics.erasure_certificates, all.certificates)
  const { certificates } = await limited.ok('erasure.list')
  for (const certificate of certificates) assert.equal(certificate.store_id, own.store_id)
  assert.equal((await limited.ok('erasure.stats')).total, certificates.length)
})

test('it cannot make itself or another key less limited', async () => {
  const wider = [
    { allowed_stores: [own.store_id, hidden.store_id] },
    { allowed_stores: [hidden.store_id] },
  ]
  for (const body of wider)
    assertRefusal(await limited.ask('keys.create', { body }), 'scope_missing', 'wider')
  for (const body of [{ allowed_stores: [] }, { namespace: null }])
    assertRefusal(await limited.ask('keys.create', { body }), 'validation', 'no limit at all')
  const unknown = { body: { allowed_stores: ['of-nobody'] } }
  assertRefusal(await limited.ask('keys.create', unknown), 'scope_missing', 'as of a store in use')
  const child = await limited.ok('keys.create')
  assert.deepEqual(child.allowed_stores, [own.store_id])
  const twin = await limited.withKey({ class: 'tenant', scopes: ['*'] })
  const params = { tenant_id: owner.tenant_id }
  const rotated = await twin.ok('tenants.rotate_key', { params })
  const key = (await owner.ok('keys.list')).keys.find(
    (known: { key_id: string }) => known.key_id === rotated.key_id,
  )
  assert.deepEqual(key.allowed_stores, [own.store_id])
  assert.equal((await owner.ask('memory.list_stores')).status, 200, 'the owner keeps its key')
})

test('a key of a deleted store reaches no other, and no more are made for it', async () => {
  const store_id = 'short-lived'
  const body = { scopes: ['memory:read', 'memory:write'], allowed_stores: [store_id] }
  const foreign = await newTenant(service)
  await foreign.ok('memory.create_store', { body: { store_id } })
  assertRefusal(await owner.ask('keys.create', { body }), 'store_not_found', 'of another tenant')
  await owner.ok('memory.create_store', { body: { store_id } })
  const key = await owner.withKey(body)
  const params = { store_id }
  const { job_id } = await owner.ok('memory.delete_store', { params })
  assertRefusal(await owner.ask('keys.create', { body }), 'store_not_found', 'deleting')
  await waitForJob(owner, job_id)
  assertRefusal(await owner.ask('keys.create', { body }), 'store_not_found', 'deleted')
  const again = await owner.ask('memory.create_store', { body: { store_id } })
  assertRefusal(again, 'store_exists', 'the id is not used twice')
  const written = { params, body: { content: 'x' } }
  assertRefusal(await key.ask('memory.write', written), 'store_not_found', 'the old key')
})

test('after all of this the other store is as it was', async () => {
  assert.equal(await hiddenState(), untouched)
})
