// The spike does what it is measured for: its rows are the service's, durable and verifiable.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseConfig, runFsck } from '@custos/server'
import { sqlite } from './engines.ts'
import { ask } from './load.ts'
import { start, startCustos, stop, urlOf } from './processes.ts'
import { scenarios } from './scenarios.ts'
import { fillFacts } from './stages.ts'

const REQUESTS = 300
const MEMORIES = 10

test('fsck accepts what the spike has logged and written', async (t) => {
  const place = await sqlite.create()
  t.after(() => place.remove())
  const service = startCustos(place.env)
  await fillFacts(await urlOf(service), MEMORIES)
  await stop(service)

  const spike = start(['bench/spike.ts'], place.env)
  t.after(() => stop(spike))
  const url = await urlOf(spike)
  for (const name of ['decision log', 'write']) {
    const operation = scenarios.find((one) => one.name === name)?.operation
    assert.ok(operation)
    await Promise.all(Array.from({ length: REQUESTS }, (_, i) => ask(url, operation.make(i))))
  }
  await stop(spike)

  const data_dir = String(place.env['CUSTOS_DATA_DIR'])
  const [report] = await runFsck(parseConfig({ CUSTOS_DATA_DIR: data_dir }))
  assert.deepEqual(report?.findings, [])
  assert.equal(report?.counts.decisions, REQUESTS)
  assert.equal(report?.counts.facts, REQUESTS + MEMORIES)
})
