// The suite against a service as it is, on either engine: it passes, and is left as it was.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConformanceError } from '@custos/conformance'
import { openScene, SEVEN } from './testing/scene.ts'

const { keys, run, storesOf } = openScene()

test('a service that keeps its promises passes all it declares and is left as it was', async () => {
  const seen: [number, number][] = []
  const result = await run({
    other_api_key: keys.other,
    on_progress: (done, total) => seen.push([done, total]),
  })
  const passes = result.capabilities.filter(({ verdict }) => verdict === 'pass')
  assert.deepEqual(
    passes.map(({ capability }) => capability),
    SEVEN,
    JSON.stringify(result.capabilities, null, 1),
  )
  const { passed, tested, conformance_rate, leftovers } = result
  assert.deepEqual([passed, tested, conformance_rate, leftovers], [7, 7, 1, []])
  assert.deepEqual(result.declared_capabilities, [...SEVEN].sort())
  assert.deepEqual(result.measurements, [])
  assert.match(result.url_origin, /^http:\/\/127\.0\.0\.1:\d+$/)
  assert.ok(result.server.version)
  assert.equal(JSON.stringify(result).includes(keys.own), false)
  assert.ok(result.store_ids.length >= 8)
  assert.deepEqual([await storesOf(keys.own), await storesOf(keys.other)], [[], []])
  assert.deepEqual(seen.at(-1)?.[0], seen.at(-1)?.[1])
  assert.ok(seen.every(([done, total], i) => done >= (seen[i - 1]?.[0] ?? 0) && total > 300))
})

test('a run that is ended removes its stores before it says so', async () => {
  const ending = new AbortController()
  const stopped = run({
    signal: ending.signal,
    on_progress: (done) => {
      if (done === 60) ending.abort(new Error('that is enough'))
    },
  })
  await assert.rejects(stopped, (error) => {
    assert.ok(error instanceof ConformanceError)
    assert.match(error.message, /that is enough/)
    assert.deepEqual(error.leftovers, [])
    return true
  })
  assert.deepEqual(await storesOf(keys.own), [])
})
