// The files of the embedded keyring: what is in them, and what opening them refuses.

import assert from 'node:assert/strict'
import {
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { SECRET_BYTES } from '../secret-bytes.ts'
import { fileLocationAt } from '../testing/locations.ts'
import { claimOf, PARTS, partOf, renewal, secretsOf, withSecrets } from '../testing/parts-cases.ts'
import { countNeedles, openKeyring, tempDirectory } from '../testing/temp-keyring.ts'

test('a destroyed secret is in no file, also after a reopening', async (t) => {
  const dir = tempDirectory(t)
  const keyring = await openKeyring(t, { dir })
  await keyring.createTenant('acme')
  const block = await keyring.reserve('acme', 'fact', { at_least: 1, count: 100 })
  const numbers = [1, 2, 3, 50, 100]
  const needles = numbers.map((number) => block.secretAt(number))
  assert.equal(countNeedles(dir, needles), 5)
  await keyring.destroySecrets('acme', 'fact', numbers)
  assert.equal(countNeedles(dir, needles), 0)
  keyring.close()
  await openKeyring(t, { dir })
  assert.equal(countNeedles(dir, needles), 0)
})

test('no secret of a destroyed tenant is in any file', async (t) => {
  const dir = tempDirectory(t)
  const keyring = await openKeyring(t, { dir })
  await keyring.createTenant('acme')
  const block = await keyring.reserve('acme', 'decision', { at_least: 1, count: 40 })
  const needles = [1, 40].map((number) => block.secretAt(number))
  assert.equal(countNeedles(dir, needles), 2)
  await keyring.destroyTenant('acme')
  assert.equal(countNeedles(dir, needles), 0)
})

test('a row whose secret survived a crash is destroyed in the file at the next open', async (t) => {
  const dir = tempDirectory(t)
  const keyring = await openKeyring(t, { dir })
  await keyring.createTenant('acme')
  const needle = (await keyring.reserve('acme', 'fact', { at_least: 1, count: 4 })).secretAt(2)
  const row = { tenant_id: 'acme', subject_kind: 'fact', store_id: null, requested_us: 1 } as const
  await keyring.ledger.request([{ ...row, subject: '2', plan: {} }])
  keyring.close()
  assert.equal(countNeedles(dir, [needle]), 1)
  await openKeyring(t, { dir })
  assert.equal(countNeedles(dir, [needle]), 0)
})

test('a start after the claim of a plan leaves no old secret in the file', async (t) => {
  const dir = tempDirectory(t)
  const location = fileLocationAt(t, dir)
  const keyring = await withSecrets(location)
  const [old] = await secretsOf(keyring, 1)
  await keyring.ledger.addPart(partOf(PARTS, 0, [await renewal(keyring, 1, 7)]))
  await keyring.ledger.request([claimOf(PARTS, 1)])
  keyring.close()
  const needles = [Buffer.from(old ?? '', 'hex')]
  assert.equal(countNeedles(dir, needles), 1)
  await location.open()
  assert.equal(countNeedles(dir, needles), 0)
})

test('a change of signing keys is dated exactly: no other process has to see it', async (t) => {
  const keyring = await openKeyring(t, { dir: tempDirectory(t) })
  const at = '2027-01-01T00:00:00.000000Z'
  const fresh = await keyring.rotateSigningKey('checkpoint', at)
  const listed = keyring.publishedKeys().filter((key) => key.purpose === 'checkpoint')
  assert.equal(fresh.valid_from, at)
  assert.deepEqual(
    listed.map((key) => key.retired_at),
    [at, null],
  )
})

test('a slot file that is shorter, gone, foreign or of another version is refused', async (t) => {
  const dir = tempDirectory(t)
  const slots = join(dir, 'secrets.slots')
  const keyring = await openKeyring(t, { dir })
  await keyring.createTenant('acme')
  await keyring.reserve('acme', 'fact', { at_least: 1 })
  keyring.close()
  const whole = readFileSync(slots)
  const refused = (code: string) => assert.rejects(openKeyring(t, { dir }), { code })

  truncateSync(slots, 1025 * SECRET_BYTES - 1)
  await refused('slot_file_truncated')
  unlinkSync(slots)
  await refused('slot_file_missing')
  for (const at of [0, 11, 15, 20]) {
    const changed = Buffer.from(whole)
    changed[at] = (changed[at] ?? 0) ^ 1
    writeFileSync(slots, changed)
    await refused('slot_file_foreign')
  }
  writeFileSync(slots, whole)
  await openKeyring(t, { dir })
})

test('a file that is not a keyring is refused, not overwritten', async (t) => {
  const dir = tempDirectory(t)
  const path = join(dir, 'keyring.db')
  writeFileSync(path, 'something else entirely, longer than a header'.repeat(50))
  const before = readFileSync(path)
  await assert.rejects(openKeyring(t, { dir }), { code: 'keyring_damaged' })
  assert.deepEqual(readFileSync(path), before)
})

test('a read-only opening of an empty directory creates nothing', async (t) => {
  const dir = tempDirectory(t)
  await assert.rejects(openKeyring(t, { dir, read_only: true }), { code: 'keyring_damaged' })
  assert.deepEqual(readdirSync(dir), [])
})

test('every file of a keyring is readable by its owner only', async (t) => {
  const dir = join(tempDirectory(t), 'keyring')
  const keyring = await openKeyring(t, { dir })
  await keyring.createTenant('acme')
  assert.equal(statSync(dir).mode & 0o777, 0o700)
  for (const name of readdirSync(dir))
    assert.equal(statSync(join(dir, name)).mode & 0o777, 0o600, name)
})
