// Schedules: kept, changed, due by the clock, made up for once, and never beyond a restart.

import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { limits } from '@custos/contract'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { interruptAbandoned, runDue } from './index.ts'
import { AssuredTenant } from './testing/assured.ts'

let service: TestService
let tenant: AssuredTenant

before(async () => {
  service = await startTestService()
})
beforeEach(async () => {
  tenant = await AssuredTenant.create(service)
})
after(() => service.stop())

const MINUTE_US = 60_000_000
const create = (body: object = {}) => tenant.ok('POST', '/assurance/schedules', body)
const runsOf = async () => (await tenant.ok('GET', '/assurance/runs?limit=200')).runs

async function scheduled(): Promise<Record<string, string>> {
  const { schedules } = await tenant.ok('GET', '/assurance/schedules')
  return schedules[0]
}

/** As if the service had been down for so long since the schedule was due. */
const missed = (minutes: number) =>
  rawSql(service, 'update assurance_schedules set next_due_us = ? where tenant_id = ?', [
    service.kernel.clock.now() - minutes * MINUTE_US,
    tenant.tenant_id,
  ])

test("'assurance.create_schedule' fills in what is left out, and is on the log", async () => {
  const made = await create()
  assert.deepEqual(
    [made.interval_min, made.enabled, made.alert_webhook, made.last_run_id],
    [60, true, null, null],
  )
  assert.deepEqual(made.checks, ['chain', 'seals', 'ledger', 'policies', 'clock'])
  assert.deepEqual(await tenant.ok('GET', '/assurance/schedules'), { schedules: [made] })
  const { breadcrumbs } = await tenant.ok('GET', '/gcrumbs/breadcrumbs')
  const last = breadcrumbs.at(-1)
  assert.deepEqual(
    [last.event_type, last.subject, last.payload.change],
    ['assurance.schedule_changed', made.schedule_id, 'created'],
  )
})

test('asked again with its Idempotency-Key there is one schedule', async () => {
  const headers = { 'idempotency-key': 'nightly' }
  const asked = { body: { interval_min: 1_440 }, headers }
  const [one, two] = [
    await tenant.ask('POST', '/assurance/schedules', asked),
    await tenant.ask('POST', '/assurance/schedules', asked),
  ]
  assert.deepEqual(two.body, one.body)
  assert.equal((await tenant.ok('GET', '/assurance/schedules')).schedules.length, 1)
})

test('intervals, checks and webhooks that cannot be are refused, and nothing is kept', async () => {
  const cases: [object, string][] = [
    [{ interval_min: 4 }, 'validation'],
    [{ interval_min: 1_441 }, 'validation'],
    [{ interval_min: 7.5 }, 'validation'],
    [{ checks: ['sums'] }, 'validation'],
    [{ checks: ['metrics'] }, 'rejected'],
    [{ checks: ['conformance'], interval_min: 59 }, 'rejected'],
    [{ alert_webhook: 'https://example.org/hook' }, 'rejected'],
  ]
  for (const [body, error] of cases)
    assert.equal(await tenant.refused('POST', '/assurance/schedules', body), error)
  assert.deepEqual((await tenant.ok('GET', '/assurance/schedules')).schedules, [])
  for (const interval_min of [5, 1_440])
    assert.equal((await create({ interval_min })).interval_min, interval_min)
})

test("'assurance.update_schedule' changes what is named; a deleted one is gone", async () => {
  const { schedule_id } = await create({ interval_min: 5 })
  const path = `/assurance/schedules/${schedule_id}`
  const off = await tenant.ok('PUT', path, { enabled: false, checks: ['clock'] })
  assert.deepEqual([off.enabled, off.checks, off.interval_min], [false, ['clock'], 5])
  assert.equal(off.next_due_at, null)
  assert.equal(
    await tenant.refused('PUT', path, { checks: ['conformance'] }),
    'rejected',
    'every five minutes is too often',
  )
  await missed(1)
  await runDue(service.kernel)
  assert.deepEqual(await runsOf(), [], 'a schedule that is switched off runs nothing')
  const deleted = await tenant.ok('DELETE', path)
  assert.deepEqual(deleted, { deleted: true, schedule_id })
  for (const method of ['PUT', 'DELETE'])
    assert.equal(await tenant.refused(method, path, {}), 'schedule_not_found')
})

test("'assurance.delete_schedule' of another tenant is not found", async () => {
  const { schedule_id } = await create()
  const other = await AssuredTenant.create(service)
  const path = `/assurance/schedules/${schedule_id}`
  for (const method of ['PUT', 'DELETE'])
    assert.equal(await other.refused(method, path, {}), 'schedule_not_found')
  assert.equal((await scheduled())?.['schedule_id'], schedule_id)
})

test('a tenant has a hundred schedules at most', async () => {
  const rows = Array.from({ length: limits.assurance_schedules - 1 }, (_, i) => i)
  for (const i of rows) await create({ interval_min: 5 + i })
  await create()
  assert.equal(await tenant.refused('POST', '/assurance/schedules', {}), 'rejected')
})

test('what is due runs by itself, and is due again an interval later', async () => {
  const { schedule_id, created_at } = await create({ interval_min: 30, checks: ['clock'] })
  await runDue(service.kernel)
  assert.deepEqual(await runsOf(), [], 'it is not due before its interval is over')
  await missed(0)
  await runDue(service.kernel)
  const [run, ...others] = await runsOf()
  assert.deepEqual(others, [])
  assert.deepEqual(
    [run.status, run.trigger, run.schedule_id, run.checks],
    ['pass', 'schedule', schedule_id, ['clock']],
  )
  const after = await scheduled()
  assert.equal(after['last_run_id'], run.run_id)
  assert.ok(String(after['next_due_at']) > created_at)
  await runDue(service.kernel)
  assert.equal((await runsOf()).length, 1, 'it is not due yet')
})

test('ten missed intervals are made up for by one run', async () => {
  await create({ interval_min: 5, checks: ['clock'] })
  await missed(50)
  await runDue(service.kernel)
  await runDue(service.kernel)
  assert.equal((await runsOf()).length, 1)
})

test('one run of a tenant at a time: what is due while another runs stays due', async () => {
  await create({ checks: ['clock'] })
  await missed(1)
  const { body } = await tenant.ask('POST', '/assurance/run', { body: { background: true } })
  await runDue(service.kernel)
  let runs = await runsOf()
  while (runs.some(({ status }: { status: string }) => status === 'running')) runs = await runsOf()
  await runDue(service.kernel)
  runs = await runsOf()
  assert.deepEqual(runs.map(({ trigger }: { trigger: string }) => trigger).sort(), [
    'request',
    'schedule',
  ])
  assert.equal(runs.at(-1).run_id, body.run_id)
})

test('a run whose process is gone is shown as failed once its lease is over', async () => {
  const { body } = await tenant.ask('POST', '/assurance/run', { body: { checks: ['clock'] } })
  const alter = (until: string) =>
    rawSql(
      service,
      `update assurance_runs set status = 'running', completed_us = null, lease_until_us = ${until}
        where tenant_id = ?`,
      [tenant.tenant_id],
    )
  await alter('9007199254740991')
  await interruptAbandoned(service.kernel)
  assert.equal((await runsOf())[0].status, 'running', 'somebody is at it')
  await alter('1')
  await interruptAbandoned(service.kernel)
  const [run] = await runsOf()
  assert.deepEqual([run.run_id, run.status, run.error], [body.run_id, 'fail', 'interrupted'])
  assert.equal(
    (await tenant.run({ checks: ['clock'] })).status,
    'pass',
    'nothing stands in its way',
  )
})

test("'assurance.schedules' outlive the service, and so does when they are due", async () => {
  const first = await startTestService()
  let kept = false
  try {
    const before = await AssuredTenant.create(first)
    const made = await before.ok('POST', '/assurance/schedules', { interval_min: 7 })
    await first.stop({ keep: true })
    kept = true
    const again = await startTestService({ data_dir: first.data_dir })
    try {
      const answer = await again.request('GET', '/v1/assurance/schedules', { key: before.key })
      assert.deepEqual(answer.body, { schedules: [made] })
    } finally {
      await again.stop()
    }
  } finally {
    if (!kept) await first.stop()
  }
})

test("'assurance.stats' counts the runs that are kept, and the oldest make room", async () => {
  const { run_id } = await tenant.run({ checks: ['clock'] })
  const [row] = await rawSql(service, 'select * from assurance_runs where run_id = ?', [run_id])
  const columns = Object.keys(row ?? {}).filter((name) => name !== 'run_id')
  const copy = `insert into assurance_runs (run_id, ${columns.join(', ')})
    select ?, ${columns.map((name) => (name === 'started_us' ? 'started_us - ?' : name)).join(', ')}
    from assurance_runs where run_id = '${run_id}'`
  for (let i = 1; i < limits.assurance_runs_kept; i += 1)
    await rawSql(service, copy.replaceAll('started_us - ?', `started_us - ${i}`), [`old-${i}`])
  const before = await tenant.ok('GET', '/assurance/stats')
  assert.equal(before.total_runs, limits.assurance_runs_kept)
  await tenant.run({ checks: ['clock'] })
  const { total_runs, passed, failed, active_schedules } = await tenant.ok(
    'GET',
    '/assurance/stats',
  )
  assert.deepEqual(
    [total_runs, passed, failed, active_schedules],
    [limits.assurance_runs_kept, limits.assurance_runs_kept, 0, 0],
  )
  assert.equal(
    (await rawSql(service, `select 1 from assurance_runs where run_id = 'old-499'`)).length,
    0,
  )
})

test('the newest baselines are kept, and the last one counts', async () => {
  let last = ''
  for (let i = 0; i <= limits.assurance_baselines_kept; i += 1)
    last = (await tenant.ok('POST', '/assurance/baseline')).baseline_id
  const sql = 'select * from assurance_baselines where tenant_id = ?'
  const kept = await rawSql(service, sql, [tenant.tenant_id])
  assert.equal(kept.length, limits.assurance_baselines_kept)
  assert.equal((await tenant.ok('GET', '/assurance/baseline')).baseline_id, last)
})

test('a run that the service is stopped amid says so, and holds nothing up', async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const { promise: begun, resolve: tell } = Promise.withResolvers<void>()
  const first = await startTestService({
    step(name) {
      if (name !== 'assurance:begun') return
      tell()
      return gate
    },
  })
  const before = await AssuredTenant.create(first)
  await before.ok('POST', '/assurance/run', { background: true })
  await begun
  const stopped = first.stop({ keep: true })
  open()
  await stopped
  const again = await startTestService({ data_dir: first.data_dir })
  try {
    const { body } = await again.request('GET', '/v1/assurance/runs', { key: before.key })
    assert.deepEqual([body.runs[0].status, body.runs[0].error], ['fail', 'stopped'])
  } finally {
    await again.stop()
  }
})
