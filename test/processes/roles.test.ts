// Serving as a role that owns and creates nothing, after another role has migrated.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { withPostgres } from '../../packages/server/src/platform/db/postgres/connection.ts'
import { createDatabase } from '../../packages/server/src/testing/postgres.ts'
import { Client, createTenant } from '../crash/testing/client.ts'
import { custos, fsck } from '../crash/testing/command-line.ts'
import { type ServerOptions, ServerProcess } from '../crash/testing/server-process.ts'
import { optionsOf } from './testing/fleet.ts'

interface Roles {
  readonly owner: ServerOptions
  readonly service: ServerOptions
  /** As the owner of the database. */
  grant(sql: (service: string) => string): Promise<void>
}

/** The roles of docs/operating/postgresql.md, on an empty database. */
async function openRoles(t: TestContext): Promise<Roles> {
  const database = await createDatabase()
  const word = randomBytes(6).toString('hex')
  const names = { owner: `custos_owner_${word}`, service: `custos_service_${word}` }
  const as = (name: string): string => {
    const url = new URL(database.url)
    url.username = name
    url.password = word
    return url.href
  }
  await withPostgres(database.url, async (admin) => {
    const found = `select from pg_roles where rolname = 'custos_app'`
    if ((await admin.query({ sql: found }, [])).rowCount === 0)
      await admin.step('create role custos_app nologin')
    for (const name of Object.values(names)) {
      await admin.step(`create role ${name} login password '${word}'`)
      await admin.step(`grant custos_app to ${name}`)
    }
    const name = new URL(database.url).pathname.slice(1)
    await admin.step(`alter database ${name} owner to ${names.owner}`)
  })
  t.after(() => dropRoles(database, Object.values(names)))
  const env = { CUSTOS_REWRITE_HOURS: '0' }
  return {
    owner: optionsOf(as(names.owner), env),
    service: optionsOf(as(names.service), env),
    grant: async (sql) => {
      await withPostgres(as(names.owner), (owner) => owner.step(sql(names.service)))
    },
  }
}

async function dropRoles(
  database: { readonly url: string; drop(): Promise<void> },
  names: readonly string[],
): Promise<void> {
  const server = new URL(database.url)
  server.pathname = '/postgres'
  await database.drop()
  await withPostgres(server.href, async (admin) => {
    for (const name of names) await admin.step(`drop role ${name}`)
  })
}

async function refusal(options: ServerOptions): Promise<string> {
  const server = ServerProcess.serve(options)
  await server.ended()
  assert.equal(server.exitCode, 1, server.output)
  return server.output
}

test('a role that may create nothing serves what another has migrated', async (t) => {
  const { owner, service, grant } = await openRoles(t)
  assert.match(await refusal(service), /^custos serve: [^\n]*custos migrate[^\n]*\n$/)
  assert.match(await custos(owner, ['migrate']), /the schema is up to date\n$/)
  assert.doesNotMatch(await custos(owner, ['migrate']), /^ran /m)
  // The keyring's schema is there, and still none of its business.
  assert.match(await refusal(service), /^custos serve: [^\n]*custos_keyring[^\n]*\n$/)
  await grant(
    (name) => `grant usage on schema custos_keyring to ${name};
      grant select, insert, update, delete on all tables in schema custos_keyring to ${name}`,
  )
  const server = await ServerProcess.serve(service).listening()
  t.after(() => server.killed())
  await useEverything(server)
  await custos(service, ['key', 'rotate', 'all'])
  await useEverything(server)
  await fsck(service)
  const started = /^custos listens[^\n]*\ndata in[^\n]*\nconsole at[^\n]*\n/
  assert.equal(server.output.replace(started, ''), '')
  await server.stop()
})

/** What needs the most rights: writing, erasing, a store's deletion, a checkpoint. */
async function useEverything(server: ServerProcess): Promise<void> {
  const { api_key } = await createTenant(server)
  const client = new Client(server.url, api_key)
  const { store_id } = await client.ok('POST', '/v1/stores', { body: {} })
  const path = `/v1/stores/${store_id}`
  const refs: number[] = []
  for (const content of ['one box', 'two boxes'])
    refs.push((await client.ok('POST', `${path}/write`, { body: { content } })).ref)
  const decision = { store_id, model_id: 'model-a', query: 'boxes?', output: 'two' }
  const body = { ...decision, retrieved_refs: refs }
  const { decision_id } = await client.ok('POST', '/v1/decisions/log', { body })
  await client.ok('POST', '/v1/erasure/issue', { body: { fact_ref: refs[0] } })
  await client.ok('POST', `/v1/decisions/${decision_id}/redact`, { body: {} })
  const made = await client.ok('POST', '/v1/keys', { body: { name: 'agent' } })
  await client.ok('DELETE', `/v1/keys/${made.key_id}`)
  await client.ok('POST', '/v1/gcrumbs/roll', { body: {} })
  const { job_id } = await client.ok('DELETE', path)
  for (let state = ''; state !== 'done'; ) {
    state = (await client.ok('GET', `/v1/jobs/${job_id}`)).state
    assert.notEqual(state, 'failed')
  }
  assert.equal((await client.ok('GET', '/v1/gcrumbs/verify?full=true')).status, 'intact')
  assert.equal((await client.ask('GET', '/readyz')).status, 200)
}
