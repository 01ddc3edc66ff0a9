// Retention: memories older than their store keeps them are erased with certificates, and counted
// once.

import assert from 'node:assert/strict'
import test from 'node:test'
import { openScene, type Scene } from '../../testing/erasure-scene.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { movedClock } from '../../testing/skewed-clock.ts'
import { runDueRetention } from './index.ts'

const DAY_US = 86_400_000_000
const path = (scene: Scene) => `/v1/stores/${scene.store_id}/retention`

async function ended(scene: Scene) {
  const { body } = await scene.api('GET', '/v1/gcrumbs/breadcrumbs?limit=1000')
  const all: { event_type: string; payload: Record<string, unknown> }[] = body.breadcrumbs
  return all
    .filter(({ event_type }) => event_type === 'retention.erased')
    .map(({ payload }) => [payload['erased'], payload['ended_by'], payload['retain_days']])
}

test('memories older than the retention are erased, each with a certificate', async () => {
  const clock = movedClock()
  const scene = await openScene({ clock })
  try {
    const old = [await scene.write('one'), await scene.write('two')]
    const first = await scene.write('three, first version')
    clock.forward(29 * DAY_US)
    const young = await scene.supersede(first, 'three, second version')
    // retention.set, retention.get, retention.run
    const set = await scene.api('PUT', path(scene), { retain_days: 30, basis: 'contract § 4' })
    assert.equal(set.status, 200, set.text)
    assert.equal(set.body.due, 0)
    assert.equal(set.body.basis, 'contract § 4')
    assert.equal(await runDueRetention(scene.service.kernel), 0)
    clock.forward(DAY_US + 60_000_000)
    assert.equal((await scene.api('GET', path(scene))).body.due, 3)

    assert.equal(await runDueRetention(scene.service.kernel), 1)
    await scene.service.kernel.jobs.idle()
    for (const ref of [...old, first]) {
      const { body } = await scene.api('GET', `/v1/erasure/fact/${ref}`)
      assert.equal(body.legal_basis, 'retention: 30 days')
      assert.equal(body.requested_by, 'policy')
      assert.equal(body.verified, true)
    }
    const kept = await scene.api('GET', `/v1/stores/${scene.store_id}/memories/${young}`)
    assert.equal(kept.body.content, 'three, second version')
    const after = (await scene.api('GET', path(scene))).body
    assert.deepEqual([after.due, after.run, after.last_run.erased], [0, null, 3])
    assert.deepEqual(await ended(scene), [[3, 'nothing_left', 30]])
    assert.equal(await runDueRetention(scene.service.kernel), 0)
  } finally {
    await scene.stop()
  }
})

test('a hold stops a run in the middle, and the timer leaves a held store alone', async () => {
  const clock = movedClock()
  let place: (() => Promise<void>) | null = null
  const scene = await openScene({
    clock,
    step: async (name) => {
      if (name !== 'retention:erased' || !place) return
      const now = place
      place = null
      await now()
    },
  })
  try {
    const items = Array.from({ length: 450 }, (_, i) => ({ content: `memory number ${i}` }))
    await scene.api('POST', `/v1/stores/${scene.store_id}/write_batch`, { items })
    await scene.api('PUT', path(scene), { retain_days: 1 })
    clock.forward(2 * DAY_US)
    let placing: Promise<{ status: number; body: { hold_id: string } }> | undefined
    place = async () => {
      // It waits until the batch has ended, and runs before the next.
      placing = scene.api('POST', `/v1/stores/${scene.store_id}/holds`, { reason: 'stop' })
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
    const run = await scene.api('POST', `${path(scene)}/run`)
    assert.equal(run.status, 202, run.text)
    assert.equal(run.body.due, 450)
    await scene.service.kernel.jobs.idle()
    const held = await placing
    assert.equal(held?.status, 201)
    assert.deepEqual(await ended(scene), [[200, 'legal_hold', 1]])
    const shown = (await scene.api('GET', path(scene))).body
    assert.deepEqual([shown.due, shown.holds, shown.last_run.erased], [250, 1, 200])
    assert.equal((await scene.api('POST', `${path(scene)}/run`)).body.error, 'legal_hold')
    assert.equal(await runDueRetention(scene.service.kernel), 0)

    await scene.api('DELETE', `/v1/stores/${scene.store_id}/holds/${held?.body.hold_id}`)
    assert.equal(await runDueRetention(scene.service.kernel), 1)
    await scene.service.kernel.jobs.idle()
    assert.deepEqual((await ended(scene)).at(-1), [250, 'nothing_left', 1])
    assert.equal((await scene.api('GET', '/v1/erasure/stats')).body.erased, 450)
  } finally {
    await scene.stop()
  }
})

test('a longer retention ends a run; without one there is nothing to run', async () => {
  const clock = movedClock()
  const scene = await openScene({ clock })
  try {
    assert.equal((await scene.api('POST', `${path(scene)}/run`)).body.error, 'retention_not_set')
    await scene.write('one')
    await scene.api('PUT', path(scene), { retain_days: 1 })
    await scene.api('PUT', path(scene), { retain_days: null })
    clock.forward(3 * DAY_US)
    assert.equal((await scene.api('POST', `${path(scene)}/run`)).body.error, 'retention_not_set')
    assert.equal((await scene.api('GET', path(scene))).body.due, 0)
    for (const retain_days of [1, 36_500])
      assert.equal((await scene.api('PUT', path(scene), { retain_days })).status, 200)
    for (const retain_days of [0, 36_501, 1.5, '7'])
      assert.equal((await scene.api('PUT', path(scene), { retain_days })).status, 422)
  } finally {
    await scene.stop()
  }
})

for (const at of [
  'retention:marked',
  'erasure:planned',
  'erasure:key_destroyed',
  'erasure:verified',
  'retention:erased',
])
  test(`a run cut off at ${at} goes on at the next start and counts each memory once`, async () => {
    const clock = movedClock()
    let armed = false
    let gone = false
    const first = await openScene({
      clock,
      step(name) {
        if (armed && name === at) gone = true
        if (gone) throw new Error('cut off')
      },
    })
    const items = Array.from({ length: 205 }, (_, i) => ({ content: `memory number ${i}` }))
    await first.api('POST', `/v1/stores/${first.store_id}/write_batch`, { items })
    await first.api('PUT', path(first), { retain_days: 1 })
    clock.forward(2 * DAY_US)
    armed = true
    await first.api('POST', `${path(first)}/run`)
    while (!gone) await new Promise((resolve) => setTimeout(resolve, 10))
    await first.stop({ keep: true })

    const again = await openScene({ data_dir: first.service.data_dir, clock }, first)
    try {
      clock.forward(3_600_000_000)
      await again.service.kernel.jobs.idle()
      assert.deepEqual(await ended(again), [[205, 'nothing_left', 1]])
      const { body } = await again.api('GET', '/v1/erasure/stats')
      assert.deepEqual([body.total, body.erased], [205, 205])
      assert.equal((await again.api('GET', '/v1/gcrumbs/verify?full=true')).body.status, 'intact')
    } finally {
      await again.stop()
    }
  })

test('a run that is given up after many attempts is on the log too', async () => {
  const clock = movedClock()
  let failed = 0
  const scene = await openScene({
    clock,
    step(name) {
      if (name !== 'retention:marked') return
      failed += 1
      throw new Error('fails each time')
    },
  })
  try {
    await scene.write('one')
    await scene.api('PUT', path(scene), { retain_days: 1 })
    clock.forward(2 * DAY_US)
    const { job_id } = (await scene.api('POST', `${path(scene)}/run`)).body
    const attempts = async () =>
      Number(
        (await rawSql(scene.service, 'select attempts from jobs where job_id = ?', [job_id])).at(
          0,
        )?.['attempts'],
      )
    while (failed === 0 || (await attempts()) === 0)
      await new Promise((resolve) => setTimeout(resolve, 10))
    await rawSql(scene.service, 'update jobs set attempts = 9 where job_id = ?', [job_id])
    clock.forward(3_600_000_000)
    while ((await ended(scene)).length === 0)
      await new Promise((resolve) => setTimeout(resolve, 10))
    assert.deepEqual(await ended(scene), [[0, 'given_up', 1]])
    assert.equal((await scene.api('GET', path(scene))).body.run, null)
  } finally {
    await scene.stop()
  }
})

test('a tenant at which no run can begin keeps no other one from its own', async (t) => {
  const clock = movedClock()
  const scene = await openScene({ clock })
  try {
    const { kernel } = scene.service
    const others = [await scene.service.createTenant(), await scene.service.createTenant()]
    for (const { api_key } of [scene, ...others]) {
      const send = (method: string, at: string, body: unknown) =>
        scene.service.request(method, at, { key: api_key, body })
      await send('POST', '/v1/stores/default/write', { content: 'one' })
      await send('PUT', '/v1/stores/default/retention', { retain_days: 1 })
    }
    clock.forward(2 * DAY_US)
    const enqueue = kernel.jobs.enqueue.bind(kernel.jobs)
    let asked = 0
    t.mock.method(kernel.jobs, 'enqueue', (...given: Parameters<typeof enqueue>) => {
      asked += 1
      if (asked === 1) throw new Error('no job for the first')
      return enqueue(...given)
    })
    assert.equal(await runDueRetention(kernel), 2)
  } finally {
    await scene.stop()
  }
})
