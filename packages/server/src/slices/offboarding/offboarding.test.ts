// Off-boarding: after it nothing of the tenant opens, the certificate verifies, the rows go.

import assert from 'node:assert/strict'
import test from 'node:test'
import { detectEnvelope, verifyEnvelope } from '@custos/proof'
import { countRows, tenantTables } from '../../platform/db/migrations/tenant-tables.sql.ts'
import { openScene, type Scene } from '../../testing/erasure-scene.ts'
import { OPERATOR_KEY } from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { OFFBOARDING_STEPS } from './plan.ts'
import { hasRowsLeft, KEPT_TABLES } from './remove-job.ts'

const CONTENT = 'Ravi Subramanian has account 4417-2290'

async function fill(scene: Scene): Promise<number> {
  const ref = await scene.write(CONTENT)
  await scene.supersede(ref, `${CONTENT} and another`)
  await scene.decide({ query: `About ${CONTENT}`, output: 'noted', retrieved_refs: [ref] })
  const gone = await scene.write('erased before')
  assert.equal((await scene.issue(gone)).body.deleted, true)
  await scene.api('POST', `/v1/stores/${scene.store_id}/retrieve`, { query: 'account' })
  await scene.api('POST', '/v1/keys', { name: 'reader', class: 'read_only' })
  return ref
}

const operator = (scene: Scene, method: string, path: string, body?: unknown) =>
  scene.service.request(method, path, {
    key: OPERATOR_KEY,
    ...(body === undefined ? {} : { body }),
  })

const destroy = (scene: Scene, more: object = {}) =>
  operator(scene, 'POST', `/v1/admin/tenants/${scene.tenant_id}/destroy-key`, {
    confirm: `destroy ${scene.tenant_id}`,
    ...more,
  })

const destruction = (scene: Scene) =>
  operator(scene, 'GET', `/v1/admin/tenants/${scene.tenant_id}/destruction`)

async function assertDestroyed(scene: Scene): Promise<void> {
  const { kernel } = scene.service
  await assert.rejects(kernel.keyring.tenant(scene.tenant_id), { code: 'tenant_destroyed' })
  assert.equal((await scene.api('GET', '/v1/stores')).status, 401)
  assert.equal((await scene.api('GET', '/v1/keys')).status, 401)
  const { body } = await destruction(scene)
  assert.equal(body.status, 'destroyed')
  const keys = kernel.keyring.publishedKeys()
  const verdict = await verifyEnvelope(detectEnvelope(body), { keys })
  assert.equal(verdict.valid, true, verdict.reason)
  assert.deepEqual(await kernel.keyring.ledger.listRequested(), [])
}

async function assertRemoved(scene: Scene): Promise<void> {
  const { kernel } = scene.service
  const { tenant_id } = scene
  await kernel.jobs.idle()
  assert.equal((await destruction(scene)).body.removal.state, 'removed')
  assert.equal(await hasRowsLeft(kernel, tenant_id), null)
  for (const table of tenantTables()) {
    const rows = await kernel.db.read(tenant_id, (db) => countRows(db, table))
    if (!KEPT_TABLES.includes(table.name)) assert.equal(rows, 0, table.name)
  }
}

test("'offboarding.destroy_key' closes a tenant and leaves no sealed row", async () => {
  const scene = await openScene()
  try {
    await fill(scene)
    const other = await scene.service.createTenant('stays')
    const answer = await destroy(scene, { legal_basis: 'contract ended', requested_by: 'ops' })
    assert.equal(answer.status, 200, answer.text)
    const { certificate } = answer.body
    assert.equal(certificate.legal_basis, 'contract ended')
    const { stores, facts, decisions } = certificate.counts
    assert.deepEqual([stores, facts, decisions], [1, 2, 1])
    assert.equal(certificate.last_checkpoint.tree_size, certificate.log_seq + 1)
    assert.equal(certificate.destroyed.credentials, 'revoked')
    assert.equal(certificate.destroyed['keyring.tenant_key'], 'destroyed')
    await assertDestroyed(scene)
    await assertRemoved(scene)

    const again = await destroy(scene)
    assert.deepEqual(again.body.certificate, certificate)
    // What an operator looks up still answers: tenants.get, tenants.list, tenants.usage.
    const shown = await operator(scene, 'GET', `/v1/cloud/tenants/${scene.tenant_id}`)
    assert.equal(shown.body.status, 'destroyed')
    assert.equal(shown.body.destroyed_at, answer.body.destroyed_at)
    const { body: listed } = await operator(scene, 'GET', '/v1/cloud/tenants')
    const states = listed.map((one: { status: string }) => one.status)
    assert.deepEqual(states.toSorted(), ['active', 'destroyed'])
    const usage = await operator(scene, 'GET', `/v1/cloud/tenants/${scene.tenant_id}/usage`)
    assert.equal(usage.status, 200, usage.text)
    const rotate = `/v1/cloud/tenants/${scene.tenant_id}/rotate-key`
    assert.equal((await operator(scene, 'POST', rotate)).body.error, 'tenant_destroyed')
    const stays = await scene.service.request('GET', '/v1/stores', { key: other.api_key })
    assert.equal(stays.status, 200)
  } finally {
    await scene.stop()
  }
})

test('a timestamp that comes after the destruction stays with its checkpoint', async () => {
  const scene = await openScene()
  try {
    const { kernel } = scene.service
    const { epoch_number } = (await scene.api('POST', '/v1/gcrumbs/roll', {})).body
    assert.equal((await destroy(scene)).status, 200)
    await assertRemoved(scene)
    const sql =
      'insert into epoch_timestamps (tenant_id, epoch_number, token, stamped_us, created_us) ' +
      'values (?, ?, ?, 1, 1)'
    const { last_checkpoint: last } = (await destruction(scene)).body
    assert.deepEqual(last, {
      epoch_number: epoch_number + 1,
      cosignatures: [],
      witnessed: null,
      timestamp: null,
    })
    await rawSql(scene.service, sql, [scene.tenant_id, last.epoch_number, Buffer.from('a token')])
    assert.equal(await hasRowsLeft(kernel, scene.tenant_id), null)
    const { timestamp } = (await destruction(scene)).body.last_checkpoint
    assert.equal(Buffer.from(timestamp.token, 'base64').toString(), 'a token')
  } finally {
    await scene.stop()
  }
})

test("'offboarding.destruction' tells an altered certificate apart", async () => {
  const scene = await openScene()
  try {
    const { body } = await destroy(scene)
    assert.equal(body.verified, true)
    const clear = body.certificate.limits.find((limit: string) => limit.includes('namespaces'))
    assert.match(clear, /in clear .* copies of the data made before/)
    assert.equal((await destruction(scene)).body.verified, true)
    const sql = 'update destructions set record = replace(record, ?, ?) where tenant_id = ?'
    await rawSql(scene.service, sql, ['"revoked"', '"burned"', scene.tenant_id])
    assert.equal((await destruction(scene)).body.verified, false)
  } finally {
    await scene.stop()
  }
})

test('nothing is certified while the keyring has anything of the tenant', async (t) => {
  const scene = await openScene()
  try {
    t.mock.method(scene.service.kernel.keyring, 'hasRemains', async () => true)
    assert.equal((await destroy(scene)).status, 500)
    const { body } = await destruction(scene)
    assert.deepEqual([body.status, body.certificate, body.verified], ['destroying', null, null])
    t.mock.restoreAll()
    assert.equal((await destroy(scene)).body.status, 'destroyed')
  } finally {
    await scene.stop()
  }
})

test('of an off-boarded tenant no check runs any more, and its badge says nothing', async () => {
  const scene = await openScene()
  try {
    const { service, tenant_id } = scene
    const every = { interval_min: 5, checks: ['clock'] }
    assert.equal((await scene.api('POST', '/v1/assurance/schedules', every)).status, 200)
    assert.equal((await scene.api('POST', '/v1/assurance/baseline')).status, 200)
    await rawSql(
      service,
      `insert into conformance_audits (tenant_id, seq, audit_id, run_id, rate_e6, capabilities,
        audited_us, record) values (?, 1, 'aa', 'bb', 1000000, '[]', 1, '{}')`,
      [tenant_id],
    )
    const badge = async () =>
      (await service.request('GET', `/v1/cloud/compliance/badge/${tenant_id}.json`)).body.message
    assert.equal(await badge(), 'M8: 1.000 | PASS')
    assert.equal((await destroy(scene)).status, 200)
    await assertRemoved(scene)
    assert.equal(await badge(), 'not audited')
    const own = (table: string) =>
      rawSql(service, `select * from ${table} where tenant_id = ?`, [tenant_id])
    for (const name of ['schedules', 'runs', 'baselines'])
      assert.deepEqual(await own(`assurance_${name}`), [], name)
  } finally {
    await scene.stop()
  }
})

test('nothing is destroyed without the phrase, under a hold, or of an unknown tenant', async () => {
  const scene = await openScene()
  try {
    const ref = await fill(scene)
    for (const confirm of ['destroy', scene.tenant_id, `destroy ${scene.tenant_id} `])
      assert.equal((await destroy(scene, { confirm })).status, 422, confirm)
    const holds = `/v1/stores/${scene.store_id}/holds`
    const { body: hold } = await scene.api('POST', holds, { reason: 'C-1' })
    assert.equal((await destroy(scene)).body.error, 'legal_hold')
    const none = await operator(scene, 'POST', '/v1/admin/tenants/nobody/destroy-key', {
      confirm: 'destroy nobody',
    })
    assert.equal(none.body.error, 'tenant_not_found')
    assert.equal((await destruction(scene)).body.error, 'certificate_not_found')
    const path = `/v1/stores/${scene.store_id}/memories/${ref}`
    assert.equal((await scene.api('GET', path)).body.content, CONTENT)
    const own = await scene.api('POST', `/v1/admin/tenants/${scene.tenant_id}/destroy-key`, {
      confirm: `destroy ${scene.tenant_id}`,
    })
    assert.equal(own.body.error, 'operator_required')
    await scene.api('DELETE', `${holds}/${hold.hold_id}`)
    assert.equal((await destroy(scene)).status, 200)
  } finally {
    await scene.stop()
  }
})

test('local mode keeps the tenant it runs on', async () => {
  const scene = await openScene({ config: { auth: 'local' } })
  try {
    const answer = await operator(scene, 'POST', '/v1/admin/tenants/local/destroy-key', {
      confirm: 'destroy local',
    })
    assert.equal(answer.body.error, 'wrong_state')
  } finally {
    await scene.stop()
  }
})

for (const name of OFFBOARDING_STEPS)
  test(`cut off after step ${name}, an off-boarding is finished by the next start`, async () => {
    const at = `offboarding:${name}`
    let armed = false
    let gone = false
    const first = await openScene({
      step(step) {
        if (armed && step === at) gone = true
        if (gone) throw new Error('cut off')
      },
    })
    await fill(first)
    armed = true
    const basis = 'contract of 2024 ended'
    assert.equal((await destroy(first, { legal_basis: basis })).status, 500)
    // From the mark on nobody acts for the tenant.
    assert.equal((await first.api('GET', '/v1/stores')).status, 401)
    await first.stop({ keep: true })

    const again = await openScene({ data_dir: first.service.data_dir }, first)
    try {
      await assertDestroyed(again)
      await assertRemoved(again)
      const { body } = await destruction(again)
      assert.equal(body.certificate.legal_basis, basis)
      assert.deepEqual((await destroy(again)).body.certificate, body.certificate)
      const { tenant_id } = again
      const head = await again.service.kernel.keyring.checkpoints.last(tenant_id)
      assert.equal(head?.tree_size, body.certificate.last_checkpoint.tree_size)
    } finally {
      await again.stop()
    }
  })

test('a removal cut off in the middle goes on at the next start', async () => {
  let armed = true
  const first = await openScene({
    step(name) {
      if (armed && name === 'offboarding:removing') throw new Error('cut off')
    },
  })
  await fill(first)
  await destroy(first)
  await new Promise((resolve) => setTimeout(resolve, 200))
  await first.stop({ keep: true })
  armed = false
  const again = await openScene({ data_dir: first.service.data_dir }, first)
  try {
    await assertRemoved(again)
  } finally {
    await again.stop()
  }
})
