// After a rewrite no remains of a destroyed secret open, and no live secret is lost.

import assert from 'node:assert/strict'
import type { KeyObject } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { type PostgresLocation, postgresLocation } from '../testing/locations.ts'
import { MASTER } from '../testing/temp-keyring.ts'
import { masterKeyObject } from '../wrap.ts'
import type { PostgresKeyring } from './open-postgres-keyring.ts'
import { openSecret } from './secrets.sql.ts'
import { openWrapKey } from './wrap-keys.sql.ts'

const FACTS = { tenant_id: 'acme', kind: 'fact' } as const

interface Row {
  readonly number: number
  readonly secret: Buffer
}

async function rowsOf(location: PostgresLocation): Promise<Row[]> {
  return location.query(
    `SELECT number::int, secret FROM custos_keyring.secrets
     WHERE tenant_id = 'acme' AND kind = 'fact' ORDER BY number`,
  )
}

/** How many copies of rows open with any key the keyring still has. */
async function countOpening(location: PostgresLocation, rows: readonly Row[]): Promise<number> {
  const wrapped = await location.query<Parameters<typeof openWrapKey>[1]>(
    'SELECT tenant_id, version::int, wrap_key FROM custos_keyring.wrap_keys',
  )
  const master = { key: masterKeyObject(MASTER) }
  const keys = wrapped.map((key) => openWrapKey(master, key))
  return rows.filter((row) => keys.some((key) => opens(key, row))).length
}

function opens(key: KeyObject, row: Row): boolean {
  try {
    return openSecret(key, FACTS, row).length > 0
  } catch {
    return false
  }
}

/** How many of the needles are in the file of the table, as it was at the last checkpoint. */
async function countInFile(location: PostgresLocation, table: string, needles: readonly Buffer[]) {
  const [file] = await location.query<{ bytes: Buffer }>(
    'SELECT pg_read_binary_file(pg_relation_filepath($1)) AS bytes',
    [`custos_keyring.${table}`],
  )
  return needles.filter((needle) => file?.bytes.includes(needle)).length
}

/**
 * Rewrites until no dead row is left, as its answer asks for: the server learns in its own time
 * that an onreader is gone, and this keyring looks at its own tables now and then. How many
 * secrets the last one wrote.
 */
async function rewriteClean(keyring: PostgresKeyring): Promise<number> {
  for (let tries = 0; tries < 50; tries += 1) {
    const { secrets, dead_rows_left } = await keyring.rewriteSecrets()
    if (dead_rows_left === 0) return secrets
    await delay(100)
  }
  throw new Error('dead rows are left after fifty rewrites')
}

test('after a rewrite a copy of a destroyed secret opens with nothing that is left', async (t) => {
  const location = await postgresLocation(t)
  const keyring = await location.open()
  await keyring.createTenant('acme')
  const block = await keyring.reserve('acme', 'fact', { at_least: 1, count: 600 })
  const { mac } = await keyring.bodyMac(Buffer.from('body'), 3)
  const before = await rowsOf(location)
  const gone = before.filter(({ number }) => number === 2 || number === 599)
  const sealed = gone.map((row) => row.secret)
  const keys = await location.query<Parameters<typeof openWrapKey>[1]>(
    'SELECT wrap_key FROM custos_keyring.wrap_keys',
  )
  await keyring.destroySecrets('acme', 'fact', [2, 599])
  assert.equal(await countOpening(location, gone), 2, 'this is why it is rewritten')
  await location.query('CHECKPOINT')
  assert.equal(await countInFile(location, 'secrets', sealed), 2)

  assert.equal(await rewriteClean(keyring), 599)
  assert.equal(await countOpening(location, before), 0)
  assert.equal(await countOpening(location, await rowsOf(location)), 598)
  await location.query('CHECKPOINT')
  assert.equal(await countInFile(location, 'secrets', sealed), 0)
  const old = keys.map((key) => key.wrap_key)
  assert.equal(await countInFile(location, 'wrap_keys', old), 0)

  await location.close(keyring)
  const again = await location.open()
  const alive = before
    .map(({ number }) => number)
    .filter((number) => number !== 2 && number !== 599)
  const read = await again.secrets('acme', 'fact', [...alive, 2, 599])
  for (const number of alive) assert.deepEqual(read.get(number)?.length, 32)
  assert.deepEqual([read.get(2), read.get(599)], [null, null])
  assert.ok(await again.verifyBodyMac(Buffer.from('body'), 3, mac))
  assert.throws(() => block.secretAt(2), { code: 'secret_destroyed' })
})

test('writers and erasers of other processes lose nothing while it runs', async (t) => {
  const location = await postgresLocation(t)
  const [one, other] = [await location.open(), await location.open()]
  await one.createTenant('acme')
  await one.reserve('acme', 'fact', { at_least: 1, count: 3_000 })
  const given = new Map<number, Buffer | null>()
  const write = async () => {
    for (let round = 0; round < 15; round += 1) {
      const block = await other.reserve('acme', 'fact', { at_least: 1, count: 20 })
      const last = block.first + block.count - 1
      for (let number = block.first; number < last; number += 1)
        given.set(number, block.secretAt(number))
      given.set(last, null)
      await other.destroySecrets('acme', 'fact', [last])
      await other.secrets('acme', 'fact', [1, 1_500, 3_000])
    }
  }
  await Promise.all([one.rewriteSecrets(), other.rewriteSecrets(), write()])
  for (const keyring of [one, other])
    assert.deepEqual(await keyring.secrets('acme', 'fact', [...given.keys()]), given)
  const versions = await location.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM custos_keyring.secrets AS s WHERE NOT EXISTS (
       SELECT 1 FROM custos_keyring.wrap_keys AS k
       WHERE k.tenant_id = s.tenant_id AND k.version = s.version)`,
  )
  assert.equal(versions[0]?.n, 0)
})

test('what an open snapshot keeps in the files is told, and gone the next time', async (t) => {
  const location = await postgresLocation(t)
  const keyring = await location.open()
  await keyring.createTenant('acme')
  await keyring.reserve('acme', 'fact', { at_least: 1, count: 5 })
  const onreader = new pg.Client({ connectionString: location.url })
  await onreader.connect()
  try {
    await onreader.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1')
    assert.ok((await keyring.rewriteSecrets()).dead_rows_left >= 5)
  } finally {
    await onreader.end()
  }
  await rewriteClean(keyring)
})

test('a role that does not own the tables is told that nothing was rewritten', async (t) => {
  const location = await postgresLocation(t)
  await location.close(await location.open())
  const guest = await location.createRole([
    'GRANT USAGE ON SCHEMA custos_keyring',
    'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA custos_keyring',
  ])
  const keyring = await location.open({ url: guest })
  await keyring.createTenant('acme')
  await assert.rejects(keyring.rewriteSecrets(), /must do it/)
})
