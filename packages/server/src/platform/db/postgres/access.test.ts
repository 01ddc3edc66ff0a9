// What the role of requests can reach with SQL of its own, whatever a query forgets to say.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openPostgres, type TestPostgres } from '../../../testing/postgres.ts'
import { migrationsOf } from '../migrations/migrations.ts'
import { insertInto } from '../tenant-db.ts'
import { APP_ROLE, ensureRole, RoleUnfit } from './access.ts'
import { type PostgresConnection, withPostgres } from './connection.ts'

let postgres: TestPostgres

before(async () => {
  postgres = await openPostgres()
  for (const tenant of ['t1', 't2'])
    await postgres.db.transact(tenant, async (tx) => {
      const usage = { period: '2026-01', operation: tenant, count: 1, bytes: 0 }
      await tx.run(insertInto(tx, 'usage', usage))
      const crumb = { seq: 0, breadcrumb_id: new Uint8Array(), record: '{}' }
      await tx.run(insertInto(tx, 'breadcrumbs', crumb))
      const head = { generation: 0, size: 1, frontier: new Uint8Array(), last_id: new Uint8Array() }
      await tx.run(insertInto(tx, 'chain_heads', { ...head, last_us: 1 }))
    })
})

after(() => postgres.close())

/** Runs SQL in a transaction of the role; `tenant` undefined: nobody said whose. */
const asApp = <T>(
  tenant: string | undefined,
  body: (connection: PostgresConnection) => Promise<T>,
): Promise<T> =>
  withPostgres(postgres.url, async (connection) => {
    await connection.step(`begin; set local role ${APP_ROLE}`)
    const sql = `select set_config('app.tenant_id', $1, true)`
    if (tenant !== undefined) await connection.query({ sql }, [tenant])
    return body(connection)
  })

const select = async (connection: PostgresConnection, sql: string): Promise<unknown[]> =>
  (await connection.query({ sql }, [])).rows

const DENIED = { code: '42501' }
const RIGHTS = `select c.relname as name, c.relrowsecurity as enabled,
    c.relforcerowsecurity as forced, c.relowner <> $1::regrole as foreign,
    (select count(*) from pg_policies p where p.tablename = c.relname) as policies
  from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
  order by c.relname`

test('a query without a predicate sees the tenant it runs for and no other', async () => {
  for (const tenant of ['t1', 't2']) {
    const rows = await asApp(tenant, (c) => select(c, 'select tenant_id, operation from usage'))
    assert.deepEqual(rows, [{ tenant_id: tenant, operation: tenant }])
    const crumbs = await asApp(tenant, (c) => select(c, 'select tenant_id from breadcrumbs'))
    assert.deepEqual(crumbs, [{ tenant_id: tenant }])
  }
})

test('a transaction that was not told its tenant sees nothing', async () => {
  for (const tenant of [undefined, ''])
    for (const { name } of tenantTables())
      assert.deepEqual(await asApp(tenant, (c) => select(c, `select * from "${name}"`)), [], name)
})

test("another tenant's rows can be neither changed, deleted nor added", async () => {
  await asApp('t1', async (c) => {
    const run = async (sql: string) => (await c.query({ sql }, [])).rowCount
    assert.equal(await run(`update usage set count = 9 where tenant_id = 't2'`), 0)
    assert.equal(await run('update usage set count = 9'), 1)
    assert.equal(await run(`delete from breadcrumbs where tenant_id = 't2'`), 0)
  })
  const moved = `update usage set tenant_id = 't2'`
  const added = `insert into usage values ('t2', '2026-01', 'x', 1, 0)`
  for (const sql of [moved, added])
    await assert.rejects(
      asApp('t1', (c) => select(c, sql)),
      DENIED,
    )
})

test('every tenant table is bound by a forced policy and belongs to another role', async () => {
  const tables = await withPostgres(postgres.url, async (c) => {
    const { rows } = await c.query({ sql: RIGHTS }, [APP_ROLE])
    return new Map(rows.map(({ name, ...rights }) => [name, rights]))
  })
  const readers = migrationsOf('postgres').flatMap((migration) => migration.readers ?? [])
  for (const { name } of tenantTables()) {
    const policies = 1 + readers.filter(({ table }) => table === name).length
    assert.deepEqual(tables.get(name), { enabled: 1, forced: 1, foreign: 1, policies }, name)
  }
  for (const [name, { foreign }] of tables) assert.equal(foreign, 1, name)
})

test('who follows logs sees the heads of all, changes none, and sees no other table', async () => {
  const asFollower = `select set_config('app.reader', 'log_follower', true)`
  await asApp('', async (c) => {
    await c.step(asFollower)
    const heads = await select(c, 'select tenant_id from chain_heads order by tenant_id')
    assert.deepEqual(heads, [{ tenant_id: 't1' }, { tenant_id: 't2' }])
    assert.equal((await c.query({ sql: 'update chain_heads set size = 9' }, [])).rowCount, 0)
    for (const { name } of tenantTables().filter((table) => table.name !== 'chain_heads'))
      assert.deepEqual(await select(c, `select * from "${name}"`), [], name)
  })
  assert.deepEqual(await asApp('', (c) => select(c, 'select * from chain_heads')), [])
})

test('of the control tables the role may change only what the service changes', async () => {
  const refused = [
    `update credentials set scopes = '*'`,
    `update credentials set key_hash = ''`,
    'update tenants set created_us = 1',
    'delete from tenants',
    'delete from destructions',
    `update destructions set certificate_id = 'x'`,
    `update jobs set payload = '{}'`,
    `update instance set instance_id = 'x'`,
    `insert into migrations values ('9999')`,
    'create table mine (a text)',
    'truncate usage',
    'alter table usage disable row level security',
    'drop policy usage_tenant on usage',
  ]
  for (const sql of refused)
    await assert.rejects(
      asApp('t1', (c) => c.step(sql)),
      DENIED,
      sql,
    )
  await asApp('t1', (c) => c.step(`update credentials set revoked_us = 1, name = ''`))
})

test('the role neither logs in nor bypasses policies, and one that does is not used', () =>
  withPostgres(postgres.url, async (c) => {
    const sql = `select rolcanlogin, rolbypassrls, rolsuper, rolcreaterole, rolcreatedb
      from pg_roles where rolname = $1`
    const { rows } = await c.query({ sql }, [APP_ROLE])
    assert.deepEqual(Object.values(rows[0]), [0, 0, 0, 0, 0])
    for (const right of ['login', 'bypassrls']) {
      await c.step(`begin; alter role ${APP_ROLE} ${right}`)
      await assert.rejects(ensureRole(c), RoleUnfit)
      await c.step('rollback')
    }
  }))

const CONTROL = ['tenants', 'policy_sets', 'destructions', 'tenant_moves']

const tenantTables = () =>
  migrationsOf('postgres')
    .flatMap(({ tables }) => tables)
    .filter(({ primary_key }) => primary_key[0] === 'tenant_id')
    .filter(({ name }) => !CONTROL.includes(name))
