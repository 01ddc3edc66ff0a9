// A look while the service writes: what one look has found the looks after it still see.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { parseConfig } from '../../config/config.ts'
import { AssuredTenant } from '../../slices/assurance/testing/assured.ts'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { openTestData, type TestData } from '../../testing/test-data.ts'
import { openReadOnly, type ReadOnlyKernel } from '../open/open-read-only.ts'
import { checkTenantData } from './check-tenant.ts'

const FACTS = 3_000
const BATCH = 1_000

let data: TestData
let service: TestService
let open: ReadOnlyKernel
let tenant: AssuredTenant
let store_id: string

before(async () => {
  data = await openTestData('custos-test-')
  service = await startTestService({ data_dir: data.data_dir })
  open = await openReadOnly(parseConfig(data.env))
  tenant = await AssuredTenant.create(service)
  store_id = (await tenant.ok('POST', '/stores', { name: 'Many' })).store_id
  for (let written = 0; written < FACTS; written += BATCH) {
    const items = Array.from({ length: BATCH }, (_, i) => ({ content: `fact ${written + i}` }))
    await tenant.ok('POST', `/stores/${store_id}/write_batch`, { items })
  }
})
after(async () => {
  await open.close()
  await service.stop()
})

/** A look, with `act` done before each snapshot but the first. */
async function lookAmid(check: 'seals' | 'chain', act: () => Promise<unknown>) {
  let taken = 0
  const takeSnapshot = async () => {
    taken += 1
    if (taken > 1) await act()
    await open.snapshots.takeSnapshot()
  }
  const snapshots = { takeSnapshot, release: () => open.snapshots.release() }
  const { results } = await checkTenantData(
    { ...open, snapshots: Object.assign(Object.create(open.snapshots), snapshots) },
    { tenant_id: tenant.tenant_id, checks: [check], seed: 'seed', baseline_size: null },
  )
  const result = results[check]
  assert.ok(result)
  return { ...result, taken }
}

const write = () => tenant.ok('POST', `/stores/${store_id}/write`, { content: 'one more' })

const spoil = (refs: string, sealed: Uint8Array) =>
  rawSql(service, `update facts set sealed = ? where tenant_id = ? and ${refs}`, [
    sealed,
    tenant.tenant_id,
  ])

test('seals that are broken are found, however much is written meanwhile', async () => {
  const sound = await lookAmid('seals', write)
  assert.deepEqual([sound.status, sound.taken], ['pass', 1])
  const [row] = await rawSql(service, 'select sealed from facts where tenant_id = ? limit 1', [
    tenant.tenant_id,
  ])
  await spoil('ref % 100 = 7', Uint8Array.from(Object(row)['sealed']).fill(0, 20))
  const quiet = await lookAmid('seals', async () => {})
  const amid = await lookAmid('seals', write)
  assert.deepEqual([amid.status, amid.taken], ['fail', 3])
  assert.equal(amid.findings_total, quiet.findings_total)
})

test('that memories are missing is found, though their number goes on rising', async () => {
  await rawSql(service, 'delete from facts where tenant_id = ? and ref % 100 = 7', [
    tenant.tenant_id,
  ])
  const { status, findings } = await lookAmid('seals', write)
  assert.equal(status, 'fail')
  assert.deepEqual(
    findings.map(({ id }) => id),
    ['facts'],
  )
})

test('what the second look does not see any more is no finding', async () => {
  const { store_id: other } = await tenant.ok('POST', '/stores', { name: 'Mended' })
  const seal = (sealed: unknown) =>
    rawSql(service, 'update stores set sealed = ? where store_id = ?', [
      Uint8Array.from(Object(sealed)),
      other,
    ])
  const [row] = await rawSql(service, 'select sealed from stores where store_id = ?', [other])
  const sound = Object(row)['sealed']
  await seal(new Uint8Array(80))
  const kindsAmid = async (act: () => Promise<unknown>) =>
    (await lookAmid('seals', act)).findings.map(({ kind }) => kind)
  assert.ok((await kindsAmid(write)).includes('store'))
  assert.equal((await kindsAmid(() => seal(sound))).includes('store'), false)
})

test('a log that was cut is found, though it grows on from there', async () => {
  await tenant.ok('POST', '/gcrumbs/roll')
  const heads = () =>
    rawSql(service, 'select * from chain_heads where tenant_id = ?', [tenant.tenant_id])
  const [head] = await heads()
  for (let i = 0; i < 8; i += 1) await write()
  await tenant.ok('POST', '/gcrumbs/roll')
  const { tenant_id: _, ...columns } = Object(head)
  const names = Object.keys(columns)
  await rawSql(
    service,
    `update chain_heads set ${names.map((name) => `${name} = ?`).join()} where tenant_id = ?`,
    [...names.map((name) => columns[name]), tenant.tenant_id],
  )
  const after = (table: string, column: string) =>
    rawSql(service, `delete from ${table} where tenant_id = ? and ${column} >= ?`, [
      tenant.tenant_id,
      columns['size'],
    ])
  await after('breadcrumbs', 'seq')
  await after('epochs', 'tree_size')
  const { status, findings } = await lookAmid('chain', write)
  assert.equal(status, 'fail')
  assert.match(findings.map(({ what }) => what).join(), /log shorter than signed/)
})
