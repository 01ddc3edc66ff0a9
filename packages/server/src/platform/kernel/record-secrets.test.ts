// Record secrets: distinct, durable, never handed out twice, also over a restart.

import assert from 'node:assert/strict'
import test from 'node:test'
import { startTestService } from '../../testing/harness.ts'
import { recordSecrets } from './record-secrets.ts'

const COUNT = 2_500

test('secrets taken at once are distinct and stand in the keyring by number', async () => {
  const service = await startTestService()
  try {
    const { tenant_id } = await service.createTenant()
    const { kernel } = service
    const secrets = recordSecrets(kernel)
    const taken = await Promise.all(Array.from({ length: COUNT }, () => secrets.take(tenant_id)))
    const numbers = taken.map(({ secret_no }) => secret_no)
    assert.equal(new Set(numbers).size, COUNT)
    assert.equal(new Set(taken.map(({ secret }) => secret.toString('hex'))).size, COUNT)
    const stored = await kernel.keyring.secrets(tenant_id, 'decision', numbers)
    for (const { secret_no, secret } of taken) assert.deepEqual(stored.get(secret_no), secret)
  } finally {
    await service.stop()
  }
})

test('numbers go on above the old ones after a restart, and tenants have their own', async () => {
  const first = await startTestService()
  const one = await first.createTenant()
  const two = await first.createTenant()
  const before = await recordSecrets(first.kernel).take(one.tenant_id)
  const other = await recordSecrets(first.kernel).take(two.tenant_id)
  assert.notDeepEqual(other.secret, before.secret)
  await first.stop({ keep: true })
  const second = await startTestService({ data_dir: first.data_dir })
  try {
    const after = await recordSecrets(second.kernel).take(one.tenant_id)
    assert.ok(after.secret_no > before.secret_no)
  } finally {
    await second.stop()
  }
})

test('a keyring that is behind the data does not hand out numbers in use', async () => {
  const service = await startTestService()
  try {
    const { tenant_id, api_key } = await service.createTenant()
    const decision = { store_id: 's', model_id: 'm', query: 'q', output: 'o' }
    const path = '/v1/decisions/log'
    const logged = await service.request('POST', path, { key: api_key, body: decision })
    assert.equal(logged.status, 200)
    // A second view of the same data and keys, which has handed out nothing itself.
    const afresh = { ...service.kernel }
    const { secret_no } = await recordSecrets(afresh).take(tenant_id)
    assert.ok(secret_no > 1_024)
  } finally {
    await service.stop()
  }
})
