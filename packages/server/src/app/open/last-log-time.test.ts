// The clock of a start: not before anything any log holds.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findHead, rollEpoch } from '../../slices/gcrumbs/index.ts'
import { ensureTenant } from '../../slices/tenants/index.ts'
import { openTwoKernels } from '../../testing/two-kernels.ts'
import { raiseClock } from './last-log-time.ts'

test('the clock starts behind the newest entry of any tenant', async (t) => {
  const [{ kernel }] = await openTwoKernels(t)
  let last = -1
  const clock = { now: () => last, raise: (us: number) => (last = us) }
  const lastLogTime = async () => {
    await raiseClock(clock, kernel.db, kernel.logger)
    return last
  }
  assert.equal(await lastLogTime(), 0)
  for (const tenant_id of ['t1', 't3', 't2']) {
    await ensureTenant(kernel, { tenant_id })
    await rollEpoch(kernel, tenant_id)
  }
  const newest = await kernel.db.read('t2', findHead)
  assert.ok(newest)
  assert.equal(await lastLogTime(), newest.last_us)
})
