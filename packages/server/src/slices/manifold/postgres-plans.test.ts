// How PostgreSQL finds the decisions of a dimension.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planOf } from '../../platform/db/testing/plans.ts'
import { listGoverned } from './manifold.sql.ts'

test('decisions of a dimension are never compared with all of its agents', async () => {
  const page = { before: 100, limit: 10 }
  const plan = await planOf((db) => listGoverned(db, new Uint8Array(32), page))
  assert.match(plan, /on cgr_agents\n +Index Cond: .*\(agent_no = decided\.agent_no\)/)
  assert.doesNotMatch(plan, /Join Filter|Sort/)
})
