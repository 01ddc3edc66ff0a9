// Reports over HTTP: what they count, that they can be made again, checked and deleted.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { REPORT_FRAMEWORKS } from '@custos/contract'
import { canonicalize, detectEnvelope, type JsonObject, verifyEnvelope } from '@custos/proof'
import { formatTime } from '../../platform/clock.ts'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'

let service: TestService
before(async () => {
  service = await startTestService()
})
after(() => service.stop())

const YEAR = { from: '2025-01-01T00:00:00.000000Z', to: '2025-12-31T00:00:00.000000Z' }

async function newTenant(name?: string) {
  const { tenant_id, api_key } = await service.createTenant(name)
  const ask = (method: string, path: string, body?: unknown, key = api_key) =>
    service.request(method, path, body === undefined ? { key } : { key, body })
  const ok = async (method: string, path: string, body?: unknown) => {
    const answer = await ask(method, path, body)
    assert.ok(answer.status < 300, `${path}: ${answer.text}`)
    return answer.body
  }
  const generate = (body: object = {}) => ok('POST', '/v1/reports/generate', body)
  return { tenant_id, api_key, ask, ok, generate }
}
type Tenant = Awaited<ReturnType<typeof newTenant>>

/** The hour up to now, whatever the clock says. */
function around() {
  const now = service.kernel.clock.now()
  const hour = 3_600_000_000
  const [from, before] = [formatTime(now - hour), formatTime(now - 10 * hour)]
  return { from, before, to: formatTime(now) }
}

async function decide({ ok }: Tenant, times = 1) {
  const { store_id } = await ok('POST', '/v1/stores', { name: 'notes' })
  const { ref } = await ok('POST', `/v1/stores/${store_id}/write`, { content: 'Ana is in Porto' })
  for (let i = 0; i < times; i += 1)
    await ok('POST', '/v1/decisions/log', {
      ...{ store_id, model_id: 'model-a', query: `where ${i}`, output: 'Porto' },
      ...{ retrieved_refs: [ref], latency_ms: 2.5 },
    })
  return ref
}

const oversee = ({ ok }: Tenant) =>
  ok('POST', '/v1/governance/policies', {
    name: 'People decide',
    policy_type: 'hitl_required',
    config: { operations: ['artifacts.register'] },
    action: 'escalate',
  })

describe('what a report counts', () => {
  test("of 'reports.generate' is what the log names then, with ids and positions", async () => {
    const tenant = await newTenant()
    const ref = await decide(tenant, 25)
    await oversee(tenant)
    await tenant.ok('POST', '/v1/erasure/issue', { fact_ref: ref })
    const { from, to } = around()
    const report = await tenant.generate({ framework: 'eu_ai_act', from, to })
    const section = report.content.sections.article_12_record_keeping
    const [decisions, log] = section.evidence
    assert.equal(section.finding, 'EVIDENCE_FOUND')
    assert.equal(decisions.count, 25)
    assert.equal(decisions.samples.length, 20)
    const { breadcrumbs } = await tenant.ok('GET', '/v1/gcrumbs/breadcrumbs?limit=1000')
    for (const { seq, id } of decisions.samples) {
      const crumb = breadcrumbs.find((one: { seq: number }) => one.seq === seq)
      assert.deepEqual([crumb.event_type, crumb.subject], ['decision.logged', id])
    }
    assert.equal(log.count, report.log_seq + 1)
    const transparency = report.content.sections.article_13_transparency
    assert.deepEqual(transparency.compliance_evidence.models_used, ['model-a'])
    assert.equal(transparency.compliance_evidence.total_decisions_logged, 25)
    assert.equal(transparency.compliance_evidence.average_latency_ms, 2.5)
    assert.equal(report.content.sections.article_14_human_oversight.finding, 'PARTIAL')
    assert.equal(
      report.content.sections.article_11_technical_documentation.finding,
      'NOT_AUTOMATABLE',
    )
    const gdpr = await tenant.generate({ report_type: 'gdpr', from, to })
    const erasure = gdpr.content.sections.article_17_erasure
    assert.deepEqual([erasure.finding, erasure.missing], ['EVIDENCE_FOUND', []])
  })

  test('is nothing of another time, though the log is verified from its beginning', async () => {
    const tenant = await newTenant()
    await decide(tenant)
    const { from, before: earlier } = around()
    await tenant.ok('POST', '/v1/gcrumbs/roll', {})
    await decide(tenant)
    const report = await tenant.generate({ from: earlier, to: from })
    for (const { status, article, evidence, figures } of report.sections) {
      // Stores and policies stand at the end of the period.
      if (status === 'PARTIAL') assert.equal(article, '30')
      else assert.ok(['INSUFFICIENT_DATA', 'NOT_AUTOMATABLE'].includes(status), article)
      if (article === '30') continue
      assert.deepEqual(evidence, [], article)
      for (const count of Object.values(figures)) assert.equal(count, 0, article)
    }
    assert.equal(report.content.log.epochs_verified, 1)
    assert.equal(report.content.log.status, 'intact')
    assert.deepEqual(report.content.models, [])
    assert.deepEqual(report.content.activity, [])
  })

  test('of policies is what was enabled at the end of the period', async () => {
    const tenant = await newTenant()
    const { policy_id } = await oversee(tenant)
    const ask = () => ({ framework: 'dora', from: around().from, to: around().to })
    const risk = ({ content }: { content: { sections: Record<string, { evidence: object[] }> } }) =>
      content.sections['article_6_ict_risk']?.evidence.map((one) => Object(one).count)
    assert.deepEqual(risk(await tenant.generate(ask())), [1, 1])
    await tenant.ok('DELETE', `/v1/governance/policies/${policy_id}`)
    assert.deepEqual(risk(await tenant.generate(ask())), [0, 2])
  })

  test('is of no worth when the log does not hold', async () => {
    const tenant = await newTenant()
    await decide(tenant)
    const { from, to } = around()
    await rawSql(
      service,
      `update breadcrumbs set record = replace(record, 'store.created', 'store.deleted')
       where tenant_id = ?`,
      [tenant.tenant_id],
    )
    const report = await tenant.generate({ framework: 'gdpr', from, to })
    assert.deepEqual(
      [report.content.log.status, report.content.log.reason],
      ['tampered', 'entry_changed'],
    )
    for (const { status } of report.sections)
      assert.ok(['INSUFFICIENT_DATA', 'NOT_AUTOMATABLE'].includes(status), status)
  })
})

describe('a report', () => {
  test('of the same period and position has the same content, to the byte', async () => {
    const tenant = await newTenant()
    const ref = await decide(tenant, 3)
    const { from, to } = around()
    const ask = { report_type: 'full_audit', from, to }
    const first = await tenant.generate(ask)
    // The log grows, decisions lose what was erased, checkpoints are signed.
    await tenant.ok('POST', '/v1/gcrumbs/roll', {})
    await decide(tenant, 2)
    await tenant.ok('POST', '/v1/erasure/issue', { fact_ref: ref })
    await tenant.ok('POST', '/v1/gcrumbs/roll', {})
    const again = await tenant.generate({ ...ask, log_seq: first.log_seq })
    assert.notEqual(again.report_id, first.report_id)
    assert.equal(canonicalize(again.content), canonicalize(first.content))
    assert.equal(again.content_hash, first.content_hash)
    const newer = await tenant.generate(ask)
    assert.notEqual(newer.content_hash, first.content_hash)
  })

  test('never says that anybody complies', async () => {
    const tenant = await newTenant()
    await decide(tenant)
    const report = await tenant.generate()
    assert.deepEqual(Object.keys(report.content.frameworks).sort(), [...REPORT_FRAMEWORKS].sort())
    assert.doesNotMatch(JSON.stringify(report), /compliant/i)
    const { text } = await tenant.ask('GET', `/v1/reports/${report.report_id}/download?format=html`)
    assert.doesNotMatch(text, /compliant/i)
  })

  test("of 'reports.download' is checked offline as it came; changed, it fails", async () => {
    const tenant = await newTenant()
    await decide(tenant)
    const { report_id } = await tenant.generate({ framework: 'hipaa', title: 'For the auditor' })
    const { text, headers } = await tenant.ask('GET', `/v1/reports/${report_id}/download`)
    assert.match(headers.get('content-disposition') ?? '', /custos_hipaa_\d{8}\.json"$/)
    const { keys } = await tenant.ok('GET', '/v1/gcrumbs/public_key')
    const verify = (json: unknown) => verifyEnvelope(detectEnvelope(json), { keys })
    const verdict = await verify(JSON.parse(text))
    assert.equal(verdict.valid, true, verdict.reason)
    const changes: [string, (report: JsonObject) => JsonObject][] = [
      ['content_hash', (r) => ({ ...r, content: { ...Object(r['content']), tenant_id: 'other' } })],
      ['signature', (r) => ({ ...r, title: 'For nobody' })],
      ['key_known', (r) => ({ ...r, key_id: 'f'.repeat(16) })],
    ]
    for (const [check, change] of changes) {
      const { checks } = await verify(change(JSON.parse(text)))
      const failed = checks.filter(({ ok }) => !ok).map(({ name }) => name)
      assert.ok(failed.includes(check), `${check}: ${failed}`)
    }
  })

  test('that is deleted takes none off the pages after it', async () => {
    const tenant = await newTenant()
    const made: string[] = []
    for (let i = 0; i < 3; i += 1) made.unshift((await tenant.generate()).report_id)
    let cursor: string | null = ''
    for (const report_id of made) {
      const path: string = `/v1/reports?limit=1${cursor && `&cursor=${cursor}`}`
      const { reports, next_cursor } = await tenant.ok('GET', path)
      assert.equal(reports[0].report_id, report_id)
      await tenant.ok('DELETE', `/v1/reports/${report_id}`)
      cursor = next_cursor
    }
  })

  // What reports.get, reports.list and reports.stats say of one that is gone.
  test("is on the log when it is made, and 'reports.delete' leaves a tombstone", async () => {
    const tenant = await newTenant()
    const { report_id, content_hash } = await tenant.generate({ title: 'Soon gone' })
    const path = `/v1/reports/${report_id}`
    assert.equal((await tenant.ok('GET', '/v1/reports')).reports[0].title, 'Soon gone')
    assert.equal((await tenant.ok('DELETE', path)).deleted, true)
    for (const [method, at] of [
      ['GET', path],
      ['GET', `${path}/download`],
      ['DELETE', path],
    ] as const)
      assert.equal((await tenant.ask(method, at)).body.error, 'report_not_found')
    assert.deepEqual((await tenant.ok('GET', '/v1/reports/')).reports, [])
    const { reports } = await tenant.ok('GET', '/v1/reports?include_deleted=true')
    assert.deepEqual(
      [reports[0].status, reports[0].title, reports[0].content_hash],
      ['deleted', null, content_hash],
    )
    const [row] = await rawSql(
      service,
      'select * from reports where tenant_id = ? and size_bytes > 0 and deleted_us is not null',
      [tenant.tenant_id],
    )
    assert.deepEqual([row?.['sealed'], row?.['sealed_title']], [null, null])
    const secret_no = Number(row?.['secret_no'])
    const { keyring } = service.kernel
    const secrets = await keyring.secrets(tenant.tenant_id, 'decision', [secret_no])
    assert.equal(secrets.get(secret_no), null)
    const { breadcrumbs } = await tenant.ok('GET', '/v1/gcrumbs/breadcrumbs?limit=1000')
    const named = breadcrumbs.filter(({ subject }: { subject: string }) => subject === report_id)
    assert.deepEqual(
      named.map((one: { event_type: string }) => one.event_type),
      ['report.generated', 'report.deleted'],
    )
    for (const { payload } of named) assert.equal(payload.content_digest, content_hash)
    const { total_reports, deleted } = await tenant.ok('GET', '/v1/reports/stats')
    assert.deepEqual([total_reports, deleted], [0, 1])
  })

  test('is made once for a key, and answered again', async () => {
    const tenant = await newTenant()
    const headers = { 'idempotency-key': 'once' }
    const sent = { key: tenant.api_key, headers, body: { framework: 'gdpr' } }
    const first = await service.request('POST', '/v1/reports/generate', sent)
    const again = await service.request('POST', '/v1/reports/generate', sent)
    assert.deepEqual(again.body, first.body)
    assert.equal((await tenant.ok('GET', '/v1/reports')).count, 1)
  })

  test('holds nothing of its title but text on its page', async () => {
    const tenant = await newTenant()
    const title = `<script>alert('x')</script>&"`
    const { report_id } = await tenant.generate({ title })
    const { text, headers } = await tenant.ask(
      'GET',
      `/v1/reports/${report_id}/download?format=html`,
    )
    assert.equal(headers.get('content-type'), 'text/html; charset=utf-8')
    assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'.*sandbox/)
    assert.ok(!text.includes('<script'))
    assert.ok(text.includes('&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&quot;'))
    assert.equal(text.match(/<svg class="chart"/g)?.length, 2)
  })
})

describe('an existing client', () => {
  test('reads sections with texts as evidence, a detail, figures and a headline', async () => {
    const tenant = await newTenant('North Ward')
    const ref = await decide(tenant)
    await tenant.ok('POST', '/v1/erasure/issue', { fact_ref: ref })
    const report = await tenant.generate({ framework: 'gdpr' })
    assert.deepEqual([report.report_version, report.tenant_name], [2, 'North Ward'])
    for (const { evidence, detail, figures, status } of report.sections) {
      const found = Object.values(figures).filter((count) => Number(count) > 0)
      assert.equal(evidence.length, found.length)
      for (const text of evidence) assert.match(text, /^[A-Z].*: \d+ \(log positions .*\d\)$/)
      assert.match(detail, /\. Not covered: /)
      assert.equal(status === 'EVIDENCE_FOUND', /^Evidence of every kind/.test(detail))
    }
    const erasure = report.sections.find(({ article }: { article: string }) => article === '17')
    assert.deepEqual(erasure.figures, { erasures_certified: 1, memories_erased: 1 })
    const { headline, sections } = report
    const some = sections.filter(({ status }: { status: string }) =>
      ['EVIDENCE_FOUND', 'PARTIAL'].includes(status),
    ).length
    const none = sections.length - some
    assert.equal(
      headline,
      `${some} of ${sections.length} articles have evidence on record; ${none} have none`,
    )
    assert.equal(report.content.headline, headline)
  })

  test('asks for a period by dates: the last one is included, and today ends now', async () => {
    const tenant = await newTenant()
    const day = (daysAgo: number) =>
      formatTime(service.kernel.clock.now() - daysAgo * 86_400_000_000).slice(0, 10)
    const past = await tenant.generate({ framework: 'hipaa', from: day(9), to: day(3) })
    assert.equal(past.period_start, `${day(9)}T00:00:00.000000Z`)
    assert.equal(past.period_end, `${day(2)}T00:00:00.000000Z`)
    const today = await tenant.generate({ framework: 'hipaa', to: day(0), period_days: 1 })
    assert.ok(today.period_end > `${day(0)}T00:00:00` && today.period_end <= today.generated_at)
    const naive = await tenant.generate({ framework: 'hipaa', from: `${day(9)}T12:30`, to: day(3) })
    assert.equal(naive.period_start, `${day(9)}T12:30:00.000000Z`)
    const tomorrow = await tenant.ask('POST', '/v1/reports/generate', { to: day(-1) })
    assert.deepEqual([tomorrow.status, tomorrow.body.error], [422, 'rejected'])
  })
})

test('article 30 is judged by places, time limits and policies, not by decisions', async () => {
  const tenant = await newTenant()
  const ask = async () => {
    const report = await tenant.generate({ framework: 'gdpr' })
    return report.sections.find(({ article }: { article: string }) => article === '30')
  }
  assert.equal((await ask()).status, 'INSUFFICIENT_DATA')
  await decide(tenant, 3)
  const { status, figures } = await ask()
  assert.equal(status, 'PARTIAL')
  assert.deepEqual(figures, {
    processing_stores: 1,
    time_limits_in_force: 0,
    policies_in_force: 0,
  })
  const { stores } = await tenant.ok('GET', '/v1/stores')
  const [{ store_id }] = stores
  await tenant.ok('PUT', `/v1/stores/${store_id}/retention`, { retain_days: 30 })
  await oversee(tenant)
  assert.equal((await ask()).status, 'EVIDENCE_FOUND')
  await tenant.ok('PUT', `/v1/stores/${store_id}/retention`, { retain_days: null })
  assert.equal((await ask()).status, 'PARTIAL')
})

describe('who asks for a report', () => {
  const refusals = {
    'names two frameworks': { report_type: 'gdpr', framework: 'dora' },
    'gives both a beginning and days': { from: YEAR.from, period_days: 3 },
    'gives a period that ends first': { from: YEAR.to, to: YEAR.from },
    'gives a period of two years': { from: '2023-01-01T00:00:00Z', to: YEAR.from },
    'gives a period that has not ended': { to: '2100-01-01T00:00:00Z' },
    'names a position the log has not': { log_seq: 1_000_000 },
  }
  for (const [about, body] of Object.entries(refusals))
    test(`and ${about} is refused`, async () => {
      const tenant = await newTenant()
      const answer = await tenant.ask('POST', '/v1/reports/generate', body)
      assert.deepEqual([answer.status, answer.body.error], [422, 'rejected'], answer.text)
      assert.equal((await tenant.ok('GET', '/v1/reports')).count, 0)
    })

  test('with a key for some stores only is refused', async () => {
    const tenant = await newTenant()
    const { store_id } = await tenant.ok('POST', '/v1/stores', { name: 'one' })
    const { api_key } = await tenant.ok('POST', '/v1/keys', {
      name: 'limited',
      scopes: ['*'],
      allowed_stores: [store_id],
    })
    for (const [method, path] of [
      ['POST', '/v1/reports/generate'],
      ['GET', '/v1/reports'],
      ['GET', '/v1/reports/stats'],
    ] as const) {
      const body = method === 'POST' ? {} : undefined
      assert.equal((await tenant.ask(method, path, body, api_key)).status, 403, path)
    }
  })
})

test("'reports.frameworks' lists dates, sources and what speaks to each article", async () => {
  const { ok } = await newTenant()
  const { frameworks, evidence } = await ok('GET', '/v1/reports/frameworks')
  assert.deepEqual(
    frameworks.map(({ type }: { type: string }) => type),
    [...REPORT_FRAMEWORKS, 'full_audit'],
  )
  for (const { catalogue } of frameworks)
    for (const row of catalogue) for (const name of row.evidence) assert.ok(evidence[name], name)
})
