// GET /metrics: who may read it, closed names and labels, and values that are true of stored state.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import * as contract from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { movedClock } from '../../testing/skewed-clock.ts'
import { ApprovingTenant } from '../approvals/testing/approval-scene.ts'
import { subjectScene } from '../subjects/testing/scene.ts'
import { scrape } from './testing/scrape.ts'

const HOUR_US = 3_600_000_000
const CONFIG = { address: null, open: false, compat: false }

let service: TestService
let clock: ReturnType<typeof movedClock>
let holdErasures: Promise<void> | undefined

const step = async (name: string) => {
  if (name === 'subject:begun') await holdErasures
}

before(async () => {
  clock = movedClock()
  service = await startTestService({ clock, step })
})
after(() => service.stop())

test('metrics are told to operators alone, and refusals are those of every operation', async () => {
  const { api_key } = await service.createTenant()
  const ask = (method: string, key?: string) =>
    service.request(method, '/metrics', key === undefined ? {} : { key })
  const told = async (answer: ReturnType<typeof ask>) => {
    const { status, body } = await answer
    return [status, body?.error]
  }
  assert.deepEqual(await told(ask('GET')), [401, 'unauthenticated'])
  assert.deepEqual(await told(ask('GET', 'unknown-key')), [401, 'unauthenticated'])
  assert.deepEqual(await told(ask('GET', api_key)), [403, 'operator_required'])
  const key = service.operator_key
  assert.deepEqual(await told(ask('POST', key)), [405, 'method_not_allowed'])
  const { status, headers, text } = await ask('GET', key)
  assert.equal(status, 200)
  assert.equal(headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  assert.match(text, /^custos_http_requests_total/m)
  const head = await ask('HEAD', key)
  assert.deepEqual([head.status, head.text], [200, ''])
})

test('labels are closed lists: no tenant, store, path or text of a caller is one', async () => {
  const { tenant_id, api_key } = await service.createTenant()
  const ask = (method: string, path: string, body?: object) =>
    service.request(method, path, { key: api_key, ...(body ? { body } : {}) })
  const { store_id } = (await ask('POST', '/v1/stores', { name: 'Peculiar Name' })).body
  await ask('POST', `/v1/stores/${store_id}/write`, { content: 'peculiar content' })
  const found = await ask('POST', `/v1/stores/${store_id}/retrieve`, {
    query: 'peculiar content',
    budget_tokens: 100,
  })
  assert.equal(found.status, 200)
  assert.equal((await ask('GET', '/v1/peculiar-path')).status, 404)
  assert.equal((await ask('GET', '/v1/stores/peculiar-store')).status, 404)
  const { text, samples, sampleOf } = await scrape(service)
  for (const secret of ['eculiar', tenant_id, store_id, api_key])
    assert.ok(!text.includes(secret), secret)

  const groups: object[] = Object.values(contract).filter((one) => typeof one === 'object')
  const ids = groups.flatMap((group) => Object.values(group)).map((one) => one?.id)
  const known = new Set<unknown>([...ids, 'metrics', 'mcp', 'none'])
  for (const { name, labels } of samples.filter((one) => one.name.startsWith('custos_'))) {
    const { operation, status, result, outcome, le, ...others } = labels
    assert.deepEqual(others, {}, name)
    if (operation !== undefined) assert.ok(known.has(operation), operation)
    if (status !== undefined) assert.match(status, /^[1-5]xx$/)
    if (result !== undefined) assert.match(result, /^[a-z]+$/)
    if (outcome !== undefined) assert.match(outcome, /^[a-z_]+$/)
    if (le !== undefined) assert.ok(Number(le) > 0 || le === '+Inf')
  }
  const requests = (operation: string, status: string) =>
    sampleOf('custos_http_requests_total', { operation, status })
  assert.equal(requests('memory.write', '2xx'), 1)
  assert.equal(requests('memory.get_store', '4xx'), 1)
  assert.equal(requests('none', '4xx'), 2)
  assert.equal(
    sampleOf('custos_http_request_duration_seconds_count', { operation: 'memory.retrieve' }),
    1,
  )
  assert.equal(sampleOf('custos_retrieve_tokens_total'), found.body.tokens_used)
  assert.ok(Number(sampleOf('custos_commit_batch_size_count')) > 0)
  assert.ok(Number(sampleOf('custos_index_bytes')) > 0)
  assert.equal(sampleOf('custos_storage_ok'), 1)
})

test('policies, erasures and retrievals count by what came out', async () => {
  const { api_key } = await service.createTenant()
  const ask = (method: string, path: string, body: object) =>
    service.request(method, `/v1${path}`, { key: api_key, body })
  await ask('POST', '/governance/policies', {
    name: 'no secrets',
    policy_type: 'content_filter',
    config: { patterns: ['secret'] },
  })
  const before = await scrape(service)
  const { ref } = (await ask('POST', '/stores/default/write', { content: 'harmless' })).body
  const refused = await ask('POST', '/stores/default/write', { content: 'a secret' })
  assert.equal(refused.status, 403, refused.text)
  await ask('POST', '/stores/default/delete', { ref })
  const now = await scrape(service)
  const grown = (name: string, labels: Record<string, string>) =>
    Number(now.sampleOf(name, labels)) - Number(before.sampleOf(name, labels))
  assert.equal(grown('custos_governance_evaluations_total', { result: 'denied' }), 1)
  assert.ok(grown('custos_governance_evaluations_total', { result: 'allowed' }) >= 1)
  assert.equal(grown('custos_erasure_certificates_total', { outcome: 'erased' }), 1)
  assert.ok(Number(now.sampleOf('custos_log_size')) > Number(before.sampleOf('custos_log_size')))
})

test('the age of a checkpoint is that of the oldest entry that none covers', async () => {
  const data = await startTestService({ clock })
  try {
    const { api_key } = await data.createTenant()
    const write = () =>
      data.request('POST', '/v1/stores/default/write', { key: api_key, body: { content: 'one' } })
    const age = async () => (await scrape(data)).sampleOf('custos_checkpoint_age_seconds')
    await write()
    clock.forward(2 * HOUR_US)
    await write()
    assert.ok(Number(await age()) >= 7_200 && Number(await age()) < 7_300, String(await age()))
    await data.request('POST', '/v1/gcrumbs/roll', { key: api_key, body: {} })
    assert.equal(await age(), 0)
    // A log at rest for long has an entry without a checkpoint only from the next one on.
    clock.forward(100 * HOUR_US)
    await write()
    assert.ok(Number(await age()) < 60, String(await age()))
  } finally {
    await data.stop()
  }
})

test('pending approvals and overdue requests are true after a restart', async () => {
  let release = () => {}
  holdErasures = new Promise((resolve) => {
    release = resolve
  })
  const first = await startTestService({ clock, step })
  const tenant = await ApprovingTenant.create(first)
  await tenant.register()
  clock.forward(HOUR_US)
  await tenant.register('models/two')
  const people = await subjectScene(first)
  await people.write('Jana Novak lives here')
  const received_at = formatTime(clock.now() - 40 * 24 * HOUR_US)
  await people.request({ text: 'Jana Novak' }, { received_at })
  const check = async (asked: TestService) => {
    const { sampleOf } = await scrape(asked)
    assert.equal(sampleOf('custos_approvals_pending'), 2)
    const oldest = Number(sampleOf('custos_approval_oldest_seconds'))
    assert.ok(oldest >= 3_600 && oldest < 3_700, String(oldest))
    assert.equal(sampleOf('custos_subject_requests_overdue'), 1)
    return Number(sampleOf('custos_log_size'))
  }
  const entries = await check(first)
  const stopped = first.stop({ keep: true })
  release()
  await stopped
  holdErasures = new Promise((resolve) => {
    release = resolve
  })
  const second = await startTestService({ clock, step, data_dir: first.data_dir })
  try {
    const { sampleOf } = await scrape(second)
    assert.equal(sampleOf('custos_approvals_pending'), 2)
    assert.ok(Number(sampleOf('custos_log_size')) >= entries)
  } finally {
    release()
    holdErasures = undefined
    await second.stop()
  }
})

test('stored state is read once for scrapes that follow each other', async () => {
  const { sampleOf } = await scrape(service)
  const before = Number(sampleOf('custos_log_size'))
  const { api_key } = await service.createTenant()
  const body = { content: 'one more' }
  await service.request('POST', '/v1/stores/default/write', { key: api_key, body })
  const { text } = await service.request('GET', '/metrics', { key: service.operator_key })
  assert.match(text, new RegExp(`^custos_log_size ${before}$`, 'm'))
  assert.ok(Number((await scrape(service)).sampleOf('custos_log_size')) > before)
})

test('metrics with an address of their own are nowhere else', async () => {
  const address = { host: '127.0.0.1', port: 0 }
  const own = await startTestService({ config: { metrics: { ...CONFIG, address } } })
  try {
    assert.equal((await own.request('GET', '/metrics', { key: own.operator_key })).status, 404)
    const ask = (path: string, init: RequestInit = {}) =>
      fetch(new URL(path, own.metrics_url ?? ''), init)
    assert.equal((await ask('/metrics')).status, 401)
    const headers = { authorization: `Bearer ${own.operator_key}` }
    assert.equal((await ask('/metrics', { headers })).status, 200)
    assert.equal((await ask('/metrics', { headers, method: 'POST' })).status, 405)
    assert.equal((await ask('/v1/stores', { headers })).status, 404)
  } finally {
    await own.stop()
  }
})

test('open metrics need no credential, and have further names when asked', async () => {
  const metrics = { ...CONFIG, open: true, compat: true }
  const open = await startTestService({ config: { metrics } })
  try {
    const { api_key } = await open.createTenant()
    const body = { content: 'one' }
    await open.request('POST', '/v1/stores/default/write', { key: api_key, body })
    const { status, text } = await open.request('GET', '/metrics')
    assert.equal(status, 200)
    const route = 'method="POST",path_template="/v1/stores/{store_id}/write"'
    for (const line of [
      `grafomem_http_requests_total{${route},status="200"} 1`,
      'grafomem_memory_operations_total{operation="write"} 1',
      'grafomem_http_requests_in_progress{method="GET"} 1',
      'grafomem_stores_active 1',
    ])
      assert.ok(text.includes(`${line}\n`), line)
    assert.match(text, /^grafomem_db_pool_size \d+$/m)
    assert.match(text, /^grafomem_http_response_size_bytes_count\{.*write.*\} 1$/m)
  } finally {
    await open.stop()
  }
  const { text } = await scrape(service)
  assert.ok(!text.includes('grafomem_'))
})

test('without the database there are metrics of the process, and no stored value', async () => {
  const alone = await startTestService()
  try {
    assert.equal((await scrape(alone)).sampleOf('custos_log_size'), 0)
    await alone.kernel.db.close()
    // Probes of the storage within a second share one answer.
    await delay(1_100)
    const { sampleOf } = await scrape(alone)
    assert.equal(sampleOf('custos_storage_ok'), 0)
    for (const name of [
      'custos_log_size',
      'custos_approvals_pending',
      'custos_approval_expires_seconds',
    ])
      assert.equal(sampleOf(name), undefined, name)
    assert.equal(sampleOf('custos_index_bytes'), 0)
    assert.ok(Number(sampleOf('process_resident_memory_bytes')) > 0)
  } finally {
    await alone.stop().catch(() => {})
  }
})
