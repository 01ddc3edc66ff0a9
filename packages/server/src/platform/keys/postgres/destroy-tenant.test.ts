// Destroying a tenant with many secrets: no other erasure waits, and a start continues it.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type PostgresLocation, postgresLocation } from '../testing/locations.ts'

/** Two tenants, and a lock on a row of one, so that its removal cannot end. */
async function withBlockedRemoval(t: TestContext) {
  const location = await postgresLocation(t)
  const keyring = await location.open()
  for (const tenant of ['acme', 'other']) {
    await keyring.createTenant(tenant)
    for (const kind of ['fact', 'decision'] as const)
      await keyring.reserve(tenant, kind, { at_least: 1, count: 40 })
  }
  const holder = new pg.Client({ connectionString: location.url })
  await holder.connect()
  await holder.query('begin')
  await holder.query(`SELECT secret FROM custos_keyring.secrets
    WHERE tenant_id = 'acme' AND kind = 'decision' AND number = 20 FOR UPDATE`)
  return { location, keyring, release: () => holder.end() }
}

const WAITING = `FROM pg_stat_activity WHERE datname = current_database()
  AND wait_event_type = 'Lock' AND query LIKE '%secrets%'`

async function waitForRemoval(location: PostgresLocation): Promise<void> {
  while ((await location.query(`SELECT pid ${WAITING}`)).length === 0) await sleep(20)
}

test('an erasure of another tenant ends before the removal of a destroyed one does', async (t) => {
  const { location, keyring, release } = await withBlockedRemoval(t)
  const other = await location.open()
  let removed = false
  const removing = keyring.destroyTenant('acme').then(() => {
    removed = true
  })
  try {
    await waitForRemoval(location)
    await other.destroySecrets('other', 'fact', [1])
    assert.equal(removed, false)
    // Of the tenant nothing opens, though most of its secrets are there yet.
    for (const one of [keyring, other]) {
      assert.deepEqual([...(await one.secrets('acme', 'decision', [20])).values()], [null])
      await assert.rejects(one.reserve('acme', 'fact', { at_least: 1 }))
    }
    await assert.rejects(other.tenant('acme'), { code: 'tenant_destroyed' })
    assert.equal(await other.hasRemains('acme'), true)
  } finally {
    await release()
  }
  await removing
  assert.equal(await other.hasRemains('acme'), false)
})

test('a removal that a stop cuts off is finished by the next opening', async (t) => {
  const { location, keyring, release } = await withBlockedRemoval(t)
  const removing = assert.rejects(keyring.destroyTenant('acme'))
  try {
    await waitForRemoval(location)
    await location.query(`SELECT pg_terminate_backend(pid) ${WAITING}`)
    await removing
  } finally {
    await release()
  }
  assert.equal(await keyring.hasRemains('acme'), true)
  await location.close(keyring)
  const again = await location.open()
  assert.equal(await again.hasRemains('acme'), false)
  assert.deepEqual(await again.listDestroyedTenants(), ['acme'])
})

test('a single secret of whatever number remains', async (t) => {
  const location = await postgresLocation(t)
  const keyring = await location.open()
  await keyring.createTenant('acme')
  await keyring.destroyTenant('acme')
  assert.equal(await keyring.hasRemains('acme'), false)
  await location.query(`INSERT INTO custos_keyring.secrets
    (tenant_id, kind, version, number, secret)
    VALUES ('acme', 'fact', 1, 5000, '\\x00')`)
  assert.equal(await keyring.hasRemains('acme'), true)
})
