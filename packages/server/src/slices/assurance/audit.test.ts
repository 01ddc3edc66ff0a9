// The check `conformance`: a real run of the suite against this service, signed and on the log.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { detectEnvelope, verifyEnvelope } from '@custos/proof'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { interruptAbandoned } from './index.ts'
import { AssuredTenant } from './testing/assured.ts'

let service: TestService
let tenant: AssuredTenant
let run: Record<string, unknown> & { checks_results: Record<string, Record<string, unknown>> }

before(async () => {
  service = await startTestService()
  tenant = await AssuredTenant.create(service)
  run = await tenant.run({ checks: ['conformance'] })
})
after(() => service.stop())

const operator = (path: string) =>
  service.request('GET', `/v1${path}`, { key: service.operator_key })
const historyOf = (who: AssuredTenant, query = '') =>
  who.ask('GET', `/cloud/tenants/${who.tenant_id}/compliance${query}`)
const badgeOf = (tenant_id: string, type: 'svg' | 'json') =>
  service.request('GET', `/v1/cloud/compliance/badge/${tenant_id}.${type}`)

test('the suite passes on this service, but for what one tenant cannot show', () => {
  const { conformance } = run.checks_results
  assert.deepEqual([run['status'], conformance?.['status']], ['pass', 'pass'])
  assert.deepEqual(conformance?.['counts'], {
    passed: 6,
    tested: 6,
    not_tested: 1,
    not_declared: 3,
  })
  assert.match(String(conformance?.['detail']), /; declared, but not tested: multi_tenant$/)
})

test("'compliance.history' has the signed result, and the log its digest", async () => {
  const { status, body } = await historyOf(tenant)
  assert.equal(status, 200)
  const [audit, ...others] = body
  assert.deepEqual(others, [])
  assert.deepEqual([audit.tenant_id, audit.conformance_rate], [tenant.tenant_id, 1])
  assert.ok(audit.capabilities.includes('hard_delete'))
  assert.equal(audit.capabilities.includes('multi_tenant'), false, 'it was not tested')

  const keys = service.kernel.keyring.publishedKeys()
  const envelope = {
    type: 'record',
    kind: 'conformance_result',
    record: audit.report_json,
  } as const
  assert.deepEqual(detectEnvelope(audit.report_json), envelope, 'as custos verify takes it')
  assert.equal((await verifyEnvelope(envelope, { keys })).valid, true)
  const better = { ...audit.report_json, tested: 10, passed: 10 }
  assert.equal((await verifyEnvelope({ ...envelope, record: better }, { keys })).valid, false)

  const found = await rawSql(
    service,
    `select record from breadcrumbs where tenant_id = ? and record like '%conformance.audited%'`,
    [tenant.tenant_id],
  )
  const entry = JSON.parse(String(found[0]?.['record']))
  assert.deepEqual([entry.subject, entry.payload.rate_e6], [audit.id, 1_000_000])
})

test("what the suite erased is a self-test's: not in statistics, reports or usage", async () => {
  await service.kernel.jobs.idle()
  const { certificates } = await tenant.ok('GET', '/erasure?limit=100')
  assert.ok(certificates.length > 10)
  for (const { legal_basis, requested_by, verified } of certificates)
    assert.deepEqual(
      [legal_basis, requested_by, verified],
      ['none: synthetic data of a self-test', 'self_test', true],
    )
  const stats = await tenant.ok('GET', '/erasure/stats')
  assert.deepEqual([stats.total, stats.erased, stats.first_erasure], [0, 0, null])
  assert.ok(stats.self_tests >= certificates.length)
  const seen = await tenant.ok('GET', '/monitoring/stats')
  assert.deepEqual([seen.certificates, seen.usage_this_month.deletes], [0, 0])
  const report = await tenant.ok('POST', '/reports/generate', { framework: 'gdpr' })
  const erasure = report.sections.find(({ article }: { article: string }) => article === '17')
  assert.deepEqual(erasure.figures, { erasures_certified: 0, memories_erased: 0 })
  assert.equal(erasure.status, 'INSUFFICIENT_DATA')
})

const storeIds = async (): Promise<string[]> =>
  (await tenant.ok('GET', '/stores')).stores.map(({ store_id }: { store_id: string }) => store_id)

test('nothing of the suite is left: no store, no job, no key', async () => {
  await service.kernel.jobs.idle()
  assert.deepEqual(await storeIds(), ['default'])
  assert.equal((await tenant.ok('GET', '/keys')).keys.length, 1, 'its first key only')
  assert.deepEqual((await tenant.run()).status, 'pass')
})

test("'compliance.status' is the operator's, the history one's own", async () => {
  const other = await AssuredTenant.create(service)
  assert.deepEqual((await historyOf(other)).body, [])
  const foreign = await other.ask('GET', `/cloud/tenants/${tenant.tenant_id}/compliance`)
  assert.deepEqual([foreign.status, foreign.body.error], [404, 'tenant_not_found'])
  assert.equal((await operator(`/cloud/tenants/${tenant.tenant_id}/compliance`)).body.length, 1)
  assert.equal((await operator('/cloud/tenants/nobody/compliance')).status, 404)

  const { body } = await operator('/cloud/compliance/status')
  assert.deepEqual(
    body.tenants.map(({ tenant_id, report_json }: Record<string, unknown>) => [
      tenant_id,
      report_json,
    ]),
    [[tenant.tenant_id, null]],
  )
  const own = await tenant.ask('GET', '/cloud/compliance/status')
  assert.deepEqual([own.status, own.body.error], [403, 'operator_required'])
})

test('the pages of the status cover every tenant once', async () => {
  const seen: string[] = []
  let path = '/cloud/compliance/status?limit=1'
  for (let pages = 0; pages < 50; pages += 1) {
    const { body } = await operator(path)
    seen.push(...body.tenants.map(({ tenant_id }: { tenant_id: string }) => tenant_id))
    if (body.next_cursor === null) break
    path = `/cloud/compliance/status?limit=1&cursor=${body.next_cursor}`
  }
  assert.deepEqual(seen, [tenant.tenant_id])
})

test('a page of the status goes on behind a tenant, also where one came before it', async () => {
  let path = '/cloud/compliance/status?limit=1'
  let page = (await operator(path)).body
  for (let pages = 0; pages < 50 && page.tenants.length === 0; pages += 1) {
    path = `/cloud/compliance/status?limit=1&cursor=${page.next_cursor}`
    page = (await operator(path)).body
  }
  assert.equal(page.tenants[0].tenant_id, tenant.tenant_id)
  for (let made = '~', i = 0; made > tenant.tenant_id && i < 500; i += 1)
    made = (await service.createTenant()).tenant_id
  const next = await operator(`/cloud/compliance/status?limit=1000&cursor=${page.next_cursor}`)
  assert.deepEqual(next.body.tenants, [])
})

test("the bounds of 'compliance.history' are held, newest first", async () => {
  await rawSql(
    service,
    `insert into conformance_audits
      select tenant_id, seq + 100000, 'ff', run_id, store_id, 500000, capabilities, audited_us,
        record from conformance_audits where tenant_id = ?`,
    [tenant.tenant_id],
  )
  const rates = (await historyOf(tenant)).body.map(
    ({ conformance_rate }: { conformance_rate: number }) => conformance_rate,
  )
  assert.deepEqual(rates, [0.5, 1])
  assert.equal((await historyOf(tenant, '?limit=1')).body.length, 1)
  for (const limit of [0, 101])
    assert.equal((await historyOf(tenant, `?limit=${limit}`)).status, 422)
  assert.match((await badgeOf(tenant.tenant_id, 'svg')).text, /M8: 0\.500 \| FAIL/)
  await rawSql(service, `delete from conformance_audits where audit_id = 'ff'`)
})

test("'compliance.badge_svg' and 'compliance.badge_json' are public and may be kept", async () => {
  const svg = await badgeOf(tenant.tenant_id, 'svg')
  assert.equal(svg.status, 200)
  assert.equal(svg.headers.get('content-type'), 'image/svg+xml')
  assert.match(svg.text, /aria-label="GMP v0\.2: M8: 1\.000 \| PASS"/)
  const json = await badgeOf(tenant.tenant_id, 'json')
  assert.deepEqual(json.body, {
    schemaVersion: 1,
    label: 'GMP v0.2',
    message: 'M8: 1.000 | PASS',
    color: 'brightgreen',
  })
  for (const { headers } of [svg, json])
    assert.equal(headers.get('cache-control'), 'no-cache, max-age=300')
})

test('a tenant that does not exist looks like one without an audit, in every header', async () => {
  const unaudited = await AssuredTenant.create(service)
  const own = ['date', 'x-request-id']
  for (const type of ['svg', 'json'] as const) {
    const known = await badgeOf(unaudited.tenant_id, type)
    const strangers = ['nobody', 'f'.repeat(32), encodeURIComponent(`a"><script>/'&`), '%20']
    for (const stranger of strangers) {
      const answer = await badgeOf(stranger, type)
      assert.deepEqual([answer.status, answer.text], [known.status, known.text], stranger)
      const headersOf = ({ headers }: typeof known) =>
        [...headers].filter(([name]) => !own.includes(name))
      assert.deepEqual(headersOf(answer), headersOf(known), stranger)
    }
  }
})

test('an audit with another rate, or that is gone, is found by the next run', async () => {
  const whats = async () => {
    const { findings } = (await tenant.run({ checks: ['seals'] })).checks_results.seals
    return findings.map(({ kind, what }: Record<string, string>) => `${kind}: ${what}`)
  }
  assert.deepEqual(await whats(), [])
  const where = 'where tenant_id = ?'
  const alter = (sql: string, values: string[] = []) =>
    rawSql(service, `${sql} ${where}`, [...values, tenant.tenant_id])
  const [row] = await alter('select record from conformance_audits')
  const record = String(Object(row)['record'])
  await alter('update conformance_audits set rate_e6 = 900000')
  assert.deepEqual(await whats(), ['audit: the row differs from the record in it'])
  await alter('update conformance_audits set rate_e6 = 1000000')
  const better = record.replace('"not_tested"', '"pass"')
  await alter('update conformance_audits set record = ?', [better])
  assert.match(String(await whats()), /^audit: does not verify: /)
  await alter('update conformance_audits set record = ?, seq = seq + 1', [record])
  assert.deepEqual(await whats(), ['audit: the log has no entry at its place'])
  await alter(`update conformance_audits set audit_id = 'ff', seq = seq - 1`)
  assert.ok((await whats()).includes('audit: logged, and not here'))
  await alter('update conformance_audits set audit_id = ?', [JSON.parse(record).audit_id])
  assert.deepEqual(await whats(), [])
})

test('where a policy keeps the suite out there is no audit, and the last one stands', async () => {
  const strict = await AssuredTenant.create(service)
  const policy = { name: 'No models', policy_type: 'data_scope', config: { allowed_stores: ['x'] } }
  await strict.ok('POST', '/governance/policies', policy)
  const { status, checks_results } = await strict.run({ checks: ['conformance'] })
  assert.equal(checks_results.conformance.passed, false)
  assert.equal(checks_results.conformance.status, 'not_checked')
  assert.match(checks_results.conformance.detail, /could test nothing/)
  assert.equal(status, 'fail', 'a run in which nothing passed assures nothing')
  assert.deepEqual((await historyOf(strict)).body, [])
  assert.equal((await badgeOf(strict.tenant_id, 'json')).body.message, 'not audited')

  await rawSql(
    service,
    `insert into conformance_audits
      select ?, seq, audit_id, run_id, store_id, rate_e6, capabilities, audited_us, record
        from conformance_audits where tenant_id = ?`,
    [strict.tenant_id, tenant.tenant_id],
  )
  const both = await strict.run({ checks: ['clock', 'conformance'] })
  assert.equal(both.checks_results.clock.status, 'pass')
  assert.equal(both.status, 'fail', 'what was asked for by name was not checked')
  assert.equal((await historyOf(strict)).body.length, 1)
  assert.equal((await badgeOf(strict.tenant_id, 'json')).body.message, 'M8: 1.000 | PASS')
  const { breadcrumbs } = await strict.ok('GET', '/gcrumbs/breadcrumbs?limit=1000')
  const types = breadcrumbs.map(({ event_type }: { event_type: string }) => event_type)
  assert.equal(types.includes('conformance.audited'), false)
})

test('what a policy kept from being tested is named', async () => {
  const strict = await AssuredTenant.create(service)
  await strict.ok('POST', '/governance/policies', {
    name: 'Nothing goes',
    policy_type: 'hitl_required',
    action: 'deny',
    config: { operations: ['memory.delete'] },
  })
  const { conformance } = (await strict.run({ checks: ['conformance'] })).checks_results
  assert.match(conformance.detail, /not tested: hard_delete, multi_tenant$/)
})

test('stores that a killed run has left are deleted by whoever takes over', async () => {
  const { store_id } = await tenant.ok('POST', '/stores', { name: 'conformance-left' })
  await rawSql(
    service,
    `update assurance_runs set status = 'running', lease_until_us = 1, scratch = ?
      where run_id = ?`,
    [JSON.stringify([store_id, 'ffffffffffff']), String(run['run_id'])],
  )
  await interruptAbandoned(service.kernel)
  await service.kernel.jobs.idle()
  assert.deepEqual(await storeIds(), ['default'])
})
