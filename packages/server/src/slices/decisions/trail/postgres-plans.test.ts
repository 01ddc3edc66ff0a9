// How PostgreSQL finds the memories that a decision used.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planOf } from '../../../platform/db/testing/plans.ts'
import { findFactInStores } from './decisions.sql.ts'

test('memories that a decision used are found without those of other decisions', async () => {
  const plan = await planOf((db) => findFactInStores(db, 1, ['s']))
  assert.match(plan, /on decision_facts\n +Index Cond: .*\(decision_seq = /)
})
