// memory.delete through HTTP: the same erasure, its shape, and the repair of version chains.

import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { openScene, type Scene } from '../../testing/erasure-scene.ts'

let scene: Scene
let store: string

before(async () => {
  scene = await openScene()
  store = `/v1/stores/${scene.store_id}`
})
after(() => scene.stop())

const remove = (ref: unknown) => scene.api('POST', `${store}/delete`, { ref })

async function chain(label: string): Promise<[number, number, number]> {
  const oldest = await scene.write(`${label}: the address was Elm Street`)
  const middle = await scene.supersede(oldest, `${label}: the address was Oak Street`)
  const current = await scene.supersede(middle, `${label}: the address is Ash Street`)
  return [oldest, middle, current]
}

const memory = async (ref: number) => (await scene.api('GET', `${store}/memories/${ref}`)).body

test('memory.delete erases and names the certificate, the same one twice', async () => {
  const ref = await scene.write('Delete me through the store')
  const first = await remove(ref)
  assert.equal(first.status, 200, first.text)
  assert.equal(first.body.deleted, true)
  const id = first.body.erasure_certificate_id
  const { body: certificate } = await scene.api('GET', `/v1/erasure/${id}`)
  assert.equal(certificate.outcome, 'erased')
  assert.equal(certificate.fact_ref, ref)
  const second = await remove(ref)
  assert.equal(second.status, 200)
  assert.equal(second.body.deleted, false)
  assert.equal(second.body.erasure_certificate_id, id)
})

test('memory.delete and erasure.issue of one memory answer one certificate', async () => {
  const ref = await scene.write('Deleted one way, issued the other')
  const deleted = (await remove(ref)).body
  const issued = (await scene.issue(ref)).body
  assert.equal(issued.certificate_id, deleted.erasure_certificate_id)
  assert.equal(issued.deleted, false)
})

test('an unknown ref and a ref of another store delete nothing and certify nothing', async () => {
  const other = (await scene.api('POST', '/v1/stores', {})).body.store_id
  const written = await scene.api('POST', `/v1/stores/${other}/write`, { content: 'elsewhere' })
  for (const ref of [written.body.ref, 4_000_000]) {
    const { status, body } = await remove(ref)
    assert.equal(status, 200)
    assert.equal(body.deleted, false)
    assert.equal(body.erasure_certificate_id, undefined)
  }
  const kept = await scene.api('GET', `/v1/stores/${other}/memories/${written.body.ref}`)
  assert.equal(kept.body.content, 'elsewhere')
  const erased = (await scene.issue(written.body.ref)).body
  assert.equal(erased.deleted, true)
  const after = (await remove(written.body.ref)).body
  assert.equal(
    after.erasure_certificate_id,
    undefined,
    'nor is the other store’s certificate named',
  )
})

test('a ref of the wrong JSON type is a 422 and an unknown store a 404', async () => {
  for (const ref of ['7', 1.5, true, [1], {}, null])
    assert.equal((await remove(ref)).status, 422, JSON.stringify(ref))
  const unknown = await scene.api('POST', '/v1/stores/0123456789ab/delete', { ref: 1 })
  assert.equal(unknown.status, 404)
  assert.equal(unknown.body.error, 'store_not_found')
})

test('a store created without hard_delete refuses memory.delete and keeps the memory', async () => {
  const { body: created } = await scene.api('POST', '/v1/stores', { capabilities: ['audit'] })
  const path = `/v1/stores/${created.store_id}`
  const { ref } = (await scene.api('POST', `${path}/write`, { content: 'kept' })).body
  const refused = await scene.api('POST', `${path}/delete`, { ref })
  assert.equal(refused.status, 422)
  assert.equal(refused.body.error, 'capability_not_supported')
  assert.equal(refused.body.capability, 'hard_delete')
  assert.equal((await scene.api('GET', `${path}/memories/${ref}`)).body.content, 'kept')
})

test('deleting the current version makes the one before it current again', async () => {
  const [, middle, current] = await chain('current')
  assert.equal((await remove(current)).body.deleted, true)
  const previous = await memory(middle)
  assert.equal(previous.valid_until, null)
  assert.equal(previous.superseded_by, null)
  const { body } = await scene.api('POST', `${store}/retrieve`, {
    query: 'current: the address',
    options: { budget_tokens: 4096 },
  })
  assert.ok(body.memories.some((found: { ref: number }) => found.ref === middle))
})

test('deleting a middle version links its neighbours and leaves the gap in time', async () => {
  const [oldest, middle, current] = await chain('middle')
  const before = await memory(oldest)
  assert.equal((await remove(middle)).body.deleted, true)
  const first = await memory(oldest)
  assert.equal(first.superseded_by, current)
  assert.equal(first.valid_until, before.valid_until)
  assert.equal((await memory(current)).valid_until, null)
})

test('deleting the middle, then the current version makes the oldest current again', async () => {
  const [oldest, middle, current] = await chain('both')
  assert.equal((await remove(middle)).body.deleted, true)
  assert.equal((await remove(current)).body.deleted, true)
  const first = await memory(oldest)
  assert.equal(first.valid_until, null)
  assert.equal(first.superseded_by, null)
})

test('deleting the oldest version leaves the later ones as they were', async () => {
  const [oldest, middle, current] = await chain('oldest')
  const before = [await memory(middle), await memory(current)]
  assert.equal((await remove(oldest)).body.deleted, true)
  assert.deepEqual([await memory(middle), await memory(current)], before)
})

test('a whole chain can be deleted, and superseding what is gone is a plain write', async () => {
  const versions = await chain('whole')
  for (const ref of versions) assert.equal((await remove(ref)).body.deleted, true)
  const { status, body } = await scene.api('POST', `${store}/supersede`, {
    old_ref: versions[2],
    content: 'whole: a new beginning',
  })
  assert.equal(status, 200)
  assert.equal((await memory(body.ref)).superseded_by, null)
})

test('memory.delete replays under its key and never reaches a later memory', async () => {
  const ref = await scene.write('Deleted once under a key')
  const send = (body: unknown, key: string) =>
    scene.api('POST', `${store}/delete`, body, { 'idempotency-key': key })
  const first = await send({ ref }, 'delete-once')
  const replayed = await send({ ref }, 'delete-once')
  assert.deepEqual(replayed.body, first.body)
  const other = await send({ ref: ref + 1 }, 'delete-once')
  assert.equal(other.status, 409)
  assert.equal(other.body.error, 'idempotency_key_reused')

  const next = ref + 1
  assert.equal((await send({ ref: next }, 'before-it-exists')).body.deleted, false)
  assert.equal(await scene.write('Written after the first try'), next)
  assert.equal((await send({ ref: next }, 'before-it-exists')).body.deleted, false)
  assert.equal((await memory(next)).content, 'Written after the first try')
})
