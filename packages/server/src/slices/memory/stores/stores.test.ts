// Stores: 'memory.list_stores', 'memory.create_store', 'memory.get_store', 'memory.capabilities',
// 'memory.flush', 'memory.ingestion_stats' and 'memory.stats'.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { CAPABILITIES } from '@custos/contract'
import { openScene, type Scene } from '../../../testing/erasure-scene.ts'
import { rawSql } from '../../../testing/raw-sql.ts'

let scene: Scene

before(async () => {
  scene = await openScene()
})

after(() => scene.stop())

test('a store keeps its name, labels, capabilities and tokenizer', async () => {
  const wish = {
    name: 'Notes of Mia',
    backend: 'any',
    labels: { team: 'a' },
    capabilities: ['audit', 'provenance'],
    tokenizer: 'chars',
  }
  const created = (await scene.api('POST', '/v1/stores', wish)).body
  assert.match(created.store_id, /^[0-9a-f]{12}$/)
  for (const [key, value] of Object.entries(wish)) assert.deepEqual(created[key], value)
  const { facts, ...seen } = (await scene.api('GET', `/v1/stores/${created.store_id}`)).body
  assert.equal(facts, 0)
  assert.deepEqual(seen, created)
  const { stores, tenant_stats, count } = (await scene.api('GET', '/v1/stores')).body
  assert.ok(stores.some(({ store_id }: { store_id: string }) => store_id === created.store_id))
  assert.equal(count, stores.length)
  assert.equal(typeof tenant_stats.fact_count, 'number')
})

test('a store keeps the languages it was created with, English without any', async () => {
  const create = (languages?: unknown) => scene.api('POST', '/v1/stores', { languages })
  const shown = async (store_id: string) =>
    (await scene.api('GET', `/v1/stores/${store_id}`)).body.languages
  for (const [languages, kept] of [
    [
      ['de', 'en'],
      ['de', 'en'],
    ],
    [
      ['pt', 'fr', 'es', 'de', 'en'],
      ['pt', 'fr', 'es', 'de', 'en'],
    ],
    [['en'], ['en']],
    [null, ['en']],
    [undefined, ['en']],
  ]) {
    const { status, body } = await create(languages)
    assert.equal(status, 200)
    assert.deepEqual(body.languages, kept)
    assert.deepEqual(await shown(body.store_id), kept)
  }
  assert.deepEqual(await shown('default'), ['en'])
  for (const languages of [[], ['it'], ['de', 'de'], 'de', ['DE']]) {
    const { status, body } = await create(languages)
    assert.deepEqual([status, body.error], [422, 'validation'], String(languages))
  }
})

test('a store is created from an empty body, once for one idempotency key', async () => {
  const key = { 'idempotency-key': 'make-a-store' }
  const first = await scene.api('POST', '/v1/stores', undefined, key)
  const again = await scene.api('POST', '/v1/stores', undefined, key)
  assert.equal(first.status, 200)
  assert.deepEqual(again.body, first.body)
  const path = `/v1/stores/${first.body.store_id}/capabilities`
  assert.deepEqual((await scene.api('GET', path)).body, { capabilities: [...CAPABILITIES] })
})

test('capabilities that are unknown or lack one they require are refused', async () => {
  const refusals: [unknown, string][] = [
    [['telepathy'], 'validation'],
    [['bi_temporal'], 'rejected'],
    [['cryptographic_provenance'], 'rejected'],
  ]
  for (const [capabilities, error] of refusals) {
    const { status, body } = await scene.api('POST', '/v1/stores', { capabilities })
    assert.equal(status, 422)
    assert.equal(body.error, error)
  }
})

test('a capability that a store lacks is refused with the members GMP clients read', async () => {
  const { store_id } = (await scene.api('POST', '/v1/stores', { capabilities: [] })).body
  const base = `/v1/stores/${store_id}`
  const { ref } = (await scene.api('POST', `${base}/write`, { content: 'plain' })).body
  const at = '2026-01-01T00:00:00Z'
  const gated: [string, string, unknown, string][] = [
    ['POST', 'supersede', { old_ref: ref, content: 'b' }, 'supersession_chain'],
    ['POST', 'retrieve', { query: 'q', options: { as_of: at } }, 'bi_temporal'],
    ['POST', 'retrieve', { query: 'q', known_at: at }, 'bi_temporal'],
    ['POST', 'retrieve', { query: 'q', options: { tenant_id: 'x' } }, 'multi_tenant'],
    ['POST', 'write', { content: 'c', options: { tenant_id: 'x' } }, 'multi_tenant'],
    ['POST', 'delete', { ref }, 'hard_delete'],
    ['GET', 'audit', undefined, 'audit'],
  ]
  for (const [method, verb, body, capability] of gated) {
    const answer = await scene.api(method, `${base}/${verb}`, body)
    assert.equal(answer.status, 422, verb)
    assert.equal(answer.body.error, 'capability_not_supported')
    assert.equal(answer.body.capability, capability)
    assert.equal(typeof answer.body.operation, 'string')
    assert.equal(typeof answer.body.detail, 'string')
  }
  // Without bi_temporal a valid_from is passed over (GMP 2.3).
  const dated = { content: 'd', options: { valid_from: '2001-01-01T00:00:00Z' } }
  const written = (await scene.api('POST', `${base}/write`, dated)).body
  const seen = (await scene.api('GET', `${base}/memories/${written.ref}`)).body
  assert.equal(seen.valid_from, seen.written_at)
})

test('default is empty until its first write creates it in the same unit of work', async () => {
  const own = await openScene()
  try {
    assert.deepEqual(
      (await own.api('POST', '/v1/stores/default/retrieve', { query: 'x' })).body.memories,
      [],
    )
    assert.deepEqual((await own.api('GET', '/v1/stores/default/audit')).body.memories, [])
    assert.equal((await own.api('GET', '/v1/stores/default')).body.created_at, null)
    assert.deepEqual((await own.api('POST', '/v1/stores/default/flush')).body, {})
    const ids = async () =>
      (await own.api('GET', '/v1/stores')).body.stores.map((s: { store_id: string }) => s.store_id)
    assert.deepEqual(await ids(), [own.store_id, 'default'])
    const writes = Array.from({ length: 20 }, (_, i) =>
      own.api('POST', '/v1/stores/default/write', { content: `first ${i}` }),
    )
    for (const { status } of await Promise.all(writes)) assert.equal(status, 200)
    assert.deepEqual(await ids(), [own.store_id, 'default'])
    const { breadcrumbs } = (await own.api('GET', '/v1/gcrumbs/breadcrumbs?limit=1000')).body
    const made = breadcrumbs.filter(
      (crumb: { event_type: string; subject: string }) =>
        crumb.event_type === 'store.created' && crumb.subject === 'default',
    )
    assert.equal(made.length, 1)
    assert.equal((await own.api('GET', '/v1/stores/default/stats')).body.facts, 20)
  } finally {
    await own.stop()
  }
})

test('default is listed from the start, once and on the last page', async () => {
  const { api_key: key } = await scene.service.createTenant('pages')
  const send = async (method: string, path: string, body?: object) =>
    (await scene.service.request(method, path, { key, ...(body && { body }) })).body
  const page = async (query: string) => {
    const { stores, next_cursor } = await send('GET', `/v1/stores?${query}`)
    return { ids: stores.map((s: { store_id: string }) => s.store_id), next: next_cursor }
  }
  assert.deepEqual(await page('limit=1'), { ids: ['default'], next: (await page('limit=1')).next })
  for (const store_id of ['b', 'a', 'c']) await send('POST', '/v1/stores', { store_id })
  for (const limit of [1, 2, 3, 4, 5]) {
    const ids: string[] = []
    for (let query: string | null = `limit=${limit}`; query !== null; ) {
      const { ids: some, next }: { ids: string[]; next: string | null } = await page(query)
      ids.push(...some)
      query = next === null ? null : `limit=${limit}&cursor=${next}`
    }
    assert.deepEqual(ids, ['b', 'a', 'c', 'default'], `pages of ${limit}`)
  }
  assert.deepEqual((await page('offset=9')).ids, [])
  await send('POST', '/v1/stores/default/write', { content: 'first' })
  assert.deepEqual((await page('')).ids, ['b', 'a', 'c', 'default'])
})

test('a page of stores goes on behind the last one, also when one before it is gone', async () => {
  const { tenant_id, api_key: key } = await scene.service.createTenant('shifting')
  const send = async (method: string, path: string, body?: object) =>
    (await scene.service.request(method, path, { key, ...(body && { body }) })).body
  for (const store_id of ['b', 'a', 'c']) await send('POST', '/v1/stores', { store_id })
  const first = await send('GET', '/v1/stores?limit=2')
  await rawSql(scene.service, "delete from stores where tenant_id = ? and store_id = 'b'", [
    tenant_id,
  ])
  const next = await send('GET', `/v1/stores?limit=2&cursor=${first.next_cursor}`)
  assert.deepEqual(
    [first, next].map(({ stores }) => stores.map((s: { store_id: string }) => s.store_id)),
    [
      ['b', 'a'],
      ['c', 'default'],
    ],
  )
  const rest = await send('GET', `/v1/stores?limit=2&cursor=${next.next_cursor}`)
  assert.deepEqual([rest.stores, rest.next_cursor], [[], null])
})

test('a chosen store id is of one store for good, and of another tenant too', async () => {
  const create = (body: object, headers?: Record<string, string>) =>
    scene.api('POST', '/v1/stores', body, headers)
  const again = { 'idempotency-key': 'a-chosen-id' }
  const made = await create({ store_id: 'team-notes_2', name: 'Team' }, again)
  assert.deepEqual([made.status, made.body.store_id], [200, 'team-notes_2'])
  assert.deepEqual(
    (await create({ store_id: 'team-notes_2', name: 'Team' }, again)).body,
    made.body,
  )
  const base = '/v1/stores/team-notes_2'
  assert.equal((await scene.api('POST', `${base}/write`, { content: 'x' })).status, 200)
  const refused = async (store_id: string) => {
    const { status, body } = await create({ store_id })
    assert.deepEqual([status, body.error], [409, 'store_exists'], store_id)
  }
  await refused('team-notes_2')
  await refused('default')
  const other = await scene.service.createTenant('same-id')
  const theirs = await scene.service.request('POST', '/v1/stores', {
    body: { store_id: 'team-notes_2' },
    key: other.api_key,
  })
  assert.equal(theirs.status, 200)
  assert.equal((await scene.api('DELETE', base)).status, 202)
  await refused('team-notes_2')
  await scene.service.kernel.jobs.idle()
  assert.equal((await scene.api('GET', base)).status, 404)
  await refused('team-notes_2')
  for (const store_id of ['', '-a', 'A', 'a b', 'a/b', 'ä', '_x', 'x'.repeat(65), 7])
    assert.equal((await create({ store_id })).status, 422, String(store_id))
  assert.equal((await create({ store_id: 'x'.repeat(64) })).status, 200)
  const both = await Promise.all([create({ store_id: 'race' }), create({ store_id: 'race' })])
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 409])
})

test('statistics are of the store alone, whatever other tenants write', async () => {
  const { store_id } = (await scene.api('POST', '/v1/stores', {})).body
  const base = `/v1/stores/${store_id}`
  const other = await scene.service.createTenant('other')
  await scene.service.request('POST', '/v1/stores/default/write', {
    body: { content: 'elsewhere' },
    key: other.api_key,
  })
  const items = Array.from({ length: 5 }, (_, i) => ({ content: `item ${i}` }))
  const { refs } = (await scene.api('POST', `${base}/write_batch`, { items })).body
  await scene.api('POST', `${base}/supersede`, { old_ref: refs[0], content: 'item zero' })
  await scene.issue(refs[1])
  await scene.api('POST', `${base}/retrieve`, { query: 'item' })
  const { body } = await scene.api('GET', `${base}/stats`)
  const { facts, current, superseded, erased, total_committed, total_batches, pending } = body
  assert.deepEqual(
    { facts, current, superseded, erased, total_committed, total_batches, pending },
    {
      facts: 5,
      current: 4,
      superseded: 1,
      erased: 1,
      total_committed: 6,
      total_batches: 2,
      pending: 0,
    },
  )
  assert.equal(body.index.state, 'ready')
  assert.equal(body.index.facts, 5)
  const ingestion = (await scene.api('GET', `${base}/ingestion/stats`)).body
  assert.equal(ingestion.batching_enabled, true)
  assert.equal(ingestion.avg_batch_size, 3)
})

test('an unknown store is the same 404 for every operation', async () => {
  const paths: [string, string, unknown][] = [
    ['GET', '', undefined],
    ['GET', '/capabilities', undefined],
    ['GET', '/audit', undefined],
    ['GET', '/stats', undefined],
    ['GET', '/ingestion/stats', undefined],
    ['GET', '/memories', undefined],
    ['GET', '/memories/1', undefined],
    ['GET', '/export', undefined],
    ['POST', '/write', { content: 'x' }],
    ['POST', '/write_batch', { items: [{ content: 'x' }] }],
    ['POST', '/supersede', { old_ref: 1, content: 'x' }],
    ['POST', '/retrieve', { query: 'x' }],
    ['POST', '/flush', {}],
  ]
  for (const [method, path, body] of paths) {
    const answer = await scene.api(method, `/v1/stores/0123456789ab${path}`, body)
    assert.equal(answer.status, 404, path)
    assert.equal(answer.body.error, 'store_not_found', path)
  }
})
