// Body MACs: stable within a day's key, worthless after it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openKeyring, tempDirectory } from './testing/temp-keyring.ts'

const BODY = Buffer.from('{"content":"Zoë"}')

test('a body verifies under its day only, after a reopening too', async (t) => {
  const dir = tempDirectory(t)
  const keyring = await openKeyring(t, { dir })
  const { day, mac } = await keyring.bodyMac(BODY, 20_000)
  assert.equal(day, 20_000)
  assert.deepEqual(await keyring.bodyMac(BODY, 20_000), { day, mac })
  assert.notEqual((await keyring.bodyMac(BODY, 20_001)).mac, mac)
  keyring.close()
  const again = await openKeyring(t, { dir })
  assert.equal(await again.verifyBodyMac(BODY, 20_000, mac), true)
  assert.equal(await again.verifyBodyMac(BODY, 20_001, mac), false)
  assert.equal(await again.verifyBodyMac(Buffer.from('other'), 20_000, mac), false)
  for (const bad of ['', mac.slice(2), mac.toUpperCase(), 'zz'.repeat(32)])
    assert.equal(await again.verifyBodyMac(BODY, 20_000, bad), false)
})

test('a dropped day verifies nothing and never gets another key', async (t) => {
  const dir = tempDirectory(t)
  const keyring = await openKeyring(t, { dir })
  const [old, kept] = [await keyring.bodyMac(BODY, 100), await keyring.bodyMac(BODY, 102)]
  await keyring.bodyMac(BODY, 101)
  assert.equal(await keyring.dropDayKeys(102), 2)
  assert.equal(await keyring.dropDayKeys(102), 0)
  assert.equal(await keyring.verifyBodyMac(BODY, 100, old.mac), false)
  assert.equal(await keyring.verifyBodyMac(BODY, 102, kept.mac), true)
  await assert.rejects(keyring.bodyMac(BODY, 100), { code: 'day_key_dropped' })
  await assert.rejects(keyring.bodyMac(BODY, 99), { code: 'day_key_dropped' })
  keyring.close()
  const again = await openKeyring(t, { dir })
  assert.equal(await again.verifyBodyMac(BODY, 102, kept.mac), true)
  await assert.rejects(again.bodyMac(BODY, 100), { code: 'day_key_dropped' })
})
