// The file keyring: secrets, tenants, and what opening it refuses.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
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
import fc from 'fast-check'
import { SLOT_BYTES } from './slot-file.ts'
import { countNeedles, openKeyring, tempDirectory } from './testing/temp-keyring.ts'

test('a block starts after the last one, at least where asked, never below one', async (t) => {
  const keyring = await openKeyring(t, { dir: tempDirectory(t) })
  await keyring.createTenant('acme')
  const first = await keyring.reserve('acme', 'fact', { at_least: 0 })
  assert.deepEqual([first.first, first.count], [1, 1024])
  const second = await keyring.reserve('acme', 'fact', { at_least: 7, count: 10 })
  assert.equal(second.first, 1025)
  assert.equal((await keyring.reserve('acme', 'fact', { at_least: 5000 })).first, 5000)
  assert.equal((await keyring.reserve('acme', 'decision', { at_least: 1 })).first, 1)
})

test('no number is handed out twice and every secret reads back, across reopenings', async (t) => {
  const request = fc.record({
    kind: fc.constantFrom('fact' as const, 'decision' as const),
    at_least: fc.nat(3000),
    count: fc.integer({ min: 1, max: 300 }),
    reopen: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(request, { maxLength: 12 }), async (requests) => {
      const dir = tempDirectory(t)
      let keyring = await openKeyring(t, { dir })
      await keyring.createTenant('acme')
      const given = { fact: new Map<number, Buffer>(), decision: new Map<number, Buffer>() }
      for (const { kind, at_least, count, reopen } of requests) {
        const block = await keyring.reserve('acme', kind, { at_least, count })
        assert.ok(block.first >= at_least)
        for (let number = block.first; number < block.first + count; number += 1) {
          assert.ok(!given[kind].has(number))
          given[kind].set(number, block.secretAt(number))
        }
        if (!reopen) continue
        keyring.close()
        keyring = await openKeyring(t, { dir })
      }
      for (const kind of ['fact', 'decision'] as const) {
        const read = await keyring.secrets('acme', kind, [...given[kind].keys()])
        assert.deepEqual(read, given[kind])
      }
      keyring.close()
    }),
    { numRuns: 15 },
  )
})

test('numbers never made read as null, whatever they are', async (t) => {
  const keyring = await openKeyring(t, { dir: tempDirectory(t) })
  await keyring.createTenant('acme')
  await keyring.reserve('acme', 'fact', { at_least: 10, count: 5 })
  const numbers = [-1, 0, 9, 15, 10.5, Number.NaN, 2 ** 53]
  const read = await keyring.secrets('acme', 'fact', numbers)
  assert.deepEqual(
    [...read.values()],
    numbers.map(() => null),
  )
  await keyring.destroySecrets('acme', 'fact', numbers)
  assert.ok((await keyring.secrets('acme', 'fact', [10])).get(10))
  await assert.rejects(keyring.reserve('acme', 'fact', { at_least: -1 }), { code: 'bad_argument' })
  await assert.rejects(keyring.reserve('acme', 'fact', { at_least: 1, count: 0 }), {
    code: 'bad_argument',
  })
})

test('a destroyed secret is in no file, in no block in memory, and stays gone', async (t) => {
  const dir = tempDirectory(t)
  const keyring = await openKeyring(t, { dir })
  await keyring.createTenant('acme')
  const block = await keyring.reserve('acme', 'fact', { at_least: 1, count: 100 })
  const numbers = [1, 2, 3, 50, 100]
  const needles = numbers.map((number) => block.secretAt(number))
  assert.equal(countNeedles(dir, needles), 5)
  await keyring.destroySecrets('acme', 'fact', numbers)
  await keyring.destroySecrets('acme', 'fact', numbers)
  assert.equal(countNeedles(dir, needles), 0)
  for (const number of numbers)
    assert.throws(() => block.secretAt(number), { code: 'secret_destroyed' })
  const read = await keyring.secrets('acme', 'fact', [...numbers, 4])
  assert.deepEqual(
    numbers.map((number) => read.get(number)),
    numbers.map(() => null),
  )
  assert.deepEqual(read.get(4), block.secretAt(4))
  keyring.close()
  const again = await openKeyring(t, { dir })
  assert.equal((await again.secrets('acme', 'fact', [50])).get(50), null)
  assert.equal(countNeedles(dir, needles), 0)
})

test('a block outlives its place in memory: old blocks are read from the file', async (t) => {
  const keyring = await openKeyring(t, { dir: tempDirectory(t) })
  await keyring.createTenant('acme')
  const oldest = await keyring.reserve('acme', 'fact', { at_least: 1, count: 8 })
  const secret = oldest.secretAt(3)
  for (let i = 0; i < 6; i += 1) await keyring.reserve('acme', 'fact', { at_least: 1, count: 8 })
  assert.deepEqual(oldest.secretAt(3), secret)
  await keyring.destroySecrets('acme', 'fact', [3])
  assert.throws(() => oldest.secretAt(3), { code: 'secret_destroyed' })
  assert.throws(() => oldest.secretAt(9), { code: 'bad_argument' })
})

test('a secret handed out is a copy: writing to it changes no secret', async (t) => {
  const keyring = await openKeyring(t, { dir: tempDirectory(t) })
  await keyring.createTenant('acme')
  const block = await keyring.reserve('acme', 'fact', { at_least: 1, count: 2 })
  const copy = block.secretAt(1)
  copy.fill(7)
  assert.notDeepEqual(block.secretAt(1), copy)
})

test('one tenant or kind never reads or destroys the secret of another', async (t) => {
  const keyring = await openKeyring(t, { dir: tempDirectory(t) })
  for (const tenant of ['a', 'b']) await keyring.createTenant(tenant)
  const a = await keyring.reserve('a', 'fact', { at_least: 1, count: 1 })
  const b = await keyring.reserve('b', 'fact', { at_least: 1, count: 1 })
  const d = await keyring.reserve('a', 'decision', { at_least: 1, count: 1 })
  assert.equal(new Set([a, b, d].map((block) => block.secretAt(1).toString('hex'))).size, 3)
  await keyring.destroySecrets('a', 'fact', [1])
  assert.ok(b.secretAt(1) && d.secretAt(1))
})

test('a tenant keeps its keys for ever, and no tenant is made by asking', async (t) => {
  const dir = tempDirectory(t)
  const keyring = await openKeyring(t, { dir })
  await assert.rejects(keyring.tenant('acme'), { code: 'tenant_key_missing' })
  await assert.rejects(keyring.reserve('acme', 'fact', { at_least: 1 }), {
    code: 'tenant_key_missing',
  })
  assert.equal(await keyring.hasTenant('acme'), false)
  await keyring.createTenant('b')
  await keyring.createTenant('acme')
  const label = (await keyring.tenant('acme')).label('x')
  await keyring.createTenant('acme')
  keyring.close()
  const again = await openKeyring(t, { dir })
  assert.deepEqual(await again.listTenants(), ['acme', 'b'])
  assert.equal((await again.tenant('acme')).label('x'), label)
  assert.notEqual((await again.tenant('b')).label('x'), label)
  assert.equal(again.instance_id, keyring.instance_id)
  assert.match(again.instance_id, /^[0-9a-f]{32}$/)
})

test('another master key is refused at open, and the keyring is untouched', async (t) => {
  const dir = tempDirectory(t)
  const keyring = await openKeyring(t, { dir })
  await keyring.createTenant('acme')
  keyring.close()
  const wrong = openKeyring(t, { dir, master_key: randomBytes(32) })
  await assert.rejects(wrong, { name: 'KeyringError', code: 'wrong_master_key' })
  await assert.rejects(openKeyring(t, { dir, master_key: Buffer.alloc(31) }), {
    code: 'bad_master_key',
  })
  assert.deepEqual(await (await openKeyring(t, { dir })).listTenants(), ['acme'])
})

test('a rotated master key opens everything, the old one nothing', async (t) => {
  const dir = tempDirectory(t)
  const next = randomBytes(32)
  const keyring = await openKeyring(t, { dir })
  await keyring.createTenant('acme')
  const label = (await keyring.tenant('acme')).label('x')
  const { mac } = await keyring.bodyMac(Buffer.from('body'), 20_000)
  await keyring.rotateMasterKey(next)
  await keyring.createTenant('later')
  const signature = keyring.signer('erasure').sign(Buffer.from('m'))
  keyring.close()
  await assert.rejects(openKeyring(t, { dir }), { code: 'wrong_master_key' })
  const again = await openKeyring(t, { dir, master_key: next })
  assert.equal((await again.tenant('acme')).label('x'), label)
  assert.ok(await again.tenant('later'))
  assert.deepEqual(again.signer('erasure').sign(Buffer.from('m')), signature)
  assert.equal(await again.verifyBodyMac(Buffer.from('body'), 20_000, mac), true)
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

  truncateSync(slots, 1025 * SLOT_BYTES - 1)
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

test('every file of a keyring is readable by its owner only', async (t) => {
  const dir = join(tempDirectory(t), 'keyring')
  const keyring = await openKeyring(t, { dir })
  await keyring.createTenant('acme')
  assert.equal(statSync(dir).mode & 0o777, 0o700)
  for (const name of readdirSync(dir))
    assert.equal(statSync(join(dir, name)).mode & 0o777, 0o600, name)
})

test('the last checkpoint of a tenant only ever moves forward', async (t) => {
  const { checkpoints } = await openKeyring(t, { dir: tempDirectory(t) })
  const first = { generation: 1, epoch_number: 1, tree_size: 5, root_hash: 'aa', checkpoint: 'x\n' }
  assert.equal(await checkpoints.last('acme'), null)
  await checkpoints.save('acme', first)
  await checkpoints.save('acme', first)
  const refuse = (change: Partial<typeof first>) =>
    assert.rejects(checkpoints.save('acme', { ...first, ...change }), {
      code: 'checkpoint_conflict',
    })
  await refuse({ root_hash: 'bb' })
  await refuse({ tree_size: 4 })
  await refuse({ generation: 0, tree_size: 9 })
  assert.deepEqual({ ...(await checkpoints.last('acme')) }, first)
  const second = { ...first, tree_size: 6, epoch_number: 2, root_hash: 'cc' }
  await checkpoints.save('acme', second)
  const restored = { ...first, generation: 2, tree_size: 1 }
  await checkpoints.save('acme', restored)
  assert.deepEqual({ ...(await checkpoints.last('acme')) }, restored)
})

test('a keyring opened for looking sees what its owner writes and changes nothing', async (t) => {
  const dir = tempDirectory(t)
  await assert.rejects(openKeyring(t, { dir, read_only: true }), { code: 'keyring_damaged' })
  assert.deepEqual(readdirSync(dir), [])
  const owner = await openKeyring(t, { dir })
  await owner.createTenant('acme')
  const looker = await openKeyring(t, { dir, read_only: true })
  const block = await owner.reserve('acme', 'fact', { at_least: 1, count: 4 })
  assert.deepEqual((await looker.secrets('acme', 'fact', [2])).get(2), block.secretAt(2))
  await owner.destroySecrets('acme', 'fact', [2])
  assert.equal((await looker.secrets('acme', 'fact', [2])).get(2), null)
  assert.deepEqual(looker.publishedKeys(), owner.publishedKeys())
  await assert.rejects(looker.createTenant('other'), /readonly/)
  await assert.rejects(looker.destroySecrets('acme', 'fact', [3]))
  assert.ok((await owner.secrets('acme', 'fact', [3])).get(3))
})
