// Overdue approval requests: they read as expired at once, the timer expires them, none is issued.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { expireApprovals } from '../records/index.ts'
import { ApprovingTenant, openApprovalScene, type Waiting } from './testing/approval-scene.ts'

const scene = openApprovalScene()
const EXPIRY = ['approval.expired', 'artifact.expired']

/** As if its time were over. */
async function letExpire(service: TestService, { request_id }: Waiting): Promise<void> {
  const past = service.kernel.clock.now() - 1
  const alter = 'update approvals set expires_us = ? where request_id = ? returning 1'
  assert.equal((await rawSql(service, alter, [past, request_id])).length, 1)
}

const idsOf = async (tenant: ApprovingTenant, status: string): Promise<string[]> =>
  (await tenant.ok('GET', `/hitl/requests?status=${status}`)).requests.map(
    ({ request_id }: Waiting) => request_id,
  )

test('an overdue request reads as expired and cannot be decided, before any timer', async () => {
  const { tenant, service } = scene
  const ana = await tenant.enroll()
  const [late, waiting] = [await tenant.register('models/late'), await tenant.register()]
  await letExpire(service, late)
  assert.equal((await tenant.request(late.request_id)).status, 'expired')
  // 'approvals.requests'
  assert.deepEqual(await idsOf(tenant, 'pending'), [waiting.request_id])
  assert.deepEqual(await idsOf(tenant, 'expired'), [late.request_id])
  assert.deepEqual(await idsOf(tenant, 'all'), [waiting.request_id, late.request_id])
  const body = await tenant.signed(ana, late)
  const signed = await tenant.attest(late, body)
  assert.deepEqual([signed.status, signed.body.error], [409, 'approval_expired'])
  const path = `/artifacts/${late.artifact_id}/approve`
  const named = await tenant.ask('POST', path, { approver: 'Ben' })
  assert.deepEqual([named.status, named.body.error], [409, 'approval_expired'])
})

test('the timer expires request and record together, once, in every tenant', async () => {
  const { tenant, service } = scene
  const other = await ApprovingTenant.create(service)
  const late: [ApprovingTenant, Waiting][] = []
  for (const one of [tenant, other, tenant])
    late.push([one, await one.register(`models/${late.length}`)])
  const waiting = await tenant.register('models/waiting')
  for (const [, one] of late) await letExpire(service, one)
  await Promise.all([expireApprovals(service.kernel), expireApprovals(service.kernel)])
  for (const [one, { request_id, artifact_id }] of late) {
    assert.equal((await one.request(request_id)).status, 'expired')
    assert.equal((await one.ok('GET', `/artifacts/${artifact_id}`)).status, 'expired')
  }
  for (const one of [tenant, other]) {
    const events = await one.events(...EXPIRY)
    const mine = late.filter(([owner]) => owner === one)
    assert.deepEqual(
      events.map(({ subject }) => subject).toSorted(),
      mine.flatMap(([, { request_id, artifact_id }]) => [request_id, artifact_id]).toSorted(),
    )
  }
  assert.equal((await tenant.request(waiting.request_id)).status, 'pending')
  assert.equal(await tenant.recordStatus(waiting), 'waiting_hitl')
  await expireApprovals(service.kernel)
  assert.equal((await tenant.events(...EXPIRY)).length, 4)
})

test('a request that was decided does not expire afterwards', async () => {
  const { tenant, service } = scene
  const ana = await tenant.enroll()
  const waiting = await tenant.register()
  assert.equal((await tenant.attest(waiting, await tenant.signed(ana, waiting))).status, 200)
  await letExpire(service, waiting)
  await expireApprovals(service.kernel)
  assert.equal((await tenant.request(waiting.request_id)).status, 'approved')
  assert.equal(await tenant.recordStatus(waiting), 'registered')
})

test('an expired artifact can be proposed again, as a new request', async () => {
  const { tenant, service } = scene
  const layers = [{ digest: 'ab'.repeat(32) }]
  const body = { artifact_ref: 'models/again', base_model_ref: 'base', layers }
  const ask = async (): Promise<Waiting> =>
    (await tenant.ask('POST', '/artifacts/register', body)).body.detail
  const first = await ask()
  await letExpire(service, first)
  await expireApprovals(service.kernel)
  const again = await ask()
  assert.notEqual(again.request_id, first.request_id)
  assert.deepEqual(await idsOf(tenant, 'pending'), [again.request_id])
})

test('a waiting record still waits after a restart, and is decided then', async () => {
  const first = await startTestService()
  const before = await ApprovingTenant.create(first)
  const ana = await before.enroll()
  const waiting = await before.register()
  const body = await before.signed(ana, waiting)
  const shown = await before.request(waiting.request_id)
  await first.stop({ keep: true })

  const second = await startTestService({ data_dir: first.data_dir })
  try {
    const after = new ApprovingTenant(second, before)
    await expireApprovals(second.kernel)
    assert.deepEqual(await after.request(waiting.request_id), shown)
    assert.equal(await after.recordStatus(waiting), 'waiting_hitl')
    assert.equal((await after.attest(waiting, body)).status, 200)
    assert.equal(await after.recordStatus(waiting), 'registered')
  } finally {
    await second.stop()
  }
})
