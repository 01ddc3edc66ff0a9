// Certificates: they verify offline with the published keys alone, no field of them can be altered,
// they say which paths had nothing to show, and reads show and count them.

import assert from 'node:assert/strict'
import test, { after, before, mock } from 'node:test'
import { type PublishedKey, verifyCertificate, verifyEnvelope } from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import { openScene, type Scene } from '../../testing/erasure-scene.ts'
import { keyGoneHere } from '../../testing/test-data.ts'

let scene: Scene
let keys: readonly PublishedKey[]
let certificate: Record<string, unknown>

before(async () => {
  scene = await openScene()
  const content = 'Blood group AB negative, Helena Novak'
  const ref = await scene.write(content)
  await scene.decide({
    query: content,
    output: 'noted',
    retrieved_refs: [ref],
    retrieved_contents: [content],
  })
  certificate = (await scene.issue(ref)).body
  keys = (await scene.api('GET', '/v1/gcrumbs/public_key')).body.keys
})
after(() => scene.stop())

/** Shown beside the record in the first answer, outside the signature. */
const BESIDE = [
  'content_salt',
  'verified',
  'deleted',
  'memory_deleted',
  'decision_records_scrubbed',
]

function altered(value: unknown): unknown {
  if (typeof value === 'string')
    return value.startsWith('A') ? `B${value.slice(1)}` : `A${value.slice(1)}`
  if (typeof value === 'number') return value + 1
  if (typeof value === 'boolean') return !value
  if (Array.isArray(value)) return value.slice(1)
  if (value === null) return 'x'
  return { ...value, added: 'x' }
}

test('the answer of an erasure verifies with the published keys alone', async () => {
  const verdict = await verifyCertificate(certificate, keys)
  assert.equal(verdict.valid, true, verdict.reason)
  assert.deepEqual(verdict.valid_with, [certificate['key_id']])
  const parsed: unknown = JSON.parse(JSON.stringify(certificate))
  assert.equal(
    (await verifyEnvelope({ type: 'certificate', certificate: parsed }, { keys })).valid,
    true,
  )
})

test('every field of the signed record is under the signature', async () => {
  const signed = Object.keys(certificate).filter((field) => !BESIDE.includes(field))
  assert.ok(signed.length >= 20)
  for (const field of signed) {
    const forged = { ...certificate, [field]: altered(certificate[field]) }
    const verdict = await verifyCertificate(forged, keys)
    assert.equal(verdict.valid, false, `${field} can be altered`)
  }
})

test('a field removed or added makes a certificate invalid', async () => {
  const { limits: _, ...without } = certificate
  assert.equal((await verifyCertificate(without, keys)).valid, false)
  assert.equal((await verifyCertificate({ ...certificate, extra: 1 }, keys)).valid, false)
})

test('a certificate signed with a key of another purpose or no listed key is refused', async () => {
  const others = keys.filter((key) => key.purpose !== 'erasure')
  assert.equal((await verifyCertificate(certificate, others)).valid, false)
  const disguised = keys.map((key) => ({ ...key, purpose: 'decision' }))
  assert.equal((await verifyCertificate(certificate, disguised)).valid, false)
})

test('the public verifier accepts the certificate and refuses an altered one', async () => {
  const send = (body: unknown) => scene.service.request('POST', '/v1/gcrumbs/verify', { body })
  const good = await send({ type: 'certificate', certificate })
  assert.equal(good.status, 200)
  assert.equal(good.body.valid, true, good.text)
  const bad = await send({ type: 'certificate', certificate: { ...certificate, fact_ref: 1_000 } })
  assert.equal(bad.body.valid, false)
})

let pathsScene: Scene

before(async () => {
  pathsScene = await openScene()
})
after(() => pathsScene.stop())

interface SignedCertificate {
  readonly outcome: string
  readonly coverage: Readonly<Record<string, string>>
  readonly verification: { readonly paths: readonly { path: string; result: string }[] }
}

const LISTS = ['memory.audit', 'memory.export', 'memory.memories']

const pathsSaying = ({ verification }: SignedCertificate, word: string): string[] =>
  verification.paths
    .filter(({ result }) => result === word)
    .map(({ path }) => path)
    .sort()

test('an erased memory is searched for on every path, and none is left out', async () => {
  const { body } = await pathsScene.issue(await pathsScene.write('Urs Odermatt moved away'))
  assert.equal(body.outcome, 'erased')
  for (const word of ['not_applicable', 'unused']) assert.deepEqual(pathsSaying(body, word), [])
  assert.equal(body.coverage.keyring, keyGoneHere())
})

test('the lists of no store are not_applicable for a number that only decisions name', async () => {
  const label = 700_001
  await pathsScene.decide({ query: 'q', output: 'o', retrieved_refs: [label] })
  const { body } = await pathsScene.issue(label)
  assert.equal(body.outcome, 'already_absent')
  assert.deepEqual(pathsSaying(body, 'not_applicable'), LISTS)
  assert.deepEqual(pathsSaying(body, 'unused'), [])
  assert.equal(body.coverage.keyring, 'absent')
})

test('a secret prepared for a number that nothing names is unused, not present', async () => {
  const ahead = (await pathsScene.write('the last one written')) + 20
  const { body } = await pathsScene.issue(ahead)
  assert.equal(body.outcome, 'nothing_found')
  assert.deepEqual(pathsSaying(body, 'unused'), ['keyring'])
  assert.equal(body.coverage.keyring, 'unused')
  assert.deepEqual(pathsSaying(body, 'not_applicable'), LISTS)
  const beyond = await pathsScene.issue(700_002)
  assert.equal(beyond.body.outcome, 'nothing_found')
  assert.equal(beyond.body.coverage.keyring, 'absent')
})

test('a secret that is left of an erased memory is not unused: nothing is certified', async () => {
  let left = () => {}
  const watched = await openScene({
    step: (name) => (name === 'erasure:caches_dropped' ? left() : undefined),
  })
  try {
    const { keyring } = watched.service.kernel
    const ref = await watched.write('Vreni Abt is on sick leave')
    const secrets = mock.method(keyring, 'secrets')
    left = () => secrets.mock.mockImplementation(async () => new Map([[ref, Buffer.alloc(32, 1)]]))
    assert.equal((await watched.issue(ref)).status, 500)
    assert.equal((await watched.api('GET', `/v1/erasure/fact/${ref}`)).status, 404)
    left = () => {}
    secrets.mock.restore()
    const { body } = await watched.issue(ref)
    assert.equal(body.coverage.keyring, keyGoneHere())
  } finally {
    await watched.stop()
  }
})

let readScene: Scene

before(async () => {
  readScene = await openScene()
})
after(() => readScene.stop())

test('erasure.stats of a tenant without certificates counts nothing', async () => {
  const { status, body } = await readScene.api('GET', '/v1/erasure/stats')
  assert.equal(status, 200)
  assert.equal(body.total, 0)
  assert.equal(body.first_erasure, null)
})

test('erasure.get, erasure.by_fact and erasure.list show what was issued', async () => {
  const ref = await readScene.write('The key is under the third flowerpot')
  const issued = (await readScene.issue(ref)).body
  const got = await readScene.api('GET', `/v1/erasure/${issued.certificate_id}`)
  assert.equal(got.status, 200)
  const byFact = await readScene.api('GET', `/v1/erasure/fact/${ref}`)
  assert.deepEqual(byFact.body, got.body)
  for (const field of Object.keys(got.body)) assert.deepEqual(got.body[field], issued[field], field)
  for (const path of ['/v1/erasure', '/v1/erasure/'])
    assert.deepEqual((await readScene.api('GET', path)).body.certificates, [got.body])
})

test('erasure.verify names the key and each check', async () => {
  const ref = await readScene.write('Allergic to penicillin since 1998')
  const issued = (await readScene.issue(ref)).body
  const { status, body } = await readScene.api('GET', `/v1/erasure/${issued.certificate_id}/verify`)
  assert.equal(status, 200)
  assert.equal(body.valid, true)
  assert.equal(body.certificate_id, issued.certificate_id)
  assert.equal(body.key_id, issued.key_id)
  assert.ok(body.checks.length >= 2)
  assert.ok(body.checks.every((check: { ok: boolean }) => check.ok))
})

test('a certificate stays valid after its key has been replaced', async () => {
  const ref = await readScene.write('Signed with the first key')
  const issued = (await readScene.issue(ref)).body
  const { keyring, clock } = readScene.service.kernel
  await keyring.rotateSigningKey('erasure', formatTime(clock.now()))
  const { body } = await readScene.api('GET', `/v1/erasure/${issued.certificate_id}/verify`)
  assert.equal(body.valid, true, JSON.stringify(body))
  const next = (await readScene.issue(await readScene.write('Signed with the second key'))).body
  assert.notEqual(next.key_id, issued.key_id)
  assert.equal(next.verified, true)
})

test('erasure.list pages newest first, by offset and by cursor, within its bounds', async () => {
  for (let i = 0; i < 4; i += 1)
    await readScene.issue(await readScene.write(`page ${i} of the list`))
  const all = (await readScene.api('GET', '/v1/erasure?limit=500')).body.certificates
  const times = all.map(
    (certificate: { erasure_completed_at: string }) => certificate.erasure_completed_at,
  )
  assert.deepEqual(times, times.toSorted().toReversed())
  const first = (await readScene.api('GET', '/v1/erasure?limit=2')).body
  assert.deepEqual(first.certificates, all.slice(0, 2))
  assert.equal(first.count, 2)
  const next = (await readScene.api('GET', `/v1/erasure?limit=2&cursor=${first.next_cursor}`)).body
  assert.deepEqual(next.certificates, all.slice(2, 4))
  const byOffset = (await readScene.api('GET', '/v1/erasure?limit=2&offset=2')).body
  assert.deepEqual(byOffset.certificates, all.slice(2, 4))
  assert.equal((await readScene.api('GET', '/v1/erasure')).body.limit, 50)
  for (const limit of [0, 501, 'x'])
    assert.equal((await readScene.api('GET', `/v1/erasure?limit=${limit}`)).status, 422)
  for (const limit of [1, 500])
    assert.equal((await readScene.api('GET', `/v1/erasure?limit=${limit}`)).status, 200)
})

test('an erasure between two pages doubles no certificate, also for a limited key', async () => {
  const body = { name: 'one store', class: 'tenant', allowed_stores: [readScene.store_id] }
  const { api_key } = (await readScene.api('POST', '/v1/keys', body)).body
  for (const key of [readScene.api_key, api_key]) {
    const list = async (query: string) =>
      (await readScene.service.request('GET', `/v1/erasure?${query}`, { key })).body
    const { certificates } = await list('limit=4')
    const first = await list('limit=2')
    await readScene.issue(await readScene.write(`erased between pages of ${key.length} letters`))
    const next = await list(`limit=2&cursor=${first.next_cursor}`)
    assert.deepEqual([...first.certificates, ...next.certificates], certificates)
  }
})

test('erasure.stats counts by outcome and knows the first and the last time', async () => {
  await readScene.issue(987_001)
  const { body } = await readScene.api('GET', '/v1/erasure/stats')
  assert.equal(body.total, body.erased + body.already_absent + body.nothing_found)
  assert.equal(body.signed_count, body.total)
  assert.equal(body.nothing_found, 1)
  assert.ok(body.first_erasure < body.last_erasure)
})

test('an unknown certificate and a certificate of another tenant are the same 404', async () => {
  const ref = await readScene.write('Seen by nobody else')
  const issued = (await readScene.issue(ref)).body
  const stranger = await readScene.service.createTenant('stranger')
  const asStranger = (path: string) =>
    readScene.service.request('GET', path, { key: stranger.api_key })
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
  const { body } = await readScene.api('POST', '/v1/keys', { name: 'reader', class: 'read_only' })
  const paths = ['/v1/erasure', '/v1/erasure/stats', '/v1/erasure/fact/1', '/v1/erasure/x']
  for (const path of paths)
    assert.equal((await readScene.service.request('GET', path, { key: body.api_key })).status, 403)
})
