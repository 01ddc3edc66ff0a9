// 'memory.audit', 'memory.memories', 'memory.memory' and 'memory.export'.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Memory } from '@custos/contract'
import { Refusal } from '../../../platform/refusal.ts'
import { openScene, type Scene } from '../../../testing/erasure-scene.ts'

let scene: Scene
let base: string
let all: number[]

before(async () => {
  scene = await openScene()
  base = `/v1/stores/${scene.store_id}`
  const items = Array.from({ length: 23 }, (_, i) => ({
    content: `entry ${i}`,
    options: { metadata: { i }, ...(i % 5 === 0 ? { tenant_id: 'sub' } : {}) },
  }))
  const { refs } = (await scene.api('POST', `${base}/write_batch`, { items })).body
  const next = await scene.supersede(refs[3], 'entry 3 again')
  await scene.api('POST', `${base}/delete`, { ref: refs[7] })
  all = [...refs.filter((ref: number) => ref !== refs[7]), next]
})

after(() => scene.stop())

const refsOf = (memories: readonly Memory[]): number[] => memories.map(({ ref }) => ref)
const get = async (path: string) => (await scene.api('GET', `${base}/${path}`)).body

test('the audit shows every memory of every namespace once, superseded ones too', async () => {
  const { memories, count, next_cursor } = await get('audit')
  assert.deepEqual(refsOf(memories), all)
  assert.equal(count, all.length)
  assert.equal(next_cursor, null)
  for (const { source } of memories) assert.equal(typeof source.write_id, 'string')
})

test('the audit is written as JSON.stringify writes it, whole and in pages', async () => {
  for (const query of ['', '?limit=3', '?offset=500']) {
    const { text, body, headers } = await scene.api('GET', `${base}/audit${query}`)
    assert.equal(text, JSON.stringify(body))
    assert.equal(headers.get('content-length'), null, 'it is sent while it is read')
    assert.deepEqual(Object.keys(body), ['memories', 'count', 'next_cursor'])
  }
})

test('an audit that cannot begin is an ordinary refusal', async (t) => {
  const { keyring } = scene.service.kernel
  t.mock.method(keyring, 'secrets', () => Promise.reject(new Refusal('unavailable')))
  assert.equal((await scene.api('GET', `${base}/audit`)).status, 503)
  assert.equal((await scene.api('GET', `${base}/audit?offset=500`)).status, 200)
})

test('a cursor of another list of the store is refused', async () => {
  const lists = ['memories', 'audit', `memories/${all[3]}/history`]
  const cursors = await Promise.all(
    lists.map(async (list) => String((await get(`${list}?limit=1`)).next_cursor)),
  )
  for (const [i, list] of lists.entries())
    for (const [k, cursor] of cursors.entries()) {
      const { status, body } = await scene.api('GET', `${base}/${list}?limit=1&cursor=${cursor}`)
      const said = i === k ? [200, undefined] : [422, 'rejected']
      assert.deepEqual([status, body.error], said, `${list} with a cursor of ${lists[k]}`)
    }
  const unnamed = Buffer.from(`r${all[4]}`).toString('base64url')
  for (const list of ['memories', 'audit']) {
    const { memories } = await get(`${list}?limit=1&cursor=${unnamed}`)
    assert.deepEqual(refsOf(memories), [all[5]], 'a cursor of an earlier version names no list')
  }
})

test('pages of any size add up to the whole, by cursor and by offset', async () => {
  for (const list of ['memories', 'audit']) {
    for (const limit of [1, 5, 23, 24, 1000]) {
      const seen: number[] = []
      let page = await get(`${list}?limit=${limit}`)
      for (;;) {
        seen.push(...refsOf(page.memories))
        assert.ok(page.memories.length <= limit)
        if (page.next_cursor === null) break
        page = await get(`${list}?limit=${limit}&cursor=${page.next_cursor}`)
      }
      assert.deepEqual(seen, all, `${list} by ${limit}`)
    }
    assert.deepEqual(refsOf((await get(`${list}?limit=4&offset=6`)).memories), all.slice(6, 10))
    assert.deepEqual((await get(`${list}?offset=500`)).memories, [])
    assert.equal((await get(`${list}?limit=0`)).error, 'validation')
    assert.equal((await get(`${list}?limit=1001`)).error, 'validation')
    assert.equal((await get(`${list}?cursor=zzz`)).error, 'rejected')
  }
})

test('one memory is found in its own store only, and an erased one nowhere', async () => {
  const [first = 0] = all
  assert.equal((await get(`memories/${first}`)).content, 'entry 0')
  assert.equal((await get('memories/999999')).error, 'memory_not_found')
  const other = (await scene.api('POST', '/v1/stores', {})).body.store_id
  const elsewhere = await scene.api('GET', `/v1/stores/${other}/memories/${first}`)
  assert.equal(elsewhere.body.error, 'memory_not_found')
  assert.equal((await scene.api('GET', `${base}/memories/x`)).status, 422)
})

test('an export is a header and the memories that the list shows', async () => {
  const answer = await scene.api('GET', `${base}/export`)
  assert.match(answer.headers.get('content-type') ?? '', /ndjson/)
  const [header = '', ...lines] = answer.text.trimEnd().split('\n')
  const head = JSON.parse(header)
  assert.equal(head.custos_export, 1)
  assert.equal(head.store.store_id, scene.store_id)
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    (await get('memories?limit=1000')).memories,
  )
})

test('the newest memories come first where they are asked for, over all pages', async () => {
  for (const namespace of ['', '&namespace=sub']) {
    const oldest = (await scene.api('GET', `${base}/memories?limit=100${namespace}`)).body
    const expected = oldest.memories.map(({ ref }: Memory) => ref).reverse()
    assert.ok(expected.length > 4)
    const seen: number[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query = `order=newest&limit=4${namespace}${cursor === '' ? '' : `&cursor=${cursor}`}`
      const { body } = await scene.api('GET', `${base}/memories?${query}`)
      seen.push(...body.memories.map(({ ref }: Memory) => ref))
      cursor = body.next_cursor
    }
    assert.deepEqual(seen, expected)
    const skipped = await scene.api('GET', `${base}/memories?order=newest&offset=3${namespace}`)
    assert.equal(skipped.body.memories[0].ref, expected[3])
  }
})
