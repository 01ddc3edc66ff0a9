// kill -9 while a report is made in the background: the next start makes it, once.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from './testing/client.ts'
import { fsck } from './testing/command-line.ts'
import { Stage } from './testing/stage.ts'

const STEPS = ['report:begun', 'report:gathered', 'report:written']

async function ended(client: Client, job_id: string) {
  for (;;) {
    const job = await client.ok('GET', `/v1/jobs/${job_id}`)
    if (job.state !== 'queued' && job.state !== 'running') return job
    await delay(20)
  }
}

test('killed at any step, a report comes out once, with the id it was to have', async (t) => {
  const stage = new Stage(t)
  await stage.start()
  const { store_id } = await stage.client.ok('POST', '/v1/stores', { body: {} })
  for (const [i, step] of STEPS.entries()) {
    const decision = { store_id, model_id: 'm', query: `where ${i}`, output: 'Porto' }
    await stage.client.ok('POST', '/v1/decisions/log', { body: decision })
    await stage.server.arm([{ name: step, how: 'kill' }])
    const body = { framework: 'full_audit', title: `Number ${i}`, background: true }
    const ordered = await stage.client.ok('POST', '/v1/reports/generate', { body })
    await stage.died()
    const client = await stage.start()
    // The log grows before the job is resumed, or meanwhile.
    await client.ok('POST', '/v1/decisions/log', { body: { ...decision, query: 'and now' } })
    const job = await ended(client, ordered.job_id)
    assert.deepEqual([job.state, job.result], ['done', { report_id: ordered.report_id }], step)

    const report = await client.ok('GET', `/v1/reports/${ordered.report_id}`)
    assert.deepEqual([report.title, report.log_seq], [`Number ${i}`, ordered.log_seq], step)
    const { period_start: from, period_end: to, log_seq } = ordered
    const again = { framework: 'full_audit', from, to, log_seq }
    const waited = await client.ok('POST', '/v1/reports/generate', { body: again })
    assert.equal(waited.content_hash, report.content_hash, step)
    const crumbs = await client.all('/v1/gcrumbs/breadcrumbs', 'breadcrumbs')
    const named = crumbs.filter(({ subject }) => subject === ordered.report_id)
    assert.deepEqual(
      named.map(({ event_type }) => event_type),
      ['report.generated'],
      step,
    )
  }
  const { count } = await stage.client.ok('GET', '/v1/reports')
  assert.equal(count, 2 * STEPS.length)
  await stage.server.stop()
  await fsck(stage.options)
})
