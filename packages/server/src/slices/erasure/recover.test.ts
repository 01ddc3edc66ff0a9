// Recovery at a start: tenants that need nothing cost one query for all of them, and a memory whose
// erasure is undone gets the vector that it missed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PLATFORM } from '../../platform/db/database.ts'
import {
  noteInterruption,
  runErasure,
  takeInterrupted,
} from '../../platform/kernel/erasure-queue.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { SERVICE_DIMENSIONS, startEmbeddingServer } from '../../testing/embedding-server.ts'
import { openScene, type Scene } from '../../testing/erasure-scene.ts'
import { openTwoKernels } from '../../testing/two-kernels.ts'
import { rollEpoch } from '../gcrumbs/index.ts'
import { markErasing } from '../memory/index.ts'
import { ensureTenant } from '../tenants/index.ts'
import { unmarkUnrequested } from './prepare.ts'
import {
  listTenantsToReconcile,
  listTenantsWithOpenErasures,
  reconcileErasures,
  recoverInterrupted,
} from './recover.ts'

const TENANTS = ['t1', 't2', 't3', 't4', 't5']

/** The kernel, which counts reads of single tenants. */
function counting(kernel: Kernel): { kernel: Kernel; looks: () => number } {
  let looks = 0
  const read: Kernel['db']['read'] = (tenant_id, look) => {
    if (tenant_id !== PLATFORM) looks += 1
    return kernel.db.read(tenant_id, look)
  }
  const db = new Proxy(kernel.db, {
    get: (target, key) => {
      if (key === 'read') return read
      const value = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return { kernel: { ...kernel, db }, looks: () => looks }
}

test('a start takes no lease and no query of its own for tenants that need nothing', async (t) => {
  const [{ kernel }] = await openTwoKernels(t)
  for (const tenant_id of TENANTS) {
    await ensureTenant(kernel, { tenant_id })
    await rollEpoch(kernel, tenant_id)
  }
  const { kernel: counted, looks } = counting(kernel)
  const { commits } = kernel.db.stats()
  await reconcileErasures(counted)
  assert.deepEqual([kernel.db.stats().commits, looks()], [commits, 0])
})

test('a tenant whose log is behind its checkpoint is found among the others', async (t) => {
  const [{ kernel }] = await openTwoKernels(t)
  for (const tenant_id of TENANTS) {
    await ensureTenant(kernel, { tenant_id })
    await rollEpoch(kernel, tenant_id)
  }
  assert.deepEqual(await listTenantsToReconcile(kernel), [])
  const last = await kernel.keyring.checkpoints.last('t3')
  assert.ok(last)
  const { tree_size, epoch_number } = last
  const ahead = { ...last, tree_size: tree_size + 1, epoch_number: epoch_number + 1 }
  await kernel.keyring.checkpoints.save('t3', ahead)
  assert.deepEqual(
    [await listTenantsToReconcile(kernel), await listTenantsWithOpenErasures(kernel)],
    [['t3'], []],
  )
})

const FACTS = 150

async function withScene(
  step: (name: string) => Promise<void>,
  act: (scene: Scene, refs: readonly number[]) => Promise<void>,
): Promise<void> {
  const { url, stop } = await startEmbeddingServer()
  const http = { url, model: 'm', key: null, dimensions: SERVICE_DIMENSIONS, timeout_ms: 2_000 }
  const config = { embedder: { default_name: 'static' as const, http, onnx: null } }
  const scene = await openScene({ config, step })
  try {
    const items = Array.from({ length: FACTS }, (_, i) => ({ content: `memory number ${i}` }))
    const path = `/v1/stores/${scene.store_id}/write_batch`
    const { body } = await scene.api('POST', path, { items })
    await act(scene, body.refs)
  } finally {
    await scene.stop()
    await stop()
  }
}

const unmark = ({ service: { kernel }, tenant_id }: Scene, ref: number) =>
  runErasure(kernel, tenant_id, () => unmarkUnrequested(kernel, tenant_id, [ref]))

/** Hides a memory, changes the embedder, and shows it again when `at` is reached. */
async function assertMadeUpFor(at: 'reembed:stored' | 'ended'): Promise<void> {
  let act = async () => {}
  let shown = 0
  const step = async (name: string) => {
    if (name !== at || shown > 0) return
    shown += 1
    await act()
  }
  await withScene(step, async (scene, refs) => {
    const { kernel } = scene.service
    const [, , , ref = 0] = refs
    act = () => unmark(scene, ref)
    await kernel.db.transact(scene.tenant_id, (tx) => markErasing(tx, [ref]))
    await scene.api('POST', `/v1/stores/${scene.store_id}/reembed`, { embedder: 'http' })
    await kernel.jobs.idle()
    await step('ended')
    await kernel.jobs.idle()
    assert.equal(shown, 1)
    const { body } = await scene.api('GET', `/v1/stores/${scene.store_id}/stats`)
    assert.deepEqual(body.vectors, { space: 'http:m/1/256', embedded: FACTS, missing: 0 })
  })
}

test('a memory shown again while the others are embedded gets its vector', () =>
  assertMadeUpFor('reembed:stored'))

test('a memory shown again after the others were embedded gets its vector', () =>
  assertMadeUpFor('ended'))

test('a memory shown again with a current vector starts no job', async (t) => {
  await withScene(
    async () => {},
    async (scene, refs) => {
      const { kernel } = scene.service
      const [, ref = 0] = refs
      await kernel.db.transact(scene.tenant_id, (tx) => markErasing(tx, [ref]))
      const { mock } = t.mock.method(kernel.jobs, 'enqueue')
      await unmark(scene, ref)
      assert.equal(mock.callCount(), 0)
    },
  )
})

test('an erasure that an outage interrupted is finished once the data are served', async (t) => {
  const outages: string[] = []
  const step = async (name: string) => {
    if (name !== 'erasure:ledger_recorded' && name !== 'erasure:applied') return
    outages.push(name)
    if (outages.length < 3) throw new Refusal('unavailable')
  }
  await withScene(step, async (scene, refs) => {
    const { kernel } = scene.service
    let now = performance.now()
    t.mock.method(performance, 'now', () => now)
    const [fact_ref = 0] = refs
    const { store_id } = scene
    const issued = await scene.api('POST', '/v1/erasure/issue', { fact_ref, store_id })
    const certificate = () => scene.api('GET', `/v1/erasure/fact/${fact_ref}`)
    assert.deepEqual([issued.status, (await certificate()).status], [503, 404])

    const recover = async () => {
      now += 2_000
      await recoverInterrupted(kernel, new AbortController().signal)
    }
    const { ledger } = kernel.keyring
    const issue = t.mock.method(ledger, 'issueFencingToken', async () => {
      throw new Refusal('unavailable')
    })
    await recover()
    issue.mock.restore()
    // The next goes as far as the second outage; the pause after it is longer.
    for (let run = 0; run < 2; run += 1) await recover()
    assert.deepEqual([outages.length, (await certificate()).status], [2, 404])
    await recover()
    assert.equal((await certificate()).status, 200)
    now += 60_000
    await recover()
    assert.deepEqual(outages, ['erasure:ledger_recorded', 'erasure:applied', 'erasure:applied'])
  })
})

test('a tenant whose recovery cannot begin is tried again, and delays no other', async (t) => {
  const [{ kernel }] = await openTwoKernels(t)
  for (const tenant_id of ['t1', 't2']) {
    await ensureTenant(kernel, { tenant_id })
    noteInterruption(kernel, tenant_id, new Refusal('unavailable'))
  }
  noteInterruption(kernel, 'of nobody', new Refusal('unavailable'))
  let now = performance.now()
  t.mock.method(performance, 'now', () => now)
  const { ledger } = kernel.keyring
  const issue = ledger.issueFencingToken.bind(ledger)
  const asked: string[] = []
  t.mock.method(ledger, 'issueFencingToken', async (tenant_id: string) => {
    asked.push(tenant_id)
    if (asked.length === 1) throw new Refusal('unavailable')
    return issue(tenant_id)
  })
  for (let run = 0; run < 4; run += 1) {
    await recoverInterrupted(kernel, new AbortController().signal)
    now += 20_000
  }
  assert.deepEqual([asked, takeInterrupted(kernel)], [['t1', 't2', 't1'], []])
})

test('a recovery waits for no erasure that runs, here or in another process', {
  timeout: 20_000,
}, async (t) => {
  const [one, two] = await openTwoKernels(t)
  const { kernel } = one
  const tenants = ['t1', 't2', 't3']
  for (const tenant_id of tenants) await ensureTenant(kernel, { tenant_id })
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const running: Promise<void>[] = []
  for (const [runner, tenant_id] of [
    [two.kernel, 't1'],
    [kernel, 't2'],
  ] as const)
    await new Promise<void>((begun) => {
      const act = () => {
        begun()
        return held
      }
      running.push(runErasure(runner, tenant_id, act))
    })
  for (const tenant_id of tenants) noteInterruption(kernel, tenant_id, new Refusal('unavailable'))
  const { ledger } = kernel.keyring
  const issue = ledger.issueFencingToken.bind(ledger)
  const asked: string[] = []
  t.mock.method(ledger, 'issueFencingToken', (tenant_id: string) => {
    asked.push(tenant_id)
    return issue(tenant_id)
  })
  let now = performance.now()
  t.mock.method(performance, 'now', () => now)
  const recover = () => recoverInterrupted(kernel, new AbortController().signal)
  // The clock stands still: a wait for the lease or for the erasure would never end.
  await recover()
  assert.deepEqual(asked, ['t3'])
  release()
  await Promise.all(running)
  now += 10_000
  await recover()
  assert.deepEqual([asked, takeInterrupted(kernel)], [['t3', 't1', 't2'], []])
})
