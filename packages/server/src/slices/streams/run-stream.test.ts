// The stream of one run: its entries and no others, to its end, whenever it is opened.
// 'streams.run', 'streams.workflow'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rawSql } from '../../testing/raw-sql.ts'
import { openRunScene, type RunningTenant } from '../orchestrator/testing/run-scene.ts'
import { type FrameReader, openFrames, type ReadFrame } from './testing/frame-reader.ts'

const scene = openRunScene()
const step = { input_text: 'the canary sings', budget_tokens: 0, max_tokens: 50 }

const open = (
  { api_key: key }: RunningTenant,
  run_id: string,
  headers: Record<string, string> = {},
  query = '',
): Promise<FrameReader> =>
  openFrames(`${scene.service.url}/v1/orchestrator/runs/${run_id}/stream${query}`, { key, headers })

const namesOf = (frames: readonly ReadFrame[]) => frames.map(({ event }) => event)

const EVENTS = [
  'run.started',
  'step.permitted',
  'tool.intended',
  'tool.completed',
  'step.completed',
  'run.completed',
]

/** One step with one call, to the end. */
async function act(tenant: RunningTenant, run_id: string): Promise<void> {
  const { step_id } = await tenant.permitted(run_id, step)
  const { body } = await tenant.call(run_id, step_id, { tool: 'search', effect: 'read' })
  const calls = [{ call_id: body.call_id, result: 'the canary is here' }]
  const output = 'the canary has sung'
  const done = await tenant.complete(run_id, step_id, { output, calls, final: true })
  assert.equal(done.status, 200, done.text)
}

test('shows a run as it goes, ends after it, and holds no text', async () => {
  const tenant = await scene.tenant()
  const [run_id, other] = [await tenant.start(), await tenant.start()]
  const reader = await open(tenant, run_id)
  assert.deepEqual([reader.status, reader.headers.get('content-type')], [200, 'text/event-stream'])
  assert.deepEqual(namesOf(await reader.take(1)), ['run.started'])
  await act(tenant, other)
  await act(tenant, run_id)
  const frames = await reader.rest()
  assert.deepEqual(namesOf(frames), EVENTS.slice(1))
  for (const { data = '' } of frames) assert.match(data, new RegExp(`"${run_id}"`))
  assert.doesNotMatch(reader.text, new RegExp(`canary|${other}`))
})

test('a run that has ended is shown in full, and after its last event there is 204', async () => {
  const tenant = await scene.tenant()
  const run_id = await tenant.start()
  await act(tenant, run_id)
  await tenant.remember('what happens later')
  const frames = await (await open(tenant, run_id)).rest()
  assert.deepEqual(namesOf(frames), EVENTS)
  for (const [at, { id = '' }] of frames.entries()) {
    const resumed = await open(tenant, run_id, { 'last-event-id': id })
    assert.deepEqual(namesOf(await resumed.rest()), EVENTS.slice(at + 1), id)
    assert.equal(resumed.status, at === EVENTS.length - 1 ? 204 : 200)
    const named = await open(tenant, run_id, {}, `?from=${id}`)
    assert.equal(named.status, resumed.status)
    named.close()
  }
  const last = await open(tenant, run_id, { 'last-event-id': frames.at(-1)?.id ?? '' })
  assert.equal(last.headers.get('content-length'), null)
  // What a client had of another history is no reason to leave anything out.
  for (const id of ['7.0', 'x', '0.999999']) {
    const again = await open(tenant, run_id, { 'last-event-id': id })
    assert.deepEqual(namesOf(await again.rest()), EVENTS, id)
  }
})

test('each way a run can end is the end of its stream', async () => {
  const tenant = await scene.tenant()
  const cancelled = await tenant.start()
  const reader = await open(tenant, cancelled)
  await tenant.permitted(cancelled, step)
  await tenant.ok('POST', `/orchestrator/runs/${cancelled}/cancel`)
  assert.deepEqual(namesOf(await reader.rest()), [
    'run.started',
    'step.permitted',
    'step.failed',
    'run.terminated',
  ])
  await tenant.policy({ policy_type: 'model_allowlist', config: { models: ['x'] } })
  const denied = await tenant.start()
  assert.equal((await tenant.begin(denied, step)).status, 403)
  assert.equal(namesOf(await (await open(tenant, denied)).rest()).at(-1), 'run.denied')
})

test('a run of another tenant, and a key without the scope, open nothing', async () => {
  const [tenant, foreign] = [await scene.tenant(), await scene.tenant()]
  const run_id = await tenant.start()
  assert.equal((await open(foreign, run_id)).status, 404)
  const body = { name: 'reader', scopes: ['gcrumbs:read'] }
  const { api_key } = await tenant.ok('POST', '/keys', body)
  const url = `${scene.service.url}/v1/orchestrator/runs/${run_id}/stream`
  assert.equal((await openFrames(url, { key: api_key })).status, 403)
  assert.equal((await openFrames(url)).status, 401)
})

test('the stream of a workflow is that of its newest run', async () => {
  const [tenant, foreign] = [await scene.tenant(), await scene.tenant()]
  const body = { name: 'report', agent_ids: [tenant.agent_id] }
  const { workflow_id } = await tenant.ok('POST', '/orchestrator/workflows', body)
  const path = `/v1/orchestrator/workflows/${workflow_id}/stream`
  const openPath = ({ api_key: key }: RunningTenant, headers: Record<string, string> = {}) =>
    openFrames(`${scene.service.url}${path}`, { key, headers })
  assert.equal((await openPath(tenant)).status, 409)
  assert.equal((await openPath(foreign)).status, 404)
  const runs = [await tenant.start(), await tenant.start()]
  let last = ''
  for (const run_id of runs) {
    const sql = 'update workflows set run_id = ? where workflow_id = ?'
    await rawSql(scene.service, sql, [run_id, workflow_id])
    // What a client had of the run before is no reason to leave anything out.
    const reader = await openPath(tenant, last === '' ? {} : { 'last-event-id': last })
    assert.deepEqual(namesOf(await reader.take(1)), ['run.started'])
    await act(tenant, run_id)
    const frames = await reader.rest()
    assert.deepEqual(namesOf(frames), EVENTS.slice(1))
    last = frames.at(-1)?.id ?? ''
  }
  assert.equal((await openPath(tenant, { 'last-event-id': last })).status, 204)
  const { ticket } = await tenant.ok('POST', '/events/tickets', { path })
  const opened = await openFrames(`${scene.service.url}${path}?ticket=${ticket}`)
  assert.deepEqual(namesOf(await opened.rest()), EVENTS)
})

test('a ticket opens the stream of its run, and of no other', async () => {
  const tenant = await scene.tenant()
  const [run_id, other] = [await tenant.start(), await tenant.start()]
  const path = `/v1/orchestrator/runs/${run_id}/stream`
  const ticket = async () => (await tenant.ok('POST', '/events/tickets', { path })).ticket
  const url = scene.service.url
  const opened = await openFrames(`${url}${path}?ticket=${await ticket()}`)
  assert.deepEqual(namesOf(await opened.take(1)), ['run.started'])
  opened.close()
  const wrong = `${url}/v1/orchestrator/runs/${other}/stream?ticket=${await ticket()}`
  assert.equal((await openFrames(wrong)).status, 401)
})
