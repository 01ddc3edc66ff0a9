// 'items.put', 'items.get', 'items.search', 'items.delete', 'items.namespaces', 'items.batch':
// values under names, one chain of versions for each.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openScene, type Scene } from '../../testing/erasure-scene.ts'

let scene: Scene

before(async () => {
  scene = await openScene()
})

after(() => scene.stop())

type Body = Readonly<Record<string, unknown>>

const send = (verb: string, body: Body, store_id = scene.store_id) =>
  verb === 'put'
    ? scene.api('PUT', `/v1/stores/${store_id}/items`, body)
    : scene.api('POST', `/v1/stores/${store_id}/items/${verb}`, body)

async function ok(verb: string, body: Body, store_id?: string) {
  const answer = await send(verb, body, store_id)
  assert.equal(answer.status, 200, `${verb}: ${answer.text}`)
  return answer.body
}

const newStore = async (): Promise<string> =>
  (await scene.api('POST', '/v1/stores', {})).body.store_id

const name = (key: string, ...namespace: string[]) => ({ namespace, key })
const keysOf = ({ items }: { items: readonly { key: string }[] }) => items.map(({ key }) => key)

test('a put is read back, and a second put of the name supersedes the first', async () => {
  const first = await ok('put', { ...name('a', 'put', 'x'), value: { n: 1, deep: { list: [1] } } })
  assert.equal(first.created, true)
  const { item } = await ok('get', name('a', 'put', 'x'))
  assert.deepEqual(item, {
    ...name('a', 'put', 'x'),
    value: { n: 1, deep: { list: [1] } },
    ref: first.ref,
    created_at: first.created_at,
    updated_at: first.updated_at,
    expires_at: null,
  })
  const second = await ok('put', { ...name('a', 'put', 'x'), value: { n: 2 } })
  assert.equal(second.created, false)
  assert.equal(second.created_at, first.created_at)
  assert.ok(second.updated_at > first.updated_at)
  const now = (await ok('get', name('a', 'put', 'x'))).item
  assert.deepEqual(now.value, { n: 2 })
  const then = await ok('get', { ...name('a', 'put', 'x'), known_at: first.updated_at })
  assert.deepEqual(then.item.value, { n: 1, deep: { list: [1] } })
  const memory = await scene.api('GET', `/v1/stores/${scene.store_id}/memories/${first.ref}`)
  assert.equal(memory.body.superseded_by, second.ref)
  assert.deepEqual(memory.body.item, name('a', 'put', 'x'))
})

test('another key, namespace or store is another item', async () => {
  const other = await newStore()
  await ok('put', { ...name('k', 'apart'), value: { at: 1 } })
  assert.equal((await ok('get', name('j', 'apart'))).item, null)
  assert.equal((await ok('get', name('k', 'apart', 'below'))).item, null)
  assert.equal((await ok('get', name('k', 'apart'), other)).item, null)
  await ok('put', { ...name('k'), value: { at: 'root' } })
  assert.deepEqual((await ok('get', name('k'))).item.value, { at: 'root' })
})

test('a put with another if_ref than the current version changes nothing', async () => {
  const { ref } = await ok('put', { ...name('guarded'), value: { n: 1 } })
  const { ref: second } = await ok('put', { ...name('guarded'), value: { n: 2 }, if_ref: ref })
  const refused = await send('put', { ...name('guarded'), value: { n: 3 }, if_ref: ref })
  assert.equal(refused.status, 409)
  assert.equal(refused.body.error, 'item_changed')
  assert.equal(refused.body.head, second)
  const missing = await send('put', { ...name('nothing'), value: {}, if_ref: ref })
  assert.equal(missing.body.head, null)
  assert.deepEqual((await ok('get', name('guarded'))).item.value, { n: 2 })
})

test('of many puts of one name at once each is a version of one chain', async () => {
  const store_id = await newStore()
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, n) => ok('put', { ...name('raced'), value: { n } }, store_id)),
  )
  assert.equal(answers.filter(({ created }) => created).length, 1)
  const { memories } = (await scene.api('GET', `/v1/stores/${store_id}/audit`)).body
  assert.equal(memories.length, 12)
  const open = memories.filter(
    ({ superseded_by }: { superseded_by: number | null }) => superseded_by === null,
  )
  assert.equal(open.length, 1)
  assert.equal((await ok('get', name('raced'), store_id)).item.ref, open[0].ref)
})

test('the memory of an item is not superseded behind its back', async () => {
  const { ref } = await ok('put', { ...name('kept'), value: { n: 1 } })
  const refused = await scene.api('POST', `/v1/stores/${scene.store_id}/supersede`, {
    old_ref: ref,
    content: 'another',
  })
  assert.equal(refused.body.error, 'rejected')
  assert.equal((await ok('get', name('kept'))).item.ref, ref)
})

test('a deletion erases every version, the oldest first, and certifies each', async () => {
  const refs: number[] = []
  for (const n of [1, 2, 3]) refs.push((await ok('put', { ...name('gone'), value: { n } })).ref)
  const { deleted, certificate_ids } = await ok('delete', name('gone'))
  assert.equal(deleted, true)
  assert.equal(certificate_ids.length, 3)
  for (const [i, id] of certificate_ids.entries()) {
    const { body } = await scene.api('GET', `/v1/erasure/${id}`)
    assert.equal(body.fact_ref, refs[i])
  }
  assert.equal((await ok('get', name('gone'))).item, null)
  assert.deepEqual(await ok('delete', name('gone')), { deleted: false, certificate_ids: [] })
  assert.equal((await ok('put', { ...name('gone'), value: { n: 4 } })).created, true)
})

test('an item whose current version is erased is gone until it is put again', async () => {
  const first = await ok('put', { ...name('half', 'half'), value: { n: 1 } })
  const second = await ok('put', { ...name('half', 'half'), value: { n: 2 } })
  assert.equal((await scene.issue(second.ref)).status, 200)
  assert.equal((await ok('get', name('half', 'half'))).item, null)
  assert.deepEqual((await ok('search', { namespace_prefix: ['half'] })).items, [])
  assert.deepEqual((await ok('namespaces', { prefix: ['half'] })).namespaces, [])
  const late = await ok('get', { ...name('half', 'half'), known_at: second.updated_at })
  assert.equal(late.item, null)
  const early = await ok('get', { ...name('half', 'half'), known_at: first.updated_at })
  assert.deepEqual(early.item.value, { n: 1 })
  const shown = await scene.api('GET', `/v1/stores/${scene.store_id}/memories/${first.ref}`)
  assert.notEqual(shown.body.valid_until, null)
  const third = await ok('put', { ...name('half', 'half'), value: { n: 3 } })
  assert.equal(third.created, true)
  assert.equal((await ok('delete', name('half', 'half'))).certificate_ids.length, 2)
})

test('a search lists items by the first put of the namespace, then of the item', async () => {
  const store_id = await newStore()
  const puts = [name('1', 'b'), name('2', 'a'), name('3', 'b'), name('4', 'a', 'c'), name('1', 'b')]
  for (const [n, one] of puts.entries()) await ok('put', { ...one, value: { n } }, store_id)
  const all = await ok('search', { namespace_prefix: [] }, store_id)
  assert.deepEqual(keysOf(all), ['1', '3', '2', '4'])
  assert.equal(all.items[0].value.n, 4)
  const within = await ok('search', { namespace_prefix: ['a'] }, store_id)
  assert.deepEqual(keysOf(within), ['2', '4'])
  const page = await ok('search', { namespace_prefix: [], offset: 1, limit: 2 }, store_id)
  assert.deepEqual(keysOf(page), ['3', '2'])
  const { namespaces } = await ok('namespaces', {}, store_id)
  assert.deepEqual(namespaces, [['a'], ['a', 'c'], ['b']])
  assert.deepEqual((await ok('namespaces', { suffix: ['*', 'c'] }, store_id)).namespaces, [
    ['a', 'c'],
  ])
  assert.deepEqual((await ok('namespaces', { prefix: ['a'], max_depth: 1 }, store_id)).namespaces, [
    ['a'],
  ])
})

test('all namespaces and items are listed where there are more than are read at once', async () => {
  const store_id = await newStore()
  const names = Array.from({ length: 750 }, (_, n) =>
    n < 620 ? name(String(n), 'large') : name(String(n), 'small', String(n)),
  )
  for (let at = 0; at < names.length; at += 50) {
    const operations = names.slice(at, at + 50).map((one) => ({ op: 'put', ...one, value: {} }))
    await ok('batch', { operations }, store_id)
  }
  for (const namespace_prefix of [[], ['large'], ['small']]) {
    const listed: string[] = []
    for (let page = ['']; page.length > 0; listed.push(...page)) {
      const place = { offset: listed.length, limit: 100 }
      page = keysOf(await ok('search', { namespace_prefix, ...place }, store_id))
    }
    const [first] = namespace_prefix
    const expected = names.filter(({ namespace }) => !first || namespace[0] === first)
    assert.deepEqual(listed, keysOf({ items: expected }))
  }
  const { namespaces } = await ok('namespaces', { limit: 200 }, store_id)
  assert.equal(namespaces.length, 131)
  const ranked = await ok(
    'search',
    { namespace_prefix: ['small'], query: 'x', limit: 100 },
    store_id,
  )
  assert.equal(new Set(keysOf(ranked)).size, 100)
})

test('a filter compares top-level members, as values and by operators', async () => {
  const store_id = await newStore()
  for (const n of [1, 2, 3])
    await ok('put', { ...name(String(n)), value: { n, odd: n % 2 === 1, t: { n } } }, store_id)
  const found = async (filter: Body) =>
    keysOf(await ok('search', { namespace_prefix: [], filter }, store_id))
  assert.deepEqual(await found({ odd: true }), ['1', '3'])
  assert.deepEqual(await found({ t: { n: 2 } }), ['2'])
  assert.deepEqual(await found({ n: { $gt: 1, $lte: 3 }, odd: { $ne: false } }), ['3'])
  assert.deepEqual(await found({ n: { $in: [1, 9] } }), ['1'])
  assert.deepEqual(await found({ n: { $nin: [1, 9] } }), ['2', '3'])
  assert.deepEqual(await found({ missing: { $eq: 1 } }), [])
  for (const filter of [{ n: { $like: 1 } }, { n: { $in: 1 } }, { n: { $lt: '9' } }])
    assert.equal((await send('search', { namespace_prefix: [], filter }, store_id)).status, 422)
})

test('a comparison finds numbers alone, never an unknown or a text like a number', async () => {
  const store_id = await newStore()
  for (const [key, n] of Object.entries({ zero: 0, five: 5, none: null, text: '3', no: false }))
    await ok('put', { ...name(key), value: { n } }, store_id)
  await ok('put', { ...name('empty'), value: { n: [] } }, store_id)
  const found = async (n: Body) =>
    keysOf(await ok('search', { namespace_prefix: [], filter: { n } }, store_id))
  assert.deepEqual(await found({ $lt: 30 }), ['zero', 'five'])
  assert.deepEqual(await found({ $gte: 0 }), ['zero', 'five'])
  const path = `/v1/stores/${store_id}/items/search`
  const raw = '{"namespace_prefix": [], "filter": {"n": -0.0}}'
  const negative = await scene.service.request('POST', path, { key: scene.api_key, raw })
  assert.deepEqual(keysOf(negative.body), ['zero'])
})

test('a query ranks current versions by what is indexed of them', async () => {
  const store_id = await newStore()
  const put = (key: string, value: Body, more: Body = {}) =>
    ok('put', { ...name(key, 'q'), value, ...more }, store_id)
  await put('tea', { text: 'drinks green tea' })
  await put('old', { text: 'collects stamps' })
  await put('old', { text: 'collects coins' })
  await put('hidden', { text: 'collects stamps' }, { index: false })
  await put('part', { title: 'stamps', notes: [{ text: 'rare' }] }, { index: ['notes[*].text'] })
  const search = { namespace_prefix: ['q'], query: 'stamps' }
  const stamps = await ok('search', search, store_id)
  assert.equal(stamps.items.length, 4)
  for (const { key, score } of stamps.items) assert.ok(score < 0.5, `${key}: ${score}`)
  const rare = await ok('search', { ...search, query: 'rare', limit: 1 }, store_id)
  assert.deepEqual(keysOf(rare), ['part'])
  const tea = await ok('search', { ...search, query: 'green tea', limit: 2 }, store_id)
  assert.equal(keysOf(tea)[0], 'tea')
  assert.ok(tea.items[0].score > tea.items[1].score)
  const filtered = await ok(
    'search',
    { ...search, query: 'tea', filter: { text: 'collects coins' } },
    store_id,
  )
  assert.deepEqual(keysOf(filtered), ['old'])
  const packed = await ok('search', { ...search, budget_tokens: 0 }, store_id)
  assert.deepEqual(packed.items, [])
})

test('an expired item is gone and its name is free', async () => {
  const store_id = await newStore()
  await ok('put', { ...name('brief', 'e'), value: { n: 1 }, ttl_s: 1 }, store_id)
  for (let tries = 0; tries < 50; tries += 1) {
    if ((await ok('get', name('brief', 'e'), store_id)).item === null) break
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  assert.equal((await ok('get', name('brief', 'e'), store_id)).item, null)
  assert.deepEqual((await ok('namespaces', {}, store_id)).namespaces, [])
  const again = await ok('put', { ...name('brief', 'e'), value: { n: 2 } }, store_id)
  assert.equal(again.created, true)
})

test('a batch reads what was before it, and the last change of a name holds', async () => {
  const store_id = await newStore()
  await ok('put', { ...name('x'), value: { n: 0 } }, store_id)
  await ok('put', { ...name('y'), value: { n: 0 } }, store_id)
  const { results, count } = await ok(
    'batch',
    {
      operations: [
        { op: 'put', ...name('x'), value: { n: 1 } },
        { op: 'get', ...name('x') },
        { op: 'put', ...name('x'), value: { n: 2 } },
        { op: 'delete', ...name('y') },
        { op: 'search', namespace_prefix: [] },
        { op: 'namespaces' },
        { op: 'delete', ...name('z') },
        { op: 'put', ...name('z'), value: { n: 1 } },
      ],
    },
    store_id,
  )
  assert.equal(count, 8)
  assert.deepEqual(results[0], results[2])
  assert.deepEqual(results[1].item.value, { n: 0 })
  assert.equal(results[3].certificate_ids.length, 1)
  assert.deepEqual(keysOf(results[4]), ['x', 'y'])
  assert.deepEqual(results[5].namespaces, [[]])
  assert.deepEqual(results[6], { deleted: false, certificate_ids: [] })
  assert.equal(results[7].created, true)
  const after = await ok('search', { namespace_prefix: [] }, store_id)
  assert.deepEqual(keysOf(after), ['x', 'z'])
  assert.deepEqual(after.items[0].value, { n: 2 })
})

test('a batch that fails in part changes nothing', async () => {
  const store_id = await newStore()
  const { ref } = await ok('put', { ...name('x'), value: { n: 0 } }, store_id)
  const operations = [
    { op: 'put', ...name('new'), value: { n: 1 } },
    { op: 'delete', ...name('x') },
    { op: 'put', ...name('w'), value: { n: 1 }, if_ref: ref },
  ]
  assert.equal((await send('batch', { operations }, store_id)).body.error, 'item_changed')
  assert.deepEqual(keysOf(await ok('search', { namespace_prefix: [] }, store_id)), ['x'])
})

test('a batch takes no condition that its last change of the name does not have', async () => {
  const store_id = await newStore()
  const { ref } = await ok('put', { ...name('x'), value: { n: 0 } }, store_id)
  const first = { op: 'put', ...name('x'), value: { n: 1 }, if_ref: ref + 1 }
  const last = { op: 'put', ...name('x'), value: { n: 2 } }
  for (const other of [last, { op: 'delete', ...name('x') }, { ...last, if_ref: ref }]) {
    const { status, body } = await send('batch', { operations: [first, other] }, store_id)
    assert.deepEqual([status, body.detail[0].loc], [422, ['body', 'operations', 0, 'if_ref']])
  }
  const operations = [first, { ...last, if_ref: ref + 1 }]
  assert.equal((await send('batch', { operations }, store_id)).body.error, 'item_changed')
  assert.deepEqual((await ok('get', name('x'), store_id)).item.value, { n: 0 })
})

test('a retry of a put, a deletion or a batch does not repeat it', async () => {
  const store_id = await newStore()
  const path = `/v1/stores/${store_id}/items`
  const twice = async (method: string, url: string, body: Body, key: string) => {
    const headers = { 'idempotency-key': key }
    const first = await scene.api(method, url, body, headers)
    assert.equal(first.status, 200, first.text)
    assert.deepEqual((await scene.api(method, url, body, headers)).body, first.body)
    return first.body
  }
  const put = { ...name('once'), value: { n: 1 } }
  await twice('PUT', path, put, 'k1')
  const { memories } = (await scene.api('GET', `/v1/stores/${store_id}/audit`)).body
  assert.equal(memories.length, 1)
  const operations = [
    { op: 'put', ...name('two'), value: { n: 1 } },
    { op: 'delete', ...name('once') },
  ]
  await twice('POST', `${path}/batch`, { operations }, 'k2')
  const { deleted } = await twice('POST', `${path}/delete`, name('two'), 'k3')
  assert.equal(deleted, true)
})

test('an export and its import keep the names and versions of items', async () => {
  const store_id = await newStore()
  for (const n of [1, 2])
    await ok('put', { ...name('moved', 'm'), value: { n }, index: ['t'] }, store_id)
  const gone = await ok('put', { ...name('ended', 'm'), value: { n: 1 } }, store_id)
  const ended = await ok('put', { ...name('ended', 'm'), value: { n: 2 } }, store_id)
  await scene.issue(ended.ref)
  assert.ok(gone.ref)
  const lines = (await scene.api('GET', `/v1/stores/${store_id}/export`)).text
  const target = await newStore()
  const load = async (into = target) => {
    const response = await fetch(`${scene.service.url}/v1/stores/${into}/import`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${scene.api_key}`,
        'content-type': 'application/x-ndjson',
      },
      body: lines,
    })
    assert.equal(response.status, 200, await response.clone().text())
    return JSON.parse(await response.text())
  }
  assert.equal((await load()).imported, 3)
  assert.equal((await load()).imported, 0)
  const [before, after] = [
    (await ok('get', name('moved', 'm'), store_id)).item,
    (await ok('get', name('moved', 'm'), target)).item,
  ]
  assert.deepEqual(after.value, { n: 2 })
  assert.equal(after.created_at, before.created_at)
  assert.equal(after.updated_at, before.updated_at)
  assert.equal((await ok('get', name('ended', 'm'), target)).item, null)
  assert.equal((await ok('delete', name('moved', 'm'), target)).certificate_ids.length, 2)

  const used = await newStore()
  await ok('put', { ...name('moved', 'm'), value: { n: 3 } }, used)
  await load(used)
  const { item } = await ok('get', name('moved', 'm'), used)
  assert.deepEqual([item.value, item.created_at], [{ n: 2 }, before.created_at])
})

test('an imported version supersedes the memory of the item that is there', async () => {
  const store_id = await newStore()
  const { ref } = await ok('put', { ...name('kept', 'm'), value: { n: 1 } }, store_id)
  const written_at = new Date(Date.now() + 1).toISOString()
  const line = { content: '{"n":2}', written_at, item: name('kept', 'm') }
  const url = `${scene.service.url}/v1/stores/${store_id}/import`
  const headers = {
    authorization: `Bearer ${scene.api_key}`,
    'content-type': 'application/x-ndjson',
  }
  const imported = await fetch(url, { method: 'POST', headers, body: JSON.stringify(line) })
  assert.equal(imported.status, 200, await imported.text())
  const { item } = await ok('get', name('kept', 'm'), store_id)
  assert.deepEqual(item.value, { n: 2 })
  const before = (await scene.api('GET', `/v1/stores/${store_id}/memories/${ref}`)).body
  assert.equal(before.superseded_by, item.ref)
})

test('whatever version is imported over an item, its old memory is found no longer', async () => {
  for (const chained of [false, true]) {
    const store_id = await newStore()
    await ok('put', { ...name('kept', 'm'), value: { word: 'zebra' } }, store_id)
    const item = name('kept', 'm')
    const at = (day: number) => `2020-01-0${day}T00:00:00Z`
    const lines = [
      {
        ref: 900_001,
        content: '{"word":"heron"}',
        valid_from: at(1),
        superseded_by: 900_002,
        item,
      },
      { ref: 900_002, content: '{"word":"okapi"}', valid_from: at(2), item },
    ].slice(chained ? 0 : 1)
    const response = await fetch(`${scene.service.url}/v1/stores/${store_id}/import`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${scene.api_key}`,
        'content-type': 'application/x-ndjson',
      },
      body: lines.map((line) => JSON.stringify(line)).join('\n'),
    })
    assert.equal(response.status, 200, await response.text())
    assert.deepEqual((await ok('get', item, store_id)).item.value, { word: 'okapi' })
    const query = { query: 'zebra okapi', budget_tokens: 500 }
    const path = `/v1/stores/${store_id}/retrieve`
    const { memories, ...rest } = (await scene.api('POST', path, query)).body
    const found = JSON.stringify(memories ?? rest)
    assert.ok(found.includes('okapi') && !found.includes('zebra'), found)
  }
})

test('policies see values and names: a value is redacted inside, a name is refused', async () => {
  const other = await openScene({}, undefined)
  try {
    const { status, text } = await other.api('POST', '/v1/governance/policies', {
      name: 'mask',
      policy_type: 'pii_guard',
      action: 'log_only',
      config: {
        entities: ['EMAIL_ADDRESS'],
        check_fields: ['content', 'metadata'],
        redact: true,
      },
    })
    assert.equal(status, 200, text)
    const path = `/v1/stores/${other.store_id}/items`
    const value = { mail: ['to "me"\nbob@example.com'], n: 1 }
    const put = await other.api('PUT', path, { ...name('k'), value })
    assert.equal(put.status, 200, put.text)
    const { item } = (await other.api('POST', `${path}/get`, name('k'))).body
    assert.ok(!JSON.stringify(item.value).includes('bob@'), JSON.stringify(item.value))
    assert.equal(item.value.n, 1)
    const named = await other.api('PUT', path, { ...name('bob@example.com'), value: {} })
    assert.equal(named.body.error, 'rejected')
  } finally {
    await other.stop()
  }
})
