// 'memory.history': one chain from any of its versions, erased ones as markers.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { MemoryVersion } from '@custos/contract'
import { openScene, type Scene } from '../../../testing/erasure-scene.ts'
import { listChainRefs } from '../facts/validity.sql.ts'

let scene: Scene
let base: string

before(async () => {
  scene = await openScene()
  base = `/v1/stores/${scene.store_id}`
})

after(() => scene.stop())

interface HistoryPage {
  readonly versions: MemoryVersion[]
  readonly count: number
  readonly next_cursor: string | null
}

const ask = (ref: number | string, query = '') =>
  scene.api('GET', `${base}/memories/${ref}/history${query}`)

async function history(ref: number, query = ''): Promise<HistoryPage> {
  const { status, body, text } = await ask(ref, query)
  assert.equal(status, 200, text)
  return body
}

/** Versions of one memory, a day apart; their refs, oldest first. */
async function chain(word: string, versions: number): Promise<number[]> {
  const at = (i: number) => new Date(Date.UTC(2026, 0, 1 + i)).toISOString()
  const refs = [await scene.write(`${word} 0`, { valid_from: at(0) })]
  for (let i = 1; i < versions; i += 1) {
    const body = { old_ref: refs.at(-1), content: `${word} ${i}`, options: { valid_from: at(i) } }
    refs.push((await scene.api('POST', `${base}/supersede`, body)).body.ref)
  }
  return refs
}

const erase = async (ref: number): Promise<string> =>
  (await scene.api('POST', `${base}/delete`, { ref })).body.erasure_certificate_id

const refsOf = ({ versions }: HistoryPage) => versions.map(({ ref }) => ref)

test('any version names the whole history, oldest first, with both axes', async () => {
  const refs = await chain('lamp', 4)
  for (const ref of refs) assert.deepEqual(refsOf(await history(ref)), refs)
  const { versions, count, next_cursor } = await history(refs[1] ?? 0)
  assert.equal(count, 4)
  assert.equal(next_cursor, null)
  for (const [i, version] of versions.entries()) {
    const shown = (await scene.api('GET', `${base}/memories/${refs[i]}`)).body
    assert.deepEqual(version.memory, shown)
    assert.equal(version.superseded_by, refs[i + 1] ?? null)
    assert.equal(version.valid_until, versions[i + 1]?.valid_from ?? null)
    assert.equal(version.erased, false)
  }
  const seqs = versions.map(({ log_seq }) => log_seq)
  const crumbs = (await scene.api('GET', '/v1/gcrumbs/breadcrumbs?limit=500')).body.breadcrumbs
  for (const seq of seqs) {
    const { event_type } = crumbs.find((one: { seq: number }) => one.seq === seq)
    assert.match(event_type, /^memory\.(written|superseded)$/)
  }
  assert.deepEqual(
    seqs,
    seqs.toSorted((a, b) => a - b),
  )
  assert.equal(new Set(seqs).size, 4)
})

test('an erased version stays at its place as a marker with its certificate only', async () => {
  const refs = await chain('secret', 5)
  // The oldest, one in the middle and then its successor, and the current one.
  for (const at of [0, 2, 3, 4]) {
    const erased = refs[at] ?? 0
    const before = (await history(erased)).versions.find(({ ref }) => ref === erased)
    const certificate_id = await erase(erased)
    const found = await history(erased)
    assert.deepEqual(refsOf(found), refs)
    assert.deepEqual(found, await history(refs[1] ?? 0))
    const marker = found.versions[at]
    assert.ok(marker?.erased_at)
    assert.deepEqual(marker, {
      ...before,
      memory: null,
      erased: true,
      erased_at: marker.erased_at,
      erasure_certificate_id: certificate_id,
    })
    assert.ok(!JSON.stringify(found).includes(`secret ${at}`))
  }
  await erase(refs[1] ?? 0)
  const { versions } = await history(refs[3] ?? 0)
  assert.deepEqual(refsOf({ versions, count: 5, next_cursor: null }), refs)
  for (const { memory, erased } of versions) assert.deepEqual([memory, erased], [null, true])
})

test('pages of any size add up to the whole, and a foreign cursor is refused', async () => {
  const refs = await chain('page', 7)
  const [other = 0] = await chain('other', 2)
  await erase(refs[3] ?? 0)
  for (const limit of [1, 3, 7, 500]) {
    const seen: number[] = []
    let page = await history(refs[4] ?? 0, `?limit=${limit}`)
    for (;;) {
      seen.push(...refsOf(page))
      assert.ok(page.count <= limit)
      if (page.next_cursor === null) break
      page = await history(refs[0] ?? 0, `?limit=${limit}&cursor=${page.next_cursor}`)
    }
    assert.deepEqual(seen, refs, `by ${limit}`)
  }
  const { next_cursor } = await history(other, '?limit=1')
  for (const cursor of [next_cursor, 'zzz'])
    assert.equal((await ask(refs[0] ?? 0, `?cursor=${cursor}`)).body.error, 'rejected')
  for (const limit of [0, 501, 'x'])
    assert.equal((await ask(refs[0] ?? 0, `?limit=${limit}`)).status, 422)
})

test('a memory of another store and one that never was have no history', async () => {
  const [ref = 0] = await chain('store', 2)
  const other = (await scene.api('POST', '/v1/stores', {})).body.store_id
  const elsewhere = await scene.api('GET', `/v1/stores/${other}/memories/${ref}/history`)
  assert.equal(elsewhere.body.error, 'memory_not_found')
  await erase(ref)
  const erased = await scene.api('GET', `/v1/stores/${other}/memories/${ref}/history`)
  assert.equal(erased.body.error, 'memory_not_found')
  assert.equal((await ask(999_999)).body.error, 'memory_not_found')
  assert.equal((await ask('x')).status, 422)
})

test('a key of one namespace sees the history of its own memories only', async () => {
  const own = await scene.write('in the namespace', { namespace: 'own' })
  const next = await scene.supersede(own, 'in the namespace, corrected')
  const [foreign = 0] = await chain('root', 2)
  const made = await scene.api('POST', '/v1/keys/tokens', {
    store_id: scene.store_id,
    namespace: 'own',
    scopes: ['memory:read'],
  })
  assert.ok(made.body.token, made.text)
  const read = (ref: number) =>
    scene.service.request('GET', `${base}/memories/${ref}/history`, { key: made.body.token })
  assert.deepEqual(refsOf((await read(own)).body), [own, next])
  assert.equal((await read(foreign)).body.error, 'memory_not_found')
  await erase(own)
  assert.deepEqual(refsOf((await read(own)).body), [own, next])
  await erase(foreign)
  assert.equal((await read(foreign)).body.error, 'memory_not_found')
})

test('of a chain beyond the limit, the versions nearest the named one are listed', async () => {
  const refs = await chain('long', 9)
  const { kernel } = scene.service
  const nearest = await kernel.db.read(scene.tenant_id, (db) => listChainRefs(db, refs[4] ?? 0, 5))
  assert.deepEqual(
    nearest.sort((a, b) => a - b),
    refs.slice(2, 7),
  )
})
