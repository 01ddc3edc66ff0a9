// What a run did is undone when it ends other than completed: newest first, through policies and
// people, at most once. 'orchestrator.cancel_run', 'orchestrator.start_run'

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTlsServer } from '../../../platform/egress/testing/tls-server.ts'
import type { Answer } from '../../../testing/harness.ts'
import { movedClock } from '../../../testing/skewed-clock.ts'
import { agentTextSource } from '../runs/agents.ts'
import { startModelServer } from '../testing/model-server.ts'
import { openRunScene, type RunningTenant } from '../testing/run-scene.ts'

const clock = movedClock()
const scene = openRunScene({ clock, config: { egress: { allow: ['127.0.0.1'], proxy: null } } })
const DAY_US = 86_400_000_000
const received: string[] = []
/** Whether a request is cut off. */
let cuts: (path: string) => boolean = () => false
const bookingText = () => JSON.stringify({ booking: { id: `b-${received.length}` } })
/** What a tool answers. */
let reply = bookingText
const model = await startModelServer({ after })
const { port } = await startTlsServer({ after }, (request, response) => {
  const path = request.url ?? ''
  request.resume()
  request.on('end', () => {
    received.push(path)
    if (cuts(path)) response.destroy()
    else response.writeHead(200).end(reply())
  })
})
const undoing = `https://127.0.0.1:${port}`

const ID = {
  type: 'object',
  properties: { id: { type: 'string' } },
  required: ['id'],
  additionalProperties: false,
}
const UNDO = { tool: 'unbook', map: { id: 'result.booking.id' } }

/** A model that books two ferries, and is then asked again and again: it never ends by itself. */
async function booking(more: Record<string, unknown> = {}): Promise<RunningTenant> {
  received.length = 0
  model.asked.length = 0
  cuts = () => false
  reply = bookingText
  const tenant = await scene.tenant()
  await tenant.provider(model.base_url)
  await define(tenant, 'book', { compensation: UNDO, ...more })
  await define(tenant, 'unbook')
  await tenant.ok('POST', '/llm/tools', { name: 'wait', description: 'Waits', effect: 'read' })
  model.answer = () => ({
    calls:
      model.asked.length === 1
        ? ['north', 'south'].map((id) => ({ tool: 'book', args: { id } }))
        : [{ tool: 'wait', args: {} }],
  })
  return tenant
}

const define = (tenant: RunningTenant, name: string, more: Record<string, unknown> = {}) =>
  tenant.ok('POST', '/llm/tools', {
    name,
    description: name,
    input_schema: ID,
    url: `https://127.0.0.1:${port}/${name}/{id}`,
    ...more,
  })

/** Both are booked, and the run waits for its caller. */
async function booked(tenant: RunningTenant, more: Record<string, unknown> = {}): Promise<string> {
  const start = { executor: 'managed', input_text: 'book', on_failure: 'compensate' }
  const run_id = await tenant.start({ ...start, ...more })
  await tenant.inState(run_id, (state) => state === 'waiting_client')
  return run_id
}

const cancel = (tenant: RunningTenant, run_id: string, body?: unknown) =>
  tenant.ok('POST', `/orchestrator/runs/${run_id}/cancel`, body)

const over = (tenant: RunningTenant, run_id: string) =>
  tenant.inState(run_id, (state) => ['failed', 'terminated', 'denied'].includes(state))

async function valid(tenant: RunningTenant, run_id: string): Promise<void> {
  const verdict = await tenant.verify(run_id)
  assert.equal(verdict.valid, true, verdict.reason)
}

const reasonsOf = ({ undone }: Answer['body']) =>
  undone.map((one: { undone: boolean; reason: string | null }) => one.reason ?? one.undone)

test('a cancelled run undoes what it did, newest first, and its bundle verifies', async () => {
  const tenant = await booking()
  const run_id = await booked(tenant)
  const { state } = await cancel(tenant, run_id)
  assert.equal(state, 'compensating')
  const run = await over(tenant, run_id)
  assert.deepEqual([run.state, run.termination_reason], ['terminated', 'cancelled'])
  assert.deepEqual([run.compensation, reasonsOf(run)], ['complete', [true, true]])
  assert.deepEqual(received, ['/book/north', '/book/south', '/unbook/b-2', '/unbook/b-1'])
  const path = `/orchestrator/runs/${run_id}/calls/${run.undone[0].undone_by}`
  const shown = await tenant.ok('GET', path)
  assert.deepEqual([shown.tool, shown.args], ['unbook', { id: 'b-2' }])
  assert.equal(shown.compensates, run.undone[0].call_id)
  assert.equal((await tenant.ask('POST', `/orchestrator/runs/${run_id}/cancel`)).status, 409)
  const types = (await tenant.events()).filter((type) => /^run|compensated/.test(type))
  const undone = ['run.compensating', 'tool.compensated', 'tool.compensated']
  assert.deepEqual(types, ['run.started', ...undone, 'run.terminated'])
  const end = (await tenant.bundle(run_id)).find(
    ({ proof }) => proof?.breadcrumb.event_type === 'run.terminated',
  )
  assert.deepEqual(end.proof.breadcrumb.payload.left, [], 'an end lists what is left')
  await valid(tenant, run_id)
})

test('an agent that is redacted gets no other stores with it, also to undo', async () => {
  const tenant = await booking()
  await tenant.ok('POST', '/llm/tools/seed-builtins')
  await tenant.ok('POST', '/stores', { store_id: 'private' })
  const map = { content: 'args.id', store_id: 'args.id' }
  await define(tenant, 'book', { compensation: { tool: 'memory_write', map } })
  model.answer = () => ({
    calls:
      model.asked.length === 1
        ? [{ tool: 'book', args: { id: 'private' } }]
        : [{ tool: 'wait', args: {} }],
  })
  const run_id = await booked(tenant)
  const { kernel } = scene.service
  const { agent_id, tenant_id } = tenant
  const columns = await agentTextSource.prepare(kernel, tenant_id, agent_id)
  assert.ok(columns)
  await kernel.db.transact(tenant_id, (tx) => agentTextSource.apply(tx, agent_id, columns, kernel))
  await cancel(tenant, run_id)
  const run = await over(tenant, run_id)
  assert.deepEqual([run.compensation, reasonsOf(run)], ['none', ['tool_refused']])
  const written = (await tenant.events()).filter((type) => type === 'memory.written')
  assert.deepEqual(written, [])
  await valid(tenant, run_id)
})

test('what a result cannot say exactly is not undone by guess, and all else is', async () => {
  // The first would be read as another number; the others have no JSON form that can be signed.
  const inexact = ['9007199254740993', '1e400', '"\\ud83d"', `${'['.repeat(300)}${']'.repeat(300)}`]
  for (const id of inexact) {
    const tenant = await booking({ input_schema: { type: 'object' }, url: `${undoing}/book` })
    await define(tenant, 'unbook', { input_schema: { type: 'object' }, url: `${undoing}/unbook` })
    reply = () =>
      received.length === 1 ? '{"booking": {"id": "b-1"}}' : `{"booking": {"id": ${id}}}`
    const run_id = await booked(tenant)
    await cancel(tenant, run_id)
    const run = await over(tenant, run_id)
    assert.deepEqual([run.compensation, reasonsOf(run)], ['partial', ['args_invalid', true]], id)
    assert.deepEqual(received, ['/book', '/book', '/unbook'])
    await valid(tenant, run_id)
  }
})

test('without `on_failure` what it did stays, unless the cancellation says otherwise', async () => {
  const tenant = await booking()
  const stopped = await booked(tenant, { on_failure: 'stop' })
  const { state, compensation } = await cancel(tenant, stopped)
  assert.deepEqual([state, compensation, received.length], ['terminated', null, 2])
  model.asked.length = 0
  const undone = await booked(tenant, { on_failure: 'stop' })
  await cancel(tenant, undone, { compensate: true })
  assert.equal((await over(tenant, undone)).compensation, 'complete')
  model.asked.length = 0
  const kept = await booked(tenant)
  assert.equal((await cancel(tenant, kept, { compensate: false })).state, 'terminated')
})

test('a run that fails and one that a policy denies compensate too', async () => {
  for (const expected of ['failed', 'denied']) {
    const tenant = await booking()
    const run_id = await booked(tenant)
    model.answer = () => ({ status: 401 })
    if (expected === 'denied') {
      const filter = { patterns: ['now it is'], check_fields: ['query'] }
      await tenant.policy({ policy_type: 'content_filter', config: filter })
    }
    const [, waiting] = (await tenant.run(run_id)).steps
    const path = `/orchestrator/runs/${run_id}/calls/${waiting.calls[0].call_id}/report`
    await tenant.ok('POST', path, { result: 'now it is ten' })
    const run = await over(tenant, run_id)
    assert.deepEqual([run.state, run.compensation], [expected, 'complete'])
    await valid(tenant, run_id)
  }
})

test('what has no compensation, or one that does not fit, is listed as left', async () => {
  const cases = [
    [{ compensation: null }, 'no_compensation'],
    [{ compensation: { tool: 'unbook', map: { id: 'result.none' } } }, 'args_invalid'],
    [{ compensation: { tool: 'gone', map: {} } }, 'tool_refused'],
    [{ compensation: { tool: 'wait', map: {} } }, 'tool_refused'],
  ] as const
  for (const [more, reason] of cases) {
    const tenant = await booking(more)
    const run_id = await booked(tenant)
    await cancel(tenant, run_id)
    const run = await over(tenant, run_id)
    assert.deepEqual([run.compensation, reasonsOf(run)], ['none', [reason, reason]])
    assert.equal(received.length, 2)
    await valid(tenant, run_id)
  }
})

test('a compensation that nobody knows the end of is not repeated; the rest goes on', async () => {
  const tenant = await booking()
  const run_id = await booked(tenant)
  cuts = (path) => path === '/unbook/b-2'
  await cancel(tenant, run_id)
  const run = await over(tenant, run_id)
  assert.deepEqual([run.compensation, reasonsOf(run)], ['partial', ['not_reported', true]])
  assert.equal(received.filter((path) => path === '/unbook/b-2').length, 1)
  await valid(tenant, run_id)
})

test('a person decides about each compensation; one that is rejected is left', async () => {
  const tenant = await booking()
  const run_id = await booked(tenant)
  await tenant.policy({ policy_type: 'hitl_required', config: { operations: ['tool_execution'] } })
  await cancel(tenant, run_id)
  for (const decision of ['approve', 'reject']) {
    const action_id = await waitingAction(tenant)
    assert.equal((await tenant.run(run_id)).state, 'compensating')
    const path = `/orchestrator/actions/${action_id}/${decision}`
    await tenant.ok('POST', path, { approver: 'ana' })
  }
  const run = await over(tenant, run_id)
  assert.deepEqual([run.compensation, reasonsOf(run)], ['partial', [true, 'hitl_rejected']])
  assert.deepEqual(received.slice(2), ['/unbook/b-2'])
  await valid(tenant, run_id)
})

for (const reason of ['cancelled', 'deadline_exceeded'] as const)
  test(`an undoing that is ${reason} ends, and lists what is left to a person`, async () => {
    const tenant = await booking()
    const run_id = await booked(tenant)
    const config = { operations: ['tool_execution'] }
    await tenant.policy({ policy_type: 'hitl_required', config })
    await cancel(tenant, run_id)
    const action_id = await waitingAction(tenant)
    assert.ok((await tenant.run(run_id)).compensation_deadline_at)
    const path = `/orchestrator/runs/${run_id}/cancel`
    // A request that is repeated ends nothing.
    for (const body of [{}, { compensate: true }])
      assert.equal((await tenant.ask('POST', path, body)).body.error, 'wrong_state')
    if (reason === 'cancelled') await cancel(tenant, run_id, { compensate: false })
    else clock.forward(DAY_US + 1_000_000)
    const run = await over(tenant, run_id)
    assert.deepEqual([run.state, run.termination_reason], ['terminated', 'cancelled'])
    assert.deepEqual([run.compensation, run.compensation_stopped], ['none', reason])
    assert.deepEqual(reasonsOf(run), [reason, reason])
    const approve = `/orchestrator/actions/${action_id}/approve`
    assert.equal((await tenant.ask('POST', approve, { approver: 'ana' })).status, 409)
    assert.equal((await tenant.ask('POST', path, { compensate: false })).status, 409)
    assert.equal(received.length, 2)
    const end = (await tenant.bundle(run_id)).flatMap(({ proof }) =>
      proof?.breadcrumb.event_type === 'run.terminated' ? [proof.breadcrumb.payload] : [],
    )
    assert.deepEqual(
      end[0].left,
      run.undone.map(({ call_id }: { call_id: string }) => call_id),
    )
    await valid(tenant, run_id)
  })

test('an idempotent call that was cut off is listed as left: it may have acted', async () => {
  const tenant = await booking({ effect: 'idempotent' })
  cuts = (path) => path === '/book/south'
  const run_id = await booked(tenant)
  const [call] = (await tenant.run(run_id)).steps[0].calls.slice(1)
  assert.deepEqual([call.state, call.reason], ['failed', 'not_reported'])
  await cancel(tenant, run_id)
  const run = await over(tenant, run_id)
  assert.deepEqual([run.compensation, reasonsOf(run)], ['partial', ['not_reported', true]])
  assert.equal(run.undone[0].call_id, call.call_id)
  await valid(tenant, run_id)
})

async function waitingAction(tenant: RunningTenant): Promise<string> {
  for (;;) {
    const { actions } = await tenant.ok('GET', '/orchestrator/actions')
    const waiting = actions.find(({ status }: { status: string }) => status === 'waiting_hitl')
    if (waiting) return waiting.action_id
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

test('a policy that denies, and a key that was revoked, leave what was done', async () => {
  for (const reason of ['policy', 'credential_revoked']) {
    const tenant = await booking()
    const scopes = ['orchestrator:run', 'memory:read']
    const { api_key, key_id } = await tenant.ok('POST', '/keys', { name: 'runner', scopes })
    const body = { executor: 'managed', input_text: 'book', on_failure: 'compensate' }
    const started = { agent_id: tenant.agent_id, ...body }
    const { run_id } = (await tenant.ask('POST', '/orchestrator/runs', started, { key: api_key }))
      .body
    await tenant.inState(run_id, (state) => state === 'waiting_client')
    if (reason === 'policy')
      await tenant.policy({ policy_type: 'tool_deny', config: { denied_tools: ['unbook'] } })
    else await tenant.ok('DELETE', `/keys/${key_id}`)
    await cancel(tenant, run_id)
    const run = await over(tenant, run_id)
    assert.deepEqual([run.compensation, reasonsOf(run)], ['none', [reason, reason]])
    assert.equal(received.length, 2)
    await valid(tenant, run_id)
  }
})

test('a run of the caller does not compensate', async () => {
  const tenant = await booking()
  const body = { agent_id: tenant.agent_id, on_failure: 'compensate' }
  assert.equal((await tenant.ask('POST', '/orchestrator/runs', body)).body.error, 'rejected')
  const run_id = await tenant.start()
  const path = `/orchestrator/runs/${run_id}/cancel`
  assert.equal((await tenant.ask('POST', path, { compensate: true })).body.error, 'rejected')
})
