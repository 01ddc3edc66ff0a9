// What is billed is what the audit log says: kill -9 between any two requests, and a backup put
// back, leave the counter of governed decisions equal to the entries of the log.

import assert from 'node:assert/strict'
import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { roundsOf } from '../../packages/server/src/testing/sweep.ts'
import { type Client, Interrupted } from './testing/client.ts'
import { custos, fsck } from './testing/command-line.ts'
import { type Random, seeded, seedOfRun } from './testing/random.ts'
import { Stage } from './testing/stage.ts'
import { tempDirectory } from './testing/temp-directory.ts'

const ROUNDS = roundsOf(3, 12)
const REQUESTS = 60
const AT_ONCE = 8
const GOVERNED = ['decision.logged', 'cgr.decision_recorded']

/** One request that counts, repeats one that did, or is refused and undone. */
function act(client: Client, random: Random, round: number): Promise<unknown> {
  const subject = random.int(20)
  const decision = { store_id: 'default', model_id: 'm', query: `q ${subject}`, output: 'o' }
  const headers = { 'idempotency-key': `round ${round} decision ${subject}` }
  const judgment = {
    decision: 'certify',
    agent_handle: 'agent-1',
    invoice_id: `invoice ${subject}`,
  }
  const requests = [
    () => client.ask('POST', '/v1/decisions/log', { body: decision }),
    () => client.ask('POST', '/v1/decisions/log', { body: decision, headers }),
    () => client.ask('POST', '/v1/governed/decisions', { body: judgment }),
    () => client.ask('POST', '/v1/decisions/log', { body: { ...decision, store_id: 'absent' } }),
    () => client.ask('POST', '/v1/stores/default/write', { body: { content: `m ${subject}` } }),
  ]
  return random.pick(requests)?.() ?? Promise.reject(new Error('there is no request'))
}

async function requireEqual(client: Client): Promise<number> {
  const entries = await client.all('/v1/gcrumbs/breadcrumbs', 'breadcrumbs')
  const billable = entries.filter(({ event_type }) => GOVERNED.includes(event_type)).length
  const { governed_decisions } = await client.ok('GET', '/v1/usage/current')
  assert.equal(governed_decisions, billable)
  return billable
}

test('what is counted is what is logged, over kills and a restore', async (t) => {
  const random = seeded(seedOfRun())
  t.diagnostic(`CUSTOS_TEST_SEED=${random.seed}`)
  const plans = { starter: { governed_decisions: { included: 10, ceiling: 100_000 } } }
  const file = join(tempDirectory(t), 'plans.json')
  writeFileSync(file, JSON.stringify(plans))
  const stage = new Stage(t, { env: { CUSTOS_PLANS: file } })
  let client = await stage.start()
  let counted = 0
  for (let round = 0; round < ROUNDS; round += 1) {
    let left = REQUESTS
    const callers = Array.from({ length: AT_ONCE }, async () => {
      while (left > 0) {
        left -= 1
        await act(client, random, round)
      }
    })
    const ended = Promise.allSettled(callers)
    await delay(random.int(400))
    await stage.server.killed()
    for (const result of await ended)
      if (result.status === 'rejected' && !(result.reason instanceof Interrupted))
        throw result.reason
    client = await stage.start()
    const now = await requireEqual(client)
    assert.ok(now >= counted)
    counted = now
  }
  for (let i = 0; i < 20; i += 1) await act(client, random, ROUNDS)
  const atBackup = await requireEqual(client)
  assert.ok(atBackup > 0)
  await stage.server.stop()
  const [data, backup] = [join(stage.options.data_dir, 'custos.db'), join(stage.dir, 'backup.db')]
  cpSync(data, backup)

  client = await stage.start()
  for (let i = 0; i < 20; i += 1) await act(client, random, ROUNDS + 1)
  await requireEqual(client)
  await stage.server.killed()
  for (const suffix of ['-wal', '-shm']) rmSync(`${data}${suffix}`, { force: true })
  cpSync(backup, data)
  client = await stage.start()
  assert.equal(await requireEqual(client), atBackup)
  await act(client, random, ROUNDS + 2)
  await requireEqual(client)
  await stage.server.stop()
  await fsck(stage.options)
  const printed = await custos(stage.options, [
    'usage',
    'recount',
    '--data-dir',
    stage.options.data_dir,
  ])
  assert.doesNotMatch(printed, /was/)
})
