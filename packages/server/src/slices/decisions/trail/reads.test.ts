// `decisions.list`, `decisions.get`, `decisions.stats` and `decisions.export` through HTTP.

import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import type { Decision } from '@custos/contract'
import { DAY_US, formatTime, parseDateOrTime } from '../../../platform/clock.ts'
import { planOf } from '../../../platform/db/testing/plans.ts'
import { openScene, type Scene } from '../../../testing/erasure-scene.ts'
import { findFactInStores } from './decisions.sql.ts'

const COUNT = 12

let scene: Scene
/** Oldest first. */
const logged: Decision[] = []

before(async () => {
  scene = await openScene()
  for (let i = 0; i < COUNT; i += 1) {
    const { body } = await scene.api('POST', '/v1/decisions/log', {
      store_id: i % 2 ? 'odd' : 'even',
      model_id: `model-${i % 3}`,
      session_id: i % 4 === 0 ? null : `session-${i % 4}`,
      query: `query ${i}`,
      output: `output ${i}`,
      token_count: i === 0 ? null : i,
      latency_ms: i === 0 ? null : i * 1.5,
    })
    logged.push(body)
  }
})
after(() => scene.stop())

const list = async (query = '') => (await scene.api('GET', `/v1/decisions${query}`)).body
const idsOf = (decisions: readonly Decision[]) => decisions.map(({ decision_id }) => decision_id)
const newestFirst = (keep: (decision: Decision, i: number) => boolean) =>
  idsOf(logged.filter(keep).toReversed())

test('decisions.list shows whole records, newest first, under both slash forms', async () => {
  const page = await list()
  assert.deepEqual(page.decisions, logged.toReversed())
  assert.deepEqual(Object.keys(page), ['decisions', 'count', 'limit', 'offset', 'next_cursor'])
  assert.equal(page.count, COUNT)
  assert.equal(page.limit, 100)
  assert.equal(page.next_cursor, null)
  assert.deepEqual(await list('/'), page)
})

test('a page of decisions takes its own cursors and no cursor of another list', async () => {
  const { next_cursor } = await list('?limit=2')
  const third = (cursor: string) => list(`?limit=1&cursor=${cursor}`)
  const expected = [logged.toReversed()[2]]
  assert.deepEqual((await third(next_cursor)).decisions, expected)
  const text = Buffer.from(next_cursor, 'base64url').toString()
  const [place = '', name] = text.split('~')
  assert.equal(name, 'decisions.list')
  const spell = (cursor: string) => Buffer.from(cursor).toString('base64url')
  assert.deepEqual((await third(spell(place))).decisions, expected, 'of an earlier version')
  for (const foreign of [`${place}~memory.audit`, `${text}~`, `${place}~`])
    assert.equal((await third(spell(foreign))).error, 'rejected', foreign)
})

test('each filter keeps exactly what it names, alone and together', async () => {
  const cases: [string, (decision: Decision, i: number) => boolean][] = [
    ['?store_id=odd', (d) => d.store_id === 'odd'],
    ['?model_id=model-1', (d) => d.model_id === 'model-1'],
    ['?session_id=session-3', (d) => d.session_id === 'session-3'],
    ['?session_id=session-3&model_id=model-0&store_id=odd', (_, i) => i % 12 === 3],
    ['?store_id=nowhere', () => false],
    ['?session_id=nobody', () => false],
  ]
  for (const [query, keep] of cases)
    assert.deepEqual(idsOf((await list(query)).decisions), newestFirst(keep), query)
})

test('from and to are inclusive to the microsecond', async () => {
  const [from, to] = [logged[3]?.timestamp ?? '', logged[7]?.timestamp ?? '']
  const within = await list(`?from=${from}&to=${to}`)
  assert.deepEqual(
    idsOf(within.decisions),
    newestFirst((_, i) => i >= 3 && i <= 7),
  )
  assert.equal((await list(`?from=${from}`)).count, COUNT - 3)
  assert.equal((await list(`?to=${to}`)).count, 8)
  const later = to.replace(
    /\d{6}Z$/,
    (digits) => `${String(Number.parseInt(digits, 10) - 1).padStart(6, '0')}Z`,
  )
  if (!to.endsWith('.000000Z')) assert.equal((await list(`?to=${later}`)).count, 7)
  assert.equal((await list('?from=2200-01-01T00:00:00Z')).count, 0)
  assert.equal((await list('?to=2001-01-01T00:00:00%2B02:00')).count, 0)
})

test('a limit is from 1 to 1000, and a date or time must be one', async () => {
  assert.equal((await list('?limit=1')).count, 1)
  assert.equal((await list('?limit=1000')).limit, 1000)
  for (const bad of [
    'limit=0',
    'limit=1001',
    'limit=x',
    'limit=1.5',
    'offset=-1',
    'from=2026-13-01',
    'to=yesterday',
  ]) {
    const { status, body } = await scene.api('GET', `/v1/decisions?${bad}`)
    assert.equal(status, 422, bad)
    assert.ok(Array.isArray(body.detail), bad)
  }
})

test('offset pages and cursor pages each walk all decisions once', async () => {
  const all = newestFirst(() => true)
  const byOffset: string[] = []
  for (let offset = 0; offset < COUNT; offset += 5)
    byOffset.push(...idsOf((await list(`?limit=5&offset=${offset}`)).decisions))
  assert.deepEqual(byOffset, all)
  const byCursor: string[] = []
  let cursor = ''
  for (let page = 0; page < 10; page += 1) {
    const { decisions, next_cursor } = await list(`?limit=5${cursor}`)
    byCursor.push(...idsOf(decisions))
    if (next_cursor === null) break
    cursor = `&cursor=${next_cursor}`
  }
  assert.deepEqual(byCursor, all)
})

test('a cursor continues where the page ended while new decisions arrive', async () => {
  const lone = await openScene()
  try {
    const ids: string[] = []
    for (let i = 0; i < 4; i += 1) ids.push(await lone.decide({ query: `${i}`, output: '' }))
    const first = (await lone.api('GET', '/v1/decisions?limit=2')).body
    await lone.decide({ query: 'new', output: '' })
    const rest = (await lone.api('GET', `/v1/decisions?limit=9&cursor=${first.next_cursor}`)).body
    assert.deepEqual(idsOf([...first.decisions, ...rest.decisions]), ids.toReversed())
  } finally {
    await lone.stop()
  }
})

test('a cursor that no list gave is rejected', async () => {
  for (const cursor of ['x', 'czEyMw==x', Buffer.from('o5').toString('base64url')]) {
    const { status, body } = await scene.api('GET', `/v1/decisions?cursor=${cursor}`)
    assert.equal(status, 422)
    assert.equal(body.error, 'rejected')
  }
})

test('decisions.get answers one 404 for unknown, malformed and foreign ids', async () => {
  const stranger = await scene.service.createTenant('stranger')
  const id = logged[0]?.decision_id
  const foreign = await scene.service.request('GET', `/v1/decisions/${id}`, {
    key: stranger.api_key,
  })
  const unknown = await scene.api('GET', `/v1/decisions/${'0'.repeat(32)}`)
  const malformed = await scene.api('GET', '/v1/decisions/nothing')
  for (const { status, body } of [foreign, unknown, malformed]) {
    assert.equal(status, 404)
    assert.equal(body.error, 'decision_not_found')
  }
  assert.equal(foreign.body.detail, unknown.body.detail)
  const theirs = await scene.service.request('GET', '/v1/decisions', { key: stranger.api_key })
  assert.equal(theirs.body.count, 0)
})

test('decisions.stats counts decisions, models, stores, sessions, tokens and times', async () => {
  const { body } = await scene.api('GET', '/v1/decisions/stats')
  assert.deepEqual(body, {
    total: COUNT,
    total_decisions: COUNT,
    models_used: 3,
    stores_used: 2,
    sessions: 3,
    avg_latency_ms: 9,
    total_tokens: 66,
    first_decision: logged[0]?.timestamp,
    last_decision: logged.at(-1)?.timestamp,
  })
})

test('statistics of no decisions and of counts beyond 2^53 are still an answer', async () => {
  const lone = await openScene()
  try {
    const empty = (await lone.api('GET', '/v1/decisions/stats')).body
    assert.equal(empty.total, 0)
    assert.equal(empty.avg_latency_ms, null)
    assert.equal(empty.first_decision, null)
    const most = {
      query: 'q',
      output: 'o',
      token_count: Number.MAX_SAFE_INTEGER,
    }
    await lone.decide(most)
    await lone.decide(most)
    const { status, body } = await lone.api('GET', '/v1/decisions/stats')
    assert.equal(status, 200)
    assert.ok(body.total_tokens > Number.MAX_SAFE_INTEGER)
  } finally {
    await lone.stop()
  }
})

test('decisions.export streams the same records oldest first as a download', async () => {
  const { status, headers, text } = await scene.api('GET', '/v1/decisions/export')
  assert.equal(status, 200)
  assert.match(headers.get('content-type') ?? '', /^application\/x-ndjson/)
  assert.equal(
    headers.get('content-disposition'),
    `attachment; filename="decisions_${scene.tenant_id}.ndjson"`,
  )
  const lines = text.trimEnd().split('\n')
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    logged,
  )
  const [from, to] = [logged[3]?.timestamp, logged[7]?.timestamp]
  const part = await scene.api('GET', `/v1/decisions/export?from=${from}&to=${to}`)
  assert.equal(part.text.trimEnd().split('\n').length, 5)
})

test("a date alone includes its whole day in 'decisions.list' and 'decisions.export'", async () => {
  const today = logged[0]?.timestamp.slice(0, 'YYYY-MM-DD'.length)
  const tomorrow = formatTime((parseDateOrTime(today ?? '')?.us ?? 0) + DAY_US).slice(0, 10)
  const exported = async (query: string) =>
    (await scene.api('GET', `/v1/decisions/export?${query}`)).text.split('\n').length - 1
  const naive = logged[3]?.timestamp.slice(0, -1)
  assert.equal(await exported(`from=${naive}`), logged.length - 3)
  // A run over midnight has decisions of two days.
  if (logged.at(-1)?.timestamp.startsWith(today ?? '-')) {
    assert.equal(await exported(`from=${today}&to=${today}`), logged.length)
    const { body } = await scene.api('GET', `/v1/decisions?from=${tomorrow}`)
    assert.deepEqual(body.decisions, [])
  }
  assert.equal((await scene.api('GET', '/v1/decisions/export?from=2026-02-30')).status, 422)
})

test('an export of more than one batch has every decision once', async () => {
  const lone = await openScene()
  try {
    const ids = await Promise.all(
      Array.from({ length: 120 }, (_, i) => lone.decide({ query: `${i}`, output: '' })),
    )
    const { text } = await lone.api('GET', '/v1/decisions/export')
    const lines = text.trimEnd().split('\n')
    const exported = lines.map((line) => JSON.parse(line).decision_id)
    assert.deepEqual(exported.toSorted(), ids.toSorted())
  } finally {
    await lone.stop()
  }
})

test('a credential bound to stores sees their decisions only, on every read', async () => {
  await scene.api('POST', '/v1/stores', { store_id: 'odd' })
  const { body: key } = await scene.api('POST', '/v1/keys', {
    class: 'read_only',
    allowed_stores: ['odd'],
  })
  const as = (path: string) => scene.service.request('GET', path, { key: key.api_key })
  const odd = logged.filter(({ store_id }) => store_id === 'odd')
  assert.deepEqual((await as('/v1/decisions')).body.decisions, odd.toReversed())
  assert.equal((await as('/v1/decisions?store_id=even')).body.count, 0)
  assert.equal((await as('/v1/decisions/stats')).body.total, odd.length)
  assert.equal((await as('/v1/decisions/export')).text.trimEnd().split('\n').length, odd.length)
  assert.equal((await as(`/v1/decisions/${logged[0]?.decision_id}`)).status, 404)
  assert.equal((await as(`/v1/decisions/${logged[0]?.decision_id}/replay`)).status, 404)
  assert.equal((await as(`/v1/decisions/${logged[1]?.decision_id}`)).status, 200)
})

test('PostgreSQL finds memories that a decision used without those of others', async () => {
  const plan = await planOf((db) => findFactInStores(db, 1, ['s']))
  assert.match(plan, /on decision_facts\n +Index Cond: .*\(decision_seq = /)
})
