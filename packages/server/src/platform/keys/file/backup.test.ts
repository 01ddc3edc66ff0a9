// Backups: one file that restores to the same keyring, and never overwrites one.

import assert from 'node:assert/strict'
import { copyFileSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { erasureOf } from '../testing/ledger-cases.ts'
import { fileLocationAt } from '../testing/locations.ts'
import { claimOf, PARTS, partOf, renewal, secretsOf, withSecrets } from '../testing/parts-cases.ts'
import { countNeedles, openKeyring, tempDirectory } from '../testing/temp-keyring.ts'
import { restoreFileKeyring } from './backup.ts'

test('a restored keyring is the keyring that was backed up', async (t) => {
  const folder = tempDirectory(t)
  const [dir, from] = [join(folder, 'restored'), join(folder, 'keyring.backup')]
  const keyring = await openKeyring(t, { dir: join(folder, 'live') })
  await keyring.createTenant('acme')
  const block = await keyring.reserve('acme', 'fact', { at_least: 1, count: 5000 })
  await keyring.destroySecrets('acme', 'fact', [17])
  const { mac } = await keyring.bodyMac(Buffer.from('b'), 3)
  const label = (await keyring.tenant('acme')).label('x')
  await keyring.backupTo(from)
  await keyring.backupTo(from)
  assert.equal(statSync(from).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(folder).sort(), ['keyring.backup', 'live'])

  await restoreFileKeyring({ from, dir })
  assert.deepEqual(readdirSync(dir).sort(), ['keyring.db', 'secrets.slots'])
  const restored = await openKeyring(t, { dir })
  assert.equal(restored.instance_id, keyring.instance_id)
  assert.deepEqual(restored.publishedKeys(), keyring.publishedKeys())
  assert.equal((await restored.tenant('acme')).label('x'), label)
  assert.equal(await restored.verifyBodyMac(Buffer.from('b'), 3, mac), true)
  const read = await restored.secrets('acme', 'fact', [1, 17, 4999, 5000])
  assert.deepEqual(
    [...read.values()],
    [block.secretAt(1), null, block.secretAt(4999), block.secretAt(5000)],
  )
  assert.equal((await restored.reserve('acme', 'fact', { at_least: 1 })).first, 5001)
})

test('destroying a secret of a restored keyring leaves no copy in its directory', async (t) => {
  const folder = tempDirectory(t)
  const [dir, from] = [join(folder, 'restored'), join(folder, 'keyring.backup')]
  const keyring = await openKeyring(t, { dir: join(folder, 'live') })
  await keyring.createTenant('acme')
  const block = await keyring.reserve('acme', 'fact', { at_least: 1, count: 3000 })
  const numbers = [1, 2048, 3000]
  const needles = numbers.map((number) => block.secretAt(number))
  await keyring.backupTo(from)
  await restoreFileKeyring({ from, dir })
  const restored = await openKeyring(t, { dir })
  assert.equal(countNeedles(dir, needles), 3)
  await restored.destroySecrets('acme', 'fact', numbers)
  assert.equal(countNeedles(dir, needles), 0)
})

test('a backup made after an erasure holds nothing of the secret', async (t) => {
  const folder = tempDirectory(t)
  const keyring = await openKeyring(t, { dir: join(folder, 'live') })
  await keyring.createTenant('acme')
  const block = await keyring.reserve('acme', 'fact', { at_least: 1 })
  const needle = block.secretAt(9)
  await keyring.destroySecrets('acme', 'fact', [9])
  await keyring.backupTo(join(folder, 'keyring.backup'))
  assert.equal(countNeedles(folder, [needle]), 0)
})

test('restoring never touches a keyring that is there, nor leaves half of one', async (t) => {
  const folder = tempDirectory(t)
  const [live, from] = [join(folder, 'live'), join(folder, 'keyring.backup')]
  const keyring = await openKeyring(t, { dir: live })
  await keyring.createTenant('acme')
  await keyring.reserve('acme', 'fact', { at_least: 1 })
  await keyring.backupTo(from)
  await assert.rejects(restoreFileKeyring({ from, dir: live }), { code: 'keyring_exists' })

  const cut = join(folder, 'cut')
  writeFileSync(cut, readFileSync(from).subarray(0, 40_000))
  const plain = join(folder, 'plain')
  copyFileSync(join(live, 'keyring.db'), plain)
  const text = join(folder, 'text')
  writeFileSync(text, 'not a database')
  for (const bad of [cut, plain, text, join(folder, 'absent')]) {
    const dir = join(folder, 'new')
    await assert.rejects(restoreFileKeyring({ from: bad, dir }), { code: 'backup_unreadable' })
    assert.ok(!readdirSync(dirname(dir)).some((name) => name.startsWith('new')))
  }
})

test('a backup made before an erasure erases again from the copy when it is opened', async (t) => {
  const folder = tempDirectory(t)
  const [dir, from] = [join(folder, 'restored'), join(folder, 'keyring.backup')]
  const ledger_copy = join(tempDirectory(t), 'ledger.ndjson')
  const keyring = await openKeyring(t, { dir: join(folder, 'live'), ledger_copy })
  await keyring.createTenant('acme')
  const block = await keyring.reserve('acme', 'fact', { at_least: 1, count: 20 })
  const decisions = await keyring.reserve('acme', 'decision', { at_least: 1, count: 20 })
  const needles = [block.secretAt(3), block.secretAt(4), decisions.secretAt(9)]
  await keyring.backupTo(from)
  const destroys = [
    { kind: 'fact', number: 3 },
    { kind: 'decision', number: 9 },
  ] as const
  await keyring.ledger.request([erasureOf('3', { destroys }), erasureOf('4')])
  await restoreFileKeyring({ from, dir })
  assert.equal(countNeedles(dir, needles), 3)
  const restored = await openKeyring(t, { dir, ledger_copy })
  assert.equal(restored.merged_from_copy, 2)
  assert.equal(countNeedles(dir, needles), 0)
})

test('a backup of a keyring holds the parts of plans', async (t) => {
  const folder = tempDirectory(t)
  const [dir, from] = [join(folder, 'restored'), join(folder, 'keyring.backup')]
  const keyring = await withSecrets(fileLocationAt(t, join(folder, 'live')))
  const part = partOf(PARTS, 0, [await renewal(keyring, 3, 8)])
  await keyring.ledger.addPart(part)
  await keyring.ledger.request([claimOf(PARTS, 1)])
  await keyring.backupTo(from)
  await restoreFileKeyring({ from, dir })
  const restored = await openKeyring(t, { dir })
  assert.deepEqual(await restored.ledger.loadPart(PARTS, 0), part)
  assert.deepEqual(await secretsOf(restored, 3), [null])
})
