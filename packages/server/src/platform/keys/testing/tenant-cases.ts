// Cases on destroying all keys of a tenant, also in a restored keyring.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { Keyring } from '../keyring.ts'
import type { KeyringCase } from './keyring-suite.ts'
import { tempDirectory } from './temp-keyring.ts'

const REQUEST = {
  tenant_id: 'acme',
  subject_kind: 'tenant',
  subject: 'acme',
  store_id: null,
  requested_us: 1,
  plan: { version: 1, kind: 'tenant' },
} as const

const secret = () => Buffer.alloc(32, 7)
const destroyed = { code: 'tenant_destroyed' }

async function filled(keyring: Keyring): Promise<void> {
  for (const tenant of ['acme', 'other']) {
    await keyring.createTenant(tenant)
    for (const kind of ['fact', 'decision'] as const)
      await keyring.reserve(tenant, kind, { at_least: 1, count: 40 })
  }
}

async function assertGone(keyring: Keyring): Promise<void> {
  await assert.rejects(keyring.tenant('acme'), destroyed)
  for (const kind of ['fact', 'decision'] as const) {
    const read = await keyring.secrets('acme', kind, [1, 20, 40])
    assert.deepEqual([...read.values()], [null, null, null])
    await assert.rejects(keyring.reserve('acme', kind, { at_least: 1 }))
  }
  assert.equal(await keyring.hasTenant('acme'), true)
  assert.equal(await keyring.hasRemains('acme'), false)
  assert.equal(await keyring.hasRemains('other'), true)
  assert.deepEqual(await keyring.listDestroyedTenants(), ['acme'])
  assert.deepEqual(await keyring.listTenants(), ['other'])
  await keyring.createTenant('acme')
  await assert.rejects(keyring.tenant('acme'), destroyed)
  const other = await keyring.secrets('other', 'fact', [1])
  assert.notEqual(other.get(1) ?? null, null)
  assert.ok((await keyring.tenant('other')).label('x'))
}

export const tenantCases: readonly KeyringCase[] = [
  {
    title: 'a destroyed tenant has no key and no secret, at once and after reopening',
    run: async (location) => {
      let keyring = await location.open()
      await filled(keyring)
      const held = await keyring.tenant('acme')
      assert.equal(await keyring.hasRemains('acme'), true)
      held.factKey(secret())
      await keyring.destroyTenant('acme')
      await keyring.destroyTenant('acme')
      assert.throws(() => held.factKey(secret()), destroyed)
      assert.throws(() => held.label('x'), destroyed)
      await assertGone(keyring)
      await location.close(keyring)
      keyring = await location.open()
      await assertGone(keyring)
    },
  },
  {
    title: 'a tenant that the ledger names is destroyed when the keyring is opened',
    run: async (location) => {
      const keyring = await location.open()
      await filled(keyring)
      await keyring.ledger.request([REQUEST])
      assert.ok(await keyring.tenant('acme'))
      await location.close(keyring)
      await assertGone(await location.open())
    },
  },
  {
    title: 'a keyring from before learns from the ledger copy that a tenant is destroyed',
    run: async (location, t) => {
      const ledger_copy = join(tempDirectory(t), 'ledger.ndjson')
      let keyring = await location.open({ ledger_copy })
      await filled(keyring)
      await location.close(keyring)
      const older = await location.copy()
      keyring = await location.open({ ledger_copy })
      await keyring.ledger.request([REQUEST])
      await keyring.destroyTenant('acme')
      await location.close(keyring)
      await assertGone(await older.open({ ledger_copy }))
    },
  },
  {
    title: 'a new master key leaves a destroyed tenant destroyed',
    run: async (location) => {
      const keyring = await location.open()
      await filled(keyring)
      await keyring.destroyTenant('acme')
      const next = Buffer.alloc(32, 9)
      await keyring.rotateMasterKey(next)
      await assertGone(keyring)
      await location.close(keyring)
      await assertGone(await location.open({ master_key: next }))
    },
  },
]
