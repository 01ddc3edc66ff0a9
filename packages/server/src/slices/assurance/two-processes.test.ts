// Two services on one database: what is due runs once; who comes late to an end changes nothing.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { OPERATOR_KEY } from '../../testing/harness.ts'
import { createDatabase } from '../../testing/postgres.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { startShared } from '../../testing/services-on-one-database.ts'
import { assureDue, awaitRuns, interruptAbandoned } from './index.ts'

async function openBoth(t: TestContext, step: (name: string) => void | Promise<void> = () => {}) {
  const database = await createDatabase()
  const [one, two] = [
    await startShared(database.url, { step }),
    await startShared(database.url, {}),
  ]
  t.after(async () => {
    await one.stop()
    await two.stop()
    await database.drop()
  })
  const ask = async (method: string, path: string, key: string, body?: object) => {
    const answer = await fetch(`${one.url}/v1${path}`, {
      method,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    assert.ok(answer.ok, `${path}: ${answer.status} ${text}`)
    return JSON.parse(text)
  }
  const { api_key } = await ask('POST', '/cloud/tenants', OPERATOR_KEY, { name: 'both' })
  const own = (method: string, path: string, body?: object) => ask(method, path, api_key, body)
  return { one, two, own }
}

test('a schedule that both find due runs once', async (t) => {
  const { one, two, own } = await openBoth(t)
  await own('POST', '/assurance/schedules', { interval_min: 5, checks: ['clock'] })
  await rawSql(one, 'update assurance_schedules set next_due_us = 1')
  await Promise.all([one, two, one, two].map(({ kernel }) => assureDue(kernel)))
  const { runs } = await own('GET', '/assurance/runs')
  assert.deepEqual(
    runs.map(({ status, trigger }: Record<string, string>) => [status, trigger]),
    [['pass', 'schedule']],
  )
})

test('a run that another process gave up for dead stays given up', async (t) => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const { promise: looked, resolve: tell } = Promise.withResolvers<void>()
  const { one, two, own } = await openBoth(t, (name) => {
    if (name !== 'assurance:looked') return
    tell()
    return gate
  })
  const { run_id } = await own('POST', '/assurance/run', { checks: ['clock'], background: true })
  await looked
  await interruptAbandoned(two.kernel)
  assert.equal((await own('GET', `/assurance/runs/${run_id}`)).status, 'running', 'its lease holds')
  await rawSql(one, 'update assurance_runs set lease_until_us = 1')
  await interruptAbandoned(two.kernel)
  open()
  await awaitRuns(one.kernel)
  const run = await own('GET', `/assurance/runs/${run_id}`)
  assert.deepEqual([run.status, run.error, run.log_seq], ['fail', 'interrupted', null])
  const { breadcrumbs } = await own('GET', '/gcrumbs/breadcrumbs')
  const events = breadcrumbs.map(({ event_type }: Record<string, string>) => event_type)
  assert.equal(events.includes('assurance.completed'), false)
})
