// memory.delete and memory.delete_store through HTTP: the same erasure, its shape, the repair of
// version chains, and the batches of a store's deletion.

import assert from 'node:assert/strict'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import test, { after, before } from 'node:test'
import { openScene, type Scene } from '../../testing/erasure-scene.ts'
import { embeddedTest } from '../../testing/test-data.ts'

let scene: Scene
let store: string

before(async () => {
  scene = await openScene()
  store = `/v1/stores/${scene.store_id}`
})
after(() => scene.stop())

const remove = (ref: unknown) => scene.api('POST', `${store}/delete`, { ref })

async function chain(label: string): Promise<[number, number, number]> {
  const oldest = await scene.write(`${label}: the address was Elm Street`)
  const middle = await scene.supersede(oldest, `${label}: the address was Oak Street`)
  const current = await scene.supersede(middle, `${label}: the address is Ash Street`)
  return [oldest, middle, current]
}

const memory = async (ref: number) => (await scene.api('GET', `${store}/memories/${ref}`)).body

test('memory.delete erases and names the certificate, the same one twice', async () => {
  const ref = await scene.write('Delete me through the store')
  const first = await remove(ref)
  assert.equal(first.status, 200, first.text)
  assert.equal(first.body.deleted, true)
  const id = first.body.erasure_certificate_id
  const { body: certificate } = await scene.api('GET', `/v1/erasure/${id}`)
  assert.equal(certificate.outcome, 'erased')
  assert.equal(certificate.fact_ref, ref)
  const second = await remove(ref)
  assert.equal(second.status, 200)
  assert.equal(second.body.deleted, false)
  assert.equal(second.body.erasure_certificate_id, id)
})

test('memory.delete and erasure.issue of one memory answer one certificate', async () => {
  const ref = await scene.write('Deleted one way, issued the other')
  const deleted = (await remove(ref)).body
  const issued = (await scene.issue(ref)).body
  assert.equal(issued.certificate_id, deleted.erasure_certificate_id)
  assert.equal(issued.deleted, false)
})

test('an unknown ref and a ref of another store delete nothing and certify nothing', async () => {
  const other = (await scene.api('POST', '/v1/stores', {})).body.store_id
  const written = await scene.api('POST', `/v1/stores/${other}/write`, { content: 'elsewhere' })
  for (const ref of [written.body.ref, 4_000_000]) {
    const { status, body } = await remove(ref)
    assert.equal(status, 200)
    assert.equal(body.deleted, false)
    assert.equal(body.erasure_certificate_id, undefined)
  }
  const kept = await scene.api('GET', `/v1/stores/${other}/memories/${written.body.ref}`)
  assert.equal(kept.body.content, 'elsewhere')
  const erased = (await scene.issue(written.body.ref)).body
  assert.equal(erased.deleted, true)
  const after = (await remove(written.body.ref)).body
  assert.equal(
    after.erasure_certificate_id,
    undefined,
    'nor is the other store’s certificate named',
  )
})

test('a ref of the wrong JSON type is a 422 and an unknown store a 404', async () => {
  for (const ref of ['7', 1.5, true, [1], {}, null])
    assert.equal((await remove(ref)).status, 422, JSON.stringify(ref))
  const unknown = await scene.api('POST', '/v1/stores/0123456789ab/delete', { ref: 1 })
  assert.equal(unknown.status, 404)
  assert.equal(unknown.body.error, 'store_not_found')
})

test('a store created without hard_delete refuses memory.delete and keeps the memory', async () => {
  const { body: created } = await scene.api('POST', '/v1/stores', { capabilities: ['audit'] })
  const path = `/v1/stores/${created.store_id}`
  const { ref } = (await scene.api('POST', `${path}/write`, { content: 'kept' })).body
  const refused = await scene.api('POST', `${path}/delete`, { ref })
  assert.equal(refused.status, 422)
  assert.equal(refused.body.error, 'capability_not_supported')
  assert.equal(refused.body.capability, 'hard_delete')
  assert.equal((await scene.api('GET', `${path}/memories/${ref}`)).body.content, 'kept')
})

test('deleting the current version makes the one before it current again', async () => {
  const [, middle, current] = await chain('current')
  assert.equal((await remove(current)).body.deleted, true)
  const previous = await memory(middle)
  assert.equal(previous.valid_until, null)
  assert.equal(previous.superseded_by, null)
  const { body } = await scene.api('POST', `${store}/retrieve`, {
    query: 'current: the address',
    options: { budget_tokens: 4096 },
  })
  assert.ok(body.memories.some((found: { ref: number }) => found.ref === middle))
})

test('deleting a middle version links its neighbours and leaves the gap in time', async () => {
  const [oldest, middle, current] = await chain('middle')
  const before = await memory(oldest)
  assert.equal((await remove(middle)).body.deleted, true)
  const first = await memory(oldest)
  assert.equal(first.superseded_by, current)
  assert.equal(first.valid_until, before.valid_until)
  assert.equal((await memory(current)).valid_until, null)
})

test('deleting the middle, then the current version makes the oldest current again', async () => {
  const [oldest, middle, current] = await chain('both')
  assert.equal((await remove(middle)).body.deleted, true)
  assert.equal((await remove(current)).body.deleted, true)
  const first = await memory(oldest)
  assert.equal(first.valid_until, null)
  assert.equal(first.superseded_by, null)
})

test('deleting the oldest version leaves the later ones as they were', async () => {
  const [oldest, middle, current] = await chain('oldest')
  const before = [await memory(middle), await memory(current)]
  assert.equal((await remove(oldest)).body.deleted, true)
  assert.deepEqual([await memory(middle), await memory(current)], before)
})

test('a whole chain can be deleted, and superseding what is gone is a plain write', async () => {
  const versions = await chain('whole')
  for (const ref of versions) assert.equal((await remove(ref)).body.deleted, true)
  const { status, body } = await scene.api('POST', `${store}/supersede`, {
    old_ref: versions[2],
    content: 'whole: a new beginning',
  })
  assert.equal(status, 200)
  assert.equal((await memory(body.ref)).superseded_by, null)
})

test('memory.delete replays under its key and never reaches a later memory', async () => {
  const ref = await scene.write('Deleted once under a key')
  const send = (body: unknown, key: string) =>
    scene.api('POST', `${store}/delete`, body, { 'idempotency-key': key })
  const first = await send({ ref }, 'delete-once')
  const replayed = await send({ ref }, 'delete-once')
  assert.deepEqual(replayed.body, first.body)
  const other = await send({ ref: ref + 1 }, 'delete-once')
  assert.equal(other.status, 409)
  assert.equal(other.body.error, 'idempotency_key_reused')

  const next = ref + 1
  assert.equal((await send({ ref: next }, 'before-it-exists')).body.deleted, false)
  assert.equal(await scene.write('Written after the first try'), next)
  assert.equal((await send({ ref: next }, 'before-it-exists')).body.deleted, false)
  assert.equal((await memory(next)).content, 'Written after the first try')
})

const FACTS = 1_200

async function fill(scene: Scene): Promise<void> {
  for (let at = 0; at < FACTS; at += 400) {
    const items = Array.from({ length: 400 }, (_, i) => ({ content: `Customer record ${at + i}` }))
    const { status, text } = await scene.api('POST', `/v1/stores/${scene.store_id}/write_batch`, {
      items,
    })
    assert.equal(status, 200, text)
  }
}

async function jobEnd(scene: Scene, job_id: string): Promise<{ state: string; seen: number[] }> {
  const seen: number[] = []
  for (let i = 0; i < 1_200; i += 1) {
    const { body } = await scene.api('GET', `/v1/jobs/${job_id}`)
    seen.push(body.progress.done)
    if (body.state === 'done' || body.state === 'failed') return { state: body.state, seen }
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  return { state: 'running', seen }
}

test('memory.delete_store erases and certifies 1,200 memories, then the store', async () => {
  const scene = await openScene()
  try {
    await fill(scene)
    const path = `/v1/stores/${scene.store_id}`
    const { status, body } = await scene.api('DELETE', path)
    assert.equal(status, 202)
    assert.equal(body.state, 'deleting')
    assert.equal(body.facts, FACTS)
    const write = await scene.api('POST', `${path}/write`, { content: 'too late' })
    assert.ok([404, 409].includes(write.status), `${write.status}`)
    const { state, seen } = await jobEnd(scene, body.job_id)
    assert.equal(state, 'done')
    assert.deepEqual(
      seen,
      seen.toSorted((a, b) => a - b),
    )
    assert.equal(seen.at(-1), FACTS)
    assert.equal((await scene.api('GET', path)).status, 404)
    assert.equal((await scene.api('GET', '/v1/erasure/stats')).body.erased, FACTS)
    const { certificates } = (await scene.api('GET', '/v1/erasure?limit=500')).body
    assert.ok(certificates.every((c: { verified: boolean }) => c.verified))
    const { breadcrumbs } = (await scene.api('GET', '/v1/gcrumbs/breadcrumbs?offset=2400')).body
    const last = breadcrumbs.at(-1)
    assert.equal(last.event_type, 'store.deleted')
    assert.equal(last.payload.facts, FACTS)
    assert.equal((await scene.api('GET', '/v1/gcrumbs/verify?full=true')).body.status, 'intact')
  } finally {
    await scene.stop()
  }
})

test('an interrupted store deletion resumes after the next start', async () => {
  let cut = false
  let reached = () => {}
  const atSecondBatch = new Promise<void>((resolve) => {
    reached = resolve
  })
  let batches = 0
  const step = (name: string) => {
    if (cut) throw new Error('cut off')
    if (name === 'erasure:marked') batches += 1
    if (batches < 2 || name !== 'erasure:ledger_recorded') return
    cut = true
    reached()
    throw new Error('cut off')
  }
  const first = await openScene({ step })
  await fill(first)
  const { job_id } = (await first.api('DELETE', `/v1/stores/${first.store_id}`)).body
  await atSecondBatch
  await first.stop({ keep: true })

  const again = await openScene({ data_dir: first.service.data_dir }, first)
  try {
    assert.equal((await jobEnd(again, job_id)).state, 'done')
    assert.equal((await again.api('GET', '/v1/erasure/stats')).body.erased, FACTS)
    assert.equal((await again.api('GET', `/v1/stores/${first.store_id}`)).status, 404)
  } finally {
    await again.stop()
  }
})

test('while a store is being deleted, memory.delete in it is refused with 409', async () => {
  let release = () => {}
  let reached = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const arrived = new Promise<void>((resolve) => {
    reached = resolve
  })
  const scene = await openScene({
    step: async (name) => {
      if (name !== 'erasure:marked') return
      reached()
      await held
    },
  })
  try {
    const ref = await scene.write('One memory')
    const path = `/v1/stores/${scene.store_id}`
    const { job_id } = (await scene.api('DELETE', path)).body
    await arrived
    const refused = await scene.api('POST', `${path}/delete`, { ref })
    assert.equal(refused.status, 409)
    assert.equal(refused.body.error, 'store_deleting')
    release()
    assert.equal((await jobEnd(scene, job_id)).state, 'done')
  } finally {
    release()
    await scene.stop()
  }
})

test('memory.delete_store twice answers the same job, and an unknown store is a 404', async () => {
  const scene = await openScene()
  try {
    await fill(scene)
    const path = `/v1/stores/${scene.store_id}`
    const first = await scene.api('DELETE', path)
    const second = await scene.api('DELETE', path)
    assert.equal(second.status, 202)
    assert.equal(second.body.job_id, first.body.job_id)
    assert.equal((await jobEnd(scene, first.body.job_id)).state, 'done')
    assert.equal((await scene.api('DELETE', path)).status, 404)
    assert.equal((await scene.api('DELETE', '/v1/stores/0123456789ab')).status, 404)
  } finally {
    await scene.stop()
  }
})

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
  test(`a batch interrupted at ${at} is finished whole by the next start`, async () => {
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
