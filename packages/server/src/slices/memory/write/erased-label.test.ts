// 'memory.write', 'memory.write_batch', 'memory.supersede': a ref that is erased as a label of
// decisions while a memory is being prepared under it.

import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { openScene, type Scene } from '../../../testing/erasure-scene.ts'

/** Runs `act` once, when the next write has taken its ref and is about to be sealed. */
function whilePreparing({ service }: Scene, act: () => Promise<void>): void {
  const { embedders } = service.kernel
  const embedder = embedders.find(embedders.default_name)
  assert.ok(embedder)
  const embed = embedder.embed.bind(embedder)
  const paused = mock.method(embedder, 'embed', async (texts: readonly string[]) => {
    paused.mock.restore()
    await act()
    return embed(texts)
  })
}

async function eraseLabel(scene: Scene, ref: number): Promise<void> {
  await scene.decide({ query: 'q', output: 'o', retrieved_refs: [ref] })
  const { body } = await scene.issue(ref)
  assert.equal(body.outcome, 'already_absent')
}

const ways = {
  write: (content: string) => ({ content }),
  write_batch: (content: string) => ({ items: [{ content }, { content: `${content} again` }] }),
  supersede: (content: string, old_ref: number) => ({ content, old_ref }),
}

for (const [operation, bodyOf] of Object.entries(ways))
  test(`memory.${operation} takes another number when its own is erased meanwhile`, async () => {
    const scene = await openScene()
    try {
      const path = `/v1/stores/${scene.store_id}`
      const before = await scene.write('the memory before')
      const next = before + 1
      whilePreparing(scene, () => eraseLabel(scene, next))
      const content = 'written while its number went'
      const body = bodyOf(content, before)
      const answer = await scene.api('POST', `${path}/${operation}`, body)
      assert.equal(answer.status, 200, answer.text)
      const { memories } = (await scene.api('GET', `${path}/memories`)).body
      const refs: number[] = memories.map(({ ref }: { ref: number }) => ref)
      assert.ok(!refs.includes(next), `${next} is erased`)
      const [written] = memories.filter((memory: { content: string }) => memory.content === content)
      assert.ok(written.ref > next)
      assert.equal((await scene.api('GET', `${path}/memories/${next}`)).status, 404)
      const certificate = await scene.api('GET', `/v1/erasure/fact/${next}`)
      assert.equal(certificate.body.outcome, 'already_absent')
    } finally {
      await scene.stop()
    }
  })

test('memory.import refuses a line whose ref is erased while it is prepared', async () => {
  const scene = await openScene()
  try {
    const ref = 5_000
    whilePreparing(scene, () => eraseLabel(scene, ref))
    const answer = await scene.service.request('POST', `/v1/stores/${scene.store_id}/import`, {
      key: scene.api_key,
      raw: `${JSON.stringify({ ref, content: 'imported while its number went' })}\n`,
      headers: { 'content-type': 'application/x-ndjson' },
    })
    assert.equal(answer.status, 422, answer.text)
    assert.equal(answer.body.error, 'import_refused')
    assert.equal((await scene.api('GET', `/v1/stores/${scene.store_id}/memories`)).body.count, 0)
  } finally {
    await scene.stop()
  }
})
