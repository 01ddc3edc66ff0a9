// The command as a whole: help, unknown commands and options, and settings that cannot be used.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { CLIENT_SETTINGS, SETTINGS } from '@custos/server'
import { createDatabase } from '../../../server/src/testing/postgres.ts'
import { BIN, runCustos, spawnCustos, tempDirectory } from '../testing/run.ts'
import { serveLocally } from '../testing/serve-locally.ts'
import { commands } from './index.ts'

test('the help lists every command, and each command has its own help', async () => {
  const ran = await spawnCustos(['--help'])
  assert.equal(ran.status, 0)
  for (const { name, summary } of commands)
    assert.ok(ran.stdout.includes(`${name.padEnd(14)} ${summary}`), name)
  const helps = commands.map(async ({ name }) => ({ name, own: await runCustos([name, '--help']) }))
  for (const { name, own } of await Promise.all(helps)) {
    assert.equal(own.status, 0, own.stderr)
    assert.ok(own.stdout.startsWith(`usage: custos ${name} `), name)
    for (const line of own.stdout.split('\n')) assert.ok(line.length <= 100, line)
  }
})

test('the help of serve lists every setting with its default', async () => {
  const { stdout } = await runCustos(['serve', '--help'])
  for (const { name, flag, fallback } of SETTINGS) {
    assert.ok(stdout.includes(flag === '' ? `  ${name}\n` : `  --${flag} `), name)
    assert.ok(stdout.includes(`(default: ${fallback})`), fallback)
  }
  const tenant = await runCustos(['tenant', '--help'])
  for (const { name } of CLIENT_SETTINGS) assert.ok(tenant.stdout.includes(name), name)
})

test('no command, an unknown command and unknown options are usage errors', async () => {
  assert.equal((await spawnCustos([])).status, 2)
  const unknown = await runCustos(['frobnicate'])
  assert.equal(unknown.status, 2)
  assert.match(unknown.stderr, /^custos: no command "frobnicate"\n/)
  const calls = commands.map(async ({ name }) => ({
    name,
    ran: await runCustos([name, '--frobnicate']),
  }))
  for (const { name, ran } of await Promise.all(calls)) {
    assert.equal(ran.status, 2, name)
    assert.match(ran.stderr, new RegExp(`^custos ${name}: [^\n]+\n$`))
    assert.equal(ran.stdout, '')
  }
})

test('the version is that of the package', async () => {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  const ran = await spawnCustos(['--version'])
  assert.equal(ran.stdout.trim(), JSON.parse(manifest).version)
})

const WRONG = {
  CUSTOS_HOST: 'http://localhost',
  CUSTOS_ALLOWED_HOSTS: 'memory.internal/path',
  CUSTOS_PORT: 'x',
  CUSTOS_AUTH: 'maybe',
  CUSTOS_OPERATOR_KEY: 'short',
  CUSTOS_MASTER_KEY: 'abc',
  CUSTOS_NEXT_MASTER_KEY: 'abc',
  CUSTOS_ORIGIN: 'with space',
  CUSTOS_EPOCH_SECONDS: '-1',
  CUSTOS_INDEX_MB: '1',
  CUSTOS_LOG_LEVEL: 'loud',
}

test('a setting that cannot be used stops the start with one line, without its value', async () => {
  const starts = Object.entries(WRONG).map(async ([name, value]) => {
    const env = { CUSTOS_DATA_DIR: join(tempDirectory(), 'data'), [name]: value }
    return { name, value, ran: await runCustos(['serve'], { env }) }
  })
  for (const { name, value, ran } of await Promise.all(starts)) {
    assert.equal(ran.status, 1, name)
    assert.match(ran.stderr, new RegExp(`^custos serve: ${name} must [^\n]+\n$`))
    assert.ok(!ran.stderr.includes(value) || value.length < 3, name)
  }
})

test('an option that cannot be used is named as given, and is a wrong argument', async () => {
  const ran = await runCustos(['serve', '--port', 'abc'], { env: { CUSTOS_PORT: '0' } })
  const said = 'custos serve: --port must be a whole number from 0 to 65535\n'
  assert.deepEqual([ran.status, ran.stderr], [2, said])
  const other = await runCustos(['serve', '--port', '0'], { env: { CUSTOS_LOG_LEVEL: 'loud' } })
  assert.deepEqual(
    [other.status, other.stderr.slice(0, 36)],
    [1, 'custos serve: CUSTOS_LOG_LEVEL must '],
  )
})

test('a database that does not answer, or refuses, ends what reads it with one line', async () => {
  const away = 'postgres://127.0.0.1:1/custos'
  const { url, drop } = await createDatabase()
  const empty = await createDatabase()
  const env = { CUSTOS_MASTER_KEY: '5a'.repeat(32), CUSTOS_KEYRING_URL: url }
  const endsWithLine = async (command: string, CUSTOS_DATABASE_URL: string) => {
    const name = command.split(' ')
    const ran = await runCustos(name, { env: { ...env, CUSTOS_DATABASE_URL } })
    const line = `^custos ${name[0]}: the database: [^\n]+\n$`
    assert.deepEqual([ran.status, ran.stdout], [1, ''], command)
    assert.match(ran.stderr, new RegExp(line), command)
  }
  try {
    const made = await runCustos(['migrate'], { env: { ...env, CUSTOS_DATABASE_URL: url } })
    assert.equal(made.status, 0, made.stderr)
    for (const command of ['fsck', 'cgr recompute', 'key list']) await endsWithLine(command, away)
    for (const command of ['fsck', 'cgr recompute']) await endsWithLine(command, empty.url)
  } finally {
    await Promise.all([drop(), empty.drop()])
  }
})

test('a next master key without a database, and no certificate, stop the start', async () => {
  const database = 'postgres://127.0.0.1/custos'
  for (const [env, said] of [
    [{ CUSTOS_NEXT_MASTER_KEY: '0a'.repeat(32) }, /CUSTOS_NEXT_MASTER_KEY requires /],
    [{ CUSTOS_DATABASE_URL: `${database}?sslrootcert=/absent` }, /CUSTOS_DATABASE_URL has ssl/],
  ] as const) {
    const ran = await runCustos(['serve'], { env })
    assert.equal(ran.status, 1)
    assert.match(ran.stderr, said)
    assert.equal(ran.stderr.trim().split('\n').length, 1)
  }
})

test('a misspelled setting is named with the nearest one, before the start fails', async () => {
  const env = { CUSTOS_WITNESES: 'x', CUSTOS_API_KEY: 'y', CUSTOS_TEST_X: 'z', CUSTOS_PORT: 'no' }
  const { status, stderr } = await runCustos(['serve'], { env })
  assert.equal(status, 1)
  const [first, second, ...others] = stderr.split('\n')
  const unknown = 'CUSTOS_WITNESES is no setting and is ignored; did you mean CUSTOS_WITNESSES?'
  assert.equal(first, `custos serve: ${unknown}`)
  assert.match(second ?? '', /^custos serve: CUSTOS_PORT must /)
  assert.deepEqual(others, [''])
})

test('a data directory in use stops the start with one line', async (t) => {
  const { data_dir } = await serveLocally(t)
  const ran = await spawnCustos(['serve', '--port', '0', '--data-dir', data_dir])
  assert.equal(ran.status, 1)
  assert.match(ran.stderr, /^custos serve: [^\n]* is in use by another process\n$/)
})

test('an address of no machine is a one-line error, and makes no data directory', async () => {
  const data_dir = join(tempDirectory(), 'data')
  const env = { CUSTOS_OPERATOR_KEY: 'a secret of 24 characters or more' }
  for (const [host, reason] of [
    ['192.0.2.1', '192.0.2.1 is no address of this machine: choose another with --host'],
    ['no.invalid', 'the host name no.invalid has no address: choose another with --host'],
  ] as const) {
    const args = ['serve', '--host', host, '--data-dir', data_dir]
    const { status, stderr } = await runCustos(args, { env })
    assert.deepEqual([status, stderr], [1, `custos serve: ${reason}\n`])
    assert.equal(existsSync(data_dir), false)
  }
})

test('a port in use and a database of a newer version are one-line errors', async (t) => {
  const { url, data_dir, stop } = await serveLocally(t)
  const port = new URL(url).port
  const other = join(tempDirectory(), 'data')
  const busy = await runCustos(['serve', '--port', port, '--data-dir', other])
  assert.equal(busy.status, 1)
  assert.match(busy.stderr, /^custos serve: port \d+ of 127.0.0.1 is in use: [^\n]*--port\n$/)
  assert.equal(existsSync(other), false)
  await stop()
  const { DatabaseSync } = await import('node:sqlite')
  const db = new DatabaseSync(join(data_dir, 'custos.db'))
  db.exec(`INSERT INTO migrations VALUES ('9999-later')`)
  db.close()
  const newer = await runCustos(['serve', '--port', '0', '--data-dir', data_dir])
  assert.equal(newer.status, 1)
  assert.match(newer.stderr, /^custos serve: [^\n]*9999-later[^\n]*\n$/)
})

test('an address without a credential and a short operator key make no data', async () => {
  const data_dir = join(tempDirectory(), 'data')
  const args = ['serve', '--port', '0', '--data-dir', data_dir]
  const open = await runCustos([...args, '--host', '0.0.0.0'])
  assert.equal(open.status, 1)
  assert.match(open.stderr, /^custos serve: on 0.0.0.0 [^\n]* set CUSTOS_OPERATOR_KEY [^\n]*\n$/)
  const short = await runCustos(args, { env: { CUSTOS_OPERATOR_KEY: 'short' } })
  assert.equal(short.status, 1)
  assert.match(short.stderr, /^custos serve: CUSTOS_OPERATOR_KEY must [^\n]* openssl [^\n]*\n$/)
  assert.equal(existsSync(data_dir), false)
})

test('data without a credential is not served where one is needed', async (t) => {
  const { data_dir, stop } = await serveLocally(t)
  await stop()
  const args = ['serve', '--port', '0', '--data-dir', data_dir, '--auth', 'required']
  const ran = await runCustos(args)
  assert.equal(ran.status, 1)
  assert.match(ran.stderr, /^custos serve: [^\n]* set CUSTOS_OPERATOR_KEY [^\n]*\n$/)
})

test('a missing data file stops the start with one line, unless that is accepted', async (t) => {
  const { data_dir, stop } = await serveLocally(t)
  await stop()
  rmSync(join(data_dir, 'custos.db'))
  const ran = await runCustos(['serve', '--port', '0', '--data-dir', data_dir])
  assert.equal(ran.status, 1)
  assert.match(ran.stderr, /^custos serve: [^\n]*custos.db is missing[^\n]*--accept-empty-data/)
  assert.equal(ran.stderr.trim().split('\n').length, 1)
  assert.equal(existsSync(join(data_dir, 'custos.db')), false)
  const { stdout } = await runCustos(['serve', '--help'])
  assert.match(stdout, /--accept-empty-data/)
})

/** Throws in a timer once the service has told that it listens. */
const CRASH = `const write = process.stdout.write
process.stdout.write = function (text, ...rest) {
  const listens = text.includes('custos listens on')
  if (listens) setTimeout(() => { throw new TypeError('a name') }, 50)
  return write.call(this, text, ...rest)
}`

test('a service that crashes says where, in the last line of its log, and no text', async () => {
  const preload = `data:text/javascript,${encodeURIComponent(CRASH)}`
  const args = ['serve', '--port', '0', '--data-dir', join(tempDirectory(), 'data')]
  const ran = await spawnCustos(args, { env: { NODE_OPTIONS: `--import=${preload}` } })
  assert.equal(ran.status, 1)
  const lines = ran.stderr.trimEnd().split('\n')
  const { level, msg, error, stack } = JSON.parse(lines.at(-1) ?? '')
  assert.deepEqual([level, msg, error], [50, 'process.crashed', 'TypeError'])
  assert.match(stack, /^ +at /)
  for (const line of lines) assert.ok(JSON.parse(line).time, line)
  assert.doesNotMatch(ran.stderr, /a name/)
})

test('a service whose log takes nothing serves, and ends when it is told to', async () => {
  const full = openSync('/dev/full', 'w')
  const args = [BIN, 'serve', '--port', '0', '--data-dir', join(tempDirectory(), 'data')]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', full] })
  try {
    const ended = once(child, 'exit')
    assert.ok(child.stdout)
    const [first] = await Promise.race([once(child.stdout, 'data'), ended])
    const url = /custos listens on (\S+)/.exec(String(first))?.[1]
    for (let asked = 0; asked < 60; asked += 1)
      assert.equal((await fetch(`${url}/v1/stores/nowhere`)).status, 404)
    child.kill('SIGTERM')
    assert.deepEqual(await ended, [0, null])
  } finally {
    child.kill('SIGKILL')
    closeSync(full)
  }
})

test('a start that fails after it has begun to listen leaves no process', async () => {
  const data_dir = join(tempDirectory(), 'data')
  mkdirSync(join(data_dir, 'custos.address.new', 'in-the-way'), { recursive: true })
  const ran = await spawnCustos(['serve', '--port', '0', '--data-dir', data_dir])
  assert.equal(ran.status, 1)
  assert.match(ran.stderr, /^custos serve: [^\n]+\n$/m)
})

test('other files in the data directory are not touched', async (t) => {
  const data_dir = join(tempDirectory(), 'data')
  mkdirSync(join(data_dir, 'photos'), { recursive: true })
  for (const name of ['notes.txt', 'photos/one.jpg']) writeFileSync(join(data_dir, name), name)
  const { stop } = await serveLocally(t, { data_dir })
  await stop()
  for (const name of ['notes.txt', 'photos/one.jpg'])
    assert.equal(readFileSync(join(data_dir, name), 'utf8'), name)
})

test('output that is lost is a failure, and a reader that has enough is none', async (t) => {
  const { url } = await serveLocally(t)
  const into = async (stdout: number | 'pipe', ...args: string[]) => {
    const child = spawn(process.execPath, [BIN, ...args], { stdio: ['ignore', stdout, 'pipe'] })
    child.stdout?.destroy()
    let stderr = ''
    child.stderr?.on('data', (chunk: Buffer) => {
      stderr += chunk.toString()
    })
    const [status] = await once(child, 'close')
    return { status, stderr }
  }
  const full = openSync('/dev/full', 'w')
  t.after(() => closeSync(full))
  const lost = await into(full, 'report', 'list', '--url', url)
  assert.equal(lost.status, 1)
  assert.match(lost.stderr, /^custos: the output could not be written: ENOSPC[^\n]*\n$/)
  assert.deepEqual(await into('pipe', 'report', 'list', '--url', url), { status: 0, stderr: '' })
  assert.equal((await into('pipe', 'export', 'default', '--url', url)).stderr, '')
})
