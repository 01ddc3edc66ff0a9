// jobs.get: state and progress of long work, for the tenant it belongs to.

import assert from 'node:assert/strict'
import test from 'node:test'
import { openScene } from '../../testing/erasure-scene.ts'

test('jobs.get answers state and progress of a job until it is done', async () => {
  const scene = await openScene()
  try {
    await scene.write('one thing')
    await scene.write('another thing')
    const { body: started } = await scene.api('DELETE', `/v1/stores/${scene.store_id}`)
    const states: string[] = []
    let job = started
    for (let look = 0; look < 400 && job.state !== 'done'; look += 1) {
      job = (await scene.api('GET', `/v1/jobs/${started.job_id}`)).body
      states.push(job.state)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    assert.equal(job.job_id, started.job_id)
    assert.deepEqual(job.progress, { done: 2, total: 2 })
    assert.equal(job.error, null)
    assert.ok(job.attempts >= 1)
    assert.ok(job.updated_at > job.created_at)
    const order = ['queued', 'running', 'done']
    const ranks = states.map((state) => order.indexOf(state))
    assert.ok(!ranks.includes(-1), states.join(' '))
    assert.deepEqual(
      ranks,
      ranks.toSorted((a, b) => a - b),
    )
  } finally {
    await scene.stop()
  }
})

test('jobs.get finds neither a job of another tenant nor a text that is no id', async () => {
  const scene = await openScene()
  try {
    const { body } = await scene.api('DELETE', `/v1/stores/${scene.store_id}`)
    const other = await scene.service.createTenant()
    const path = `/v1/jobs/${body.job_id}`
    const foreign = await scene.service.request('GET', path, { key: other.api_key })
    assert.deepEqual([foreign.status, foreign.body.error], [404, 'job_not_found'])
    const malformed = await scene.api('GET', '/v1/jobs/not-an-id')
    assert.deepEqual([malformed.status, malformed.body.error], [404, 'job_not_found'])
  } finally {
    await scene.stop()
  }
})
