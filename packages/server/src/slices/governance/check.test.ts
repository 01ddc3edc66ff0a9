// The consistency check of policies finds what nothing of ours could have written.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestService } from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { checkPolicies } from './sealed-policy.ts'

test('a policy that was altered, and a set that is not what stands, are found', async (t) => {
  const service = await startTestService()
  t.after(() => service.stop())
  const { tenant_id, api_key: key } = await service.createTenant()
  const body = { name: 'n', policy_type: 'tool_deny', config: { denied_tools: ['x'] } }
  const made = await service.request('POST', '/v1/governance/policies', { key, body })
  const { policy_id } = made.body
  const look = () => service.kernel.db.read(tenant_id, (db) => checkPolicies(service.kernel, db))
  assert.deepEqual(await look(), { versions: 1, faults: [] })
  await rawSql(service, 'update policies set version = 2 where policy_id = ?', [policy_id])
  assert.deepEqual((await look()).faults, [
    { policy_id, fault: 'the seal does not open' },
    { policy_id: '-', fault: 'the current set is not what stands' },
  ])
})
