// 'memory.supersede' at the end of the longest chains that it follows.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openScene } from '../../../testing/erasure-scene.ts'

const LINKS_MAX = 10_000

test('memory.supersede names the head of a chain, at most 10,000 links away', async () => {
  const scene = await openScene()
  try {
    const path = `/v1/stores/${scene.store_id}`
    const first = (await scene.write('something else')) + 10_000
    const versions = LINKS_MAX + 3
    const last = first + versions - 1
    const lines = Array.from({ length: versions }, (_, i) => {
      const ref = first + i
      const valid_from = new Date(Date.UTC(2020, 0, 1) + i * 60_000).toISOString()
      const superseded_by = ref === last ? null : ref + 1
      return `${JSON.stringify({ ref, content: `version ${i}`, valid_from, superseded_by })}\n`
    })
    const answer = await scene.service.request('POST', `${path}/import`, {
      raw: lines.join(''),
      key: scene.api_key,
      headers: { 'content-type': 'application/x-ndjson' },
    })
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.body.imported, versions)
    assert.deepEqual(answer.body.refs_mapped, [])

    const supersede = (old_ref: number) =>
      scene.api('POST', `${path}/supersede`, { old_ref, content: 'too late' })
    for (const [old_ref, head] of [
      [last - 1, last],
      [last - LINKS_MAX, last],
      [first, first + LINKS_MAX],
    ] as const) {
      const refused = await supersede(old_ref)
      assert.equal(refused.status, 409)
      assert.equal(refused.body.error, 'superseded')
      assert.equal(refused.body.head, head)
    }
  } finally {
    await scene.stop()
  }
})
