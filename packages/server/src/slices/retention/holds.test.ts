// Legal holds: no operation erases what is on hold, and a refused one changes nothing.

import assert from 'node:assert/strict'
import test from 'node:test'
import { limits } from '@custos/contract'
import { openScene, type Scene } from '../../testing/erasure-scene.ts'
import { movedClock } from '../../testing/skewed-clock.ts'

const DAY_US = 86_400_000_000

async function events(scene: Scene, prefix: string) {
  const { body } = await scene.api('GET', '/v1/gcrumbs/breadcrumbs?limit=1000')
  const all: { event_type: string; subject: string; payload: Record<string, unknown> }[] =
    body.breadcrumbs
  return all.filter(({ event_type }) => event_type.startsWith(prefix))
}

const holdsOf = (scene: Scene) => `/v1/stores/${scene.store_id}/holds`

test('while a hold stands nothing in the store is erased; once released it is', async () => {
  const scene = await openScene()
  try {
    const ref = await scene.write('Mara Quist disputes the invoice of May')
    const store = `/v1/stores/${scene.store_id}`
    const decision_id = await scene.decide({ query: 'May?', output: 'x', retrieved_refs: [ref] })
    // retention.place_hold, retention.holds
    const words = { reason: 'Quist v. us', matter: 'C-118/26' }
    const placed = await scene.api('POST', holdsOf(scene), words)
    assert.equal(placed.status, 201, placed.text)
    assert.equal(placed.body.standing, true)
    assert.equal(placed.body.already_erasing, 0)
    assert.equal(placed.body.reason, words.reason)

    const tries: [string, string, unknown][] = [
      ['POST', `${store}/delete`, { ref }],
      ['POST', '/v1/erasure/issue', { fact_ref: ref }],
      ['DELETE', store, undefined],
      ['POST', `/v1/decisions/${decision_id}/redact`, {}],
      ['DELETE', `/v1/decisions/scrub/${ref}`, undefined],
    ]
    for (const [method, path, body] of tries) {
      const answer = await scene.api(method, path, body)
      assert.equal(answer.status, 409, `${path}: ${answer.text}`)
      assert.equal(answer.body.error, 'legal_hold', path)
    }
    assert.equal((await scene.api('GET', `${store}/memories/${ref}`)).status, 200)
    assert.equal((await scene.api('GET', store)).body.state, 'active')
    assert.equal((await scene.api('GET', '/v1/erasure/stats')).body.total, 0)
    assert.equal((await scene.supersede(ref, 'Mara Quist withdrew it')) > 0, true)

    // retention.release_hold
    const at = `${holdsOf(scene)}/${placed.body.hold_id}`
    const released = await scene.api('DELETE', at, { reason: 'settled' })
    assert.equal(released.status, 200, released.text)
    assert.equal(released.body.standing, false)
    assert.equal(released.body.release_reason, 'settled')
    assert.equal(released.body.log_seq, released.body.released_log_seq)
    assert.ok(released.body.log_seq > released.body.placed_log_seq)
    const again = await scene.api('DELETE', at, { reason: 'another' })
    assert.equal(again.body.release_reason, 'settled')
    assert.equal((await scene.issue(ref)).body.deleted, true)
    assert.equal((await scene.api('POST', `/v1/decisions/${decision_id}/redact`, {})).status, 200)

    const listed = (await scene.api('GET', holdsOf(scene))).body
    assert.equal(listed.holds.length, 1)
    assert.equal((await scene.api('GET', `${holdsOf(scene)}?standing=true`)).body.count, 0)
    const logged = await events(scene, 'hold.')
    assert.deepEqual(
      logged.map(({ event_type, subject }) => [event_type, subject]),
      [
        ['hold.placed', scene.store_id],
        ['hold.released', scene.store_id],
      ],
    )
    assert.ok(!JSON.stringify(logged).includes('Quist'))
  } finally {
    await scene.stop()
  }
})

test('a hold ends by itself at its time', async () => {
  const clock = movedClock()
  const scene = await openScene({ clock })
  try {
    const ref = await scene.write('held for a day')
    const until = new Date(Date.now() + 86_400_000).toISOString()
    const { body } = await scene.api('POST', holdsOf(scene), { reason: 'audit', until })
    assert.equal(body.standing, true)
    assert.equal((await scene.issue(ref)).status, 409)
    clock.forward(DAY_US + 60_000_000)
    assert.equal((await scene.issue(ref)).body.deleted, true)
    assert.equal((await scene.api('GET', holdsOf(scene))).body.holds[0].standing, false)
    const past = { reason: 'late', until: '2020-01-01T00:00:00Z' }
    assert.equal((await scene.api('POST', holdsOf(scene), past)).body.error, 'rejected')
  } finally {
    await scene.stop()
  }
})

test('a store that is being deleted cannot be held, and takes its holds with it', async () => {
  const scene = await openScene()
  try {
    await scene.write('one')
    const { body } = await scene.api('POST', holdsOf(scene), { reason: 'r' })
    await scene.api('DELETE', `${holdsOf(scene)}/${body.hold_id}`)
    const { body: job } = await scene.api('DELETE', `/v1/stores/${scene.store_id}`)
    const late = await scene.api('POST', holdsOf(scene), { reason: 'too late' })
    assert.ok(['store_deleting', 'store_not_found'].includes(late.body.error), late.text)
    await scene.service.kernel.jobs.idle()
    assert.equal((await scene.api('GET', `/v1/jobs/${job.job_id}`)).body.state, 'done')
    assert.equal((await scene.api('GET', holdsOf(scene))).status, 404)
  } finally {
    await scene.stop()
  }
})

async function eraseStore(scene: Scene, store_id: string): Promise<void> {
  const { status, text } = await scene.api('DELETE', `/v1/stores/${store_id}`)
  assert.ok(status < 300, text)
  await scene.service.kernel.jobs.idle()
}

test('holds and retention of a deleted store are 404; one made again takes them', async () => {
  const scene = await openScene()
  try {
    await scene.write('one')
    const { store_id } = scene
    await eraseStore(scene, store_id)
    const tries: [string, string, unknown][] = [
      ['POST', `/v1/stores/${store_id}/holds`, { reason: 'r' }],
      ['GET', `/v1/stores/${store_id}/holds`, undefined],
      ['PUT', `/v1/stores/${store_id}/retention`, { retain_days: 30 }],
      ['GET', `/v1/stores/${store_id}/retention`, undefined],
      ['POST', `/v1/stores/${store_id}/write`, { content: 'two' }],
    ]
    for (const [method, path, body] of tries) {
      const answer = await scene.api(method, path, body)
      assert.deepEqual([answer.status, answer.body.error, path], [404, 'store_not_found', path])
    }
    for (let round = 0; round < 2; round += 1) {
      await scene.api('POST', '/v1/stores/default/write', { content: 'again' })
      await eraseStore(scene, 'default')
      const hold = await scene.api('POST', '/v1/stores/default/holds', { reason: 'r' })
      assert.equal(hold.status, 201, hold.text)
      const path = `/v1/stores/default/holds/${hold.body.hold_id}`
      assert.equal((await scene.api('DELETE', path)).status, 200)
      const kept = { retain_days: 30, basis: 'b' }
      const retention = await scene.api('PUT', '/v1/stores/default/retention', kept)
      assert.deepEqual([retention.status, retention.body.basis], [200, 'b'])
    }
  } finally {
    await scene.stop()
  }
})

test('an erasure that began before a hold ends; none begins after it', async () => {
  let enter = (): void => {}
  const planned = new Promise<void>((resolve) => {
    enter = resolve
  })
  let goOn = (): void => {}
  const released = new Promise<void>((resolve) => {
    goOn = resolve
  })
  let armed = false
  const scene = await openScene({
    step: async (name) => {
      if (!armed || name !== 'erasure:planned') return
      armed = false
      enter()
      await released
    },
  })
  try {
    const first = await scene.write('erased before the hold')
    const second = await scene.write('asked to be erased while the hold is asked for')
    const third = await scene.write('kept by the hold')
    armed = true
    const erasing = scene.issue(first)
    await planned
    const placing = scene.api('POST', holdsOf(scene), { reason: 'now' })
    const late = scene.issue(second)
    goOn()
    assert.equal((await erasing).body.deleted, true)
    const placed = await placing
    assert.equal(placed.status, 201, placed.text)
    assert.equal(placed.body.already_erasing, 0)
    // Either of the two may have come first: never is one in the middle of the other.
    const { body } = await late
    assert.ok(body.deleted === true || body.error === 'legal_hold', JSON.stringify(body))
    assert.equal((await scene.issue(third)).body.error, 'legal_hold')
    const order = (await events(scene, '')).map(({ event_type }) => event_type)
    assert.ok(order.indexOf('erasure.certified') >= 0, String(order))
    assert.ok(order.lastIndexOf('erasure.certified') < order.indexOf('hold.placed'), String(order))
  } finally {
    await scene.stop()
  }
})

test('the same Idempotency-Key places one hold', async () => {
  const scene = await openScene()
  try {
    const headers = { 'idempotency-key': 'hold-1' }
    const one = await scene.api('POST', holdsOf(scene), { reason: 'r' }, headers)
    const other = await scene.api('POST', holdsOf(scene), { reason: 'r' }, headers)
    assert.equal(one.body.hold_id, other.body.hold_id)
    assert.equal((await scene.api('GET', holdsOf(scene))).body.count, 1)
  } finally {
    await scene.stop()
  }
})

test('contents that only a decision of a held store names are kept with it', async () => {
  const scene = await openScene()
  try {
    await scene.write('something')
    await scene.decide({
      query: 'q',
      output: 'o',
      retrieved_refs: [900_001],
      retrieved_contents: ['an outside fact'],
    })
    await scene.api('POST', holdsOf(scene), { reason: 'r' })
    assert.equal((await scene.issue(900_001)).body.error, 'legal_hold')
  } finally {
    await scene.stop()
  }
})

test('who releases each hold of a page finds all others on the pages after it', async () => {
  const scene = await openScene()
  try {
    for (let i = 0; i < 3; i += 1) await scene.api('POST', holdsOf(scene), { reason: `r${i}` })
    const path = `${holdsOf(scene)}?standing=true&limit=1`
    let cursor: string | null = ''
    for (let i = 2; i >= 0; i -= 1) {
      const { body } = await scene.api('GET', `${path}${cursor && `&cursor=${cursor}`}`)
      assert.equal(body.holds[0].reason, `r${i}`)
      await scene.api('DELETE', `${holdsOf(scene)}/${body.holds[0].hold_id}`)
      cursor = body.next_cursor
    }
  } finally {
    await scene.stop()
  }
})

test('a store has at most holds_per_store holds, released ones not counted', async () => {
  const scene = await openScene()
  try {
    const place = () => scene.api('POST', holdsOf(scene), { reason: 'r' })
    for (let made = 0; made < limits.holds_per_store; made += 1)
      assert.equal((await place()).status, 201)
    assert.equal((await place()).body.error, 'rejected')
    const { body } = await scene.api('GET', holdsOf(scene))
    await scene.api('DELETE', `${holdsOf(scene)}/${body.holds[0].hold_id}`)
    assert.equal((await place()).status, 201)
    assert.equal((await place()).body.error, 'rejected')
  } finally {
    await scene.stop()
  }
})
