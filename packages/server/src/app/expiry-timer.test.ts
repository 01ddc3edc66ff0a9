// Work by the clock in a running process: requests that nobody has decided.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { ApprovingTenant } from '../slices/approvals/testing/approval-scene.ts'
import { startTestService } from '../testing/harness.ts'
import { rawSql } from '../testing/raw-sql.ts'
import { startTimers } from './timers.ts'

test('what waited too long is expired by the timer alone, with its record', async (t) => {
  const service = await startTestService()
  try {
    const tenant = await ApprovingTenant.create(service)
    const [late, waiting] = [await tenant.register('models/late'), await tenant.register()]
    const alter = 'update approvals set expires_us = issued_us where request_id = ? returning 1'
    await rawSql(service, alter, [late.request_id])

    t.mock.timers.enable({ apis: ['setInterval'] })
    const timers = startTimers(service.kernel, { epoch_seconds: 0, rewrite_hours: 0 })
    t.mock.timers.tick(30_000)
    // A stop would end the run before its first request.
    for (let i = 0; i < 1_000 && (await tenant.recordStatus(late)) !== 'expired'; i += 1)
      await delay(10)
    await timers.stop()
    t.mock.timers.reset()

    assert.equal(await tenant.recordStatus(late), 'expired')
    assert.equal(await tenant.recordStatus(waiting), 'waiting_hitl')
    const events = await tenant.events('approval.expired', 'artifact.expired')
    assert.deepEqual(
      events.map(({ subject }) => subject),
      [late.request_id, late.artifact_id],
    )
  } finally {
    await service.stop()
  }
})
