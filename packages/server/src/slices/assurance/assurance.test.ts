// Assurance over HTTP: what a run answers and refuses, baselines, drift, and who may look.

import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import type { eventPayloads } from '@custos/contract'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'
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

const DATA_CHECKS = ['chain', 'seals', 'ledger', 'policies', 'clock']

async function lastEvents(event_type: keyof typeof eventPayloads) {
  const { breadcrumbs } = await tenant.ok('GET', '/gcrumbs/breadcrumbs?limit=1000')
  return breadcrumbs.filter((crumb: { event_type: string }) => crumb.event_type === event_type)
}

test("'assurance.run' checks a sound tenant whole, and says how much it looked at", async () => {
  await tenant.fill()
  const run = await tenant.run()
  assert.equal(run.status, 'pass')
  assert.deepEqual(Object.keys(run.checks_results), DATA_CHECKS)
  for (const name of DATA_CHECKS) {
    const { status, passed, findings_total } = run.checks_results[name]
    assert.deepEqual([status, passed, findings_total], ['pass', true, 0], name)
  }
  const { chain, seals, ledger } = run.checks_results
  assert.ok(chain.counts.entries >= 7 && chain.counts.checkpoints === 1)
  const { stores, facts, facts_total, decisions } = seals.counts
  assert.deepEqual([stores, facts, facts_total, decisions], [1, 1, 1, 1])
  assert.deepEqual([ledger.counts.tombstones, ledger.counts.certificates], [1, 1])
  assert.ok(run.completed_at > run.started_at)
})

test('a run is on the log by its digest, and is read again as it was answered', async () => {
  const run = await tenant.run({ checks: ['chain', 'clock'] })
  assert.deepEqual(await tenant.ok('GET', `/assurance/runs/${run.run_id}`), run)
  const [entry] = await lastEvents('assurance.completed')
  assert.equal(entry.subject, run.run_id)
  assert.equal(entry.seq, run.log_seq)
  assert.deepEqual(entry.payload.checks, [
    { check: 'chain', status: 'pass' },
    { check: 'clock', status: 'pass' },
  ])
})

test('only what is named is checked, also by the names earlier clients use', async () => {
  const checks = ['chain_integrity', 'governance', 'health', 'metrics']
  const run = await tenant.run({ checks })
  assert.equal(run.status, 'pass')
  assert.deepEqual(run.checks, checks)
  const { checks_results: found } = run
  assert.deepEqual(found.chain_integrity, found.chain)
  assert.deepEqual(found.governance, found.policies)
  assert.equal(found.health.status, 'pass')
  assert.equal('seals' in found, false)
  assert.deepEqual([found.metrics.status, found.metrics.passed], ['not_checked', false])
})

test('nothing to check, an unknown check and an empty list are refused', async () => {
  assert.equal(await tenant.refused('POST', '/assurance/run', { checks: ['metrics'] }), 'rejected')
  for (const checks of [['all'], []])
    assert.equal(await tenant.refused('POST', '/assurance/run', { checks }), 'validation')
  assert.deepEqual((await tenant.ok('GET', '/assurance/runs')).runs, [])
})

test('with background a run is answered at once and ends by itself', async () => {
  const answer = await tenant.ask('POST', '/assurance/run', { body: { background: true } })
  assert.equal(answer.status, 202)
  assert.equal(answer.body.status, 'running')
  const busy = await tenant.refused('POST', '/assurance/run', {})
  assert.equal(busy, 'run_in_progress')
  const path = `/assurance/runs/${answer.body.run_id}`
  let run = await tenant.ok('GET', path)
  while (run.status === 'running') {
    await new Promise((resolve) => setTimeout(resolve, 20))
    run = await tenant.ok('GET', path)
  }
  assert.equal(run.status, 'pass')
})

test("'assurance.capture_baseline' keeps counts; an equal state is no drift", async () => {
  await tenant.fill()
  assert.equal(await tenant.refused('GET', '/assurance/baseline'), 'baseline_not_found')
  const captured = await tenant.ok('POST', '/assurance/baseline')
  const baseline = await tenant.ok('GET', '/assurance/baseline')
  assert.equal(baseline.baseline_id, captured.baseline_id)
  assert.deepEqual(Object.keys(baseline.snapshot), captured.snapshot_keys)
  const { counts, log, policies } = baseline.snapshot
  assert.deepEqual([counts.facts, counts.tombstones, counts.policies_in_force], [1, 1, 1])
  assert.match(log.root_hash, /^[0-9a-f]{64}$/)
  assert.match(policies.digest, /^[0-9a-f]{64}$/)
  const [entry] = await lastEvents('assurance.baseline_captured')
  assert.equal(entry.subject, captured.baseline_id)
  const run = await tenant.run()
  assert.deepEqual([run.status, run.baseline_id], ['pass', captured.baseline_id])
})

test("'assurance.drift' tells what is another than at the baseline, though all holds", async () => {
  const { policy_id, kept } = await tenant.fill()
  await tenant.ok('POST', '/assurance/baseline')
  await tenant.ok('POST', '/erasure/issue', { fact_ref: kept })
  assert.equal((await tenant.run()).status, 'pass', 'an erasure with its certificate is no drift')

  await tenant.ok('PUT', `/governance/policies/${policy_id}`, { enabled: false })
  const run = await tenant.run({ checks: ['policies'] })
  assert.equal(run.status, 'drift')
  const [event] = run.drift_events
  assert.deepEqual([event.check, event.type], ['policies', 'changed'])
  assert.notEqual(event.baseline_value, event.current_value)
  const { drift_events, count } = await tenant.ok('GET', '/assurance/drift?limit=5')
  assert.equal(count, 1)
  assert.equal(drift_events[0].run_id, run.run_id)
})

test('facts that vanish with all their traces but the log are drift and a failure', async () => {
  const { store_id } = await tenant.fill()
  await tenant.ok('POST', '/assurance/baseline')
  for (const table of ['facts', 'validity', 'decision_facts'])
    await rawSql(service, `delete from ${table} where tenant_id = ?`, [tenant.tenant_id])
  const run = await tenant.run()
  assert.equal(run.status, 'fail', store_id)
  const kinds = run.drift_events.map(
    ({ check, type }: Record<string, string>) => `${check} ${type}`,
  )
  assert.ok(kinds.includes('ledger changed') && kinds.includes('seals regression'), kinds.join())
})

test("'assurance.baseline' never shows a state that did not hold", async () => {
  const { erased } = await tenant.fill()
  await rawSql(service, 'delete from tombstones where tenant_id = ? and ref = ?', [
    tenant.tenant_id,
    erased,
  ])
  assert.equal(await tenant.refused('POST', '/assurance/baseline'), 'wrong_state')
  assert.equal(await tenant.refused('GET', '/assurance/baseline'), 'baseline_not_found')
  const { failed, total_runs, last_run } = await tenant.ok('GET', '/assurance/stats')
  assert.deepEqual([failed, total_runs, last_run.trigger], [1, 1, 'baseline'])
})

test("'assurance.runs' and 'assurance.get_run' are the tenant's own", async () => {
  const { run_id } = await tenant.run({ checks: ['clock'] })
  const other = await AssuredTenant.create(service)
  assert.deepEqual((await other.ok('GET', '/assurance/runs')).runs, [])
  assert.equal(await other.refused('GET', `/assurance/runs/${run_id}`), 'run_not_found')
  assert.equal((await tenant.ok('GET', '/assurance/runs?limit=1')).runs[0].run_id, run_id)
})

test('a key limited to some stores is refused everywhere', async () => {
  const { store_id } = await tenant.fill()
  const { api_key } = await tenant.ok('POST', '/keys', {
    name: 'one store',
    scopes: ['compliance:read', 'compliance:admin'],
    allowed_stores: [store_id],
  })
  const asked: [string, string][] = [
    ['POST', '/assurance/run'],
    ['POST', '/assurance/baseline'],
    ['POST', '/assurance/schedules'],
    ...['runs', 'baseline', 'drift', 'stats', 'schedules'].map((path): [string, string] => [
      'GET',
      `/assurance/${path}`,
    ]),
    ['GET', `/cloud/tenants/${tenant.tenant_id}/compliance`],
  ]
  for (const [method, path] of asked) {
    const { status, body } = await tenant.ask(method, path, { key: api_key })
    assert.deepEqual([status, body.error], [403, 'scope_missing'], path)
  }
})

test('no result quotes what a tenant stored', async () => {
  await tenant.fill()
  await rawSql(service, 'update facts set sealed = ? where tenant_id = ?', [
    new Uint8Array(80),
    tenant.tenant_id,
  ])
  const run = JSON.stringify(await tenant.run())
  const rows = await rawSql(service, 'select * from assurance_runs where tenant_id = ?', [
    tenant.tenant_id,
  ])
  for (const word of ['Ada', 'Kiel', 'Ben', 'Ulm', 'Diary', 'Budget'])
    assert.equal(run.includes(word) || JSON.stringify(rows).includes(word), false, word)
})
