// The consistency check finds records and approvals that nothing of ours could have written.

import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { parseConfig } from '../../config/config.ts'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { runFsck } from './fsck.ts'

let service: TestService
let tenant_id: string
let key: string

before(async () => {
  service = await startTestService()
})
beforeEach(async () => {
  const made = await service.createTenant()
  tenant_id = made.tenant_id
  key = made.api_key
})
after(() => service.stop())

const post = async (path: string, body: object) =>
  (await service.request('POST', `/v1${path}`, { key, body })).body

const register = (name: string) =>
  post('/artifacts/register', {
    artifact_ref: name,
    base_model_ref: 'base',
    layers: [{ digest: 'a'.repeat(64) }],
  })

/** One registered, one approved, one rejected, one that waits. */
async function fill() {
  const { artifact_id: plain } = await register('plain')
  const config = { operations: ['artifacts.register'] }
  await post('/governance/policies', { name: 'n', policy_type: 'hitl_required', config })
  const ids: string[] = []
  const requests: string[] = []
  for (const name of ['approved', 'rejected', 'waiting']) {
    const { detail } = await register(name)
    ids.push(detail.artifact_id)
    requests.push(detail.request_id)
  }
  await post(`/artifacts/${ids[0]}/approve`, { approver: 'Dana' })
  await post(`/artifacts/${ids[1]}/reject`, { approver: 'Dana' })
  return { plain, approved: String(ids[0]), waiting: String(ids[2]), request: String(requests[0]) }
}

async function look() {
  const config = parseConfig({ CUSTOS_DATA_DIR: service.data_dir })
  const reports = await runFsck(config, { tenant_id })
  return reports.flatMap(({ findings }) => findings.map(({ kind, id, what }) => [kind, id, what]))
}

test('records in every state pass', async () => {
  await fill()
  assert.deepEqual(await look(), [])
})

test('an action that expires as its run ends passes', async () => {
  const config = { operations: ['inference'] }
  await post('/governance/policies', { name: 'n', policy_type: 'hitl_required', config })
  const { agent_id } = await post('/orchestrator/agents', { name: 'a', model_id: 'm' })
  const { run_id } = await post('/orchestrator/runs', { agent_id })
  const begun = await post(`/orchestrator/runs/${run_id}/steps`, { input_text: 'b' })
  await post(`/orchestrator/runs/${run_id}/cancel`, {})
  const path = `/v1/orchestrator/actions/${begun.detail.action_id}`
  assert.equal((await service.request('GET', path, { key })).body.status, 'expired')
  assert.deepEqual(await look(), [])
})

test('a status that nobody decided is found', async () => {
  const { waiting } = await fill()
  await rawSql(service, "update records set status = 'registered' where record_id = ?", [waiting])
  assert.deepEqual(await look(), [
    ['record', waiting, 'is registered, and waiting_hitl by the log'],
  ])
})

test('a document put in the place of another does not open there', async () => {
  const { plain, approved } = await fill()
  const sql = `update records set (secret_no, sealed) =
    (select secret_no, sealed from records where record_id = ?) where record_id = ?`
  await rawSql(service, sql, [approved, plain])
  assert.deepEqual(await look(), [
    ['record', plain, 'the seal does not open'],
    ['record', plain, 'the log recorded another document'],
  ])
})

test('a record and an approval that are gone are missed', async () => {
  const { plain, request } = await fill()
  await rawSql(service, 'delete from records where record_id = ?', [plain])
  await rawSql(service, 'delete from approvals where request_id = ?', [request])
  assert.deepEqual(await look(), [
    ['record', plain, 'logged, and not here'],
    ['approval', request, 'logged, and not here'],
  ])
})

test('an approval that was never given is found', async () => {
  const { waiting } = await fill()
  await rawSql(service, "update approvals set state = 'approved' where record_id = ?", [waiting])
  const [[kind, , what] = []] = await look()
  assert.deepEqual([kind, what], ['approval', 'is approved, and pending by the log'])
})

test('every column that a decision or a request rests on is compared', async () => {
  const { plain, approved, waiting, request } = await fill()
  const alter = async (table: string, assignment: string, id: string) => {
    const key = table === 'records' ? 'record_id' : 'request_id'
    await rawSql(service, `update ${table} set ${assignment} where ${key} = ?`, [id])
    return (await look()).map(([kind, , what]) => [kind, what])
  }
  const [row] = await rawSql(service, 'select request_id from approvals where record_id = ?', [
    waiting,
  ])
  const pending = String(row?.['request_id'])
  const asked = ['approval', 'the row differs from what was asked for']
  const cases: [string, string, string, string, unknown[]][] = [
    ['approvals', 'expires_us = expires_us + 1', 'expires_us = expires_us - 1', pending, asked],
    ['approvals', "escalations = '[]'", '', pending, asked],
    ['records', "linked_id = 'ff'", 'linked_id = null', plain, []],
    ['records', 'policy_set = policy_set + 1', 'policy_set = policy_set - 1', approved, []],
    ['approvals', 'decided_us = decided_us + 1', 'decided_us = decided_us - 1', request, []],
  ]
  const kept = 'select escalations from approvals where request_id = ?'
  const [before] = await rawSql(service, kept, [pending])
  for (const [table, change, back, id, expected] of cases) {
    const found = await alter(table, change, id)
    assert.ok(found.length > 0, `${table} ${change}`)
    if (expected.length > 0) assert.deepEqual(found[0], expected, change)
    const undo = back === '' ? `escalations = '${String(before?.['escalations'])}'` : back
    assert.deepEqual(await alter(table, undo, id), [], `${table} ${undo}`)
  }
})
