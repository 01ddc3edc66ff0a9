// 'memory.import': a request in parts that two processes get under one key.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTwoKernels } from '../../testing/two-kernels.ts'
import { PLATFORM } from '../db/database.ts'
import { dropLease, findHolder } from '../db/leases.sql.ts'
import type { Tx } from '../db/tenant-db.ts'
import { Refusal } from '../refusal.ts'
import type { Notes } from './call.ts'
import { labelOf, runInParts } from './idempotency.ts'
import type { Kernel } from './kernel.ts'

const TENANT = 't1'

interface Reached extends Record<string, unknown> {
  readonly count: number
}

const requestOf = (kernel: Kernel): Parameters<typeof runInParts>[0] => ({
  kernel,
  tenant_id: TENANT,
  operation: 'memory.import',
  status: 200,
  key: 'k',
  content: async () => Buffer.from('the same'),
})

const interrupted = ({ count }: Reached) =>
  new Refusal('import_refused', undefined, { members: { imported: count } })

const never = async (): Promise<Reached> => assert.fail('it was begun again')

/** Begins a run that has kept one part, and stands still until it is told to go on. */
async function beginAt(kernel: Kernel) {
  let goOn = () => {}
  const told = new Promise<void>((resolve) => {
    goOn = resolve
  })
  let begun = () => {}
  const kept = new Promise<void>((resolve) => {
    begun = resolve
  })
  const keep = (note: (tx: Tx, soFar: Reached) => Promise<void>, count: number) =>
    kernel.db.transact(TENANT, (tx) => note(tx, { count }))
  const run = async (notes: Notes<Reached> | null): Promise<Reached> => {
    assert.ok(notes)
    await keep(notes.open, 1)
    begun()
    await told
    await keep(await notes.close(), 2)
    return { count: 2 }
  }
  const done = runInParts(requestOf(kernel), { run, interrupted })
  done.catch(() => {})
  await kept
  return { done, goOn }
}

const refused = (code: string) => (error: unknown) =>
  error instanceof Refusal && error.code === code

const retryAt = (kernel: Kernel) =>
  runInParts<Reached>(requestOf(kernel), { run: never, interrupted })

test('a retry at another process waits for the first and gets its answer', async (t) => {
  const [{ kernel: one }, { kernel: two }] = await openTwoKernels(t)
  await one.keyring.createTenant(TENANT)
  const { done, goOn } = await beginAt(one)
  const retry = retryAt(two)
  goOn()
  assert.deepEqual(await done, { reply: { count: 2 }, replayed: false })
  assert.deepEqual(await retry, { reply: { count: 2 }, replayed: true })
})

test('a retry is told that the first runs for as long as it does, then its answer', async (t) => {
  const [{ kernel: one }, { kernel: two }] = await openTwoKernels(t, { lease_ms: 600 })
  await one.keyring.createTenant(TENANT)
  const { done, goOn } = await beginAt(one)
  // Beyond the lease as it was taken: it is extended.
  for (const since = performance.now(); performance.now() < since + 900; )
    await assert.rejects(
      retryAt(two),
      (error) => refused('unavailable')(error) && (error as Refusal).extras.retry_after_s === 5,
    )
  goOn()
  assert.equal((await done).replayed, false)
  assert.deepEqual(await retryAt(two), { reply: { count: 2 }, replayed: true })
})

test('a run that stood still beyond its lease does not go on after a refused retry', async (t) => {
  const [{ kernel: one }, { kernel: two }] = await openTwoKernels(t)
  await one.keyring.createTenant(TENANT)
  const { done, goOn } = await beginAt(one)
  await loseLease(one)
  for (const kernel of [two, two]) await assert.rejects(retryAt(kernel), refused('import_refused'))
  goOn()
  await assert.rejects(done, refused('unavailable'))
  await assert.rejects(retryAt(one), refused('import_refused'))
})

/** As if it had not been extended in time. */
async function loseLease(kernel: Kernel): Promise<void> {
  const label = await labelOf({ kernel, tenant_id: TENANT, key: 'k' })
  const name = `parts/${TENANT}/${label.toString('hex')}`
  await kernel.db.transact(PLATFORM, async (tx) => {
    const holder = await findHolder(tx, name, 0)
    assert.ok(holder)
    assert.equal(await dropLease(tx, name, holder), 1)
  })
}
