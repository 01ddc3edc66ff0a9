// Where the master key comes from.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadMasterKey } from './master-key.ts'
import { openKeyring, tempDirectory } from './testing/temp-keyring.ts'

test('the first start makes a private key file, and every later start uses it', (t) => {
  const data_dir = join(tempDirectory(t), 'data')
  const first = loadMasterKey({ data_dir })
  assert.equal(first.generated, true)
  assert.equal(first.key.length, 32)
  assert.equal(statSync(join(data_dir, 'master.key')).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(data_dir), ['master.key'])
  assert.deepEqual(loadMasterKey({ data_dir }), { key: first.key, generated: false })
})

test('a given key wins over the file and nothing is written', (t) => {
  const data_dir = tempDirectory(t)
  const { key, generated } = loadMasterKey({ given: 'Ab'.repeat(32), data_dir })
  assert.deepEqual(key, Buffer.alloc(32, 0xab))
  assert.equal(generated, false)
  assert.deepEqual(readdirSync(data_dir), [])
})

test('anything but 64 hex digits is refused, without showing what was given', (t) => {
  const data_dir = tempDirectory(t)
  for (const given of ['', 'ab'.repeat(31), `${'ab'.repeat(32)}0`, `0x${'ab'.repeat(31)}`]) {
    assert.throws(
      () => loadMasterKey({ given, data_dir }),
      (error: Error & { code?: string }) =>
        error.code === 'bad_master_key' && !error.message.includes('abab'),
    )
  }
  writeFileSync(join(data_dir, 'master.key'), 'half')
  assert.throws(() => loadMasterKey({ data_dir }), { code: 'bad_master_key' })
  assert.equal(readFileSync(join(data_dir, 'master.key'), 'utf8'), 'half')
})

test('no new key is made beside a keyring that needs the old one', async (t) => {
  const data_dir = tempDirectory(t)
  const { key } = loadMasterKey({ data_dir })
  await openKeyring(t, { dir: join(data_dir, 'keyring'), master_key: key })
  rmSync(join(data_dir, 'master.key'))
  assert.throws(() => loadMasterKey({ data_dir }), { code: 'master_key_missing' })
  assert.equal(loadMasterKey({ given: key.toString('hex'), data_dir }).generated, false)
})
