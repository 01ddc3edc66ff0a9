// Interrupted erasures: after any step the next start undoes or finishes them, and while they run
// no read shows the memory.

import assert from 'node:assert/strict'
import test from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { deleteFrom, from, insertInto, type Tx, update } from '../../platform/db/tenant-db.ts'
import { openScene, type Scene } from '../../testing/erasure-scene.ts'
import { countWaiting } from './erase.ts'
import { ERASURE_STEPS } from './plan.ts'

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

/** A service whose next erasure stops at a step until it is let go; `notice` sees every step. */
async function openPaused(at: string, notice: (name: string) => void = () => {}) {
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
      notice(name)
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

/** While the first erasure stands still the others come, and wait for each other's company. */
async function issueAsGroup(
  { scene, arm, arrived, release }: Awaited<ReturnType<typeof openPaused>>,
  requests: readonly { readonly ref: number; readonly requested_by?: string }[],
) {
  const before = await scene.write('Erased before the others')
  arm()
  const first = scene.issue(before)
  await arrived
  const asked = requests.map(({ ref, ...more }) => scene.issue(ref, more))
  const { kernel } = scene.service
  while (countWaiting(kernel, scene.tenant_id) < requests.length) await delay(5)
  release()
  assert.equal((await first).body.deleted, true)
  return Promise.all(asked)
}

test('requests that wait are erased as one group, each with its reasons', async () => {
  const steps: string[] = []
  const paused = await openPaused('erasure:marked', (name) => steps.push(name))
  const { scene } = paused
  try {
    const refs: number[] = []
    for (let i = 0; i < 6; i += 1) refs.push(await scene.write(`Somebody of case ${i}`))
    const requests = refs.map((ref, i) => ({ ref, requested_by: `case ${i}` }))
    const twice = { ref: refs[0] ?? -1, requested_by: 'case 0 again' }
    const answers = await issueAsGroup(paused, [...requests, twice, { ref: 987_654 }])
    for (const [i, { body }] of answers.slice(0, 6).entries()) {
      assert.equal(body.deleted, true)
      assert.equal(body.verified, true)
      assert.equal(body.requested_by, `case ${i}`)
      assert.equal(body.fact_ref, refs[i])
    }
    const [again, unknown] = answers.slice(6)
    assert.equal(again?.body.certificate_id, answers[0]?.body.certificate_id)
    assert.equal(again?.body.deleted, false)
    assert.equal(unknown?.body.outcome, 'nothing_found')
    for (const step of ERASURE_STEPS)
      assert.equal(steps.filter((name) => name === `erasure:${step}`).length, 2, step)
    assert.equal((await scene.api('GET', '/v1/gcrumbs/verify?full=true')).body.status, 'intact')
  } finally {
    paused.release()
    await scene.stop()
  }
})

test('the failure of one erasure of a group leaves the others', async () => {
  const paused = await openPaused('erasure:marked')
  const { scene } = paused
  try {
    const refs: number[] = []
    for (let i = 0; i < 3; i += 1) refs.push(await scene.write(`Number ${i} of the group`))
    const { store_id } = (await scene.api('POST', '/v1/stores', {})).body
    const path = `/v1/stores/${store_id}/write`
    const damaged = (await scene.api('POST', path, { content: 'Damaged on disk' })).body.ref
    refs.splice(1, 0, damaged)
    await scene.service.kernel.db.transact(scene.tenant_id, (tx) =>
      tx.run(
        update(tx, 'facts')
          .set({ sealed: Buffer.alloc(200, 7) })
          .where('ref', '=', damaged),
      ),
    )
    const answers = await issueAsGroup(
      paused,
      refs.map((ref) => ({ ref })),
    )
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 503, 200, 200],
    )
    for (const { status, body } of answers)
      if (status === 200) assert.equal(body.deleted && body.verified, true)
    const found = await scene.api('GET', `/v1/erasure/fact/${damaged}`)
    assert.equal(found.status, 404, 'what could not be read has no certificate')
    const { body: usage } = await scene.api('GET', '/v1/usage/current')
    const counted = 1 + refs.length
    assert.equal(usage.operations['erasure.issue'], counted, 'each request is counted once')
    assert.deepEqual(await scene.service.kernel.keyring.ledger.listRequested(), [])
  } finally {
    paused.release()
    await scene.stop()
  }
})

for (const at of ['erasure:planned', 'erasure:key_destroyed', 'erasure:certified']) {
  test(`a group interrupted at ${at}: the next start ${fateOf(at)} all of it`, async () => {
    const cut = cutAt(at)
    const paused = await openPaused('erasure:completed', cut.step)
    const { scene } = paused
    const contents = [0, 1, 2].map((i) => `Interrupted with others: person ${i}`)
    const refs: number[] = []
    for (const content of contents) refs.push(await scene.write(content))
    const { release } = paused
    const releaseArmed = () => {
      cut.arm()
      release()
    }
    const armed = { ...paused, release: releaseArmed }
    const requests = refs.map((ref) => ({ ref }))
    for (const { status } of await issueAsGroup(armed, requests)) assert.equal(status, 500)
    await scene.stop({ keep: true })

    const again = await openScene({ data_dir: scene.service.data_dir }, scene)
    try {
      for (const [i, ref] of refs.entries()) {
        const { status, body } = await again.api(
          'GET',
          `/v1/stores/${again.store_id}/memories/${ref}`,
        )
        const certificate = await again.api('GET', `/v1/erasure/fact/${ref}`)
        assert.equal(certificate.status, UNDONE.has(at) ? 404 : 200, certificate.text)
        if (UNDONE.has(at)) assert.equal(body.content, contents[i])
        else assert.equal(status, 404)
      }
      assert.equal((await again.api('GET', '/v1/gcrumbs/verify?full=true')).body.status, 'intact')
      assert.deepEqual(await again.service.kernel.keyring.ledger.listRequested(), [])
    } finally {
      await again.stop()
    }
  })
}

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
