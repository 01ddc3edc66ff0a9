// The thread that looks: one that takes too long is ended, and the next look has another.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { parseConfig } from '../../config/config.ts'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { openTestData } from '../../testing/test-data.ts'
import { AssuranceThreads } from './assurance-threads.ts'

let service: TestService
let looker: AssuranceThreads
const limits = { look_ms: 0 }

before(async () => {
  const data = await openTestData('custos-test-')
  service = await startTestService({ data_dir: data.data_dir })
  looker = new AssuranceThreads(parseConfig(data.env), limits)
})
after(async () => {
  await looker.stop()
  await service.stop()
})

test('a look that is not done in time is given up, and does not stand in the way', async () => {
  const { tenant_id } = await service.createTenant()
  const task = { tenant_id, checks: ['chain'], seed: '', baseline_size: null } as const
  // No thread starts in no time.
  for (let i = 0; i < 2; i += 1) await assert.rejects(looker.look(task), { name: 'LookTimedOut' })
  limits.look_ms = 600_000
  assert.equal((await looker.look(task)).results.chain?.status, 'pass')
})
