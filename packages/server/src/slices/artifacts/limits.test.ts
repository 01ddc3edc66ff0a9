// The limits of an artifact, and of what a list shows of it.

import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { LISTED_ARTIFACT_BYTES_MAX, limits } from '@custos/contract'
import { startTestService, type TestService } from '../../testing/harness.ts'

let service: TestService
let key: string

before(async () => {
  service = await startTestService()
})
beforeEach(async () => {
  key = (await service.createTenant()).api_key
})
after(() => service.stop())

const ask = (method: string, path: string, body?: unknown) =>
  service.request(method, `/v1${path}`, { key, ...(body ? { body } : {}) })

const register = (more: object) =>
  ask('POST', '/artifacts/register', {
    ...{ artifact_ref: 'adapter/support@3', base_model_ref: 'base-7b' },
    layers: [{ digest: 'a'.repeat(64) }],
    ...more,
  })

/** So many levels, the outermost being one of them. */
const nested = (levels: number): object =>
  levels === 1 ? { at: 'the bottom' } : { in: nested(levels - 1) }

const ofBytes = (bytes: number) => ({ text: 'x'.repeat(bytes - '{"text":""}'.length) })

const layers = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ digest: i.toString(16).padStart(64, '0') }))

test('metadata beyond its bytes or its levels is refused with its location', async () => {
  for (const metadata of [ofBytes(limits.metadata_bytes), nested(limits.metadata_depth)])
    assert.equal(
      (await register({ metadata, artifact_ref: `with ${Object.keys(metadata)}` })).status,
      201,
    )
  for (const metadata of [ofBytes(limits.metadata_bytes + 1), nested(limits.metadata_depth + 1)]) {
    const { status, body } = await register({ metadata, artifact_ref: 'too-much' })
    assert.deepEqual([status, body.error], [422, 'validation'])
    assert.deepEqual(body.detail[0].loc, ['body', 'metadata'])
  }
  const { body } = await ask('GET', '/artifacts/stats')
  assert.deepEqual(body, { registered: 2 })
})

test('an artifact has a thousand layers at most', async () => {
  assert.equal(limits.layers_per_artifact, 1_000)
  assert.equal((await register({ layers: layers(limits.layers_per_artifact) })).status, 201)
  const { status, body } = await register({ layers: layers(limits.layers_per_artifact + 1) })
  assert.deepEqual([status, body.error], [422, 'validation'])
})

test('a large document is left out of lists only', async () => {
  const { body: large } = await register({ layers: layers(limits.layers_per_artifact) })
  const { body: small } = await register({ artifact_ref: 'small' })
  assert.ok(JSON.stringify(large.document).length > LISTED_ARTIFACT_BYTES_MAX)
  const { body } = await ask('GET', '/artifacts')
  assert.deepEqual(body.artifacts, [small, { ...large, document: null }])
  const { body: one } = await ask('GET', `/artifacts/${large.artifact_id}`)
  assert.deepEqual(one.document, large.document)
})
