// The clock of a start: not before anything any log holds.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findHead, rollEpoch } from '../../slices/gcrumbs/index.ts'
import { ensureTenant } from '../../slices/tenants/index.ts'
import { openTwoKernels } from '../../testing/two-kernels.ts'
import { lastLogTime } from './last-log-time.ts'

test('the last time of all logs is that of the newest entry of any tenant', async (t) => {
  const [{ kernel }] = await openTwoKernels(t)
  assert.equal(await lastLogTime(kernel.db), 0)
  for (const tenant_id of ['t1', 't3', 't2']) {
    await ensureTenant(kernel, { tenant_id })
    await rollEpoch(kernel, tenant_id)
  }
  const newest = await kernel.db.read('t2', findHead)
  assert.ok(newest)
  assert.equal(await lastLogTime(kernel.db), newest.last_us)
})
