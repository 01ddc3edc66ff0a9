// Work by the clock in a running process: an erasure that failed half-way.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { rollGrownLogs } from '../slices/gcrumbs/index.ts'
import { openScene } from '../testing/erasure-scene.ts'
import { startTestService } from '../testing/harness.ts'
import { startTimers } from './timers.ts'

const CONTENT = 'Beat Zgraggen owes the shop 412 francs'
const CHECKPOINTS = { epoch_seconds: 60, rewrite_hours: 0 }
const HALF_WAY = [
  'erasure:key_destroyed',
  'erasure:applied',
  'erasure:caches_dropped',
  'erasure:verified',
]

for (const at of HALF_WAY)
  test(`an erasure that failed once after ${at} is finished by the timer alone`, async (t) => {
    let failures = 0
    const scene = await openScene({
      step: (name) => {
        if (name !== at || failures > 0) return
        failures += 1
        throw new Error('the disk was away')
      },
    })
    try {
      const { kernel } = scene.service
      const ref = await scene.write(CONTENT)
      const used = { query: `So ${CONTENT}?`, output: 'yes', retrieved_refs: [ref] }
      const decision_id = await scene.decide(used)
      assert.equal((await scene.issue(ref)).status, 500)
      assert.equal((await scene.api('GET', `/v1/erasure/fact/${ref}`)).status, 404)
      assert.equal((await kernel.keyring.ledger.listRequested()).length, 1)

      await runMinute(t, () => startTimers(kernel, { epoch_seconds: 0, rewrite_hours: 0 }))

      assert.equal(failures, 1)
      assert.deepEqual(await kernel.keyring.ledger.listRequested(), [])
      const { status, body } = await scene.api('GET', `/v1/erasure/fact/${ref}`)
      assert.equal(status, 200)
      assert.equal(body.outcome, 'erased')
      assert.equal(body.verified, true)
      const { text } = await scene.api('GET', `/v1/decisions/${decision_id}`)
      assert.ok(!text.includes('Zgraggen'), text)
    } finally {
      await scene.stop()
    }
  })

test('a log that cannot be signed does not hold up the checkpoints of others', async (t) => {
  const scene = await openScene()
  try {
    const { service } = scene
    await scene.write(CONTENT)
    const other = await service.createTenant('other')
    const [bad = ''] = [scene.tenant_id, other.tenant_id].sort()
    const tree = { generation: 0, epoch_number: 1, tree_size: 1_000, root_hash: '00'.repeat(32) }
    await service.kernel.keyring.checkpoints.save(bad, { ...tree, checkpoint: 'a larger log' })
    const last = async (tenant_id: string) =>
      (await service.kernel.keyring.checkpoints.last(tenant_id))?.checkpoint
    const [good = ''] = [scene.tenant_id, other.tenant_id].filter((id) => id !== bad)
    const signed = async () => (await last(good)) !== undefined
    await runMinute(t, () => startTimers(service.kernel, CHECKPOINTS), signed)
    assert.match((await last(good)) ?? '', new RegExp(`/${good}\n`))
    assert.equal(await last(bad), 'a larger log')
  } finally {
    await scene.stop()
  }
})

test('many logs that cannot be signed do not hold up the checkpoints of others', async () => {
  const service = await startTestService()
  try {
    const { kernel } = service
    const tenants: string[] = []
    for (let i = 0; i < 7; i += 1) tenants.push((await service.createTenant(`t${i}`)).tenant_id)
    const [good = '', ...bad] = tenants.sort().reverse()
    const tree = { generation: 0, epoch_number: 1, tree_size: 1_000, root_hash: '00'.repeat(32) }
    for (const tenant_id of bad)
      await kernel.keyring.checkpoints.save(tenant_id, { ...tree, checkpoint: 'a larger log' })
    const run = () => rollGrownLogs(kernel, new AbortController().signal)
    await assert.rejects(run(), /lacks signed entries/)
    assert.equal(await kernel.keyring.checkpoints.last(good), null)
    await assert.rejects(run(), /lacks signed entries/)
    const last = await kernel.keyring.checkpoints.last(good)
    assert.match(last?.checkpoint ?? '', new RegExp(`/${good}\n`))
  } finally {
    await service.stop()
  }
})

test('a stop does not wait for the checkpoints of all tenants', async (t) => {
  const service = await startTestService()
  try {
    const { kernel } = service
    const tenants = [await service.createTenant('one'), await service.createTenant('two')]
    await runMinute(t, () => startTimers(kernel, CHECKPOINTS))
    const last = ({ tenant_id }: { tenant_id: string }) =>
      kernel.keyring.checkpoints.last(tenant_id)
    assert.deepEqual(await Promise.all(tenants.map(last)), [null, null])
  } finally {
    await service.stop()
  }
})

/**
 * Lets the timers' clock go on by a minute, and waits for the work that this starts: until `done`
 * where a stop ends it early.
 */
async function runMinute(
  t: TestContext,
  start: () => ReturnType<typeof startTimers>,
  done: () => Promise<boolean> = async () => true,
) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  try {
    const timers = start()
    t.mock.timers.tick(60_000)
    for (let i = 0; i < 1_000 && !(await done()); i += 1) await delay(10)
    await timers.stop()
  } finally {
    t.mock.timers.reset()
  }
}
