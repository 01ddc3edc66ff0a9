// An erased memory is in nothing derived from it: texts, arguments, outputs, waiting approvals.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTextsOfRun } from '../../decisions/index.ts'
import { openRunScene } from '../testing/run-scene.ts'
import { settleDueRuns } from './settle-runs.ts'

const scene = openRunScene()
const CANARY = 'Zenobia Quarles lives at 14 Pelican Row'

test('erasing a memory destroys every text made from it, two steps down too', async () => {
  const tenant = await scene.tenant()
  const ref = await tenant.remember(CANARY)
  const run_id = await tenant.start()
  const first = await tenant.permitted(run_id, { input_text: 'where does she live?' })
  assert.deepEqual(first.step.retrieved_refs, [ref])
  const called = await tenant.call(run_id, first.step_id, { tool: 'post', args: { to: CANARY } })
  const calls = [{ call_id: called.body.call_id, result: `sent to ${CANARY}` }]
  await tenant.complete(run_id, first.step_id, { output: `Answer: ${CANARY}`, calls })
  const second = await tenant.permitted(run_id, { input_from: first.step_id, budget_tokens: 0 })
  const done = await tenant.complete(run_id, second.step_id, { output: CANARY, final: true })
  assert.equal(done.status, 200, done.text)
  assert.ok(JSON.stringify(await tenant.bundle(run_id)).includes(CANARY))

  const certificate = await tenant.ok('POST', '/erasure/issue', { fact_ref: ref })
  assert.equal(certificate.coverage.run_texts, '5 destroyed')
  assert.equal(certificate.scrubbed_decision_ids.length, 2)
  const path = certificate.verification.paths.find(
    (one: { path: string }) => one.path === 'runs.texts',
  )
  assert.equal(path.result, 'absent')
  const lines = await tenant.bundle(run_id)
  assert.equal(JSON.stringify(lines).includes('Zenobia'), false)
  // The first input was the caller's own and made from nothing.
  const texts = lines.filter(({ type }) => type === 'text').map(({ text }) => text)
  assert.deepEqual(
    texts.filter((text) => text !== null),
    ['where does she live?'],
  )
  assert.equal(texts.length, 6)
  assert.equal(lines.filter(({ type }) => type === 'erasure').length, 1)
  const step = await tenant.step(run_id, second.step_id)
  assert.equal(step.input_text, null)
})

test('a live run that used an erased memory ends, and its late answer is not stored', async () => {
  const tenant = await scene.tenant()
  const ref = await tenant.remember(CANARY)
  const run_id = await tenant.start()
  const { step_id } = await tenant.permitted(run_id, { input_text: 'where does she live?' })
  await tenant.ok('POST', '/erasure/issue', { fact_ref: ref })
  const late = await tenant.complete(run_id, step_id, { output: `It is ${CANARY}` })
  assert.equal(late.status, 409, late.text)
  const run = await tenant.run(run_id)
  assert.deepEqual([run.state, run.termination_reason], ['terminated', 'input_erased'])
  assert.equal(JSON.stringify(await tenant.bundle(run_id)).includes('Zenobia'), false)
})

test('an action whose text is erased can no longer be approved', async () => {
  const tenant = await scene.tenant()
  await tenant.policy({ policy_type: 'hitl_required', config: { operations: ['tool_execution'] } })
  const ref = await tenant.remember(CANARY)
  const run_id = await tenant.start()
  const { step_id } = await tenant.permitted(run_id, { input_text: 'where does she live?' })
  const waiting = await tenant.call(run_id, step_id, { tool: 'post', args: { to: CANARY } })
  assert.equal(waiting.status, 202, waiting.text)
  const { action_id } = waiting.body.detail
  const path = `/orchestrator/actions/${action_id}`
  assert.ok((await tenant.ok('GET', path)).text.includes(CANARY))
  await tenant.ok('POST', '/erasure/issue', { fact_ref: ref })
  const shown = await tenant.ok('GET', path)
  assert.equal(shown.text, null)
  assert.equal(JSON.stringify(shown).includes('Zenobia'), false)
  const approved = await tenant.ask('POST', `${path}/approve`, { approver: 'ana' })
  assert.equal(approved.body.error, 'not_waiting', approved.text)
})

test('a person who is named in an input of a run is found and redacted by a request', async () => {
  const tenant = await scene.tenant()
  const run_id = await tenant.start({ input_text: `call ${CANARY}` })
  const find = { text: CANARY }
  const { digest } = await tenant.ok('POST', '/erasure/subject', { find, preview: true })
  const found = await tenant.ok('POST', '/erasure/subject', { find, expect_digest: digest })
  const until = Date.now() + 30_000
  for (;;) {
    const { status } = await tenant.ok('GET', `/erasure/subject/${found.request_id}`)
    if (status === 'done') break
    assert.ok(Date.now() < until, `the request is still ${status}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  const text = scene.service.kernel.db.read(tenant.tenant_id, (db) =>
    openTextsOfRun(scene.service.kernel, db, run_id),
  )
  assert.equal((await text).size, 0)
  await settleDueRuns(scene.service.kernel)
  const run = await tenant.run(run_id)
  assert.deepEqual([run.state, run.termination_reason], ['terminated', 'input_erased'])
})
