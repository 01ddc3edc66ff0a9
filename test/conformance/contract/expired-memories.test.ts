// Once a memory has expired no operation shows a word of it, though a hold keeps it from erasure.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { TestService } from '../../../packages/server/src/testing/harness.ts'
import { movedClock } from '../../../packages/server/src/testing/skewed-clock.ts'
import { exampleOf } from './examples.ts'
import { startContractService } from './testing/payments.ts'
import { operations, type Sent } from './testing/table.ts'
import { newTenant, Tenant } from './testing/tenant.ts'
import { GHOSTS, type Ids } from './testing/world.ts'

const CANARY = 'canaryword'
const TTL_S = 60

const clock = movedClock()
let service: TestService
let owner: Tenant
let token: Tenant
let ids: Ids

before(async () => {
  service = await startContractService({ clock })
  owner = await newTenant(service)
  const { store_id } = await owner.ok('memory.create_store')
  const params = { store_id }
  const made = await owner.ok('keys.create_token', {
    body: { store_id, namespace: 'own', scopes: ['memory:read', 'memory:write'] },
  })
  token = new Tenant(service, { tenant_id: owner.tenant_id, api_key: made.token })
  const options = { ttl_s: TTL_S, metadata: { subject: CANARY, session_id: CANARY } }
  const content = `${CANARY} lives in Porto`
  const { ref: old_ref } = await token.ok('memory.write', { params, body: { content, options } })
  const { ref } = await token.ok('memory.supersede', {
    params,
    body: { old_ref, content: `${content} still`, options },
  })
  await token.ok('memory.write', { params, body: { content: 'Ana lives in Porto' } })
  const { decision_id } = await owner.ok('decisions.log', {
    body: {
      store_id,
      model_id: 'model-a',
      query: `is it so: ${content}?`,
      output: `yes, ${content} still.`,
      retrieved_refs: [old_ref, ref],
      retrieved_contents: [content, `about ${CANARY}`],
    },
  })
  await owner.ok('retention.place_hold', { params, body: { reason: 'a matter' } })
  ids = { ...GHOSTS, tenant_id: owner.tenant_id, store_id, ref, old_ref, decision_id }
})

after(() => service.stop())

/** Whom the operation answers: the owner is told nothing more of the memory than a token. */
const callersOf = (namespaced: true | undefined): readonly Tenant[] =>
  namespaced ? [token, owner] : [owner]

/** A search for the word itself as well. */
const requestsOf = (id: string): readonly Sent[] => {
  const sent = exampleOf(id, ids)
  if (id !== 'memory.retrieve') return [sent]
  const body = { query: CANARY, explain: true }
  return [sent, { ...sent, body }]
}

/** Who must answer a person tells of all that is stored. A search repeats no word of its query. */
const swept = operations.filter(
  ({ id, access }) => !id.startsWith('subjects.') && (access === 'tenant' || access === 'either'),
)

const readers = swept.filter(({ id, method }) => method === 'GET' || id === 'memory.retrieve')

async function readersShowing(): Promise<string[]> {
  const showing = new Set<string>()
  for (const { id, namespaced } of readers)
    for (const caller of callersOf(namespaced))
      for (const sent of requestsOf(id)) {
        const { text } = await caller.ask(id, sent)
        if (isShown(text)) showing.add(id)
      }
  return [...showing].sort()
}

/** The terms of the query, which an explanation names, are the caller's own. */
const isShown = (text: string): boolean => text.replaceAll(/"term":"[^"]*"/g, '').includes(CANARY)

test('the readers show the memory before it expires', async () => {
  assert.deepEqual(await readersShowing(), [
    'decisions.export',
    'decisions.get',
    'decisions.list',
    'decisions.replay',
    'memory.audit',
    'memory.export',
    'memory.history',
    'memory.memories',
    'memory.memory',
    'memory.retrieve',
  ])
})

describe('after its expiry', () => {
  before(() => clock.forward(TTL_S * 1_000_000))

  for (const { id, namespaced } of swept)
    test(`${id} shows no word of it`, async () => {
      for (const caller of callersOf(namespaced))
        for (const sent of requestsOf(id)) {
          const { status, text } = await caller.ask(id, sent)
          assert.ok(status < 500, text)
          assert.ok(!isShown(text), text)
        }
    })

  test('the hold has kept it all the same', async () => {
    const { expired } = await owner.ok('retention.get', { params: { store_id: ids.store_id } })
    assert.equal(expired, 2)
  })
})
