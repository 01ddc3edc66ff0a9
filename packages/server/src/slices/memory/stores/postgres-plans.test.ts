// How PostgreSQL tells memories that have expired from others.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planOf } from '../../../platform/db/testing/plans.ts'
import { findRefAtOffset } from '../facts/facts.sql.ts'
import { sumFacts, sumVersions } from './stores.sql.ts'

test('whether a memory has expired is looked up, not searched among all that have', async () => {
  const at_us = 1
  const plans = await Promise.all([
    planOf((db) => findRefAtOffset(db, { store_id: 's' }, { offset: 3, at_us })),
    planOf((db) => db.all(sumFacts(db, 's', { at_us, space_mark: null }))),
    planOf((db) => db.all(sumVersions(db, 's', at_us))),
  ])
  for (const plan of plans) {
    assert.match(plan, /Anti Join/)
    assert.doesNotMatch(plan, /SubPlan/)
  }
})
