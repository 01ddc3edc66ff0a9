// Of many memories a sample is opened, chosen by the seed; that all of them are there is counted.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ASSURANCE_SAMPLE } from '@custos/contract'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { AssuredTenant } from './testing/assured.ts'

const FACTS = 3_000
const BATCH = 1_000

let service: TestService
let tenant: AssuredTenant

before(async () => {
  service = await startTestService()
  tenant = await AssuredTenant.create(service)
  const { store_id } = await tenant.ok('POST', '/stores', { name: 'Many' })
  for (let written = 0; written < FACTS; written += BATCH) {
    const items = Array.from({ length: BATCH }, (_, i) => ({ content: `fact ${written + i}` }))
    await tenant.ok('POST', `/stores/${store_id}/write_batch`, { items })
  }
})
after(() => service.stop())

const seals = async () => (await tenant.run({ checks: ['seals'] })).checks_results.seals

test('a sample is opened, and the answer says of how many', async () => {
  const { status, detail, counts } = await seals()
  assert.equal(status, 'pass')
  assert.match(detail, /of more than 2000 of a kind a sample/)
  assert.equal(counts.facts_total, FACTS)
  // Pages that overlap are opened once.
  assert.ok(counts.facts > ASSURANCE_SAMPLE / 2 && counts.facts <= ASSURANCE_SAMPLE, counts.facts)
})

test('what every hundredth seal is, the sample finds; one memory too few is counted', async () => {
  const [row] = await rawSql(service, 'select sealed from facts where tenant_id = ? limit 1', [
    tenant.tenant_id,
  ])
  const broken = Uint8Array.from(Object(row)['sealed']).fill(0, 20)
  const some = 'tenant_id = ? and ref % 100 = 7'
  await rawSql(service, `update facts set sealed = ? where ${some}`, [broken, tenant.tenant_id])
  const altered = await seals()
  assert.equal(altered.status, 'fail')
  assert.equal(altered.findings[0].what, 'the seal does not open')

  await rawSql(service, `delete from facts where ${some}`, [tenant.tenant_id])
  const fewer = await seals()
  assert.deepEqual(
    fewer.findings.map(({ what }: { what: string }) => what),
    [`speaks of ${FACTS} facts, ${fewer.counts.facts_total} are here`],
  )
})
