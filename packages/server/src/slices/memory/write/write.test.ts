// 'memory.write' and 'memory.write_batch': what was acknowledged is stored, signed and found.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { limits } from '@custos/contract'
import { factId, type PublishedKey, verifyMemory } from '@custos/proof'
import { formatTime } from '../../../platform/clock.ts'
import { openScene, type Scene } from '../../../testing/erasure-scene.ts'
import { markErasing, unmarkErasing } from './erase-facts.ts'

let scene: Scene
let base: string

before(async () => {
  scene = await openScene()
  base = `/v1/stores/${scene.store_id}`
})

after(() => scene.stop())

const write = (body: unknown, headers?: Record<string, string>) =>
  scene.api('POST', `${base}/write`, body, headers)

const shown = async (ref: number) => (await scene.api('GET', `${base}/memories/${ref}`)).body

test('a write replies with its ref, fact id, log position and token count', async () => {
  const { status, body } = await write({ content: 'Mia plays the cello' })
  assert.equal(status, 200)
  const id = factId('Mia plays the cello', scene.tenant_id)
  assert.equal(body.content_hash, Buffer.from(id).toString('hex'))
  assert.equal(body.status, 'stored')
  assert.equal(body.duplicate_of, null)
  assert.equal(body.token_count, 5)
  const { breadcrumbs } = (await scene.api('GET', '/v1/gcrumbs/breadcrumbs?limit=1000')).body
  const crumb = breadcrumbs[body.log_seq]
  assert.equal(crumb.event_type, 'memory.written')
  assert.equal(crumb.payload.first_ref, body.ref)
  assert.equal((await shown(body.ref)).written_at, crumb.created_at)
})

test('refs rise and none is given twice to parallel writes', async () => {
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, i) => write({ content: `parallel ${i}` })),
  )
  const refs = answers.map(({ body }) => body.ref)
  assert.equal(new Set(refs).size, 60)
  const seqs = answers.map(({ body }) => body.log_seq)
  assert.equal(new Set(seqs).size, 60)
})

test('the source of a memory verifies against published keys and fails once altered', async () => {
  const { keys }: { keys: PublishedKey[] } = (await scene.api('GET', '/v1/gcrumbs/public_key')).body
  const ref = await scene.write('signed content', { tenant_id: 'space' })
  const memory = await shown(ref)
  assert.equal(memory.tenant_id, `${scene.tenant_id}/space`)
  assert.equal((await verifyMemory(memory, keys)).valid, true)
  const signature = memory.source.signature.replace(/^./, (c: string) => (c === 'A' ? 'B' : 'A'))
  const altered = [
    { ...memory, content: 'signed content!' },
    { ...memory, tenant_id: scene.tenant_id },
    { ...memory, source: { ...memory.source, signature } },
    { ...memory, source: { ...memory.source, written_by: '0'.repeat(64) } },
  ]
  for (const [i, forged] of altered.entries())
    assert.equal((await verifyMemory(forged, keys)).valid, false, `alteration ${i}`)
  assert.match(memory.source.principal, /^[0-9a-z_-]+$/)
  assert.equal(memory.source.written_at, memory.written_at)
})

test('a batch is one log entry and each of its facts is signed', async () => {
  const items = ['red', 'green', 'blue'].map((content) => ({ content: `the colour ${content}` }))
  const { body } = await scene.api('POST', `${base}/write_batch`, { items })
  assert.equal(body.refs.length, 3)
  assert.deepEqual(
    body.refs,
    [...body.refs].sort((a, b) => a - b),
  )
  for (const [i, ref] of body.refs.entries()) {
    const memory = await shown(ref)
    assert.equal(memory.content, items[i]?.content)
    assert.equal(memory.source.signature.length, 88)
  }
  assert.deepEqual((await scene.api('POST', `${base}/write_batch`, { items: [] })).body, {
    refs: [],
    duplicates: [],
    log_seq: null,
  })
})

test('a batch with one bad item writes none of it', async () => {
  const before = (await scene.api('GET', `${base}/stats`)).body.facts
  const items = [{ content: 'good' }, { content: 'x'.repeat(limits.content_bytes + 1) }]
  const { status, text } = await scene.api('POST', `${base}/write_batch`, { items })
  assert.equal(status, 422)
  assert.ok(text.includes('"items",1') && !text.includes('xxxx'))
  assert.equal((await scene.api('GET', `${base}/stats`)).body.facts, before)
})

test('an exact duplicate is named and stored, in its own namespace only', async () => {
  const first = (await write({ content: 'twice said' })).body
  const again = (await write({ content: 'twice said' })).body
  assert.equal(again.duplicate_of, first.ref)
  assert.notEqual(again.ref, first.ref)
  const elsewhere = await write({ content: 'twice said', options: { tenant_id: 'other' } })
  assert.equal(elsewhere.body.duplicate_of, null)
  const batch = { items: [{ content: 'new' }, { content: 'twice said' }] }
  const { body } = await scene.api('POST', `${base}/write_batch`, batch)
  assert.deepEqual(body.duplicates, [{ index: 1, duplicate_of: first.ref }])
})

test('duplicates within one batch are named too, and stored', async () => {
  const later = { valid_from: '2200-01-01T00:00:00Z' }
  const items = [
    { content: 'batch twin', options: later },
    { content: 'batch twin' },
    { content: 'batch twin', options: { namespace: 'apart' } },
    { content: 'batch twin' },
    { content: 'batch twin', options: { namespace: 'apart' } },
    { content: 'Batch twin' },
    { content: 'batch twin', options: later },
  ]
  const path = `${base}/write_batch`
  const headers = { 'idempotency-key': 'twins' }
  const { body } = await scene.api('POST', path, { items }, headers)
  const [, second, third] = body.refs
  const expected = [
    { index: 3, duplicate_of: second },
    { index: 4, duplicate_of: third },
    { index: 6, duplicate_of: second },
  ]
  assert.deepEqual(body.duplicates, expected, 'what is not current yet is no original')
  assert.equal(new Set(body.refs).size, items.length)
  assert.deepEqual((await scene.api('POST', path, { items }, headers)).body, body)
  const again = await scene.api('POST', path, { items: items.slice(3, 4) })
  assert.deepEqual(again.body.duplicates, [{ index: 0, duplicate_of: second }])
})

test('a duplicate is named while it is current and is not being erased', async () => {
  const { db } = scene.service.kernel
  const ask = async () => (await write({ content: 'said again' })).body.duplicate_of
  const first = (await write({ content: 'said again' })).body.ref
  await db.transact(scene.tenant_id, (tx) => markErasing(tx, [first]))
  assert.equal(await ask(), null, 'hidden')
  await db.transact(scene.tenant_id, (tx) => unmarkErasing(tx, [first]))
  const found = await ask()
  assert.equal(found, first, 'shown again')
  await scene.issue(first)
  const second = await ask()
  assert.ok(second > first, 'erased')
  const path = `${base}/supersede`
  const later = (await scene.api('POST', path, { old_ref: second, content: 'said better' })).body
  assert.equal(await ask(), second + 1, 'superseded')
  await scene.issue(later.ref)
  assert.equal(await ask(), second, 'current again: its successor is erased')
})

test('content and metadata are accepted up to their limits and refused beyond', async () => {
  const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) })
  const cases: [number, unknown][] = [
    [422, { content: '' }],
    [422, { content: ' \t\n\u2003' }],
    [200, { content: ' x ' }],
    [200, { content: 'é'.repeat(limits.content_bytes / 2) }],
    [422, { content: 'é'.repeat(limits.content_bytes / 2 + 1) }],
    [200, { content: 'm', options: { metadata: nested(limits.metadata_depth) } }],
    [422, { content: 'm', options: { metadata: nested(limits.metadata_depth + 1) } }],
    [200, { content: 'm', options: { metadata: { k: 'v'.repeat(limits.metadata_bytes - 8) } } }],
    [422, { content: 'm', options: { metadata: { k: 'v'.repeat(limits.metadata_bytes - 7) } } }],
    [422, { content: 'm', options: { valid_from: '2026-01-01T00:00:00' } }],
    [422, { content: 'm', options: { tenant_id: 'a', namespace: 'b' } }],
    [200, { content: 'm', options: null }],
    [200, { content: 'm', options: { valid_from: null, metadata: null, tenant_id: null } }],
  ]
  for (const [i, [status, body]] of cases.entries())
    assert.equal((await write(body)).status, status, `case ${i}`)
})

test('content that says nothing is refused by every write, with or without a key', async () => {
  const total = async () => (await scene.api('GET', `${base}/stats`)).body.facts
  const before = await total()
  for (const content of ['', ' ', '\n\t\u3000'])
    for (const headers of [{}, { 'idempotency-key': `blank ${content.length}` }]) {
      const bodies: [string, object][] = [
        ['write', { content }],
        ['write_batch', { items: [{ content: 'fine' }, { content }] }],
        ['supersede', { old_ref: 1, content }],
      ]
      for (const [path, body] of bodies) {
        const { status, body: refused } = await scene.api('POST', `${base}/${path}`, body, headers)
        assert.deepEqual([status, refused.error], [422, 'validation'], path)
        assert.equal(refused.detail.at(-1).loc.at(-1), 'content')
      }
    }
  assert.equal(await total(), before)
})

test('a namespace may be given in full, and the tenant alone means the root', async () => {
  const full = await scene.write('in full', { tenant_id: `${scene.tenant_id}/sub/deep` })
  assert.equal((await shown(full)).tenant_id, `${scene.tenant_id}/sub/deep`)
  const root = await scene.write('at the root', { tenant_id: scene.tenant_id })
  assert.equal((await shown(root)).tenant_id, scene.tenant_id)
})

test('a retry with the same key writes once, and reports a later erasure', async () => {
  const key = { 'idempotency-key': 'retry-1' }
  const first = await write({ content: 'once only' }, key)
  const again = await write({ content: 'once only' }, key)
  assert.deepEqual(again.body, first.body)
  assert.equal(again.headers.get('idempotency-replayed'), 'true')
  await scene.issue(first.body.ref)
  const gone = await write({ content: 'once only' }, key)
  assert.deepEqual(gone.body, { ...first.body, status: 'erased', content_hash: null })
})

test('without a signing key nothing is written', async () => {
  const own = await openScene()
  try {
    const { keyring, clock } = own.service.kernel
    const { log_seq } = (
      await own.api('POST', `/v1/stores/${own.store_id}/write`, { content: 'a' })
    ).body
    await keyring.retireSigningKey('provenance', formatTime(clock.now()))
    const refused = await own.api('POST', `/v1/stores/${own.store_id}/write`, { content: 'b' })
    assert.equal(refused.status, 503)
    assert.equal(refused.body.error, 'no_signing_key')
    assert.equal((await own.api('GET', '/v1/gcrumbs/stats')).body.total_breadcrumbs, log_seq + 1)
  } finally {
    await own.stop()
  }
})
