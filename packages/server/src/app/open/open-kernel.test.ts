// A data directory is served whole or not at all.

import assert from 'node:assert/strict'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { parseConfig } from '../../config/config.ts'
import { ConfigError } from '../../config/env.ts'
import { DataError } from '../../platform/db/sqlite/instance.ts'
import type { Logger } from '../../platform/telemetry/logger.ts'
import { startTestService } from '../../testing/harness.ts'
import { openTestKernel } from '../../testing/kernel.ts'
import { skewedClock } from '../../testing/skewed-clock.ts'
import { type KernelOptions, openKernel } from './open-kernel.ts'

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

/** Opens the directory on the embedded engine; the warnings of the start, then closes it. */
async function warningsOf(data_dir: string, options: KernelOptions = {}) {
  const lines: { event: string; fields: object }[] = []
  const logger: Logger = {
    debug() {},
    info() {},
    warn: (event, fields = {}) => lines.push({ event, fields }),
    error: (event, fields = {}) => lines.push({ event, fields }),
    flush() {},
  }
  const config = parseConfig({ CUSTOS_DATA_DIR: data_dir })
  const { close } = await openKernel(config, { logger, ...options })
  await close()
  return lines.filter(({ event }) => event !== 'keyring.master_key_generated')
}

const modesOf = (data_dir: string): string[] =>
  readdirSync(data_dir, { recursive: true, encoding: 'utf8' })
    .map((name) => ({ name, stat: statSync(join(data_dir, name)) }))
    .filter(({ stat }) => stat.isFile() && (stat.mode & 0o077) !== 0)
    .map(({ name }) => name)

test('in a directory that others may enter the files are private, with a warning', async (t) => {
  const data_dir = freshDir(t)
  chmodSync(data_dir, 0o755)
  const before = process.umask(0o022)
  t.after(() => process.umask(before))
  const [warning, ...more] = await warningsOf(data_dir)
  assert.equal(warning?.event, 'data_dir.open_to_others')
  assert.match(JSON.stringify(warning.fields), /chmod 700/)
  assert.deepEqual(more, [])
  assert.deepEqual(modesOf(data_dir), [])
  // Files of an earlier version.
  for (const name of ['custos.db', 'custos.lock']) chmodSync(join(data_dir, name), 0o644)
  await warningsOf(data_dir)
  assert.deepEqual(modesOf(data_dir), [])
  chmodSync(data_dir, 0o700)
  assert.deepEqual(await warningsOf(data_dir), [])
})

test('a data file that is missing beside a keyring with tenants is not replaced', async (t) => {
  const data_dir = freshDir(t)
  await warningsOf(data_dir)
  // A keyring without tenants has seen nothing: a first start that was cut off.
  rmSync(join(data_dir, 'custos.db'))
  const { kernel, close } = await openKernel(parseConfig({ CUSTOS_DATA_DIR: data_dir }))
  await kernel.keyring.createTenant('t1')
  await close()
  rmSync(join(data_dir, 'custos.db'))
  await assert.rejects(warningsOf(data_dir), {
    message: /custos\.db is missing .*--accept-empty-data/,
  })
  assert.equal(existsSync(join(data_dir, 'custos.db')), false)
  writeFileSync(join(data_dir, 'custos.db'), '')
  await assert.rejects(warningsOf(data_dir), DataError)
  await warningsOf(data_dir, { accept_empty_data: true })
  await warningsOf(data_dir)
})

test('an empty file in place of the keyring is left alone, with its log', async (t) => {
  const data_dir = freshDir(t)
  await warningsOf(data_dir)
  const keyring = join(data_dir, 'keyring', 'keyring.db')
  writeFileSync(keyring, '')
  writeFileSync(`${keyring}-wal`, 'the log')
  await assert.rejects(warningsOf(data_dir), { message: /missing or empty: put \S+ back/ })
  assert.equal(statSync(keyring).size, 0)
  assert.equal(readFileSync(`${keyring}-wal`, 'utf8'), 'the log')
})

test('a start on a log that is dated later than the machine says what to do', async (t) => {
  const data_dir = freshDir(t)
  const service = await startTestService({
    data_dir,
    clock: skewedClock(3_600_000_000),
    config: { postgres: null },
  })
  try {
    await service.createTenant()
    const { status, body } = await service.request('GET', '/readyz')
    assert.deepEqual([status, body.checks.clock], [200, 'ahead'])
    assert.ok(body.clock_ahead.seconds > 3_500)
    assert.match(body.clock_ahead.advice, /NTP/)
  } finally {
    await service.stop({ keep: true })
  }
  const [warning] = await warningsOf(data_dir)
  assert.equal(warning?.event, 'clock.behind_log')
  assert.match(JSON.stringify(warning.fields), /"seconds":3[56]\d\d,.*NTP/)
})

test('local mode is refused on an address that strangers can reach', () => {
  const env = { CUSTOS_AUTH: 'local', CUSTOS_HOST: '0.0.0.0' }
  assert.throws(() => parseConfig(env), ConfigError)
})
