// A data directory is served whole or not at all.

import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { parseConfig } from '../../config/config.ts'
import { ConfigError } from '../../config/env.ts'
import { DataError } from '../../platform/db/sqlite/instance.ts'
import { openTestKernel } from '../../testing/kernel.ts'

function freshDir(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'custos-open-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

async function used(t: TestContext): Promise<string> {
  const data_dir = freshDir(t)
  const service = await openTestKernel({ data_dir })
  await service.close({ keep: true })
  return data_dir
}

test('a database without its keyring is refused, and no new keyring is made', async (t) => {
  const data_dir = await used(t)
  renameSync(join(data_dir, 'keyring'), join(data_dir, 'away'))
  await assert.rejects(openTestKernel({ data_dir }), DataError)
  assert.equal(existsSync(join(data_dir, 'keyring')), false)
  renameSync(join(data_dir, 'away'), join(data_dir, 'keyring'))
  await (await openTestKernel({ data_dir })).close()
})

test('a database with the keyring of another instance is refused', async (t) => {
  const [data_dir, other] = [await used(t), await used(t)]
  cpSync(join(other, 'custos.db'), join(data_dir, 'custos.db'))
  await assert.rejects(openTestKernel({ data_dir }), DataError)
})

test('a file that is not our database is left alone, and no key is made', async (t) => {
  const junk = freshDir(t)
  writeFileSync(
    join(junk, 'custos.db'),
    'not a database, but long enough to look like one '.repeat(20),
  )
  await assert.rejects(openTestKernel({ data_dir: junk }), DataError)
  assert.equal(existsSync(join(junk, 'master.key')), false)

  const foreign = freshDir(t)
  const db = new DatabaseSync(join(foreign, 'custos.db'))
  db.exec('create table tenants (a)')
  db.close()
  await assert.rejects(openTestKernel({ data_dir: foreign }), DataError)
  assert.equal(existsSync(join(foreign, 'keyring')), false)
})

test('local mode is refused on an address that strangers can reach', () => {
  const env = { CUSTOS_AUTH: 'local', CUSTOS_HOST: '0.0.0.0' }
  assert.throws(() => parseConfig(env), ConfigError)
})
