// Reports made in the background: fixed when asked for, followed, cancelled, and made once.

import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, afterEach, before, describe, test } from 'node:test'
import { canonicalize, verifyEnvelope } from '@custos/proof'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'

const TITLE = 'For the auditor in Porto'
const GENERATE = '/v1/reports/generate'

let service: TestService
/** Where work stands still until it is told to go on. */
let gates: Gate[] = []

interface Gate {
  readonly step: string
  readonly reached: PromiseWithResolvers<void>
  readonly open: PromiseWithResolvers<void>
}

before(async () => {
  service = await startTestService({
    async step(name) {
      for (const { step, reached, open } of gates) {
        if (step !== name) continue
        reached.resolve()
        await open.promise
      }
    },
  })
})
afterEach(() => {
  for (const { open } of gates) open.resolve()
  gates = []
})
after(() => service.stop())

function holdAt(step: string): Gate {
  const gate = { step, reached: Promise.withResolvers<void>(), open: Promise.withResolvers<void>() }
  gates.push(gate)
  return gate
}

async function newTenant() {
  const { tenant_id, api_key } = await service.createTenant()
  const ask = (method: string, path: string, body?: unknown, key = api_key) =>
    service.request(method, path, body === undefined ? { key } : { key, body })
  const ok = async (method: string, path: string, body?: unknown) => {
    const answer = await ask(method, path, body)
    assert.ok(answer.status < 300, `${path}: ${answer.text}`)
    return answer.body
  }
  const order = async (body: object = {}) => {
    const answer = await ask('POST', GENERATE, { framework: 'gdpr', background: true, ...body })
    assert.equal(answer.status, 202, answer.text)
    return answer.body
  }
  const ended = async (job_id: string) => {
    await service.kernel.jobs.idle()
    return ok('GET', `/v1/jobs/${job_id}`)
  }
  const limitedTo = async (more: object) =>
    (await ok('POST', '/v1/keys', { name: 'limited', ...more })).api_key
  return { tenant_id, api_key, ask, ok, order, ended, limitedTo }
}
type Tenant = Awaited<ReturnType<typeof newTenant>>

async function decide({ ok }: Tenant): Promise<string> {
  const { store_id } = await ok('POST', '/v1/stores', { name: 'notes' })
  const body = { store_id, model_id: 'model-a', query: 'where', output: 'Porto', latency_ms: 2.5 }
  await ok('POST', '/v1/decisions/log', body)
  return store_id
}

const entriesAbout = async ({ ok }: Tenant, report_id: string): Promise<string[]> => {
  const { breadcrumbs } = await ok('GET', '/v1/gcrumbs/breadcrumbs?limit=1000')
  return breadcrumbs
    .filter(({ subject }: { subject: string }) => subject === report_id)
    .map(({ event_type }: { event_type: string }) => event_type)
}

const rowsOf = (table: string, { tenant_id }: Tenant) =>
  rawSql(service, `select * from ${table} where tenant_id = ?`, [tenant_id])

describe('a report made in the background', () => {
  test("by 'reports.generate' is the one made while its caller waits, and verifies", async () => {
    const tenant = await newTenant()
    await decide(tenant)
    const ordered = await tenant.order({ framework: 'full_audit', title: TITLE })
    assert.equal(ordered.status, 'generating')
    const job = await tenant.ended(ordered.job_id)
    assert.deepEqual([job.kind, job.state, job.error], ['report.generate', 'done', null])
    assert.deepEqual(job.result, { report_id: ordered.report_id })
    const entries = ordered.log_seq + 1
    assert.deepEqual(job.progress, { done: entries, total: entries })

    const report = await tenant.ok('GET', `/v1/reports/${ordered.report_id}`)
    const { report_type, period_start, period_end, log_seq } = ordered
    assert.deepEqual(
      [report.title, report.report_type, report.period_start, report.period_end, report.log_seq],
      [TITLE, report_type, period_start, period_end, log_seq],
    )
    const same = { framework: 'full_audit', from: period_start, to: period_end, log_seq }
    const waited = await tenant.ok('POST', GENERATE, same)
    assert.equal(canonicalize(waited.content), canonicalize(report.content))
    const { keys } = await tenant.ok('GET', '/v1/gcrumbs/public_key')
    const verdict = await verifyEnvelope(
      { type: 'record', kind: 'report', record: report },
      { keys },
    )
    assert.equal(verdict.valid, true, verdict.reason)
    assert.deepEqual(await entriesAbout(tenant, ordered.report_id), ['report.generated'])
    assert.deepEqual(await rowsOf('report_requests', tenant), [])
  })

  test('is about the log and the time it was asked for, whatever comes after', async () => {
    const tenant = await newTenant()
    const gate = holdAt('report:begun')
    const ordered = await tenant.order()
    await gate.reached.promise
    await decide(tenant)
    gate.open.resolve()
    await tenant.ended(ordered.job_id)
    const { content } = await tenant.ok('GET', `/v1/reports/${ordered.report_id}`)
    assert.equal(content.log_seq, ordered.log_seq)
    assert.equal(content.sections.article_30_records.evidence[0].count, 0)
  })

  test('keeps its title sealed: not in its job, and nowhere in clear', async () => {
    const tenant = await newTenant()
    const gate = holdAt('report:begun')
    await tenant.order({ title: TITLE })
    await gate.reached.promise
    const [request] = await rowsOf('report_requests', tenant)
    const [job] = await rowsOf('jobs', tenant)
    for (const row of [request, job])
      for (const value of Object.values(row ?? {}))
        assert.ok(!Buffer.from(String(value)).includes('Porto') && !holds(value, 'Porto'))
    assert.ok(request && job)
  })

  test('is asked for once under an Idempotency-Key', async () => {
    const tenant = await newTenant()
    const headers = { 'idempotency-key': 'once' }
    const sent = { key: tenant.api_key, headers, body: { framework: 'gdpr', background: true } }
    const first = await service.request('POST', GENERATE, sent)
    const again = await service.request('POST', GENERATE, sent)
    assert.deepEqual([first.status, again.status], [202, 202])
    assert.deepEqual(again.body, first.body)
    await tenant.ended(first.body.job_id)
    const late = await service.request('POST', GENERATE, sent)
    assert.deepEqual(late.body, first.body)
    assert.equal((await tenant.ok('GET', '/v1/reports')).count, 1)
  })

  test('of a position the log has not is refused, and no job begins', async () => {
    const tenant = await newTenant()
    const body = { framework: 'gdpr', background: true, log_seq: 1_000_000 }
    const answer = await tenant.ask('POST', GENERATE, body)
    assert.deepEqual([answer.status, answer.body.error], [422, 'rejected'])
    assert.deepEqual(await rowsOf('jobs', tenant), [])
  })

  test('waits with at most 19 others of its tenant', async () => {
    const tenant = await newTenant()
    const gate = holdAt('report:begun')
    for (let i = 0; i < 20; i += 1) await tenant.order()
    const answer = await tenant.ask('POST', GENERATE, { background: true })
    assert.deepEqual([answer.status, answer.body.error], [422, 'rejected'])
    gate.open.resolve()
    await service.kernel.jobs.idle()
    assert.equal((await tenant.ok('GET', '/v1/reports')).count, 20)
  })
})

const holds = (value: unknown, text: string): boolean =>
  value instanceof Uint8Array && Buffer.from(value).includes(text)

describe("'jobs.cancel'", () => {
  test('ends a report that is being made, and nothing of it remains', async () => {
    const tenant = await newTenant()
    const gate = holdAt('report:gathered')
    const { job_id, report_id } = await tenant.order({ title: TITLE })
    await gate.reached.promise
    const cancelled = await tenant.ok('DELETE', `/v1/jobs/${job_id}`)
    assert.deepEqual([cancelled.state, cancelled.result], ['cancelled', null])
    gate.open.resolve()
    // Behind it in the queue: it has ended when this has.
    const next = await tenant.order()
    assert.equal((await tenant.ended(next.job_id)).state, 'done')
    assert.equal((await tenant.ok('GET', `/v1/jobs/${job_id}`)).state, 'cancelled')
    assert.equal((await tenant.ask('GET', `/v1/reports/${report_id}`)).status, 404)
    assert.equal((await tenant.ok('GET', '/v1/reports')).count, 1)
    assert.deepEqual(await entriesAbout(tenant, report_id), [])
    assert.deepEqual(await rowsOf('report_requests', tenant), [])
  })

  test('ends one that waits for its turn at once', async () => {
    const tenant = await newTenant()
    const gate = holdAt('report:begun')
    const first = await tenant.order()
    await gate.reached.promise
    const second = await tenant.order()
    const { state, attempts } = await tenant.ok('DELETE', `/v1/jobs/${second.job_id}`)
    assert.deepEqual([state, attempts], ['cancelled', 0])
    gate.open.resolve()
    assert.equal((await tenant.ended(first.job_id)).state, 'done')
    assert.equal((await tenant.ok('GET', `/v1/jobs/${second.job_id}`)).state, 'cancelled')
  })

  test('refuses what has ended, and what must be finished', async () => {
    const tenant = await newTenant()
    const { job_id } = await tenant.order()
    const done = await tenant.ended(job_id)
    assert.equal(done.cancellable, true)
    const late = await tenant.ask('DELETE', `/v1/jobs/${job_id}`)
    assert.deepEqual([late.status, late.body.error], [409, 'job_ended'])
    const store_id = await decide(tenant)
    const erasing = await tenant.ok('DELETE', `/v1/stores/${store_id}`)
    const refused = await tenant.ask('DELETE', `/v1/jobs/${erasing.job_id}`)
    assert.deepEqual([refused.status, refused.body.error], [409, 'job_not_cancellable'])
    const { state, cancellable } = await tenant.ended(erasing.job_id)
    assert.deepEqual([state, cancellable], ['done', false])
  })

  test('is for keys that may start a report; others may read how far it is', async () => {
    const tenant = await newTenant()
    const gate = holdAt('report:begun')
    const { job_id } = await tenant.order()
    await gate.reached.promise
    const path = `/v1/jobs/${job_id}`
    const reader = await tenant.limitedTo({ scopes: ['compliance:read'] })
    assert.equal((await tenant.ask('GET', path, undefined, reader)).status, 200)
    assert.equal((await tenant.ask('DELETE', path, undefined, reader)).body.error, 'scope_missing')
    const { store_id } = await tenant.ok('POST', '/v1/stores', { name: 'one' })
    const limited = await tenant.limitedTo({ scopes: ['*'], allowed_stores: [store_id] })
    assert.equal((await tenant.ask('DELETE', path, undefined, limited)).body.error, 'scope_missing')
    const other = await newTenant()
    assert.equal((await other.ask('DELETE', path)).body.error, 'job_not_found')
    gate.open.resolve()
    assert.equal((await tenant.ended(job_id)).state, 'done')
  })
})

test('whoever goes away before the answer leaves no report behind', async () => {
  const tenant = await newTenant()
  const gate = holdAt('report:asked')
  const { hostname, port } = new URL(service.url)
  const headers = {
    ...{ authorization: `Bearer ${tenant.api_key}`, 'content-type': 'application/json' },
  }
  const waiting = request({ hostname, port, path: GENERATE, method: 'POST', headers })
  const closed = new Promise((resolve) => waiting.on('close', resolve))
  waiting.on('error', () => {})
  waiting.end('{}')
  await gate.reached.promise
  waiting.destroy()
  await closed
  // Heard of after the end of the other connection.
  for (let i = 0; i < 3; i += 1) await service.request('GET', '/health')
  gate.open.resolve()
  // One after another: when this is made the other one would have been.
  await tenant.ok('POST', GENERATE, { framework: 'gdpr' })
  const { reports } = await tenant.ok('GET', '/v1/reports')
  assert.deepEqual(
    reports.map(({ report_type }: { report_type: string }) => report_type),
    ['gdpr'],
  )
})
