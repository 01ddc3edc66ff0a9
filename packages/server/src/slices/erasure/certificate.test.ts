// Certificates verify offline with the published keys alone, and no field of them can be altered.

import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { type PublishedKey, verifyCertificate, verifyEnvelope } from '@custos/proof'
import { openScene, type Scene } from '../../testing/erasure-scene.ts'

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
