// How PostgreSQL finds pages of credentials.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listLimitedAfter } from '../credential-limits.sql.ts'
import { planOf } from '../testing/plans.ts'

test('a page of limited credentials reads none before it', async () => {
  const plan = await planOf((db) => listLimitedAfter(db, 'key', 10))
  assert.match(plan, /on credentials\n +Index Cond: .*\(key_id > /)
})
