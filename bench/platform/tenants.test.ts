// The simulation sends what the service takes: no request of it fails, whatever the tenant.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulate } from './tenants.ts'

test('every request of a simulation of 20 tenants on two processes is answered', async () => {
  const options = { tenants: 20, processes: 2, callers: [2, 8], seconds: 1, seed: 7 }
  const { steps } = await simulate(options)
  assert.deepEqual(
    steps.map(({ callers, failed }) => ({ callers, failed })),
    options.callers.map((callers) => ({ callers, failed: 0 })),
  )
  for (const { rps, hot_share } of steps) {
    assert.ok(hot_share >= 0 && hot_share <= 1)
    assert.ok(rps > 0)
  }
})
