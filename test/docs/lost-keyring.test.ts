// The keyring's database is lost: docs/operating/backup.md, "Restoring" on PostgreSQL.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { withPostgres } from '../../packages/server/src/platform/db/postgres/connection.ts'
import { createDatabase, type TestDatabase } from '../../packages/server/src/testing/postgres.ts'
import { Client, createTenant } from '../crash/testing/client.ts'
import { fsck } from '../crash/testing/command-line.ts'
import { type ServerOptions, ServerProcess } from '../crash/testing/server-process.ts'
import { tempDirectory } from '../crash/testing/temp-directory.ts'
import { optionsOf } from '../processes/testing/fleet.ts'

const nameOf = ({ url }: TestDatabase): string => new URL(url).pathname.slice(1)

/** On the server's own database: nobody may be connected to the one that is copied or replaced. */
async function onServer({ url }: TestDatabase, ...statements: string[]): Promise<void> {
  const server = new URL(url)
  server.pathname = '/postgres'
  await withPostgres(server.href, async (connection) => {
    for (const statement of statements) await connection.step(statement)
  })
}

async function openDatabase(t: TestContext, options?: { migrated: boolean }) {
  const database = await createDatabase(options)
  t.after(() => database.drop())
  return database
}

/** What `pg_dump` keeps; to be called while no process serves. */
async function backUp(t: TestContext, database: TestDatabase): Promise<string> {
  const copy = `${nameOf(database)}_copy`
  await onServer(database, `create database ${copy} template ${nameOf(database)}`)
  t.after(() => onServer(database, `drop database if exists ${copy} with (force)`))
  return copy
}

const replace = (database: TestDatabase, copy: string): Promise<void> =>
  onServer(
    database,
    `drop database ${nameOf(database)} with (force)`,
    `create database ${nameOf(database)} template ${copy}`,
  )

async function serve(t: TestContext, options: ServerOptions): Promise<ServerProcess> {
  const server = ServerProcess.serve(options)
  t.after(() => server.killed())
  return server.listening()
}

test('a lost keyring: its backup with data and ledger copy revives nothing', async (t) => {
  const data = await openDatabase(t, { migrated: true })
  const keyring = await openDatabase(t)
  const ledger_copy = join(tempDirectory(t), 'ledger.ndjson')
  const options = { ...optionsOf(data.url, { CUSTOS_KEYRING_URL: keyring.url }), ledger_copy }
  const first = await serve(t, options)
  const { api_key } = await createTenant(first)
  const write = async ({ url }: ServerProcess, content: string): Promise<number> => {
    const body = { content }
    return (await new Client(url, api_key).ok('POST', '/v1/stores/default/write', { body })).ref
  }
  const kept = await write(first, 'the invoice of March was paid')
  const erased = await write(first, 'Ines Carvalho was treated for asthma')
  await first.stop()
  const copies = { data: await backUp(t, data), keyring: await backUp(t, keyring) }

  const second = await serve(t, options)
  const client = new Client(second.url, api_key)
  const { certificate_id } = await client.ok('POST', '/v1/erasure/issue', {
    body: { fact_ref: erased },
  })
  const lost = await write(second, 'written after the backup')
  await client.ok('POST', '/v1/gcrumbs/roll', { body: {} })
  const { origin } = (await client.all('/v1/gcrumbs/epochs', 'epochs')).at(-1)
  await second.stop()

  // A new, empty keyring opens none of the data: the service says so, and makes no other.
  await onServer(keyring, `drop database ${nameOf(keyring)} with (force)`)
  await onServer(keyring, `create database ${nameOf(keyring)}`)
  const refused = ServerProcess.serve(options)
  t.after(() => refused.killed())
  await refused.ended()
  assert.notEqual(refused.exitCode, 0)
  assert.match(refused.output, /keyring/)

  await replace(keyring, copies.keyring)
  await replace(data, copies.data)
  const third = await serve(t, options)
  const reader = new Client(third.url, api_key)
  const statusOf = async (ref: number): Promise<number> =>
    (await reader.ask('GET', `/v1/stores/default/memories/${ref}`)).status
  assert.deepEqual(await Promise.all([kept, erased, lost].map(statusOf)), [200, 404, 404])
  const shown = await reader.ok('GET', `/v1/erasure/fact/${erased}`)
  assert.equal(shown.certificate_id, certificate_id)
  await write(third, 'the log goes on')
  await reader.ok('POST', '/v1/gcrumbs/roll', { body: {} })
  const next = (await reader.all('/v1/gcrumbs/epochs', 'epochs')).at(-1)
  assert.notEqual(next.origin, origin, 'a second tree may be signed under the old origin')
  await fsck(options)
})
