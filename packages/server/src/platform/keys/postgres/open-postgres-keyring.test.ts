// Opening a keyring on PostgreSQL: what it needs, what it refuses, and how it fails.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { openCuttingProxy } from '../../../testing/cutting-proxy.ts'
import { findPgbouncer, startPgbouncer } from '../../../testing/pgbouncer.ts'
import { SigningKeys } from '../core/signing-keys.ts'
import { erasureOf, linesOf } from '../testing/ledger-cases.ts'
import { postgresLocation } from '../testing/locations.ts'
import { MASTER, NOW_US, tempDirectory } from '../testing/temp-keyring.ts'
import { masterKeyObject } from '../wrap.ts'
import { KeyringPg } from './keyring-pg.ts'
import { migratePostgresKeyring, openPostgresKeyring } from './open-postgres-keyring.ts'

const given = { master_key: MASTER, now_us: () => NOW_US }

test('a role that may not create a schema is told to run custos migrate', async (t) => {
  const location = await postgresLocation(t)
  const guest = await location.createRole([])
  const refused = { code: 'unsupported_version', message: /custos migrate/ }
  await assert.rejects(location.open({ url: guest }), refused)
  assert.equal(await migratePostgresKeyring({ url: location.url }), true)
  assert.equal(await migratePostgresKeyring({ url: location.url }), false)
})

test('a role with rights on the tables alone serves a keyring another has made', async (t) => {
  const location = await postgresLocation(t)
  await migratePostgresKeyring({ url: location.url })
  const guest = await location.createRole([
    'GRANT USAGE ON SCHEMA custos_keyring',
    'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA custos_keyring',
  ])
  const keyring = await location.open({ url: guest })
  await keyring.createTenant('acme')
  assert.ok((await keyring.reserve('acme', 'fact', { at_least: 1 })).secretAt(1))
})

test('a right that is taken away is told with its table; a refused row is damage', async (t) => {
  const location = await postgresLocation(t)
  await migratePostgresKeyring({ url: location.url })
  const guest = await location.createRole([
    'GRANT USAGE ON SCHEMA custos_keyring',
    'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA custos_keyring',
  ])
  const keyring = await location.open({ url: guest })
  const { username } = new URL(guest)
  const connections = () =>
    location.query(`SELECT pid FROM pg_stat_activity WHERE usename = '${username}'`)
  const before = await connections()
  await location.query(`REVOKE INSERT ON custos_keyring.tenants FROM ${username}`)
  await assert.rejects(keyring.createTenant('acme'), {
    code: 'keyring_unavailable',
    message: /SQLSTATE 42501: permission denied for table tenants/,
  })
  assert.deepEqual(await connections(), before)
  await location.query(`GRANT INSERT ON custos_keyring.tenants TO ${username}`)
  await location.query('ALTER TABLE custos_keyring.tenants ENABLE ROW LEVEL SECURITY')
  await assert.rejects(keyring.createTenant('acme'), { code: 'keyring_damaged' })
  await location.query('ALTER TABLE custos_keyring.tenants DISABLE ROW LEVEL SECURITY')
  await keyring.createTenant('acme')
})

test('a keyring that a newer version has changed is refused', async (t) => {
  const location = await postgresLocation(t)
  await location.close(await location.open())
  await location.query(`INSERT INTO custos_keyring.migrations (name) VALUES ('9999-later')`)
  for (const read_only of [true, false])
    await assert.rejects(location.open({ read_only }), { code: 'unsupported_version' })
})

test('keyrings in two schemas of one database know nothing of each other', async (t) => {
  const location = await postgresLocation(t)
  const [one, two] = [
    await location.open({ schema: 'one' }),
    await location.open({ schema: 'two' }),
  ]
  assert.notEqual(one.instance_id, two.instance_id)
  await one.createTenant('acme')
  assert.deepEqual(await two.listTenants(), [])
  await assert.rejects(location.open({ schema: 'a"b' }), { code: 'bad_argument' })
})

test('a database that does not answer is unavailable, and no password is told', async (t) => {
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  for (const url of [
    `postgres://u:hunter2@127.0.0.1:${port}/x`,
    'postgres://u:hunter2@127.0.0.1:1/x',
  ])
    await assert.rejects(openPostgresKeyring({ url, ...given }), (error: Error) => {
      assert.equal('code' in error && error.code, 'keyring_unavailable')
      assert.doesNotMatch(`${error.stack} ${JSON.stringify(error)}`, /hunter2/)
      return true
    })
  await assert.rejects(openPostgresKeyring({ url: 'postgres://u:hunter2@[', ...given }), {
    code: 'bad_argument',
    message: /^[^2]*$/,
  })
})

test('a database that restarts is unavailable until it is back', async (t) => {
  const location = await postgresLocation(t)
  const keyring = await location.open()
  await keyring.createTenant('acme')
  const name = new URL(location.url).pathname.slice(1)
  const postgres = await location.beside()
  await postgres(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
  await postgres(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`)
  const unavailable = { code: 'keyring_unavailable' }
  await assert.rejects(keyring.reserve('acme', 'fact', { at_least: 1 }), unavailable)
  await assert.rejects(keyring.listTenants(), unavailable)
  await postgres(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`)
  assert.ok((await keyring.reserve('acme', 'fact', { at_least: 1 })).secretAt(1))
})

test('a commit whose answer is lost is no success, and is not done twice', async (t) => {
  const location = await postgresLocation(t)
  const ledger_copy = join(tempDirectory(t), 'ledger.ndjson')
  const proxy = await openCuttingProxy(location.url)
  t.after(proxy.close)
  const cut = await location.open({ url: proxy.url, ledger_copy })
  await cut.createTenant('acme')
  const block = await cut.reserve('acme', 'fact', { at_least: 1, count: 4 })
  // With its end: READ COMMITTED is at the beginning.
  proxy.cutAfter('COMMIT\0')
  const unavailable = { code: 'keyring_unavailable' }
  await assert.rejects(cut.ledger.request([erasureOf('2')]), unavailable)
  await assert.rejects(cut.destroySecrets('acme', 'fact', [2]), unavailable)
  assert.throws(() => block.secretAt(2), { code: 'secret_destroyed' })
  const whole = await location.open({ ledger_copy })
  const [row] = await whole.ledger.request([erasureOf('2')])
  assert.equal(row?.ledger_id, 1)
  await whole.destroySecrets('acme', 'fact', [2])
  const read = await whole.secrets('acme', 'fact', [1, 2])
  assert.deepEqual([...read.values()].map(Boolean), [true, false])
  assert.equal(linesOf(ledger_copy).length, 1)
})

test('a keyring that cannot check for changes stops signing until it can', async (t) => {
  const location = await postgresLocation(t)
  await location.close(await location.open())
  const db = new KeyringPg({ url: location.url, schema: 'custos_keyring', read_only: true })
  t.after(() => db.close())
  let now_ms = 0
  const signing = new SigningKeys({
    db,
    master: { key: masterKeyObject(MASTER) },
    now_ms: () => now_ms,
  })
  await signing.reload()
  const signer = signing.signer('decision')
  signing.checkFailed()
  now_ms = 4_999
  signing.checkFailed()
  assert.ok(signer.sign(Buffer.from('m')))
  now_ms = 5_000
  for (const act of [() => signer.sign(Buffer.from('m')), () => signing.signer('decision')])
    assert.throws(act, { code: 'keyring_unavailable' })
  await signing.follow(4)
  assert.ok(signer.sign(Buffer.from('m')))
})

test('a commit waits for the disk where the database would not', async (t) => {
  const location = await postgresLocation(t)
  const name = new URL(location.url).pathname.slice(1)
  const setting = async (mode: string) => {
    await location.query(`ALTER DATABASE ${name} SET synchronous_commit = ${mode}`)
    const db = new KeyringPg({ url: location.url, schema: 'custos_keyring', read_only: false })
    try {
      return await db.transact((tx) =>
        tx.queryFirst(`SELECT current_setting('synchronous_commit') AS mode`),
      )
    } finally {
      await db.close()
    }
  }
  for (const weak of ['off', 'local', 'remote_write'])
    assert.deepEqual(await setting(weak), { mode: 'on' })
  assert.deepEqual(await setting('remote_apply'), { mode: 'remote_apply' })
})

test('a transaction that failed inside is not taken for committed', async (t) => {
  const location = await postgresLocation(t)
  const db = new KeyringPg({ url: location.url, schema: 'custos_keyring', read_only: false })
  t.after(() => db.close())
  const swallowing = db.transact(async (tx) => {
    await tx.queryFirst('SELECT 1 / 0 AS x').catch(() => undefined)
  })
  await assert.rejects(swallowing, { code: 'keyring_unavailable' })
})

test('a backup is the business of PostgreSQL', async (t) => {
  const keyring = await (await postgresLocation(t)).open()
  await assert.rejects(keyring.backupTo('/nowhere'), {
    code: 'backup_unsupported',
    message: /pg_dump/,
  })
})

test('a pooler in transaction mode is a database like any other', async (t) => {
  const location = await postgresLocation(t)
  const program = findPgbouncer()
  if (program === undefined) return t.diagnostic('no PgBouncer here')
  const pooler = await startPgbouncer(program, location.url)
  t.after(pooler.stop)
  const [one, other] = await Promise.all([0, 1].map(() => location.open({ url: pooler.url })))
  assert.ok(one && other)
  await one.createTenant('acme')
  await Promise.all(
    [one, other, one, other].map(async (keyring) => {
      const { first } = await keyring.reserve('acme', 'fact', { at_least: 1, count: 5 })
      await keyring.destroySecrets('acme', 'fact', [first])
      assert.equal((await keyring.secrets('acme', 'fact', [first])).get(first), null)
    }),
  )
  assert.equal((await other.rewriteSecrets()).secrets, 16)
  for (const keyring of [one, other]) await keyring.close()
})
