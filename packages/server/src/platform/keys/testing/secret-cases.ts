// Cases on secrets, tenants, the master key and keys of days.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import type { Keyring, NewLedgerEntry, SecretKind } from '../keyring.ts'
import type { KeyringCase, KeyringLocation } from './keyring-suite.ts'

const BODY = Buffer.from('{"content":"Zoë"}')

async function openWithTenant(location: KeyringLocation): Promise<Keyring> {
  const keyring = await location.open()
  await keyring.createTenant('acme')
  return keyring
}

const requests = fc.array(
  fc.record({
    kind: fc.constantFrom<SecretKind>('fact', 'decision'),
    at_least: fc.nat(3000),
    count: fc.integer({ min: 1, max: 300 }),
    reopen: fc.boolean(),
  }),
  { maxLength: 12 },
)

export const secretCases: readonly KeyringCase[] = [
  {
    title: 'a block starts after the last one, at least where asked, never below one',
    run: async (location) => {
      const keyring = await openWithTenant(location)
      const first = await keyring.reserve('acme', 'fact', { at_least: 0 })
      assert.deepEqual([first.first, first.count], [1, 1024])
      const second = await keyring.reserve('acme', 'fact', { at_least: 7, count: 10 })
      assert.equal(second.first, 1025)
      assert.equal((await keyring.reserve('acme', 'fact', { at_least: 5000 })).first, 5000)
      assert.equal((await keyring.reserve('acme', 'decision', { at_least: 1 })).first, 1)
    },
  },
  {
    title: 'no number is handed out twice and every secret reads back, across reopenings',
    run: async (location) => {
      let tenants = 0
      let keyring = await location.open()
      const property = fc.asyncProperty(requests, async (asked) => {
        tenants += 1
        const tenant = `tenant ${tenants}`
        await keyring.createTenant(tenant)
        const given = { fact: new Map<number, Buffer>(), decision: new Map<number, Buffer>() }
        for (const { kind, at_least, count, reopen } of asked) {
          const block = await keyring.reserve(tenant, kind, { at_least, count })
          assert.ok(block.first >= at_least)
          for (let number = block.first; number < block.first + count; number += 1) {
            assert.ok(!given[kind].has(number))
            given[kind].set(number, block.secretAt(number))
          }
          if (!reopen) continue
          await location.close(keyring)
          keyring = await location.open()
        }
        for (const kind of ['fact', 'decision'] as const)
          assert.deepEqual(
            await keyring.secrets(tenant, kind, [...given[kind].keys()]),
            given[kind],
          )
      })
      await fc.assert(property, { numRuns: 8 })
    },
  },
  {
    title: 'calls that overlap give out no number twice, and a failed one undoes only itself',
    run: async (location) => {
      const keyring = await openWithTenant(location)
      const missing = { parts_id: 'a'.repeat(32), count: 1 }
      const request = (subject: string, parts: NewLedgerEntry['parts'] = null) =>
        keyring.ledger.request([
          {
            tenant_id: 'acme',
            subject_kind: 'store',
            subject,
            store_id: null,
            requested_us: 1,
            plan: {},
            parts,
          },
        ])
      const rounds = Array.from({ length: 20 }, async (_, i) => {
        const reserving = keyring.reserve('acme', 'fact', { at_least: 1, count: 3 })
        const failing = assert.rejects(request(`failed ${i}`, missing))
        const kept = request(`kept ${i}`)
        const seen = keyring.ledger.find('acme', 'store', `failed ${i}`)
        const block = await reserving
        await keyring.destroySecrets('acme', 'fact', [block.first])
        await Promise.all([failing, kept])
        assert.equal(await seen, null, 'an entry that is not committed is not read')
        return { first: block.first, second: block.secretAt(block.first + 1) }
      })
      const blocks = await Promise.all(rounds)
      const firsts = blocks.map(({ first }) => first).sort((a, b) => a - b)
      assert.deepEqual(
        firsts,
        firsts.map((_, i) => 1 + 3 * i),
      )
      const entries = await keyring.ledger.list('acme', { after: 0, limit: 100 })
      assert.equal(entries.length, 20)
      assert.ok(entries.every(({ subject }) => subject.startsWith('kept')))
      await location.close(keyring)
      const again = await location.open()
      for (const { first, second } of blocks) {
        const read = await again.secrets('acme', 'fact', [first, first + 1])
        assert.deepEqual([...read.values()], [null, second])
      }
    },
  },
  {
    title: 'numbers never made read as null, whatever they are',
    run: async (location) => {
      const keyring = await openWithTenant(location)
      await keyring.reserve('acme', 'fact', { at_least: 10, count: 5 })
      const numbers = [-1, 0, 9, 15, 10.5, Number.NaN, 2 ** 53]
      const read = await keyring.secrets('acme', 'fact', numbers)
      assert.deepEqual(
        [...read.values()],
        numbers.map(() => null),
      )
      await keyring.destroySecrets('acme', 'fact', numbers)
      assert.ok((await keyring.secrets('acme', 'fact', [10])).get(10))
      for (const wrong of [{ at_least: -1 }, { at_least: 1, count: 0 }])
        await assert.rejects(keyring.reserve('acme', 'fact', wrong), { code: 'bad_argument' })
    },
  },
  {
    title: 'a destroyed secret is in no block and no cache in memory, and stays gone',
    run: async (location) => {
      const keyring = await openWithTenant(location)
      const block = await keyring.reserve('acme', 'fact', { at_least: 1, count: 100 })
      const numbers = [1, 2, 3, 50, 100]
      for (const secret of (await keyring.secrets('acme', 'fact', numbers)).values())
        assert.ok(secret)
      await keyring.destroySecrets('acme', 'fact', numbers)
      await keyring.destroySecrets('acme', 'fact', numbers)
      for (const number of numbers)
        assert.throws(() => block.secretAt(number), { code: 'secret_destroyed' })
      const read = await keyring.secrets('acme', 'fact', [...numbers, 4])
      for (const number of numbers) assert.equal(read.get(number), null)
      assert.deepEqual(read.get(4), block.secretAt(4))
      await location.close(keyring)
      const again = await location.open()
      assert.equal((await again.secrets('acme', 'fact', [50])).get(50), null)
      const later = await again.reserve('acme', 'fact', { at_least: 1, count: 1 })
      assert.equal(later.first, 101, 'nor is its number handed out again')
    },
  },
  {
    title: 'a block outlives later ones, and its secrets are copies',
    run: async (location) => {
      const keyring = await openWithTenant(location)
      const oldest = await keyring.reserve('acme', 'fact', { at_least: 1, count: 8 })
      const secret = oldest.secretAt(3)
      for (let i = 0; i < 6; i += 1)
        await keyring.reserve('acme', 'fact', { at_least: 1, count: 8 })
      assert.deepEqual(oldest.secretAt(3), secret)
      oldest.secretAt(3).fill(7)
      assert.deepEqual(oldest.secretAt(3), secret)
      await keyring.destroySecrets('acme', 'fact', [3])
      assert.throws(() => oldest.secretAt(3), { code: 'secret_destroyed' })
      for (const number of [0, 9, 1.5])
        assert.throws(() => oldest.secretAt(number), { code: 'bad_argument' })
    },
  },
  {
    title: 'one tenant or kind never reads or destroys the secret of another',
    run: async (location) => {
      const keyring = await location.open()
      for (const tenant of ['a', 'b']) await keyring.createTenant(tenant)
      const a = await keyring.reserve('a', 'fact', { at_least: 1, count: 1 })
      const b = await keyring.reserve('b', 'fact', { at_least: 1, count: 1 })
      const d = await keyring.reserve('a', 'decision', { at_least: 1, count: 1 })
      assert.equal(new Set([a, b, d].map((one) => one.secretAt(1).toString('hex'))).size, 3)
      await keyring.destroySecrets('a', 'fact', [1])
      assert.ok(b.secretAt(1) && d.secretAt(1))
      assert.ok((await keyring.secrets('b', 'fact', [1])).get(1))
      assert.ok((await keyring.secrets('a', 'decision', [1])).get(1))
    },
  },
  {
    title: 'a tenant keeps its keys for ever, and no tenant is created by reading',
    run: async (location) => {
      const keyring = await location.open()
      await assert.rejects(keyring.tenant('acme'), { code: 'tenant_key_missing' })
      const asked = keyring.reserve('acme', 'fact', { at_least: 1 })
      await assert.rejects(asked, { code: 'tenant_key_missing' })
      for (const id of ['', 'x'.repeat(257)])
        await assert.rejects(keyring.createTenant(id), { code: 'bad_argument' })
      assert.equal(await keyring.hasTenant('acme'), false)
      for (const tenant of ['b', 'Z', 'acme']) await keyring.createTenant(tenant)
      const label = (await keyring.tenant('acme')).label('x')
      await keyring.createTenant('acme')
      await location.close(keyring)
      const again = await location.open()
      assert.deepEqual(await again.listTenants(), ['Z', 'acme', 'b'], 'bytewise')
      assert.equal((await again.tenant('acme')).label('x'), label)
      assert.notEqual((await again.tenant('b')).label('x'), label)
      assert.equal(again.instance_id, keyring.instance_id)
      assert.match(again.instance_id, /^[0-9a-f]{32}$/)
    },
  },
  {
    title: 'another master key is refused at open, and the keyring is untouched',
    run: async (location) => {
      await location.close(await openWithTenant(location))
      const wrong = location.open({ master_key: randomBytes(32) })
      await assert.rejects(wrong, { name: 'KeyringError', code: 'wrong_master_key' })
      const short = location.open({ master_key: Buffer.alloc(31) })
      await assert.rejects(short, { code: 'bad_master_key' })
      assert.deepEqual(await (await location.open()).listTenants(), ['acme'])
    },
  },
  {
    title: 'a rotated master key opens everything, the old one nothing',
    run: async (location) => {
      const next = randomBytes(32)
      const keyring = await openWithTenant(location)
      const label = (await keyring.tenant('acme')).label('x')
      const secret = (await keyring.reserve('acme', 'fact', { at_least: 1, count: 2 })).secretAt(2)
      const { mac } = await keyring.bodyMac(BODY, 20_000)
      await keyring.rotateMasterKey(next)
      await keyring.createTenant('later')
      const signature = keyring.signer('erasure').sign(Buffer.from('m'))
      await location.close(keyring)
      await assert.rejects(location.open(), { code: 'wrong_master_key' })
      const again = await location.open({ master_key: next })
      assert.equal((await again.tenant('acme')).label('x'), label)
      assert.ok(await again.tenant('later'))
      assert.deepEqual((await again.secrets('acme', 'fact', [2])).get(2), secret)
      assert.deepEqual(again.signer('erasure').sign(Buffer.from('m')), signature)
      assert.equal(await again.verifyBodyMac(BODY, 20_000, mac), true)
    },
  },
  {
    title: 'a body verifies under its day only, after a reopening too',
    run: async (location) => {
      const keyring = await location.open()
      const { day, mac } = await keyring.bodyMac(BODY, 20_000)
      assert.equal(day, 20_000)
      assert.deepEqual(await keyring.bodyMac(BODY, 20_000), { day, mac })
      assert.notEqual((await keyring.bodyMac(BODY, 20_001)).mac, mac)
      await location.close(keyring)
      const again = await location.open()
      assert.equal(await again.verifyBodyMac(BODY, 20_000, mac), true)
      assert.equal(await again.verifyBodyMac(BODY, 20_001, mac), false)
      assert.equal(await again.verifyBodyMac(Buffer.from('other'), 20_000, mac), false)
      for (const bad of ['', mac.slice(2), mac.toUpperCase(), 'zz'.repeat(32)])
        assert.equal(await again.verifyBodyMac(BODY, 20_000, bad), false)
    },
  },
  {
    title: 'a dropped day verifies nothing and never gets another key',
    run: async (location) => {
      const keyring = await location.open()
      const [old, kept] = [await keyring.bodyMac(BODY, 100), await keyring.bodyMac(BODY, 102)]
      await keyring.bodyMac(BODY, 101)
      assert.equal(await keyring.dropDayKeys(102), 2)
      assert.equal(await keyring.dropDayKeys(102), 0)
      assert.equal(await keyring.verifyBodyMac(BODY, 100, old.mac), false)
      assert.equal(await keyring.verifyBodyMac(BODY, 102, kept.mac), true)
      for (const day of [99, 100])
        await assert.rejects(keyring.bodyMac(BODY, day), { code: 'day_key_dropped' })
      await location.close(keyring)
      const again = await location.open()
      assert.equal(await again.verifyBodyMac(BODY, 102, kept.mac), true)
      await assert.rejects(again.bodyMac(BODY, 100), { code: 'day_key_dropped' })
    },
  },
  {
    title: 'a keyring opened read-only sees what its owner writes and changes nothing',
    run: async (location) => {
      await assert.rejects(location.open({ read_only: true }), { code: 'keyring_damaged' })
      const owner = await openWithTenant(location)
      const reader = await location.open({ read_only: true })
      const block = await owner.reserve('acme', 'fact', { at_least: 1, count: 4 })
      assert.deepEqual((await reader.secrets('acme', 'fact', [2])).get(2), block.secretAt(2))
      await owner.destroySecrets('acme', 'fact', [3])
      assert.equal((await reader.secrets('acme', 'fact', [3])).get(3), null)
      assert.deepEqual(reader.publishedKeys(), owner.publishedKeys())
      await assert.rejects(reader.createTenant('other'), /readonly/)
      await assert.rejects(reader.destroySecrets('acme', 'fact', [4]))
      assert.ok((await owner.secrets('acme', 'fact', [4])).get(4))
    },
  },
]
