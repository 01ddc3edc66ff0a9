// A credential of the moment: it acts while it is needed, within its scopes, and is kept nowhere.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { listTables, rawSql } from '../../testing/raw-sql.ts'
import { withMomentaryKey } from './index.ts'

let service: TestService
let tenant: { tenant_id: string; api_key: string }

before(async () => {
  service = await startTestService()
  tenant = await service.createTenant()
})
after(() => service.stop())

const HOUR_US = 3_600_000_000
const wanted = (lasting_us: number) => ({
  tenant_id: tenant.tenant_id,
  scopes: ['memory:read'] as const,
  expires_us: service.kernel.clock.now() + lasting_us,
})
const stores = (key: string) => service.request('GET', '/v1/stores', { key })

test('it acts for its tenant within its scopes, until what it is for has ended', async () => {
  const key = await withMomentaryKey(service.kernel, wanted(HOUR_US), async (held) => {
    assert.equal((await stores(held)).status, 200)
    const write = await service.request('POST', '/v1/stores', { key: held, body: {} })
    assert.deepEqual([write.status, write.body.error], [403, 'scope_missing'])
    return held
  })
  assert.equal((await stores(key)).status, 401)
})

test('it ends also where what it is for fails, and when its time is over', async () => {
  let held = ''
  const failing = withMomentaryKey(service.kernel, wanted(HOUR_US), async (key) => {
    held = key
    throw new Error('no more')
  })
  await assert.rejects(failing, /no more/)
  assert.equal((await stores(held)).status, 401)
  await withMomentaryKey(service.kernel, wanted(-1), async (key) => {
    assert.equal((await stores(key)).status, 401)
  })
})

test('it is in no row and in no list of keys', async () => {
  const countRows = async () => {
    const counts: unknown[] = []
    for (const table of await listTables(service))
      if (table === 'credentials' || table === 'breadcrumbs')
        counts.push(await rawSql(service, `select count(*) as n from ${table}`))
    return counts
  }
  const before = await countRows()
  await withMomentaryKey(service.kernel, wanted(HOUR_US), async () => {
    const { body } = await service.request('GET', '/v1/keys', { key: tenant.api_key })
    assert.equal(body.keys.length, 1)
    assert.deepEqual(await countRows(), before)
  })
})
