// A key limited to a namespace, and a token: nothing of another namespace shows or changes, in any
// operation.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { TestService } from '../../../packages/server/src/testing/harness.ts'
import { exampleOf } from './examples.ts'
import { startContractService } from './testing/payments.ts'
import { operations, type Sent } from './testing/table.ts'
import { assertRefusal, Tenant } from './testing/tenant.ts'
import { buildWorld, fillStore, type Ids, type World } from './testing/world.ts'

const OWN = 'ownword'
const HIDDEN = 'hiddenword'
/** Both write it, so that each could be told of the other's. */
const SHARED = 'the cat sleeps on the mat'

let service: TestService
let world: World
let owner: Tenant
let key: Tenant
let token: Tenant
let store_id: string
/** Of the namespace `own`, which the key is limited to. */
let own: Ids
/** Of another namespace and of the root, in the same store. */
let hidden: readonly Ids[]
let untouched: string

before(async () => {
  service = await startContractService()
  world = await buildWorld(service)
  owner = world.tenant
  store_id = world.ids.store_id
  const first = await owner.ok('memory.write', written(OWN, 'own'))
  own = { ...world.ids, ref: first.ref, old_ref: first.ref }
  hidden = [await fillNamespace('other'), await fillNamespace(null)]
  key = await owner.withKey({ class: 'tenant', scopes: ['*'], namespace: 'own' })
  const made = await owner.ok('keys.create_token', {
    body: { store_id, namespace: 'own', scopes: ['memory:read', 'memory:write'] },
  })
  token = new Tenant(service, { tenant_id: owner.tenant_id, api_key: made.token })
  untouched = await hiddenState()
})

after(() => service.stop())

const written = (word: string, namespace: string | null): Sent => ({
  params: { store_id },
  body: { content: `${word}: ${SHARED}`, metadata: { word }, namespace },
})

/** A memory, one with a history and one that is erased. */
async function fillNamespace(namespace: string | null): Promise<Ids> {
  const { ref: old_ref } = await owner.ok('memory.write', written(HIDDEN, namespace))
  const { ref } = await owner.ok('memory.supersede', {
    params: { store_id },
    body: { old_ref, content: `${HIDDEN} wakes` },
  })
  const { ref: erased_ref } = await owner.ok('memory.write', written(`${HIDDEN} gone`, namespace))
  await owner.ok('memory.delete', { params: { store_id }, body: { ref: erased_ref } })
  await owner.ok('memory.write', {
    params: { store_id },
    body: { content: SHARED, namespace },
  })
  return { ...world.ids, ref, old_ref, erased_ref }
}

/** What the owner sees of the store outside the namespace of the key. */
async function hiddenState(): Promise<string> {
  const { text } = await owner.ask('memory.export', { params: { store_id } })
  const [, ...lines] = text.trimEnd().split('\n')
  return lines.filter((line) => JSON.parse(line).tenant_id !== `${owner.tenant_id}/own`).join('\n')
}

const limitedOnes = (): readonly [string, Tenant][] => [
  ['key', key],
  ['token', token],
]

describe('a credential limited to a namespace', () => {
  for (const operation of operations) {
    if (operation.access === 'public' || operation.access === 'operator') continue
    const { id, namespaced } = operation
    if (!namespaced)
      test(`${id} is refused`, async () => {
        for (const [name, who] of limitedOnes())
          assertRefusal(await who.ask(id, exampleOf(id, world.ids)), 'scope_missing', name)
      })
    else
      test(`${id} shows nothing of another namespace, whose refs are as unknown`, async () => {
        for (const ids of hidden)
          for (const [name, who] of limitedOnes()) {
            const sent = exampleOf(id, ids)
            const { status, text } = await who.ask(id, sent)
            const named = /"(namespace|tenant_id)"/.test(JSON.stringify(sent))
            assert.ok(status < 300 || status === (named ? 403 : 404), `${name}: ${text}`)
            assert.ok(!text.includes(HIDDEN), text)
            assert.ok(!text.includes(world.word) || id === 'memory.export', text)
          }
      })
  }
})

test('naming another namespace is refused, wherever it is named', async () => {
  const names = [
    { namespace: 'other' },
    { tenant_id: 'other' },
    { namespace: owner.tenant_id },
    { tenant_id: `${owner.tenant_id}/other` },
    { namespace: 'own', tenant_id: 'other' },
  ]
  const params = { store_id }
  const ask = async (id: string, sent: Sent) => {
    for (const [name, who] of limitedOnes())
      assertRefusal(await who.ask(id, { params, ...sent }), 'scope_missing', `${name} ${id}`)
  }
  for (const named of names) {
    for (const place of [named, { options: named }]) {
      await ask('memory.write', { body: { content: 'x', ...place } })
      await ask('memory.supersede', { body: { old_ref: own.ref, content: 'x', ...place } })
      await ask('memory.retrieve', { body: { query: 'x', ...place } })
      await ask('memory.write_batch', {
        body: { items: [{ content: 'x' }, { content: 'x', ...place }] },
      })
    }
  }
  await ask('memory.memories', { query: { namespace: 'other' } })
})

test('an export tells it nothing of the store but its memories', async () => {
  for (const [name, who] of limitedOnes()) {
    const { text } = await who.ask('memory.export', { params: { store_id } })
    const [header = ''] = text.split('\n')
    assert.equal(JSON.parse(header).store, undefined, name)
  }
})

test('it writes and finds in its namespace without naming it', async () => {
  const params = { store_id }
  for (const [name, who] of limitedOnes()) {
    const { ref } = await who.ok('memory.write', { params, body: { content: `${name} ${OWN}` } })
    const { refs } = await who.ok('memory.write_batch', {
      params,
      body: { items: [{ content: `${name} batch`, options: { metadata: { a: 1 } } }] },
    })
    const next = await who.ok('memory.supersede', {
      params,
      body: { old_ref: ref, content: `${name} ${OWN} again`, options: {} },
    })
    const { tenant_id } = await owner.ok('memory.memory', { params: { store_id, ref: next.ref } })
    assert.equal(tenant_id, `${owner.tenant_id}/own`)
    const { memories } = await who.ok('memory.retrieve', {
      params,
      body: { query: `${name} ${OWN} cat`, budget_tokens: 4_000, explain: true },
    })
    const found = memories.map((memory: { ref: number }) => memory.ref)
    assert.ok(found.includes(next.ref), `${name}: ${found}`)
    const gone = await who.ok('memory.delete', { params, body: { ref: refs[0] } })
    assert.equal(gone.deleted, true)
  }
})

test('duplicates, lists and pages count its own memories only', async () => {
  const params = { store_id }
  const body = { content: SHARED }
  const first = await key.ok('memory.write', { params, body })
  assert.equal(first.duplicate_of, null, 'other namespaces hold the same content')
  assert.equal((await token.ok('memory.write', { params, body })).duplicate_of, first.ref)

  const all = await owner.ok('memory.memories', {
    params,
    query: { namespace: 'own', limit: 1000 },
  })
  for (const [, who] of limitedOnes()) {
    const seen = []
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const query = { limit: 2, ...(cursor ? { cursor } : {}) }
      const page = await who.ok('memory.memories', { params, query })
      assert.equal(page.count, page.memories.length)
      for (const memory of page.memories) seen.push(memory)
      cursor = page.next_cursor
    }
    assert.deepEqual(seen, all.memories)
    const last = await who.ok('memory.memories', {
      params,
      query: { offset: all.memories.length - 1 },
    })
    assert.deepEqual(last.memories, all.memories.slice(-1))
    const { text } = await who.ask('memory.export', { params })
    const [, ...lines] = text.trimEnd().split('\n')
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)),
      all.memories,
    )
  }
})

test('an Idempotency-Key of a credential with other limits is not met', async () => {
  const params = { store_id }
  const headers = { 'idempotency-key': 'the-same-everywhere' }
  const sent = { params, headers, body: { content: 'said once' } }
  const whole = await owner.ok('memory.write', sent)
  const mine = await key.ok('memory.write', sent)
  assert.notEqual(mine.ref, whole.ref)
  assert.equal((await key.ok('memory.write', sent)).ref, mine.ref)
  const { ref } = await token.ok('memory.write', sent)
  assert.ok(![whole.ref, mine.ref].includes(ref))
  const { token: api_key } = await owner.ok('keys.create_token', {
    body: { store_id, namespace: 'own', scopes: ['memory:write'] },
  })
  const { tenant_id } = owner
  const second = new Tenant(service, { tenant_id, api_key })
  assert.equal((await second.ok('memory.write', sent)).ref, ref, 'a token with the same limits')
  await owner.ok('memory.delete', { params, body: { ref: whole.ref } })
})

test('a key limited to the root sees no namespace', async () => {
  const root = await owner.withKey({ scopes: ['memory:read'], namespace: owner.tenant_id })
  const params = { store_id }
  const { memories } = await root.ok('memory.memories', { params, query: { limit: 1000 } })
  assert.ok(memories.length > 0)
  for (const { tenant_id } of memories) assert.equal(tenant_id, owner.tenant_id)
  assertRefusal(
    await root.ask('memory.memory', { params: { store_id, ref: own.ref } }),
    'memory_not_found',
    'own',
  )
})

test("'memory.memories' lists one namespace, or the root, when it is asked to", async () => {
  const { tenant_id } = owner
  const params = { store_id }
  for (const [namespace, shown] of [
    ['other', `${tenant_id}/other`],
    [`${tenant_id}/other`, `${tenant_id}/other`],
    [tenant_id, tenant_id],
    ['nobody', null],
  ] as const) {
    const { memories } = await owner.ok('memory.memories', { params, query: { namespace } })
    assert.equal(memories.length > 0, shown !== null)
    for (const memory of memories) assert.equal(memory.tenant_id, shown)
  }
})

test('a token reaches no other store', async () => {
  const other = await fillStore(owner, OWN)
  assertRefusal(
    await token.ask('memory.memories', { params: { store_id: other.store_id } }),
    'store_not_found',
    'another store',
  )
})

test('after all of this the other namespaces are as they were', async () => {
  assert.equal(await hiddenState(), untouched)
})
