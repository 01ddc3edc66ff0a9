// A store's deletion and the decisions that used many of its memories; cut off and restored too.

import assert from 'node:assert/strict'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { openScene, type Scene } from '../../testing/erasure-scene.ts'
import { embeddedTest } from '../../testing/test-data.ts'

const MARKER = '[REDACTED — GDPR Article 17]'
const CONTENTS = Array.from({ length: 12 }, (_, i) => `Member ${i} of the choir is Singer-${i}-Abc`)

interface Choir {
  readonly refs: readonly number[]
  readonly decisions: readonly string[]
  /** A memory of another store, used by the decisions too. */
  readonly kept: number
}

async function gather(scene: Scene): Promise<Choir> {
  const refs: number[] = []
  for (const content of CONTENTS) refs.push(await scene.write(content))
  const { store_id } = (await scene.api('POST', '/v1/stores', {})).body
  const elsewhere = { content: 'The hall is rented on Mondays' }
  const kept = (await scene.api('POST', `/v1/stores/${store_id}/write`, elsewhere)).body.ref
  const decisions: string[] = []
  for (const used of [refs, refs.slice(3, 5), refs.slice(0, 1)])
    decisions.push(
      await scene.decide({
        query: used.length > 1 ? `Who sings? ${CONTENTS[3]}` : 'Who sings?',
        output: 'all of them',
        retrieved_refs: [...used, kept],
        retrieved_contents: [
          ...used.map((ref) => CONTENTS[refs.indexOf(ref)]),
          'The hall is rented on Mondays',
        ],
      }),
    )
  return { refs, decisions, kept }
}

async function deleteStore(scene: Scene): Promise<void> {
  assert.equal((await scene.api('DELETE', `/v1/stores/${scene.store_id}`)).status, 202)
}

async function assertScrubbed(scene: Scene, { refs, decisions }: Choir): Promise<void> {
  const exported = (await scene.api('GET', '/v1/decisions/export')).text
  for (const ref of refs) {
    const { status, body } = await scene.api('GET', `/v1/erasure/fact/${ref}`)
    assert.equal(status, 200)
    assert.equal(body.verified, true)
    const { body: decision } = await scene.api('GET', `/v1/decisions/${decisions[0]}`)
    assert.equal(decision.retrieved_contents[refs.indexOf(ref)], MARKER)
    assert.ok(body.scrubbed_decision_ids.includes(decisions[0]))
  }
  assert.ok(!exported.includes('Abc'), exported)
  assert.equal(exported.split('The hall is rented on Mondays').length, 4)
  assert.equal((await scene.api('GET', `/v1/stores/${scene.store_id}`)).status, 404)
}

test('decisions that used memories of a deleted store keep what is not erased', async () => {
  const scene = await openScene()
  try {
    const choir = await gather(scene)
    await deleteStore(scene)
    await scene.service.kernel.jobs.idle()
    await assertScrubbed(scene, choir)
    const [, second] = choir.decisions
    const { body } = await scene.api('GET', `/v1/erasure/fact/${choir.refs[3]}`)
    assert.ok(body.scrubbed_decision_ids.includes(second))
    const { body: first } = await scene.api('GET', `/v1/erasure/fact/${choir.refs[11]}`)
    assert.deepEqual(first.scrubbed_decision_ids, [choir.decisions[0]])
  } finally {
    await scene.stop()
  }
})

for (const at of ['erasure:ledger_recorded', 'erasure:key_destroyed', 'erasure:applied']) {
  test(`a batch cut off at ${at} is finished whole by the next start`, async () => {
    let gone = false
    let reached = () => {}
    const arrived = new Promise<void>((resolve) => {
      reached = resolve
    })
    const first = await openScene({
      step: (name) => {
        if (name === at) gone = true
        if (!gone) return
        reached()
        throw new Error('cut off')
      },
    })
    const choir = await gather(first)
    await deleteStore(first)
    await arrived
    await first.stop({ keep: true })
    const again = await openScene({ data_dir: first.service.data_dir }, first)
    try {
      await again.service.kernel.jobs.idle()
      await assertScrubbed(again, choir)
    } finally {
      await again.stop()
    }
  })
}

embeddedTest('data restored from before a store was deleted shows nothing of it', async () => {
  const first = await openScene()
  const choir = await gather(first)
  await first.stop({ keep: true })
  const dir = first.service.data_dir
  cpSync(join(dir, 'custos.db'), join(dir, 'backup-of-data'))
  const second = await openScene({ data_dir: dir }, first)
  await deleteStore(second)
  await second.service.kernel.jobs.idle()
  const issued = (await second.issue(choir.kept)).body
  assert.equal(issued.scrubbed_decision_ids.length, 3)
  await second.stop({ keep: true })
  for (const suffix of ['-wal', '-shm']) rmSync(join(dir, `custos.db${suffix}`), { force: true })
  cpSync(join(dir, 'backup-of-data'), join(dir, 'custos.db'))

  const restored = await openScene({ data_dir: dir }, first)
  try {
    for (const ref of [...choir.refs, choir.kept]) {
      const { status, body } = await restored.api('GET', `/v1/erasure/fact/${ref}`)
      assert.equal(status, 200)
      assert.equal(body.verified, true)
    }
    const { text } = await restored.api('GET', '/v1/decisions/export')
    assert.ok(!text.includes('Mondays') && text.includes(MARKER), text)
    assert.equal((await restored.api('GET', `/v1/stores/${first.store_id}`)).status, 404)
    assert.equal((await restored.api('GET', '/v1/stores')).status, 200)
  } finally {
    await restored.stop()
  }
})
