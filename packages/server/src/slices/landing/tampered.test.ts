// G5: an issued certificate with any one of its members changed does not verify.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openLandingScene } from './testing/landing-scene.ts'

const scene = openLandingScene()

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** Every leaf in turn becomes another value. */
function* mutations(value: Json, path: string): Generator<{ path: string; changed: Json }> {
  if (typeof value !== 'object' || value === null) {
    yield { path, changed: typeof value === 'string' ? `${value}0` : 'other' }
    return
  }
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries())
      for (const at of mutations(item, `${path}[${i}]`))
        yield { path: at.path, changed: value.with(i, at.changed) }
    return
  }
  for (const [name, member] of Object.entries(value))
    for (const at of mutations(member, `${path}.${name}`))
      yield { path: at.path, changed: { ...value, [name]: at.changed } }
}

test('G5: no leaf of an approved certificate can be changed undetected', async () => {
  const data_provenance = await scene.corpus()
  await scene.register()
  const id = await scene.waiting({ data_provenance })
  const document = await scene.ok('POST', `/landing/${id}/approve`, {
    approver: 'bo',
    reason: 'looked at it',
  })
  assert.equal((await scene.offline(document)).valid, true)
  let count = 0
  for (const { path, changed } of mutations(document, '')) {
    assert.equal((await scene.offline(changed)).valid, false, path)
    count += 1
  }
  assert.ok(count > 50, `${count} leaves`)

  const conformance = { ...document.conformance, harness_version: 'landing/2' }
  const { checks } = await scene.offline({ ...document, conformance })
  assert.ok(checks.some(({ name, ok }) => name === 'signature' && !ok))
})
