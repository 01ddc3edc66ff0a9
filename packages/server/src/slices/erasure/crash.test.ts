// Interrupted erasures: after any step the next start undoes or finishes them, and while they run
// no read shows the memory.

import assert from 'node:assert/strict'
import test from 'node:test'
import { deleteFrom, from, insertInto, type Tx } from '../../platform/db/tenant-db.ts'
import { openScene, type Scene } from '../../testing/erasure-scene.ts'
import { ERASURE_STEPS } from './steps.ts'

const CONTENT = 'Ravi Subramanian has account 4417-2290'
const UNDONE = new Set(['erasure:marked', 'erasure:planned'])
const fateOf = (at: string): string => (UNDONE.has(at) ? 'undoes' : 'finishes')

/** Every named point from `at` on throws: nothing after it happens, as if the process were gone. */
function cutAt(at: string): { step: (name: string) => void; arm(): void } {
  let armed = false
  let gone = false
  return {
    arm() {
      armed = true
    },
    step(name) {
      if (armed && name === at) gone = true
      if (gone) throw new Error('cut off')
    },
  }
}

async function decisionTexts(scene: Scene): Promise<string> {
  return (await scene.api('GET', '/v1/decisions/export')).text
}

for (const name of ERASURE_STEPS) {
  const at = `erasure:${name}`
  test(`interrupted after step ${name}: the next start ${fateOf(at)} it`, async () => {
    const cut = cutAt(at)
    const first = await openScene({ step: cut.step })
    const old = await first.write('An older version, kept')
    const ref = await first.supersede(old, CONTENT)
    await first.decide({
      query: `About ${CONTENT}`,
      output: 'noted',
      retrieved_refs: [ref, old],
      retrieved_contents: [CONTENT, 'An older version, kept'],
    })
    cut.arm()
    assert.equal((await first.issue(ref)).status, 500)
    await first.stop({ keep: true })

    const again = await openScene({ data_dir: first.service.data_dir }, first)
    try {
      const path = `/v1/stores/${again.store_id}/memories`
      const certificate = await again.api('GET', `/v1/erasure/fact/${ref}`)
      if (UNDONE.has(at)) {
        assert.equal(certificate.status, 404)
        assert.equal((await again.api('GET', `${path}/${ref}`)).body.content, CONTENT)
        assert.ok((await decisionTexts(again)).includes(CONTENT))
        assert.equal((await again.issue(ref)).body.deleted, true)
      } else {
        assert.equal(certificate.status, 200, certificate.text)
        assert.equal(certificate.body.outcome, 'erased')
        assert.equal(certificate.body.verified, true)
        assert.equal(certificate.body.scrubbed_decision_ids.length, 1)
        assert.equal((await again.issue(ref)).body.deleted, false)
      }
      assert.equal((await again.api('GET', `${path}/${ref}`)).status, 404)
      assert.equal((await again.api('GET', `${path}/${old}`)).body.superseded_by, null)
      const texts = await decisionTexts(again)
      assert.ok(!texts.includes(CONTENT) && texts.includes('An older version, kept'), texts)
      assert.equal((await again.api('GET', '/v1/erasure/stats')).body.total, 1)
      assert.equal((await again.api('GET', '/v1/gcrumbs/verify?full=true')).body.status, 'intact')
      assert.deepEqual(await again.service.kernel.keyring.ledger.listRequested(), [])
    } finally {
      await again.stop()
    }
  })
}

test('a failure after the plan is durable is finished by the next request', async () => {
  const cut = cutAt('erasure:key_destroyed')
  let broken = true
  const scene = await openScene({
    step: (name) => {
      if (broken) cut.step(name)
    },
  })
  try {
    const ref = await scene.write(CONTENT)
    const other = await scene.write('Another memory')
    cut.arm()
    assert.equal((await scene.issue(ref)).status, 500)
    const path = `/v1/stores/${scene.store_id}/memories`
    assert.equal((await scene.api('GET', `${path}/${ref}`)).status, 404, 'hidden meanwhile')
    broken = false
    assert.equal((await scene.issue(other)).body.deleted, true)
    const { body } = await scene.api('GET', `/v1/erasure/fact/${ref}`)
    assert.equal(body.verified, true)
    assert.ok(body.limits.some((limit: string) => limit.includes('without the text')))
  } finally {
    await scene.stop()
  }
})

const MARKER = '[REDACTED — GDPR Article 17]'

/** A service whose next erasure stops at a step until it is let go. */
async function openPaused(at: string) {
  let reached = () => {}
  let release = () => {}
  let armed = false
  const arrived = new Promise<void>((resolve) => {
    reached = resolve
  })
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const scene = await openScene({
    step: async (name) => {
      if (!armed || name !== at) return
      armed = false
      reached()
      await held
    },
  })
  const arm = () => {
    armed = true
  }
  return { scene, arm, arrived, release: () => release() }
}

for (const at of ['erasure:marked', 'erasure:key_destroyed', 'erasure:applied']) {
  test(`while an erasure waits at ${at}, no read shows the memory`, async () => {
    const { scene, arm, arrived, release } = await openPaused(at)
    try {
      const content = 'Under erasure right now: Yusuf Demir'
      const ref = await scene.write(content)
      const store = `/v1/stores/${scene.store_id}`
      const warm = { query: content, options: { budget_tokens: 4096 } }
      await scene.api('POST', `${store}/retrieve`, warm)
      arm()
      const erasing = scene.issue(ref)
      await arrived
      const reads = [
        await scene.api('POST', `${store}/retrieve`, warm),
        await scene.api('GET', `${store}/audit`),
        await scene.api('GET', `${store}/memories`),
        await scene.api('GET', `${store}/export`),
      ]
      for (const { text } of reads) assert.ok(!text.includes('Yusuf'), text)
      assert.equal((await scene.api('GET', `${store}/memories/${ref}`)).status, 404)
      if (at !== 'erasure:applied') {
        const body = { old_ref: ref, content: 'a successor' }
        const refused = await scene.api('POST', `${store}/supersede`, body)
        assert.equal(refused.status, 409)
        assert.equal(refused.body.error, 'erasing')
      }
      release()
      assert.equal((await erasing).body.deleted, true)
    } finally {
      release()
      await scene.stop()
    }
  })
}

test('a decision that names a memory under erasure waits and then shows the marker', async () => {
  const { scene, arm, arrived, release } = await openPaused('erasure:planned')
  try {
    const content = 'Lena Fischer drives a red van'
    const ref = await scene.write(content)
    arm()
    const erasing = scene.issue(ref)
    await arrived
    const logging = scene.decide({
      query: 'q',
      output: 'o',
      retrieved_refs: [ref],
      retrieved_contents: [content],
    })
    release()
    assert.equal((await erasing).body.deleted, true)
    const { body } = await scene.api('GET', `/v1/decisions/${await logging}`)
    assert.deepEqual(body.retrieved_contents, [MARKER])
  } finally {
    release()
    await scene.stop()
  }
})

test('ten memories of one decision erased at once leave nothing in it', async () => {
  const scene = await openScene()
  try {
    const contents = Array.from({ length: 10 }, (_, i) => `Witness number ${i} is Person-${i}-Xyz`)
    const refs: number[] = []
    for (const content of contents) refs.push(await scene.write(content))
    const decision_id = await scene.decide({
      query: contents.join('; '),
      output: contents.toReversed().join('; '),
      retrieved_refs: refs,
      retrieved_contents: contents,
    })
    const scrub = scene.api('DELETE', `/v1/decisions/scrub/${refs[3]}`)
    const answers = await Promise.all(refs.map((ref) => scene.issue(ref)))
    assert.equal((await scrub).status, 200)
    for (const { body } of answers) {
      assert.equal(body.deleted, true)
      assert.deepEqual(body.scrubbed_decision_ids, [decision_id])
    }
    const { text, body } = await scene.api('GET', `/v1/decisions/${decision_id}`)
    assert.ok(!text.includes('Xyz'), text)
    assert.deepEqual(body.retrieved_contents, Array(10).fill(MARKER))
  } finally {
    await scene.stop()
  }
})

test('a memory that a read path still shows is not certified, and is once it is gone', async () => {
  let sabotage: (() => Promise<void>) | null = null
  const scene = await openScene({
    step: async (name) => {
      if (name === 'erasure:caches_dropped') await sabotage?.()
    },
  })
  try {
    const ref = await scene.write('Comes back from somewhere')
    const other = await scene.write('Erased meanwhile')
    const { db, keyring } = scene.service.kernel
    const inUnit = (unit: (tx: Tx) => Promise<unknown>) => db.transact(scene.tenant_id, unit)
    const row = await db.read(scene.tenant_id, (r) =>
      r.first(
        from(r, 'facts')
          .select(['ref', 'store_id', 'namespace', 'written_seq', 'written_us'])
          .select(['sealed_seq', 'space_mark'])
          .select(['token_count', 'state', 'sealed'])
          .where('ref', '=', ref),
      ),
    )
    assert.ok(row)
    sabotage = async () => {
      sabotage = null
      await inUnit((tx) => tx.run(insertInto(tx, 'facts', row)))
    }
    const failed = await scene.issue(ref)
    assert.equal(failed.status, 500)
    assert.equal(failed.body.error, 'internal')
    assert.equal((await scene.api('GET', `/v1/erasure/fact/${ref}`)).status, 404)
    assert.equal(
      (await keyring.ledger.find(scene.tenant_id, 'fact', String(ref)))?.state,
      'requested',
    )
    assert.equal((await scene.issue(other)).body.deleted, true, 'others are not held up')
    assert.equal((await scene.issue(ref)).status, 500, 'still shown: still not certified')
    await inUnit((tx) => tx.run(deleteFrom(tx, 'facts').where('ref', '=', ref)))
    const certified = await scene.issue(ref)
    assert.equal(certified.body.deleted, true)
    assert.equal(certified.body.verified, true)
  } finally {
    await scene.stop()
  }
})

test('numbers erased as mere labels never become memories', async () => {
  const first = await openScene()
  const near = (await first.write('first')) + 4
  const labels = [near, Number.MAX_SAFE_INTEGER]
  await first.decide({
    query: 'q',
    output: 'o',
    retrieved_refs: labels,
    retrieved_contents: ['label one', 'label two'],
  })
  for (const label of labels)
    assert.equal((await first.issue(label)).body.outcome, 'already_absent')
  const refs: number[] = []
  for (let i = 0; i < 8; i += 1) refs.push(await first.write(`after ${i}`))
  assert.ok(!refs.includes(near))
  await first.stop({ keep: true })
  const again = await openScene({ data_dir: first.service.data_dir }, first)
  try {
    assert.ok((await again.write('after a restart')) > near)
  } finally {
    await again.stop()
  }
})
