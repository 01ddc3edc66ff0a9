// Guarantees of the unit of work on PostgreSQL when it is busy, slow or gone.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type RawBuilder, sql } from 'kysely'
import { openCuttingProxy } from '../../../testing/cutting-proxy.ts'
import { createDatabase, openPostgres, type TestPostgres } from '../../../testing/postgres.ts'
import { systemClock } from '../../clock.ts'
import { Refusal } from '../../refusal.ts'
import { builder } from '../builder.ts'
import { statement } from '../statement.ts'
import { from, insertInto, type Query, type TenantDb, type Tx } from '../tenant-db.ts'
import { APP_ROLE } from './access.ts'
import { type PostgresConnection, withPostgres } from './connection.ts'
import { PostgresEngine, type PostgresOptions } from './engine.ts'
import type { PostgresError } from './error.ts'
import { migratePostgres } from './migrate.ts'

const raw = <O>(query: RawBuilder<O>): Query<O> => ({
  compile: () => query.compile(builder),
  toOperationNode: () => query.toOperationNode(),
})

const put = (tx: Tx, operation: string) =>
  tx.run(insertInto(tx, 'usage', { period: '2026-01', operation, count: 1, bytes: 0 }))

const listOperations = async (db: TenantDb): Promise<string[]> => {
  const rows = await db.all(from(db, 'usage').select('operation').orderBy('operation'))
  return rows.map(({ operation }) => operation)
}

const unavailable = (error: unknown): boolean =>
  error instanceof Refusal && error.code === 'unavailable' && error.extras.retry_after_s === 5

async function withEngines(
  body: (postgres: TestPostgres) => Promise<void>,
  options: Partial<PostgresOptions> = {},
): Promise<void> {
  const postgres = await openPostgres(options)
  try {
    await body(postgres)
  } finally {
    await postgres.close()
  }
}

test('a unit that goes on after a failed statement is refused, not half committed', () =>
  withEngines(async ({ db }) => {
    await db.transact('t1', (tx) => put(tx, 'a'))
    const swallowing = (name: string) =>
      db.transact('t1', async (tx) => {
        await put(tx, name)
        await put(tx, 'a').catch(() => {})
        return name
      })
    await assert.rejects(swallowing('alone'), { code: '23505' })
    const [one, two] = await Promise.allSettled([
      swallowing('beside'),
      db.transact('t1', (tx) => put(tx, 'b')),
    ])
    assert.deepEqual([one.status, two.status], ['rejected', 'fulfilled'])
    assert.deepEqual(await db.read('t1', listOperations), ['a', 'b'])
  }))

test('what a failed batch has under way ends before the connection serves others', () =>
  withEngines(
    async ({ db }) => {
      // Several queries one after the other: a batch that ended early would leave some of them.
      const slots = ['x', 'y'].map((name) => ({
        name,
        flush: async (tx: Tx, mine: number) => {
          for (const part of [1, 2, 3]) await put(tx, `${name}${mine}.${part}`)
        },
      }))
      let tries = 0
      const failing = db.transact('t1', async (tx) => {
        tries += 1
        const mine = tries
        for (const slot of slots) tx.shared.set(slot, mine)
        const looked = listOperations(tx)
        tx.needs(looked.then(() => assert(mine > 1, 'found to be wrong')))
      })
      const beside = db.transact('t1', (tx) => put(tx, 'beside'))
      const other = db.transact('t2', (tx) => put(tx, 'other'))
      await Promise.all([failing, beside, other])
      const kept = ['beside', 'x2.1', 'x2.2', 'x2.3', 'y2.1', 'y2.2', 'y2.3']
      assert.deepEqual(await db.read('t1', listOperations), kept)
      assert.deepEqual(await db.read('t2', listOperations), ['other'])
    },
    { connections: 1 },
  ))

test('a COMMIT that the server answers with ROLLBACK is a failure', () =>
  withEngines(async ({ db }) => {
    // Nobody waits for the statement that fails, so that only COMMIT can tell.
    const late = db.transact('t1', async (tx) => {
      await put(tx, 'a')
      put(tx, 'a').catch(() => {})
    })
    await assert.rejects(late, { code: '23505' })
    assert.deepEqual(await db.read('t1', listOperations), [])
    assert.equal(db.stats().commits, 0)
  }))

test('an error names no value of the statement', () =>
  withEngines(async ({ db }) => {
    await db.transact('t1', (tx) => put(tx, 'private'))
    await assert.rejects(
      db.transact('t1', (tx) => put(tx, 'private')),
      (error: PostgresError) => {
        assert.equal(error.message, 'PostgreSQL error 23505 at usage_key')
        assert.doesNotMatch(JSON.stringify({ ...error }), /private/)
        return true
      },
    )
  }))

test('text with U+0000 is refused and ends its unit alone', () =>
  withEngines(async ({ db }) => {
    const results = await Promise.allSettled([
      db.transact('t1', (tx) => put(tx, 'a')),
      db.transact('t1', (tx) => put(tx, 'a\0b')),
    ])
    assert.deepEqual(
      results.map((r) => (r.status === 'rejected' ? r.reason.code : r.status)),
      ['fulfilled', '22021'],
    )
  }))

test('units that deadlock are run again, and both are kept', () =>
  withEngines(async ({ db, second }) => {
    const told: string[] = []
    const jobs = (tx: Tx, job_id: string) =>
      tx.run(builder.updateTable('jobs').set({ updated_us: 2 }).where('job_id', '=', job_id))
    await db.transact('t1', async (tx) => {
      for (const job_id of ['j1', 'j2']) await tx.run(insertJob(job_id))
    })
    const both = barrier(2)
    const cross = (engine: PostgresEngine, tenant: string, order: readonly [string, string]) => {
      let runs = 0
      return engine.transact(tenant, async (tx) => {
        runs += 1
        await jobs(tx, order[0])
        if (runs === 1) await both()
        await jobs(tx, order[1])
        await put(tx, 'done')
        told.push(`${tenant} ${runs}`)
      })
    }
    await Promise.all([cross(db, 't1', ['j1', 'j2']), cross(second, 't2', ['j2', 'j1'])])
    assert.deepEqual(told.map((line) => line.slice(0, 2)).toSorted(), ['t1', 't2'])
    assert.equal(told.filter((line) => line.endsWith(' 2')).length, 1)
    assert.deepEqual(await db.read('t1', listOperations), ['done'])
    assert.deepEqual(await db.read('t2', listOperations), ['done'])
  }))

const insertJob = (job_id: string) =>
  builder.insertInto('jobs').values({
    job_id,
    tenant_id: 't1',
    kind: 'k',
    state: 'queued',
    payload: '{}',
    progress_done: 0,
    progress_total: 0,
    attempts: 0,
    error: null,
    created_us: 1,
    updated_us: 1,
    lease_until_us: 0,
  })

/** Resolves for everybody once `count` have come. */
function barrier(count: number): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let missing = count
  return () => {
    missing -= 1
    if (missing === 0) resolve()
    return promise
  }
}

test('a server that drops its connections is 503, keeps nothing, and serves again', () =>
  withEngines(async ({ db, url }) => {
    await db.transact('t1', (tx) => put(tx, 'a'))
    const drop = () =>
      withPostgres(url, (c) =>
        c.step(`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()`),
      )
    const cut = db.transact('t1', async (tx) => {
      await put(tx, 'b')
      await drop()
      await put(tx, 'c')
    })
    const beside = db.transact('t1', (tx) => put(tx, 'd'))
    await assert.rejects(cut, unavailable)
    await assert.rejects(beside, unavailable)
    const look = db.read('t1', async (r) => {
      await listOperations(r)
      await drop()
      return listOperations(r)
    })
    await assert.rejects(look, unavailable)
    await db.transact('t1', (tx) => put(tx, 'e'))
    assert.deepEqual(await db.read('t1', listOperations), ['a', 'e'])
  }))

test('a COMMIT whose answer is lost is 503, never a success', async () => {
  const database = await createDatabase()
  const proxy = await openCuttingProxy(database.url)
  const faults: (string | null)[] = []
  const options = {
    clock: systemClock(),
    role: APP_ROLE,
    onFault: ({ fault }: PostgresError) => faults.push(fault),
  }
  const db = new PostgresEngine({ ...options, url: proxy.url })
  const direct = new PostgresEngine({ ...options, url: database.url })
  try {
    await withPostgres(database.url, migratePostgres)
    await db.transact('t1', (tx) => put(tx, 'a'))
    proxy.cutAfter('commit\0')
    let ran = false
    const lost = db.transact('t1', async (tx) => {
      tx.afterCommit(() => {
        ran = true
      })
      await put(tx, 'b')
    })
    await assert.rejects(lost, unavailable)
    assert.equal(ran, false)
    assert.deepEqual(faults, ['lost'])
    // It was kept all the same: a unit after it waits for the tenant's lock and sees it.
    await direct.transact('t1', (tx) => put(tx, 'c'))
    assert.deepEqual(await direct.read('t1', listOperations), ['a', 'b', 'c'])
  } finally {
    await db.close()
    await direct.close()
    await proxy.close()
    await database.drop()
  }
})

test('a tenant whose lock is held too long gets 503; other tenants are not delayed', () =>
  withEngines(
    async ({ db, second }) => {
      const release = Promise.withResolvers<void>()
      const held = Promise.withResolvers<void>()
      const holder = second.transact('t1', async () => {
        held.resolve()
        await release.promise
      })
      // Released whatever happens: a unit left open would keep the engine from closing.
      try {
        await Promise.race([held.promise, holder])
        await assert.rejects(
          db.transact('t1', (tx) => put(tx, 'a')),
          unavailable,
        )
        await db.transact('t2', (tx) => put(tx, 'b'))
      } finally {
        release.resolve()
        await holder
      }
      await db.transact('t1', (tx) => put(tx, 'c'))
      assert.deepEqual(await db.read('t1', listOperations), ['c'])
    },
    { statement_timeout_ms: 1_000 },
  ))

test('a slow statement is 503 for its unit alone', () =>
  withEngines(
    async ({ db }) => {
      const results = await Promise.allSettled([
        db.transact('t1', (tx) => put(tx, 'a')),
        db.transact('t1', (tx) => tx.run(raw(sql`select pg_sleep(30)`))),
        db.transact('t1', (tx) => put(tx, 'b')),
      ])
      assert.equal(results[1]?.status === 'rejected' && unavailable(results[1].reason), true)
      assert.deepEqual(await db.read('t1', listOperations), ['a', 'b'])
    },
    { statement_timeout_ms: 300 },
  ))

test('a right that is taken away is 503 for what needs it, and the fault is told', async () => {
  const told: string[] = []
  const onFault = ({ message }: PostgresError) => told.push(message)
  await withEngines(
    async ({ db, url }) => {
      const heads = (tx: Tx) => tx.all(from(tx, 'chain_heads').select('size'))
      const results = async () => {
        const units = [
          db.transact('t1', (tx) => put(tx, 'a')),
          db.transact('t1', async (tx) => (await heads(tx)).length),
        ]
        return (await Promise.allSettled(units)).map(({ status }) => status)
      }
      const revoke = (verb: string) => withPostgres(url, (c) => c.step(`${verb} ${APP_ROLE}`))
      await revoke('revoke insert on usage from')
      assert.deepEqual(await results(), ['rejected', 'fulfilled'])
      await assert.rejects(
        db.transact('t1', (tx) => put(tx, 'b')),
        unavailable,
      )
      assert.match(told.at(-1) ?? '', /^PostgreSQL error 42501.*denied for table usage$/)
      await revoke('grant insert on usage to')
      assert.deepEqual(await results(), ['fulfilled', 'fulfilled'])
    },
    { onFault },
  )
})

test('when every connection is taken the next caller gets 503', () =>
  withEngines(
    async ({ db }) => {
      await db.read('t1', async (r) => {
        await listOperations(r)
        await assert.rejects(db.read('t1', listOperations), unavailable)
        await assert.rejects(
          db.transact('t1', (tx) => put(tx, 'a')),
          unavailable,
        )
      })
      await db.transact('t1', (tx) => put(tx, 'b'))
    },
    { connections: 1, connect_timeout_ms: 200 },
  ))

test('no server is 503, and closing still works', async () => {
  const db = new PostgresEngine({
    url: 'postgres://nobody@127.0.0.1:1/none',
    clock: systemClock(),
    role: null,
  })
  await assert.rejects(db.read('t1', listOperations), unavailable)
  await assert.rejects(
    db.transact('t1', (tx) => put(tx, 'a')),
    unavailable,
  )
  await db.close()
})

test('a handle is of no use once its transaction is over', () =>
  withEngines(async ({ db }) => {
    const kept = await db.read('t1', async (r) => ({ r }))
    await assert.rejects(listOperations(kept.r), /after the end/)
    const tx = await db.transact('t1', async (handle) => ({ handle }))
    await assert.rejects(put(tx.handle, 'a'), /after the end/)
  }))

test('what a transaction is told ends with it, so that a pooler may hand the session on', () =>
  withEngines(async ({ url }) => {
    const settings = { role: APP_ROLE, statement_timeout_ms: 1_234, idle_timeout_ms: 2_345 }
    const read = async (c: PostgresConnection) => (await c.query({ sql: SESSION }, [])).rows[0]
    await withPostgres(url, async (c) => {
      const { tenant: _, ...before } = await read(c)
      const lock = { named: false, made: false }
      const begins = [() => c.beginRead('t1', settings), () => c.beginWrite('t1', settings, lock)]
      for (const begin of begins) {
        await begin()
        const during = { role: APP_ROLE, tenant: 't1', slow: '1234ms', idle: '2345ms' }
        assert.deepEqual(await read(c), during)
        await c.commit()
        assert.deepEqual(await read(c), { ...before, tenant: '' })
      }
    })
  }))

const SESSION = `select current_user::text as role,
  current_setting('app.tenant_id', true) as tenant,
  current_setting('statement_timeout') as slow,
  current_setting('idle_in_transaction_session_timeout') as idle`

const countStatement = statement<object>()((k, p) =>
  k.selectFrom('usage').select('count').where('tenant_id', '=', p.tenant_id),
)

test('a tenant whose lock was deleted is locked again before anything of its unit is kept', () =>
  withEngines(async ({ db, url }) => {
    await db.transact('t1', (tx) => put(tx, 'a'))
    await withPostgres(url, (c) => c.step('delete from tenant_locks'))
    await db.transact('t1', (tx) => put(tx, 'b'))
    const { rows } = await withPostgres(url, (c) =>
      c.query({ sql: 'select tenant_id from tenant_locks' }, []),
    )
    assert.deepEqual(rows, [{ tenant_id: 't1' }])
    assert.deepEqual(await db.read('t1', listOperations), ['a', 'b'])
  }))

test('hot statements are prepared by name, and not behind a pooler', () =>
  withEngines(
    async ({ db, url }) => {
      const names = async (engine: PostgresEngine) => {
        await engine.read('t1', (r) => r.allOf(countStatement, {}))
        const rows = await engine.read('t1', (r) =>
          r.all(raw(sql<{ name: string }>`select name from pg_prepared_statements`)),
        )
        return rows.map(({ name }) => name)
      }
      assert.deepEqual(await names(db), [countStatement.postgres().name])
      const pooled = new PostgresEngine({
        url: `${url}?pgbouncer=true`,
        clock: systemClock(),
        role: APP_ROLE,
        connections: 1,
      })
      assert.deepEqual(await names(pooled), [])
      await pooled.close()
    },
    { connections: 1 },
  ))

test('closing waits for the units that were accepted', () =>
  withEngines(async ({ db, second }) => {
    const unit = second.transact('t1', (tx) => put(tx, 'last'))
    await second.close()
    await unit
    assert.deepEqual(await db.read('t1', listOperations), ['last'])
  }))
