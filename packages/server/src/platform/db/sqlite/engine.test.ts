// What the embedded engine promises beyond what every engine does.

import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { type RawBuilder, sql } from 'kysely'
import { systemClock } from '../../clock.ts'
import { builder } from '../builder.ts'
import { from, insertInto, type TenantDb, type Tx, update } from '../tenant-db.ts'
import { SqliteConnection } from './connection.ts'
import { migrateSqlite, SqliteEngine } from './engine.ts'
import { findInstance } from './instance.ts'

let dir: string
let path: string
let db: SqliteEngine

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'custos-engine-'))
  path = join(dir, 'custos.db')
  const connection = new SqliteConnection(path, 'write')
  migrateSqlite(connection)
  connection.close()
  db = new SqliteEngine(path, systemClock())
})

afterEach(async () => {
  await db.close()
  rmSync(dir, { recursive: true })
})

const put = (tx: Tx, operation: string) =>
  tx.run(insertInto(tx, 'usage', { period: '2026-01', operation, count: 1, bytes: 0 }))

const operations = (tenant_id: string) =>
  db.read(tenant_id, async (r) => {
    const rows = await r.all(from(r, 'usage').select('operation').orderBy('operation'))
    return rows.map((row) => row.operation)
  })

test('units of several tenants that arrive together share one commit', async () => {
  const tenants = ['t1', 't2', 't3', 't1']
  await Promise.all(tenants.map((tenant, i) => db.transact(tenant, (tx) => put(tx, `u${i}`))))
  assert.equal(db.stats().commits, 1)
  assert.deepEqual(await operations('t1'), ['u0', 'u3'])
  assert.deepEqual(await operations('t2'), ['u1'])
})

/** Longer than a unit of work runs in one piece. */
function keepBusy(): void {
  for (const until_ms = performance.now() + 50; performance.now() < until_ms; );
}

test('others are answered while a long unit of work runs', async () => {
  let answered = false
  const answeredMeanwhile = await db.transact('t1', async (tx) => {
    setImmediate(() => {
      answered = true
    })
    for (let i = 0; i < 50_000 && !answered; i += 1) await put(tx, `u${i}`)
    return answered
  })
  assert.equal(answeredMeanwhile, true)
})

test('statements that nobody waits for run in the order of the calls', async () => {
  const found = await db.transact('t1', async (tx) => {
    keepBusy()
    for (const operation of ['a', 'b', 'c']) {
      const renamed = update(tx, 'usage').set({ operation: `${operation}2` })
      tx.needs(put(tx, operation))
      tx.needs(tx.run(renamed.where('operation', '=', operation)))
      // Here a later one would go before one that waits.
      if (operation === 'b') await tx.all(from(tx, 'usage').select('operation'))
    }
    const rows = await tx.all(from(tx, 'usage').select('operation').orderBy('operation'))
    return rows.map(({ operation }) => operation)
  })
  assert.deepEqual(found, ['a2', 'b2', 'c2'])
})

test('a unit that fails before its statements have run leaves nothing of them', async () => {
  const failed = db.transact('t1', async (tx) => {
    keepBusy()
    void put(tx, 'lost')
    throw new Error('failed')
  })
  const kept = db.transact('t1', (tx) => put(tx, 'kept'))
  await assert.rejects(failed, /failed/)
  await kept
  assert.deepEqual(await operations('t1'), ['kept'])
})

/** A query of SQL that the builder has no words for. */
const asQuery = (query: RawBuilder<unknown>) => ({
  compile: () => query.compile(builder),
  toOperationNode: query.toOperationNode,
})

test('what a unit writes after the end of its transaction is not kept', async () => {
  const unit = db.transact('t1', async (tx) => {
    await tx.all(asQuery(sql`rollback`))
    await put(tx, 'stray')
  })
  await assert.rejects(unit)
  assert.deepEqual(await operations('t1'), [])
})

const countUsage = (db: TenantDb) =>
  from(db, 'usage').select((e) => e.fn.countAll<number>().as('count'))

test('sums are over what the tenant has committed, and nobody waits for them', async () => {
  await db.transact('t1', (tx) => put(tx, 'one'))
  await db.transact('t2', (tx) => put(tx, 'another'))
  let done = false
  const sums = db.sums('t1', countLong).finally(() => {
    done = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(done, false, 'they ran before the next turn of the event loop')
  assert.deepEqual(await sums, [{ count: COUNTED }])
  assert.deepEqual(await db.sums('t1', countUsage), [{ count: 1 }])
  await db.transact('t1', (tx) => put(tx, 'two'))
  assert.deepEqual(await db.sums('t1', countUsage), [{ count: 2 }])
})

const COUNTED = 3_000_000
/** Takes a part of a second. */
const countLong = (db: TenantDb) =>
  from(db, 'usage').select(
    sql<number>`(with recursive n(i) as (select 1 union all select i + 1 from n
      limit ${sql.lit(COUNTED)}) select count(*) from n)`.as('count'),
  )

test('sums that cannot be read are refused, and so are those after the end', async () => {
  renameSync(path, `${path}.moved`)
  await assert.rejects(db.sums('t1', countUsage), { code: 'unavailable' })
  renameSync(`${path}.moved`, path)
  const pending = assert.rejects(db.sums('t1', countLong), { code: 'unavailable' })
  await db.close()
  await pending
  await assert.rejects(db.sums('t1', countUsage), { code: 'unavailable' })
  db = new SqliteEngine(path, systemClock())
})

test('migrations that stop in the middle leave no table behind', () => {
  const stopped = join(dir, 'stopped.db')
  const connection = new SqliteConnection(stopped, 'write')
  const { exec } = connection
  let count = 0
  connection.exec = (statement) => {
    if (statement.startsWith('create') && ++count === 3) throw new Error('stopped')
    exec.call(connection, statement)
  }
  assert.throws(() => migrateSqlite(connection), /stopped/)
  assert.equal(findInstance(stopped), null)
  connection.exec = exec
  assert.ok(migrateSqlite(connection).length > 1)
  connection.close()
})

test('closing waits for the units that were accepted, and later ones are refused', async () => {
  const unit = db.transact('t1', (tx) => put(tx, 'last'))
  const closing = db.close()
  await unit
  await closing
  await assert.rejects(
    db.transact('t1', (tx) => put(tx, 'late')),
    { code: 'unavailable' },
  )
  db = new SqliteEngine(path, systemClock())
  assert.deepEqual(await operations('t1'), ['last'])
})

test('the schema has no table of another engine', () => {
  const connection = new SqliteConnection(path, 'read')
  const locks = `select name from sqlite_schema where name = 'tenant_locks'`
  assert.deepEqual(connection.all(locks, []), [])
  const names = connection.all('select name from migrations', []).map((row) => Object(row).name)
  assert(names.length > 1 && !names.includes('0002-tenant-locks'))
  connection.close()
})

test('a database that takes no writes any more is 503, and the reason is told', async () => {
  await db.close()
  const told: unknown[] = []
  db = new SqliteEngine(path, systemClock(), { onFault: (fault) => told.push(fault) })
  await db.transact('t1', (tx) => tx.all(asQuery(sql`pragma query_only = on`)))
  await assert.rejects(
    db.transact('t1', (tx) => put(tx, 'lost')),
    { code: 'unavailable' },
  )
  assert.deepEqual(told, [{ fault: 'io', reason: 'attempt to write a readonly database' }])
  assert.deepEqual(await operations('t1'), [])
})

test('a write to a data file that was removed or replaced is refused, not lost', async () => {
  await db.transact('t1', (tx) => put(tx, 'kept'))
  const away = `${path}.away`
  const refused = () =>
    assert.rejects(
      db.transact('t1', (tx) => put(tx, 'lost')),
      { code: 'unavailable', message: /removed or replaced: restart the service/ },
    )
  renameSync(path, away)
  await refused()
  copyFileSync(away, path)
  await refused()
  renameSync(away, path)
  await db.transact('t1', (tx) => put(tx, 'kept too'))
  assert.deepEqual(await operations('t1'), ['kept', 'kept too'])
})
