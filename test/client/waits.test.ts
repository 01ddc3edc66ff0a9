// What combines several calls: forgetting with a reason, tokens, and waiting for people and jobs.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Custos, NotCompletedError } from '@custos/client'
import { startTestService, type TestService } from '../../packages/server/src/testing/harness.ts'

let service: TestService
let custos: Custos

before(async () => {
  service = await startTestService()
  custos = new Custos({ url: service.url, apiKey: (await service.createTenant('waits')).api_key })
})

after(() => service.stop())

test('forget puts the reason into the certificate', async () => {
  const memory = custos.memoryOf({ store: 'default', namespace: 'ana' })
  const { ref } = await memory.remember('Ana lives in Porto')
  const { erasure_certificate_id: id } = await memory.forget(ref, { reason: 'article 17' })
  assert.ok(id)
  assert.equal((await custos.erasure.get(id)).legal_basis, 'article 17')
  const plain = await memory.remember('Ana likes tea')
  const { erasure_certificate_id: other } = await memory.forget(plain.ref)
  assert.ok(other)
  assert.notEqual((await custos.erasure.get(other)).legal_basis, 'article 17')
})

test('tokenFor makes a token that reaches one namespace of one store', async () => {
  const request = { store: 'default', namespace: 'bo', scopes: ['memory:read'] as const, ttl: 60 }
  const made = await custos.tokenFor({ ...request, scopes: [...request.scopes] })
  const seconds = (Date.parse(made.expires_at) - Date.parse(made.created_at)) / 1_000
  assert.equal(seconds, 60)
  const limited = new Custos({ url: service.url, apiKey: made.token ?? '' })
  await custos.memoryOf({ store: 'default', namespace: 'cy' }).remember('Cy has a cat')
  assert.deepEqual((await limited.memory.retrieve('default', { query: 'cat' })).memories, [])
  await assert.rejects(limited.memory.write('default', { content: 'x' }), /scope_missing/)
  const usual = await custos.tokenFor({ ...request, scopes: ['memory:read'], ttl: undefined })
  assert.ok(Date.parse(usual.expires_at) > Date.parse(made.expires_at))
})

test('jobs.wait ends with the job when it is done', async () => {
  await custos.memory.write('default', { content: 'to be embedded' })
  await custos.retention.set('default', { retain_days: 3_650 })
  const { job_id } = await custos.retention.run('default')
  const job = await custos.jobs.wait(job_id, { pollMs: 10 })
  assert.equal(job.state, 'done')
})

/** The client of a service whose requests end in these states, one after another. */
function scripted(...states: readonly object[]) {
  let calls = 0
  const answer: typeof fetch = async () => {
    const state = states[Math.min(calls, states.length - 1)]
    calls += 1
    return Response.json(state)
  }
  return { custos: new Custos({ url: service.url, fetch: answer }), calls: () => calls }
}

test('approvals.wait ends when a person has approved', async () => {
  const pending = { status: 'pending' }
  const done = scripted(pending, pending, { status: 'approved' })
  const request = await done.custos.approvals.wait('r', { pollMs: 1 })
  assert.deepEqual([request.status, done.calls()], ['approved', 3])
})

test('a wait for what did not happen throws with the last state', async () => {
  for (const status of ['denied', 'expired']) {
    const { custos: client } = scripted({ status: 'pending' }, { status })
    await assert.rejects(
      client.approvals.wait('r', { pollMs: 1 }),
      (error) =>
        error instanceof NotCompletedError &&
        'status' in error.last &&
        error.last.status === status,
    )
  }
  for (const state of ['failed', 'cancelled']) {
    const { custos: client } = scripted({ state: 'running' }, { state })
    await assert.rejects(
      client.jobs.wait('j', { pollMs: 1 }),
      (error) =>
        error instanceof NotCompletedError && 'state' in error.last && error.last.state === state,
    )
  }
})

test('a wait is given up with the reason of the signal', async () => {
  const reason = new Error('enough')
  const controller = new AbortController()
  const { custos: client } = scripted({ status: 'pending' })
  const waiting = client.approvals.wait('r', { signal: controller.signal })
  setTimeout(() => controller.abort(reason), 20)
  await assert.rejects(waiting, (error) => error === reason)
})
