// Opened facts in memory: found again, bounded, and gone once forgotten.

import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { openScene, type Scene } from '../../testing/erasure-scene.ts'
import { knownContents } from './opened-fact.ts'
import { openedFacts } from './opened-facts.ts'
import { purgeErased } from './purge.ts'

let scene: Scene

before(async () => {
  scene = await openScene()
})
after(() => scene.stop())

const cacheOf = ({ service }: Scene) => openedFacts(service.kernel)

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

test('what was opened once is found again, without its row being opened again', async () => {
  const ref = await scene.write('The lighthouse keeper feeds seven gulls')
  assert.equal(cacheOf(scene).has(scene.tenant_id, ref), false)
  const first = await knownContents(scene.service.kernel, scene.tenant_id, [ref])
  assert.equal(cacheOf(scene).has(scene.tenant_id, ref), true)
  assert.deepEqual(await knownContents(scene.service.kernel, scene.tenant_id, [ref]), first)
})

test('erasure.issue leaves nothing of the fact among them', async () => {
  const ref = await scene.write('The ferry to the north isle leaves at dawn')
  await knownContents(scene.service.kernel, scene.tenant_id, [ref])
  assert.equal(cacheOf(scene).has(scene.tenant_id, ref), true)
  await erase(ref)
  assert.equal(cacheOf(scene).has(scene.tenant_id, ref), false)
  const again = await knownContents(scene.service.kernel, scene.tenant_id, [ref])
  assert.equal(again.size, 0)
})

test('a fact that was read while something was being forgotten is not kept', () => {
  const cache = cacheOf(scene)
  const mark = cache.mark()
  cache.forget('t', [7])
  cache.remember(mark, 't', { ref: 7, store_id: 's', document: documentOf('late') })
  assert.equal(cache.has('t', 7), false)
  cache.remember(cache.mark(), 't', { ref: 8, store_id: 's', document: documentOf('kept') })
  assert.equal(cache.has('t', 8), true)
})

test('forgetting a store takes its facts and no others', () => {
  const cache = cacheOf(scene)
  for (const [ref, store_id] of [
    [21, 'a'],
    [22, 'b'],
  ] as const)
    cache.remember(cache.mark(), 't', { ref, store_id, document: documentOf('x') })
  cache.forgetStore('t', 'a')
  assert.deepEqual([cache.has('t', 21), cache.has('t', 22)], [false, true])
})

test('texts beyond 32 MiB push out those used longest ago', () => {
  const cache = cacheOf(scene)
  const big = documentOf('y'.repeat(2 ** 20))
  for (let ref = 1_000; ref < 1_015; ref += 1)
    cache.remember(cache.mark(), 'big', { ref, store_id: 's', document: big })
  assert.equal(cache.has('big', 1_000), true)
  cache.find('big', 1_000)
  for (let ref = 1_015; ref < 1_025; ref += 1)
    cache.remember(cache.mark(), 'big', { ref, store_id: 's', document: big })
  assert.equal(cache.has('big', 1_000), true, 'used since')
  assert.equal(cache.has('big', 1_001), false)
  assert.equal(cache.has('big', 1_024), true)
})

test('the purge drops what another process erased', async () => {
  const { kernel } = scene.service
  const ref = await scene.write('The bakery closes on the second of May')
  await erase(ref)
  const cache = cacheOf(scene)
  // As if this process had opened it before another one erased it.
  cache.remember(cache.mark(), scene.tenant_id, {
    ref,
    store_id: scene.store_id,
    document: documentOf('The bakery closes on the second of May'),
  })
  await purgeErased(kernel)
  assert.equal(cache.has(scene.tenant_id, ref), false)
})
