// A keyring on PostgreSQL is bound to no empty database in place of the one that is missing.

import assert from 'node:assert/strict'
import { type AddressInfo, connect, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { parseConfig } from '../../config/config.ts'
import { withPostgres } from '../../platform/db/postgres/connection.ts'
import { DataError } from '../../platform/db/sqlite/instance.ts'
import { postgresLocation } from '../../platform/keys/testing/locations.ts'
import { OperatorError } from '../../platform/operator-error.ts'
import { createDatabase } from '../../testing/postgres.ts'
import { runMigrate } from '../admin.ts'
import { type KernelOptions, openKernel } from './open-kernel.ts'

async function database(t: TestContext): Promise<string> {
  const { url, drop } = await createDatabase()
  t.after(drop)
  return url
}

const configOf = (database_url: string, keyring_url: string) =>
  parseConfig({
    CUSTOS_DATABASE_URL: database_url,
    CUSTOS_KEYRING_URL: keyring_url,
    CUSTOS_MASTER_KEY: '5a'.repeat(32),
    CUSTOS_LOG_LEVEL: 'silent',
  })

/** Opened and closed; `tenant_id`: with the keys of a new tenant. */
async function start(
  config: ReturnType<typeof configOf>,
  options: KernelOptions = {},
  tenant_id?: string,
): Promise<void> {
  const { kernel, close } = await openKernel(config, options)
  if (tenant_id !== undefined) await kernel.keyring.createTenant(tenant_id)
  await close()
}

test('an empty database is refused beside a keyring with tenants', async (t) => {
  const [used, empty, keyring] = [await database(t), await database(t), await database(t)]
  // A keyring without tenants has seen nothing: a first start that was cut off.
  await start(configOf(used, keyring))
  await withPostgres(used, (c) => c.step('truncate instance'))
  await start(configOf(used, keyring), {}, 't1')
  const missing = (error: unknown) =>
    error instanceof DataError && /is empty, .*--accept-empty-data/.test(error.message)
  await assert.rejects(start(configOf(empty, keyring)), missing)
  await assert.rejects(runMigrate(configOf(empty, keyring)), missing)
  await assert.rejects(start(configOf(empty, keyring)), missing)
  await start(configOf(used, keyring))
  await start(configOf(empty, keyring), { accept_empty_data: true })
  await start(configOf(empty, keyring))
})

test('a start does not wait for a right to the keyring that its role lacks', async (t) => {
  const [data, location] = [await database(t), await postgresLocation(t)]
  await start(configOf(data, location.url))
  const guest = await location.createRole([
    'GRANT USAGE ON SCHEMA custos_keyring',
    'GRANT SELECT ON custos_keyring.migrations',
  ])
  const config = configOf(data, guest)
  assert.ok(config.postgres)
  const waiting = { ...config, postgres: { ...config.postgres, wait_seconds: 60 } }
  const began = performance.now()
  await assert.rejects(start(waiting), /the keyring's database: .*42501: permission denied for/)
  assert.ok(performance.now() - began < 30_000)
})

test('custos migrate links an empty database where it is told to', async (t) => {
  const [used, empty, keyring] = [await database(t), await database(t), await database(t)]
  await start(configOf(used, keyring), {}, 't1')
  await runMigrate(configOf(empty, keyring), { accept_empty_data: true })
  await start(configOf(empty, keyring))
})

/** Passes on what comes for the database, but cuts the n-th connection once it has begun. */
async function cuttingProxy(t: TestContext, url: string, nth: number): Promise<string> {
  const { hostname, port } = new URL(url)
  let connections = 0
  const proxy = createServer((inbound) => {
    connections += 1
    const outbound = connect(Number(port), hostname)
    const end = () => void [inbound, outbound].map((socket) => socket.destroy())
    for (const socket of [inbound, outbound]) socket.on('error', end).on('close', end)
    inbound.pipe(outbound)
    outbound.pipe(inbound)
    let chunks = 0
    if (connections === nth)
      inbound.on('data', () => {
        chunks += 1
        if (chunks === 2) end()
      })
  })
  await new Promise<void>((resolve) => void proxy.listen(0, '127.0.0.1', resolve))
  t.after(() => void proxy.close())
  const target = new URL(url)
  target.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`
  return target.href
}

test('custos migrate whose connection is cut says so in a line, whenever that is', async (t) => {
  const [url, keyring] = [await database(t), await database(t)]
  for (const nth of [1, 2, 3]) {
    const { postgres, ...config } = configOf(await cuttingProxy(t, url, nth), keyring)
    assert.ok(postgres)
    const cut = { ...config, postgres: { ...postgres, wait_seconds: 0 } }
    await assert.rejects(
      runMigrate(cut),
      (error) => {
        assert.ok(error instanceof OperatorError, `connection ${nth}: ${error}`)
        assert.match(error.message, /^the database of CUSTOS_DATABASE_URL: .*connection/)
        return true
      },
      `connection ${nth}`,
    )
  }
  await runMigrate(configOf(url, keyring))
})

test('processes that start together on an empty database all bind it', async (t) => {
  const [empty, keyring] = [await database(t), await database(t)]
  const config = configOf(empty, keyring)
  await start(config)
  await withPostgres(empty, (c) => c.step('truncate instance'))
  await Promise.all([1, 2, 3].map((n) => start(config, {}, `t${n}`)))
})
