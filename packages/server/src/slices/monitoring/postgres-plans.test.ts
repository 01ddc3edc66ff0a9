// How PostgreSQL finds the numbers of a scrape.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from '../../platform/db/database.ts'
import { planOf } from '../../platform/db/testing/plans.ts'
import { listTenantNumbers } from './stats.sql.ts'

test('a scrape finds the oldest entry without a checkpoint, and reads no log', async () => {
  const plan = await planOf((tx) => {
    const read = (_: string, look: (db: typeof tx) => Promise<unknown>) => look(tx)
    return listTenantNumbers({ source: {}, read } as unknown as Database, ['t1'], 1)
  })
  assert.match(plan, /breadcrumbs_key on breadcrumbs\n +Index Cond: .*\(seq = /)
})
