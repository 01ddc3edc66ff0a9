// Migrations on PostgreSQL: once, together, and never by a role that may not.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createDatabase, type TestDatabase } from '../../../testing/postgres.ts'
import { systemClock } from '../../clock.ts'
import { migrationsOf, SchemaTooNew } from '../migrations/migrations.ts'
import { insertInto } from '../tenant-db.ts'
import { APP_ROLE } from './access.ts'
import { withPostgres } from './connection.ts'
import { PostgresEngine } from './engine.ts'
import { MigrationNeeded, migratePostgres } from './migrate.ts'

const NAMES = migrationsOf('postgres').map(({ name }) => name)

async function withDatabase(body: (database: TestDatabase) => Promise<void>): Promise<void> {
  const database = await createDatabase()
  try {
    await body(database)
  } finally {
    await database.drop()
  }
}

/** A login without rights of its own, as the service has where another role migrates. */
async function withLogin(
  { url }: TestDatabase,
  body: (login: { readonly name: string; readonly url: string }) => Promise<void>,
): Promise<void> {
  const name = `custos_test_${randomBytes(6).toString('hex')}`
  const login = new URL(url)
  login.username = name
  login.password = 'only-here'
  await withPostgres(url, (c) => c.step(`create role ${name} login password 'only-here'`))
  try {
    await body({ name, url: login.href })
  } finally {
    await withPostgres(url, (c) => c.step(`drop owned by ${name}; drop role ${name}`))
  }
}

test('migrations run once, also when several processes start together', () =>
  withDatabase(async ({ url }) => {
    const runs = await Promise.all(
      Array.from({ length: 4 }, () => withPostgres(url, migratePostgres)),
    )
    assert.deepEqual(
      runs.toSorted((a, b) => b.length - a.length),
      [NAMES, [], [], []],
    )
    assert.deepEqual(await withPostgres(url, migratePostgres), [])
  }))

test('a database of a newer version is left alone', () =>
  withDatabase(async ({ url }) => {
    await withPostgres(url, migratePostgres)
    await withPostgres(url, (c) => c.step(`insert into migrations values ('9999-later')`))
    await assert.rejects(withPostgres(url, migratePostgres), (error: Error) => {
      assert.ok(error instanceof SchemaTooNew)
      assert.match(error.message, /9999-later/)
      return true
    })
  }))

test('a role that may not create is told in one line to run custos migrate', () =>
  withDatabase((database) =>
    withLogin(database, async ({ url }) => {
      await assert.rejects(withPostgres(url, migratePostgres), (error: Error) => {
        assert.ok(error instanceof MigrationNeeded)
        assert.match(error.message, /^[^\n]*run custos migrate[^\n]*$/)
        return true
      })
    }),
  ))

test('a role that may not create serves a migrated database once it has the role', () =>
  withDatabase((database) =>
    withLogin(database, async ({ name, url }) => {
      await withPostgres(database.url, migratePostgres)
      await withPostgres(database.url, (c) => c.step(`grant ${APP_ROLE} to ${name}`))
      assert.deepEqual(await withPostgres(url, migratePostgres), [])
      const db = new PostgresEngine({ url, clock: systemClock(), role: APP_ROLE })
      try {
        const row = { period: '2026-01', operation: 'a', count: 1, bytes: 0 }
        assert.equal(await db.transact('t1', (tx) => tx.run(insertInto(tx, 'usage', row))), 1)
      } finally {
        await db.close()
      }
    }),
  ))

test('a role that may create tables and roles but is no superuser can migrate and serve', () =>
  withDatabase((database) =>
    withLogin(database, async ({ name, url }) => {
      await withPostgres(database.url, async (c) => {
        await c.step(`grant all on schema public to ${name}`)
        // The role is there already on this server; whoever created it would have this right.
        await withPostgres(database.url, migrateElsewhere)
        await c.step(`grant ${APP_ROLE} to ${name} with admin option`)
      })
      assert.deepEqual(await withPostgres(url, migratePostgres), NAMES)
      const db = new PostgresEngine({ url, clock: systemClock(), role: APP_ROLE })
      try {
        const row = { period: '2026-01', operation: 'a', count: 1, bytes: 0 }
        assert.equal(await db.transact('t1', (tx) => tx.run(insertInto(tx, 'usage', row))), 1)
      } finally {
        await db.close()
      }
      // Forced policies bind the owner of the tables as well.
      const seen = await withPostgres(url, (c) => c.query({ sql: 'select * from usage' }, []))
      assert.deepEqual(seen.rows, [])
    }),
  ))

test('a migrated database whose restore left out the rights of the role gets them again', () =>
  withDatabase(async ({ url }) => {
    await withPostgres(url, migratePostgres)
    const rights = () => withPostgres(url, (c) => c.query({ sql: RIGHTS }, [APP_ROLE]))
    const { rows: before } = await rights()
    await withPostgres(url, (c) => c.step(`drop owned by ${APP_ROLE}`))
    assert.deepEqual((await rights()).rows, [])
    assert.deepEqual(await withPostgres(url, migratePostgres), [])
    assert.deepEqual((await rights()).rows, before)
  }))

const RIGHTS = `select table_name, column_name, privilege_type
  from information_schema.column_privileges where grantee = $1
  union select table_name, null, privilege_type
  from information_schema.table_privileges where grantee = $1 order by 1, 2, 3`

async function migrateElsewhere(): Promise<void> {
  await withDatabase(async ({ url }) => {
    await withPostgres(url, migratePostgres)
  })
}
