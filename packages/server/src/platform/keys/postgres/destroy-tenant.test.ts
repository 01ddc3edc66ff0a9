// Destroying a tenant with many secrets: nobody waits for it, a stop in the middle is made good.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type PostgresPlace, postgresPlace } from '../testing/places.ts'

/** Two tenants, and a row of one held by somebody, so that its removal cannot end. */
async function heldUp(t: TestContext) {
  const place = await postgresPlace(t)
  const keyring = await place.open()
  for (const tenant of ['acme', 'other']) {
    await keyring.createTenant(tenant)
    for (const kind of ['fact', 'decision'] as const)
      await keyring.reserve(tenant, kind, { at_least: 1, count: 40 })
  }
  const holder = new pg.Client({ connectionString: place.url })
  await holder.connect()
  await holder.query('begin')
  await holder.query(`SELECT secret FROM custos_keyring.secrets
    WHERE tenant_id = 'acme' AND kind = 'decision' AND number = 20 FOR UPDATE`)
  return { place, keyring, letGo: () => holder.end() }
}

const WAITING = `FROM pg_stat_activity WHERE datname = current_database()
  AND wait_event_type = 'Lock' AND query LIKE '%secrets%'`

async function untilWaiting(place: PostgresPlace): Promise<void> {
  while ((await place.query(`SELECT pid ${WAITING}`)).length === 0) await sleep(20)
}

test('an erasure of another tenant ends before the removal of a destroyed one does', async (t) => {
  const { place, keyring, letGo } = await heldUp(t)
  const other = await place.open()
  let removed = false
  const removing = keyring.destroyTenant('acme').then(() => {
    removed = true
  })
  try {
    await untilWaiting(place)
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
    await letGo()
  }
  await removing
  assert.equal(await other.hasRemains('acme'), false)
})

test('a removal that a stop cuts off is finished by the next opening', async (t) => {
  const { place, keyring, letGo } = await heldUp(t)
  const removing = assert.rejects(keyring.destroyTenant('acme'))
  try {
    await untilWaiting(place)
    await place.query(`SELECT pg_terminate_backend(pid) ${WAITING}`)
    await removing
  } finally {
    await letGo()
  }
  assert.equal(await keyring.hasRemains('acme'), true)
  await place.close(keyring)
  const again = await place.open()
  assert.equal(await again.hasRemains('acme'), false)
  assert.deepEqual(await again.listDestroyedTenants(), ['acme'])
})

test('a single secret of whatever number remains', async (t) => {
  const place = await postgresPlace(t)
  const keyring = await place.open()
  await keyring.createTenant('acme')
  await keyring.destroyTenant('acme')
  assert.equal(await keyring.hasRemains('acme'), false)
  await place.query(`INSERT INTO custos_keyring.secrets (tenant_id, kind, version, number, secret)
    VALUES ('acme', 'fact', 1, 5000, '\\x00')`)
  assert.equal(await keyring.hasRemains('acme'), true)
})
