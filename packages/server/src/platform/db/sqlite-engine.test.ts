// Guarantees of the unit of work on the embedded engine.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { systemClock } from '../clock.ts'
import { migrateSqlite } from './migrate.ts'
import { SqliteConnection } from './sqlite-connection.ts'
import { SqliteEngine } from './sqlite-engine.ts'
import { deleteFrom, from, insertInto, type SharedSlot, type Tx, update } from './tenant-db.ts'

let dir: string
let db: SqliteEngine

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'custos-engine-'))
  const path = join(dir, 'custos.db')
  const connection = new SqliteConnection(path, 'write')
  migrateSqlite(connection)
  connection.close()
  db = new SqliteEngine(path, systemClock())
})

afterEach(async () => {
  await db.close()
  rmSync(dir, { recursive: true })
})

const usageRow = (operation: string, count = 1) => ({
  period: '2026-01',
  operation,
  count,
  bytes: 0,
})

const put = (tx: Tx, operation: string) => tx.run(insertInto(tx, 'usage', usageRow(operation)))

const operations = (tenant_id: string) =>
  db.read(tenant_id, async (r) => {
    const rows = await r.all(from(r, 'usage').select('operation').orderBy('operation'))
    return rows.map((row) => row.operation)
  })

test('a unit that throws leaves nothing, and the units beside it in the batch stay', async () => {
  const units = ['a', 'b', 'c', 'd'].map((name) =>
    db.transact('t1', async (tx) => {
      await put(tx, name)
      if (name === 'b') throw new Error('refused')
      return name
    }),
  )
  const results = await Promise.allSettled(units)
  assert.deepEqual(
    results.map((result) => result.status),
    ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
  )
  assert.deepEqual(await operations('t1'), ['a', 'c', 'd'])
  assert.equal(db.stats().commits, 1)
})

test('a constraint failure rolls back its own unit alone', async () => {
  const results = await Promise.allSettled([
    db.transact('t1', (tx) => put(tx, 'a')),
    db.transact('t1', async (tx) => {
      await put(tx, 'z')
      await put(tx, 'a')
    }),
    db.transact('t1', (tx) => put(tx, 'c')),
  ])
  assert.equal(results[1]?.status, 'rejected')
  assert.deepEqual(await operations('t1'), ['a', 'c'])
})

test('a read sees a write once it is acknowledged and nothing before', async () => {
  const write = db.transact('t1', async (tx) => {
    await put(tx, 'a')
    assert.deepEqual(await operations('t1'), [])
  })
  await write
  assert.deepEqual(await operations('t1'), ['a'])
})

test('a read keeps one snapshot while commits go on', async () => {
  await db.transact('t1', (tx) => put(tx, 'a'))
  await db.read('t1', async (r) => {
    const query = from(r, 'usage').select('operation')
    assert.equal((await r.all(query)).length, 1)
    await db.transact('t1', (tx) => put(tx, 'b'))
    assert.equal((await r.all(query)).length, 1)
  })
  assert.deepEqual(await operations('t1'), ['a', 'b'])
})

test('a tenant handle reads, changes and deletes rows of its tenant only', async () => {
  await db.transact('t1', (tx) => put(tx, 'same'))
  await db.transact('t2', (tx) => put(tx, 'same'))
  await db.transact('t2', async (tx) => {
    assert.equal(await tx.run(update(tx, 'usage').set({ count: 9 })), 1)
    assert.equal(await tx.run(deleteFrom(tx, 'usage')), 1)
  })
  assert.deepEqual(await operations('t1'), ['same'])
  assert.deepEqual(await operations('t2'), [])
})

test('keys are compared byte by byte', async () => {
  for (const name of ['b', 'B', 'a', 'Z', 'é', 'e']) await db.transact('t1', (tx) => put(tx, name))
  assert.deepEqual(await operations('t1'), ['B', 'Z', 'a', 'b', 'e', 'é'])
})

test('integers are exact up to 2^53 - 1', async () => {
  const count = Number.MAX_SAFE_INTEGER
  await db.transact('t1', (tx) => tx.run(insertInto(tx, 'usage', usageRow('max', count))))
  const row = await db.read('t1', (r) => r.first(from(r, 'usage').select('count')))
  assert.equal(row?.count, count)
})

test('shared state is undone with its unit and flushed once a commit', async () => {
  const flushed: number[] = []
  const slot: SharedSlot<number> = {
    name: 'sum',
    async flush(tx, value) {
      flushed.push(value)
      await tx.run(insertInto(tx, 'usage', usageRow('sum', value)))
    },
  }
  const add = (n: number, fails = false) =>
    db.transact('t1', async (tx) => {
      tx.shared.set(slot, (tx.shared.get(slot) ?? 0) + n)
      if (fails) throw new Error('refused')
    })
  await Promise.allSettled([add(1), add(10, true), add(100)])
  assert.deepEqual(flushed, [101])
  const row = await db.read('t1', (r) => r.first(from(r, 'usage').select('count')))
  assert.equal(row?.count, 101)
})

test('what waits for the commit runs after it and never for a unit that failed', async () => {
  const ran: string[] = []
  const unit = (name: string, fails: boolean) =>
    db.transact('t1', async (tx) => {
      tx.afterCommit(() => ran.push(name))
      await put(tx, name)
      if (fails) throw new Error('refused')
    })
  await Promise.allSettled([unit('kept', false), unit('lost', true)])
  assert.deepEqual(ran, ['kept'])
})

test('a unit that overruns a turn of the loop is still alone on the connection', async () => {
  const slow = db.transact('t1', async (tx) => {
    await put(tx, 'slow-1')
    await new Promise((resolve) => setTimeout(resolve, 20))
    await put(tx, 'slow-2')
    throw new Error('refused')
  })
  const other = db.transact('t1', (tx) => put(tx, 'other'))
  await assert.rejects(slow)
  await other
  assert.deepEqual(await operations('t1'), ['other'])
})

test('closing waits for the units that were accepted', async () => {
  const unit = db.transact('t1', (tx) => put(tx, 'last'))
  const closing = db.close()
  await unit
  await closing
  db = new SqliteEngine(join(dir, 'custos.db'), systemClock())
  assert.deepEqual(await operations('t1'), ['last'])
})
