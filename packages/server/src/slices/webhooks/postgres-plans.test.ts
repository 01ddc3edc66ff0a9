// How PostgreSQL finds deliveries by their age, and those of a replay.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planOf } from '../../platform/db/testing/plans.ts'
import { deleteOldDeliveries, findReplayed } from './webhooks.sql.ts'

test('old deliveries, and the last one of a replay, are found without the others', async () => {
  const old = await planOf((tx) => deleteOldDeliveries(tx, 1, 10), { webhook_id: 'w' })
  assert.match(old, /Index Cond: .*\(webhook_id = .*\(created_us < /)
  const replayed = await planOf((db) => findReplayed(db, 'w', 'j'))
  assert.match(replayed, /Index Cond: .*\(job_id = /)
})
