// The cache of opened facts: documents are found again, bounded in size, and removed by an erasure.

import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { openScene, type Scene } from '../../../testing/erasure-scene.ts'
import { purgeErased } from '../write/purge-erased.ts'
import { loadContents } from './opened-fact.ts'
import { openedFactCache } from './opened-fact-cache.ts'

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
