// The cache of opened facts: documents are found again, bounded in size, and removed by an erasure.

import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { openScene, type Scene } from '../../../testing/erasure-scene.ts'
import { purgeErased } from '../write/erase-facts.ts'
import { loadContents } from './opened-fact.ts'
import { noteHiddenFacts, openedFactCache } from './opened-fact-cache.ts'

let scene: Scene

before(async () => {
  scene = await openScene()
})
after(() => scene.stop())

const cacheOf = ({ service }: Scene) => openedFactCache(service.kernel)

async function erase(ref: number): Promise<void> {
  const { status } = await scene.issue(ref, { store_id: scene.store_id })
  assert.equal(status, 200)
}

const documentOf = (content: string) => ({
  content,
  metadata: {},
  write_id: '',
  fact_id: '',
  signature: '',
  signer_key_id: '',
  principal: '',
  commitment_salt: '',
  space: '',
})

test('a document that was opened once is served from the cache', async () => {
  const ref = await scene.write('The lighthouse keeper feeds seven gulls')
  assert.equal(cacheOf(scene).has(scene.tenant_id, ref), false)
  const first = await loadContents(scene.service.kernel, scene.tenant_id, [ref])
  assert.equal(cacheOf(scene).has(scene.tenant_id, ref), true)
  assert.deepEqual(await loadContents(scene.service.kernel, scene.tenant_id, [ref]), first)
})

test('erasure.issue removes the fact from the cache', async () => {
  const ref = await scene.write('The ferry to the north isle leaves at dawn')
  await loadContents(scene.service.kernel, scene.tenant_id, [ref])
  assert.equal(cacheOf(scene).has(scene.tenant_id, ref), true)
  await erase(ref)
  assert.equal(cacheOf(scene).has(scene.tenant_id, ref), false)
  const again = await loadContents(scene.service.kernel, scene.tenant_id, [ref])
  assert.equal(again.size, 0)
})

test('a fact that was read while another was being removed is not cached', () => {
  const cache = cacheOf(scene)
  const { removals } = cache
  cache.remove('t', [7])
  cache.add(removals, 't', { ref: 7, store_id: 's', document: documentOf('late') })
  assert.equal(cache.has('t', 7), false)
  cache.add(cache.removals, 't', { ref: 8, store_id: 's', document: documentOf('kept') })
  assert.equal(cache.has('t', 8), true)
})

test('removing a store removes its facts and no others', () => {
  const cache = cacheOf(scene)
  for (const [ref, store_id] of [
    [21, 'a'],
    [22, 'b'],
  ] as const)
    cache.add(cache.removals, 't', { ref, store_id, document: documentOf('x') })
  cache.removeStore('t', 'a')
  assert.deepEqual([cache.has('t', 21), cache.has('t', 22)], [false, true])
})

test('beyond 32 MiB the documents unused for longest are dropped', () => {
  const cache = cacheOf(scene)
  const big = documentOf('y'.repeat(2 ** 20))
  for (let ref = 1_000; ref < 1_015; ref += 1)
    cache.add(cache.removals, 'big', { ref, store_id: 's', document: big })
  assert.equal(cache.has('big', 1_000), true)
  cache.find('big', 1_000)
  for (let ref = 1_015; ref < 1_025; ref += 1)
    cache.add(cache.removals, 'big', { ref, store_id: 's', document: big })
  assert.equal(cache.has('big', 1_000), true, 'used since')
  assert.equal(cache.has('big', 1_001), false)
  assert.equal(cache.has('big', 1_024), true)
})

test('the purge removes facts that another process has erased', async () => {
  const { kernel } = scene.service
  const ref = await scene.write('The bakery closes on the second of May')
  await erase(ref)
  const cache = cacheOf(scene)
  // As if this process had opened it before another one erased it.
  cache.add(cache.removals, scene.tenant_id, {
    ref,
    store_id: scene.store_id,
    document: documentOf('The bakery closes on the second of May'),
  })
  await purgeErased(kernel)
  assert.equal(cache.has(scene.tenant_id, ref), false)
})

const shownAt = (ref: number) => {
  const document = documentOf(`fact ${ref}`)
  const row = { ref, store_id: 's', namespace: null, written_seq: 1, written_us: 1, token_count: 1 }
  const more = { state: 0, sealed_seq: 1, space_mark: null, from_seq: 1, predecessor: null }
  const validity = { valid_from_us: 1, valid_until_us: null, superseded_by: null }
  const fact = { ...row, ...more, ...validity, content: document.content, metadata: {}, document }
  return { fact, json: `{"ref":${ref}}` }
}
const STORE = { tenant_id: 'shown', store_id: 's' }
const isShown = (ref: number, head_seq: number) =>
  cacheOf(scene).findShown('shown', ref, { store_id: 's', head_seq }) !== undefined

test('a shown fact is used again until a change of it, or one that nobody told of', () => {
  const cache = cacheOf(scene)
  const read_mark = cache.markRead('shown')
  for (const ref of [1, 2]) cache.addShown('shown', shownAt(ref), { head_seq: 5, read_mark })
  assert.deepEqual([isShown(1, 5), isShown(1, 6), isShown(3, 5)], [true, false, false])
  cache.applyChange(STORE, { from_seq: 5, to_seq: 7 }, [2])
  assert.deepEqual([isShown(1, 7), isShown(2, 7)], [true, false])
  // A reader of the older snapshot comes late: the change may have been of this fact.
  cache.addShown('shown', shownAt(2), { head_seq: 5, read_mark })
  assert.equal(isShown(2, 7), false)
  cache.applyChange(STORE, { from_seq: 8, to_seq: 9 }, [])
  assert.deepEqual([isShown(1, 7), isShown(1, 9)], [false, false], 'from 7 to 8 is unknown')
})

test('hiding facts of a tenant ends what is shown, also for a reader who began before', () => {
  const cache = cacheOf(scene)
  const read_mark = cache.markRead('shown')
  cache.addShown('shown', shownAt(11), { head_seq: 20, read_mark })
  assert.equal(isShown(11, 20), true)
  noteHiddenFacts('shown')
  assert.equal(isShown(11, 20), false)
  cache.addShown('shown', shownAt(12), { head_seq: 20, read_mark })
  assert.equal(isShown(12, 20), false)
  const later = cache.markRead('shown')
  cache.addShown('shown', shownAt(12), { head_seq: 20, read_mark: later })
  assert.equal(isShown(12, 20), true)
  cache.remove('shown', [12])
  assert.equal(isShown(12, 20), false)
})
