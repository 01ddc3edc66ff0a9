// 'memory.ingest': the turns of a conversation are remembered as they were said, all or none.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openRunScene } from '../testing/run-scene.ts'

const scene = openRunScene()
const PATH = '/stores/notes/ingest'
const TALK = {
  session_id: 's1',
  metadata: { channel: 'mail', role: 'nobody' },
  messages: [
    {
      role: 'user',
      speaker: 'Ana',
      content: 'I moved to Porto',
      timestamp: '2026-03-01T09:00:00Z',
    },
    { role: 'assistant', name: 'Helper', content: 'How do you like it?', message_id: 'm2' },
  ],
}

test('each turn is a memory with who said it and when, under one log entry', async () => {
  const tenant = await scene.tenant()
  const { refs, duplicates, log_seq } = await tenant.ok('POST', PATH, TALK)
  assert.deepEqual([refs.length, duplicates], [2, []])
  const [first, second] = await Promise.all(
    refs.map((ref: number) => tenant.ok('GET', `/stores/notes/memories/${ref}`)),
  )
  assert.equal(first.content, 'I moved to Porto')
  const shared = { session_id: 's1', channel: 'mail' }
  const timestamp = '2026-03-01T09:00:00Z'
  assert.deepEqual(first.metadata, { ...shared, role: 'user', speaker: 'Ana', timestamp })
  assert.equal(first.valid_from, '2026-03-01T09:00:00.000000Z')
  const said = { role: 'assistant', speaker: 'Helper', message_id: 'm2' }
  assert.deepEqual(second.metadata, { ...shared, ...said })
  assert.equal(second.valid_from, second.written_at)
  const { breadcrumbs } = await tenant.ok('GET', '/gcrumbs/breadcrumbs?limit=1000')
  const { event_type, payload } = breadcrumbs.find(({ seq }: { seq: number }) => seq === log_seq)
  assert.deepEqual([event_type, payload.count], ['memory.written', 2])

  const { memories } = await tenant.ok('POST', '/stores/notes/retrieve', {
    query: 'what did Ana say about Porto',
  })
  assert.equal(memories[0].ref, refs[0])
  assert.ok(memories[0].score_parts.speaker > 0)
})

test('a retry with the same key writes nothing twice, another talk is refused', async () => {
  const tenant = await scene.tenant()
  const once = { idempotency: 'turn-1' }
  const first = await tenant.ask('POST', PATH, TALK, once)
  const again = await tenant.ask('POST', PATH, TALK, once)
  assert.deepEqual(again.body, first.body)
  assert.equal((await tenant.ok('GET', '/stores/notes/stats')).facts, 2)
  const other = { messages: [{ content: 'another' }] }
  assert.equal((await tenant.ask('POST', PATH, other, once)).status, 409)
  const { refs, duplicates } = await tenant.ok('POST', PATH, TALK)
  assert.equal(refs.length, 2)
  assert.deepEqual(duplicates, [
    { index: 0, duplicate_of: first.body.refs[0] },
    { index: 1, duplicate_of: first.body.refs[1] },
  ])
})

test('a turn that cannot be remembered, or that a policy denies, leaves nothing', async () => {
  const tenant = await scene.tenant()
  const fine = { content: 'fine' }
  for (const [body, where] of [
    [{ messages: [] }, 'messages'],
    [{ messages: [fine, { content: '  ' }] }, 'content'],
    [{ messages: [fine, { content: 'é'.repeat(200_000) }] }, '"messages",1'],
    [{ messages: [fine, { content: 'x', timestamp: 'yesterday' }] }, 'timestamp'],
    [{ messages: [fine], mode: 'summary' }, 'mode'],
  ] as const) {
    const { status, text } = await tenant.ask('POST', PATH, body)
    assert.equal(status, 422, text)
    assert.ok(text.includes(where), text)
  }
  await tenant.policy({ policy_type: 'content_filter', config: { patterns: ['secret'] } })
  const bad = { content: 'a secret' }
  const denied = await tenant.ask('POST', PATH, { messages: [fine, bad] })
  assert.equal(denied.body.error, 'policy_denied', denied.text)
  assert.equal((await tenant.ok('GET', '/stores/notes/stats')).facts, 0)
})

test('a turn of the future is valid from now; stores of others are not there', async () => {
  const tenant = await scene.tenant()
  const messages = [{ content: 'said in a year to come', timestamp: '2200-01-01T00:00:00Z' }]
  const { refs } = await tenant.ok('POST', PATH, { messages })
  const memory = await tenant.ok('GET', `/stores/notes/memories/${refs[0]}`)
  assert.equal(memory.valid_from, memory.written_at)
  const other = await scene.service.createTenant()
  const body = { messages }
  const refused = await tenant.ask('POST', '/stores/none/ingest', body, { key: other.api_key })
  assert.equal(refused.body.error, 'store_not_found')
})
