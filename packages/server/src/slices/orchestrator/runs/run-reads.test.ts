// The steps of a run with their texts, and what was changed in the database is found.
// 'orchestrator.list_steps', 'orchestrator.verify'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rawSql } from '../../../testing/raw-sql.ts'
import { openRunScene, type RunningTenant } from '../testing/run-scene.ts'

const scene = openRunScene()

/** A run of three steps, the last of which has not ended. */
async function threeSteps(tenant: RunningTenant): Promise<string> {
  const run_id = await tenant.start()
  const ref = await tenant.remember('The lighthouse opens at nine')
  for (const input_text of ['when does the lighthouse open?', 'and when does it close?', 'why?']) {
    const { step_id, memory } = await tenant.permitted(run_id, { input_text })
    assert.equal(memory[0]?.ref, ref)
    if (input_text === 'why?') break
    const done = await tenant.complete(run_id, step_id, { output: `so: ${input_text}` })
    assert.equal(done.status, 200, done.text)
  }
  return run_id
}

const verify = (tenant: RunningTenant, run_id: string) =>
  tenant.ok('GET', `/orchestrator/runs/${run_id}/verify`)

test('steps are listed with their texts, to who may read them, until they are erased', async () => {
  const tenant = await scene.tenant()
  const run_id = await threeSteps(tenant)
  const path = `/orchestrator/runs/${run_id}/steps`
  const { steps, count } = await tenant.ok('GET', path)
  assert.equal(count, 3)
  assert.deepEqual(
    steps.map(({ input_text, output_text }: Record<string, unknown>) => [input_text, output_text]),
    [
      ['when does the lighthouse open?', 'so: when does the lighthouse open?'],
      ['and when does it close?', 'so: and when does it close?'],
      ['why?', null],
    ],
  )
  const body = { name: 'runner', scopes: ['orchestrator:run'] }
  const { api_key } = await tenant.ok('POST', '/keys', body)
  const limited = await tenant.ask('GET', path, undefined, { key: api_key })
  assert.equal(limited.status, 200, limited.text)
  assert.doesNotMatch(limited.text, /lighthouse/)
  await tenant.ok('POST', '/stores/notes/delete', { ref: steps[0].retrieved_refs[0] })
  const erased = await tenant.ok('GET', path)
  assert.equal(erased.steps[1].input_text, null)
  assert.equal((await verify(tenant, run_id)).status, 'intact')
})

test('a run without an ended step is empty, and an honest one intact', async () => {
  const tenant = await scene.tenant()
  const run_id = await tenant.start()
  const nothing = { steps_verified: 0, tampered_at_step: null, reason: null }
  assert.deepEqual(await verify(tenant, run_id), { run_id, status: 'empty', ...nothing })
  const three = await threeSteps(tenant)
  assert.deepEqual(await verify(tenant, three), {
    ...nothing,
    run_id: three,
    status: 'intact',
    steps_verified: 2,
  })
})

/** What somebody with the database does, and at which step it shows. */
const CHANGES: Readonly<Record<string, readonly [sql: string, step: number | null]>> = {
  'the tokens of a receipt': [
    `update run_steps set receipt = replace(receipt, '"tokens_in":10', '"tokens_in":11')
     where run_id = ? and step_no = 2`,
    2,
  ],
  'a receipt that is gone': [
    'update run_steps set receipt = null where run_id = ? and step_no = 1',
    1,
  ],
  'a receipt that is no JSON': [
    `update run_steps set receipt = 'x' where run_id = ? and step_no = 2`,
    2,
  ],
  'a step that never was': ['delete from run_steps where run_id = ? and step_no = 2', 1],
  'the state of a step': [
    `update run_steps set state = 'failed' where run_id = ? and step_no = 1`,
    1,
  ],
  'the head of the chain': ['update runs set last_receipt_digest = null where run_id = ?', 2],
  'an entry of the log': [
    `update breadcrumbs set record = replace(record, '"state":"completed"', '"state":"denied"')
     where record like '%step.completed%' and record like '%' || ? || '%'`,
    null,
  ],
}

for (const [name, [sql, step]] of Object.entries(CHANGES))
  test(`${name} is found`, async () => {
    const tenant = await scene.tenant()
    const run_id = await threeSteps(tenant)
    await rawSql(scene.service, sql, [run_id])
    const verdict = await verify(tenant, run_id)
    assert.deepEqual([verdict.status, verdict.tampered_at_step], ['tampered', step], verdict.reason)
    assert.equal(typeof verdict.reason, 'string')
  })

test('a run of another tenant is not there', async () => {
  const [tenant, foreign] = [await scene.tenant(), await scene.tenant()]
  const run_id = await tenant.start()
  for (const verb of ['verify', 'steps'])
    assert.equal((await foreign.ask('GET', `/orchestrator/runs/${run_id}/${verb}`)).status, 404)
})
