// erasure.get, erasure.by_fact, erasure.list, erasure.stats, erasure.verify through HTTP.

import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { formatTime } from '../../platform/clock.ts'
import { openScene, type Scene } from '../../testing/erasure-scene.ts'

let scene: Scene

before(async () => {
  scene = await openScene()
})
after(() => scene.stop())

test('erasure.stats of a tenant without certificates counts nothing', async () => {
  const { status, body } = await scene.api('GET', '/v1/erasure/stats')
  assert.equal(status, 200)
  assert.equal(body.total, 0)
  assert.equal(body.first_erasure, null)
})

test('erasure.get, erasure.by_fact and erasure.list show what was issued', async () => {
  const ref = await scene.write('The key is under the third flowerpot')
  const issued = (await scene.issue(ref)).body
  const got = await scene.api('GET', `/v1/erasure/${issued.certificate_id}`)
  assert.equal(got.status, 200)
  const byFact = await scene.api('GET', `/v1/erasure/fact/${ref}`)
  assert.deepEqual(byFact.body, got.body)
  for (const field of Object.keys(got.body)) assert.deepEqual(got.body[field], issued[field], field)
  for (const path of ['/v1/erasure', '/v1/erasure/'])
    assert.deepEqual((await scene.api('GET', path)).body.certificates, [got.body])
})

test('erasure.verify names the key and each check', async () => {
  const ref = await scene.write('Allergic to penicillin since 1998')
  const issued = (await scene.issue(ref)).body
  const { status, body } = await scene.api('GET', `/v1/erasure/${issued.certificate_id}/verify`)
  assert.equal(status, 200)
  assert.equal(body.valid, true)
  assert.equal(body.certificate_id, issued.certificate_id)
  assert.equal(body.key_id, issued.key_id)
  assert.ok(body.checks.length >= 2)
  assert.ok(body.checks.every((check: { ok: boolean }) => check.ok))
})

test('a certificate stays valid after its key has been replaced', async () => {
  const ref = await scene.write('Signed with the first key')
  const issued = (await scene.issue(ref)).body
  const { keyring, clock } = scene.service.kernel
  await keyring.rotateSigningKey('erasure', formatTime(clock.now()))
  const { body } = await scene.api('GET', `/v1/erasure/${issued.certificate_id}/verify`)
  assert.equal(body.valid, true, JSON.stringify(body))
  const next = (await scene.issue(await scene.write('Signed with the second key'))).body
  assert.notEqual(next.key_id, issued.key_id)
  assert.equal(next.verified, true)
})

test('erasure.list pages newest first, by offset and by cursor, within its bounds', async () => {
  for (let i = 0; i < 4; i += 1) await scene.issue(await scene.write(`page ${i} of the list`))
  const all = (await scene.api('GET', '/v1/erasure?limit=500')).body.certificates
  const times = all.map(
    (certificate: { erasure_completed_at: string }) => certificate.erasure_completed_at,
  )
  assert.deepEqual(times, times.toSorted().toReversed())
  const first = (await scene.api('GET', '/v1/erasure?limit=2')).body
  assert.deepEqual(first.certificates, all.slice(0, 2))
  assert.equal(first.count, 2)
  const next = (await scene.api('GET', `/v1/erasure?limit=2&cursor=${first.next_cursor}`)).body
  assert.deepEqual(next.certificates, all.slice(2, 4))
  const byOffset = (await scene.api('GET', '/v1/erasure?limit=2&offset=2')).body
  assert.deepEqual(byOffset.certificates, all.slice(2, 4))
  assert.equal((await scene.api('GET', '/v1/erasure')).body.limit, 50)
  for (const limit of [0, 501, 'x'])
    assert.equal((await scene.api('GET', `/v1/erasure?limit=${limit}`)).status, 422)
  for (const limit of [1, 500])
    assert.equal((await scene.api('GET', `/v1/erasure?limit=${limit}`)).status, 200)
})

test('erasure.stats counts by outcome and knows the first and the last time', async () => {
  await scene.issue(987_001)
  const { body } = await scene.api('GET', '/v1/erasure/stats')
  assert.equal(body.total, body.erased + body.already_absent + body.nothing_found)
  assert.equal(body.signed_count, body.total)
  assert.equal(body.nothing_found, 1)
  assert.ok(body.first_erasure < body.last_erasure)
})

test('an unknown certificate and a certificate of another tenant are the same 404', async () => {
  const ref = await scene.write('Seen by nobody else')
  const issued = (await scene.issue(ref)).body
  const stranger = await scene.service.createTenant('stranger')
  const asStranger = (path: string) => scene.service.request('GET', path, { key: stranger.api_key })
  for (const suffix of ['', '/verify']) {
    const foreign = await asStranger(`/v1/erasure/${issued.certificate_id}${suffix}`)
    const unknown = await asStranger(`/v1/erasure/${'0'.repeat(32)}${suffix}`)
    assert.equal(foreign.status, 404)
    assert.equal(unknown.status, 404)
    assert.equal(foreign.body.error, 'certificate_not_found')
    assert.equal(foreign.body.detail, unknown.body.detail)
  }
  assert.equal((await asStranger(`/v1/erasure/fact/${ref}`)).status, 404)
  assert.equal((await asStranger('/v1/erasure')).body.count, 0)
})

test('a key without the scope is refused on every operation', async () => {
  const { body } = await scene.api('POST', '/v1/keys', { name: 'reader', class: 'read_only' })
  const paths = ['/v1/erasure', '/v1/erasure/stats', '/v1/erasure/fact/1', '/v1/erasure/x']
  for (const path of paths)
    assert.equal((await scene.service.request('GET', path, { key: body.api_key })).status, 403)
})
