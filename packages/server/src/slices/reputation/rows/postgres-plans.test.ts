// How PostgreSQL finds pages of reviews.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planOf } from '../../../platform/db/testing/plans.ts'
import { listAllReviews } from './recompute.sql.ts'

test('a page of reviews begins where the one before ended, and reads none before', async () => {
  const place = { referent: new Uint8Array(32), reviewer_no: 1 }
  const plan = await planOf((db) => listAllReviews(db, place, 10))
  assert.match(plan, /Index Cond: .*\(referent >= /)
})
