// Who follows a log misses nothing of it, whichever process appends, and is asked for little.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type EventType, eventPayloads } from '@custos/contract'
import { listLogEnds } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import { insertInto, type TenantDb } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { openTestKernel } from '../../testing/kernel.ts'
import { openTwoKernels } from '../../testing/two-kernels.ts'
import { appendCrumb } from './append.ts'
import { followLog, type LogEnd, readLogPage } from './follow.ts'

const append = (kernel: Kernel, tenant_id = 't1') =>
  kernel.db.transact(tenant_id, (tx) =>
    appendCrumb(tx, { event_type: 'store.deleted', subject: 'default', payload: { facts: 1 } }),
  )

/** Resolves to the first end that was told and fits, and the time it took. */
function nextEnd(kernel: Kernel, size: number, tenant_id = 't1') {
  const { promise, resolve } = Promise.withResolvers<LogEnd>()
  const stop = followLog(kernel, tenant_id, (end) => {
    if (end.size >= size) resolve(end)
  })
  return { promise, stop }
}

test('a database that is lost while ends are listed fails the list, and nothing else', async () => {
  const lost = new Error('lost')
  const db = {
    first: () => Promise.reject(lost),
    all: () => delay(1).then(() => Promise.reject(lost)),
  }
  await assert.rejects(listLogEnds(db as unknown as TenantDb, ['t1']), lost)
  // A rejection that nobody waits for fails this test.
  await delay(5)
})

test('an entry is told at once in its process, and to no follower of another tenant', async (t) => {
  const { kernel, close } = await openTestKernel({ tenants: ['t1', 't2'] })
  t.after(() => close())
  const other: LogEnd[] = []
  const stop = followLog(kernel, 't2', (end) => other.push(end))
  const own = nextEnd(kernel, 1)
  await append(kernel)
  assert.deepEqual(await own.promise, { generation: 0, size: 1 })
  assert.deepEqual(other, [])
  own.stop()
  stop()
})

test('a unit that fails is told to nobody', async (t) => {
  const { kernel, close } = await openTestKernel()
  t.after(() => close())
  const ends: LogEnd[] = []
  t.after(followLog(kernel, 't1', (end) => ends.push(end)))
  const failing = kernel.db.transact('t1', async (tx) => {
    await appendCrumb(tx, {
      event_type: 'store.deleted',
      subject: 'default',
      payload: { facts: 1 },
    })
    throw new Error('refused')
  })
  await assert.rejects(failing)
  await append(kernel)
  assert.deepEqual(ends, [{ generation: 0, size: 1 }])
})

test('entries of another process are told within 400 ms, for many tenants at once', async (t) => {
  const [{ kernel: one }, { kernel: other }] = await openTwoKernels(t)
  const tenants = Array.from({ length: 20 }, (_, i) => `t${i}`)
  const followed = tenants.map((tenant) => nextEnd(one, 1, tenant))
  const begun = performance.now()
  await Promise.all(tenants.map((tenant) => append(other, tenant)))
  const appended = performance.now() - begun
  await Promise.all(followed.map(({ promise }) => promise))
  const told = performance.now() - begun - appended
  assert.ok(told <= 400, `told after ${told} ms`)
  for (const { stop } of followed) stop()
})

const read = (kernel: Kernel, first_seq: number, events: readonly EventType[] | null, limit = 3) =>
  kernel.db.read('t1', (db) => readLogPage(db, { first_seq, limit, events }))

test('pages are gapless, bounded, and end where the log ends', async (t) => {
  const { kernel, close } = await openTestKernel()
  t.after(() => close())
  assert.deepEqual(await read(kernel, 0, null), {
    entries: [],
    next_seq: 0,
    end: { generation: 0, size: 0 },
  })
  for (let i = 0; i < 7; i += 1) await append(kernel)
  const seen: number[] = []
  for (let first = 0; first < 7; ) {
    const page = await read(kernel, first, null)
    assert.ok(page.entries.length <= 3)
    seen.push(...page.entries.map(({ seq }) => seq))
    first = page.next_seq
  }
  assert.deepEqual(seen, [0, 1, 2, 3, 4, 5, 6])
  assert.equal((await read(kernel, 99, null)).next_seq, 7)
})

describe('a filter by events', () => {
  const events = Object.keys(eventPayloads) as EventType[]

  // Rows as `appendCrumb` writes them: their payloads are of no interest here.
  const fill = (kernel: Kernel, count: number) =>
    kernel.db.transact('t1', async (tx) => {
      for (let seq = 0; seq < count; seq += 1) {
        const event_type = events[seq % events.length]
        const created_at = '2026-01-01T00:00:00.000000Z'
        const record = JSON.stringify({ created_at, event_type, payload: {}, seq })
        const row = { seq, breadcrumb_id: Buffer.from([seq]), record }
        await tx.run(insertInto(tx, 'breadcrumbs', row))
      }
      const head = { generation: 0, size: count, frontier: Buffer.of(), last_id: Buffer.of() }
      await tx.run(insertInto(tx, 'chain_heads', { ...head, last_us: 1 }))
    })

  test('finds each event and none that begins like it', async (t) => {
    const { kernel, close } = await openTestKernel()
    t.after(() => close())
    await fill(kernel, events.length)
    for (const [seq, event] of events.entries()) {
      const { entries } = await read(kernel, 0, [event])
      assert.deepEqual(
        entries.map((entry) => [entry.seq, entry.event_type]),
        [[seq, event]],
      )
    }
    const all = await read(kernel, 0, events, 1_000)
    assert.equal(all.entries.length, events.length)
    assert.deepEqual((await read(kernel, 0, [])).entries, [])
  })

  test('looks at a bounded number of entries a page', async (t) => {
    const { kernel, close } = await openTestKernel()
    t.after(() => close())
    await fill(kernel, 12_000)
    const last = events[11_999 % events.length] ?? 'log.restored'
    const rare = await read(kernel, 11_000, [last])
    assert.ok(rare.next_seq <= 12_000)
    const none = await read(kernel, 0, [])
    assert.deepEqual([none.entries.length, none.next_seq], [0, 10_000])
  })

  test('is right for entries as they are appended', async (t) => {
    const { kernel, close } = await openTestKernel()
    t.after(() => close())
    await append(kernel)
    const { entries } = await read(kernel, 0, ['store.deleted'])
    assert.deepEqual(
      entries.map(({ event_type }) => event_type),
      ['store.deleted'],
    )
    assert.deepEqual((await read(kernel, 0, ['store.created'])).entries, [])
  })
})

test('nobody reads the heads of other tenants through an ordinary transaction', async (t) => {
  const [{ kernel }] = await openTwoKernels(t)
  await append(kernel)
  const rows = await kernel.db.read(PLATFORM, (db) =>
    readLogPage(db, { first_seq: 0, limit: 1, events: null }),
  )
  assert.deepEqual(rows.end, { generation: 0, size: 0 })
})
