// The lock of a data directory.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { OperatorError } from '../operator-error.ts'
import { DataDirHeld, lockDataDir, publishAddress, readAddress } from './data-dir.ts'

const freshDir = () => mkdtempSync(join(tmpdir(), 'custos-lock-'))

test('a second holder is refused with one line and can lock once the first lets go', () => {
  const dir = freshDir()
  const first = lockDataDir(dir)
  assert.throws(() => lockDataDir(dir), DataDirHeld)
  first.unlock()
  lockDataDir(dir).unlock()
  rmSync(dir, { recursive: true })
})

test('a process holds its lock while it lives, and killed leaves none behind', async (t) => {
  const dir = freshDir()
  const module = new URL('./data-dir.ts', import.meta.url).href
  const script = `
    const { lockDataDir } = await import(${JSON.stringify(module)})
    lockDataDir(${JSON.stringify(dir)})
    // What nobody refers to any more is gone now.
    gc()
    await new Promise((resolve) => setImmediate(resolve))
    gc()
    console.log('held')
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--expose-gc', '--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  t.after(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  assert.throws(() => lockDataDir(dir), DataDirHeld)
  child.kill('SIGKILL')
  await once(child, 'exit')
  lockDataDir(dir).unlock()
  rmSync(dir, { recursive: true })
})

test('a lock file that is damaged is told in one line that says what to do', () => {
  const dir = freshDir()
  writeFileSync(join(dir, 'custos.lock'), 'not a database '.repeat(1_000))
  assert.throws(() => lockDataDir(dir), OperatorError)
  assert.throws(() => lockDataDir(dir), {
    message: /^\S+custos\.lock cannot be locked \(file is not a database\): [^\n]* delete it/,
  })
  rmSync(dir, { recursive: true })
})

test('a directory that cannot be written is told as that, and no file is blamed', async () => {
  const dir = freshDir()
  lockDataDir(dir).unlock()
  const module = new URL('./data-dir.ts', import.meta.url).href
  const nobody = 65_534
  if (process.getuid?.() === 0)
    for (const path of [join(dir, 'custos.lock'), dir]) chownSync(path, nobody, nobody)
  chmodSync(dir, 0o500)
  const script = `
    const { lockDataDir } = await import(${JSON.stringify(module)})
    // Root may write everywhere.
    if (process.getuid() === 0) process.setgid(${nobody}), process.setuid(${nobody})
    try { lockDataDir(${JSON.stringify(dir)}) } catch ({ message }) { console.log(message) }`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [said] = await once(child.stdout, 'data')
  assert.equal(String(said), `the data directory ${dir} cannot be written by this user\n`)
  chmodSync(dir, 0o700)
  rmSync(dir, { recursive: true })
})

test('files that are not ours are left alone', () => {
  const dir = freshDir()
  writeFileSync(join(dir, 'notes.txt'), 'mine')
  lockDataDir(dir).unlock()
  assert.deepEqual(readdirSync(dir).sort(), ['custos.lock', 'notes.txt'])
  rmSync(dir, { recursive: true })
})

test('an address is that of the holder: gone with it, and not left by one that was killed', () => {
  const dir = freshDir()
  publishAddress(dir, 'http://127.0.0.1:1')
  const { unlock } = lockDataDir(dir)
  assert.equal(readAddress(dir), null)
  publishAddress(dir, 'http://127.0.0.1:2')
  assert.equal(readAddress(dir), 'http://127.0.0.1:2')
  if (process.platform !== 'win32')
    assert.equal(statSync(join(dir, 'custos.address')).mode & 0o777, 0o600)
  unlock()
  assert.deepEqual(readdirSync(dir), ['custos.lock'])
  rmSync(dir, { recursive: true })
})

test('a directory that cannot be created is an error at once', () => {
  assert.throws(() => lockDataDir('/proc/custos/data'), /\/proc/)
})
