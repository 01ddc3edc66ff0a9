// Every refusal an operation declares is provoked, by a request or by a state of the service.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { COMMON_REFUSALS, type RefusalCode, refusals } from '@custos/contract'
import { formatTime } from '../../../packages/server/src/platform/clock.ts'
import { SIGNING_PURPOSES } from '../../../packages/server/src/platform/keys/keyring.ts'
import type { Answer, TestService } from '../../../packages/server/src/testing/harness.ts'
import { exampleOf, needsOf } from './examples.ts'
import { type Provoke, provoking, sharesWorld } from './refusals.ts'
import { type Gate, makeGate } from './testing/gate.ts'
import { startContractService } from './testing/payments.ts'
import { runSql } from './testing/rows.ts'
import { operations } from './testing/table.ts'
import { assertRefusal, newTenant, send, Tenant } from './testing/tenant.ts'
import { buildWorld, NotBuilt, type World, waitForJob } from './testing/world.ts'

/** Refusals of a state that the whole service, or a part of it, is in. */
const IN_STATE: Readonly<Record<string, readonly string[]>> = {
  store_deleting: [
    'memory.write',
    'memory.write_batch',
    'memory.ingest',
    'memory.supersede',
    'memory.flush',
    'memory.reembed',
    'memory.import',
    'memory.delete',
    'items.put',
    'items.delete',
    'items.batch',
    'retention.set',
    'retention.run',
    'retention.place_hold',
    'retention.release_hold',
  ],
  erasing: ['memory.supersede', 'items.put', 'items.batch'],
  no_signing_key: [
    'workflows.run',
    'workflows.resume',
    'workflows.terminate',
    'workflows.run_step',
    'memory.write',
    'memory.write_batch',
    'memory.ingest',
    'memory.supersede',
    'memory.import',
    'memory.delete',
    'memory.delete_store',
    'items.put',
    'items.delete',
    'items.batch',
    'decisions.log',
    'decisions.redact',
    'erasure.issue',
    'subjects.erase',
    'retention.run',
    'offboarding.destroy_key',
    'gcrumbs.public_key',
    'gcrumbs.verify_key',
    'gcrumbs.roll',
    'approvals.attest',
    'artifacts.register',
    'artifacts.approve',
    'artifacts.reject',
    'landing.issue',
    'landing.approve',
    'landing.reject',
    'world_model.register_type',
    'world_model.invoke',
    'world_model.approve_action',
    'world_model.reject_action',
    'templates.install',
    'reports.generate',
    'cgr.decide',
    'cgr.verify_batch',
    'cgr.issuer',
    'cgr.attest',
    'provenance.register',
    'compositions.compose',
    'compositions.approve',
    'compositions.reject',
    'orchestrator.start_run',
    'orchestrator.cancel_run',
    'orchestrator.begin_step',
    'orchestrator.call_tool',
    'orchestrator.propose',
    'orchestrator.complete_step',
    'orchestrator.verify',
    'workflows.verify_chain',
    'orchestrator.bundle',
    'orchestrator.approve_action',
    'orchestrator.reject_action',
  ],
  index_building: ['memory.retrieve', 'items.search', 'items.batch'],
  chain_empty: ['gcrumbs.roll'],
  epoch_not_found: ['gcrumbs.checkpoint'],
  tenant_not_found: ['tenants.current_usage'],
  wrong_state: ['offboarding.destroy_key', 'tenants.update'],
}

const inState = Object.entries(IN_STATE).flatMap(([code, ids]) => ids.map((id) => `${id} ${code}`))

test('every declared refusal of every operation has a case, and no case is left over', () => {
  const declared = operations.flatMap(({ id, refuses }) => refuses.map((code) => `${id} ${code}`))
  const cases = new Set([...Object.keys(provoking), ...inState])
  assert.deepEqual(
    declared.filter((pair) => !cases.has(pair)),
    [],
    'declared, but not provoked',
  )
  // Refused before the handler is reached, wherever a key is honoured.
  const byEdge = new Set(
    operations
      .filter(({ idempotent }) => idempotent)
      .map(({ id }) => `${id} idempotency_key_reused`),
  )
  const known = new Set([...declared, ...byEdge])
  assert.deepEqual(
    [...cases].filter((pair) => !known.has(pair) && !isCommon(codeOf(pair).code)),
    [],
    'provoked, but not declared',
  )
})

function isCommon(code: RefusalCode): boolean {
  return (COMMON_REFUSALS as readonly RefusalCode[]).includes(code)
}

function codeOf(pair: string): { id: string; code: RefusalCode } {
  const [id = '', code = ''] = pair.split(' ')
  assert.ok(code in refusals, code)
  // Just checked to be a key of the table.
  return { id, code: code as RefusalCode }
}

/** In a world of its own, with as little as the case reads: it begins again when it reads more. */
async function provokeAlone(service: TestService, id: string, provoke: Provoke): Promise<Answer> {
  for (const needed = needsOf(id); ; ) {
    try {
      return await provoke(await buildWorld(service, needed))
    } catch (error) {
      if (!(error instanceof NotBuilt)) throw error
      for (const missing of error.ids) needed.add(missing)
    }
  }
}

describe('a declared refusal', () => {
  let service: TestService
  before(async () => {
    service = await startContractService()
  })
  after(() => service.stop())

  let sharedWorld: Promise<World> | undefined
  async function answerTo(id: string, provoke: Provoke): Promise<Answer> {
    if (!sharesWorld(provoke)) return provokeAlone(service, id, provoke)
    sharedWorld ??= buildWorld(service)
    return provoke(await sharedWorld)
  }

  for (const [pair, provoke] of Object.entries<Provoke>(provoking))
    test(`${pair} is answered to the request that provokes it`, async () => {
      const { id, code } = codeOf(pair)
      assertRefusal(await answerTo(id, provoke), code, pair)
    })

  test('gcrumbs.checkpoint answers epoch_not_found before the first checkpoint', async () => {
    const tenant = await newTenant(service)
    assertRefusal(await tenant.ask('gcrumbs.checkpoint'), 'epoch_not_found', 'gcrumbs.checkpoint')
  })

  test('gcrumbs.roll answers chain_empty when the log has no entry', async () => {
    const tenant = await newTenant(service)
    await runSql(service, 'DELETE FROM chain_heads WHERE tenant_id = ?', tenant.tenant_id)
    assertRefusal(await tenant.ask('gcrumbs.roll'), 'chain_empty', 'gcrumbs.roll')
  })

  test('tenants.current_usage answers tenant_not_found when the tenant is gone', async () => {
    const tenant = await newTenant(service)
    await runSql(service, 'DELETE FROM tenants WHERE tenant_id = ?', tenant.tenant_id)
    const answer = await tenant.ask('tenants.current_usage')
    assertRefusal(answer, 'tenant_not_found', 'tenants.current_usage')
  })

  test('the tenant of local mode is neither off-boarded nor changed: wrong_state', async () => {
    const local = await startContractService({ config: { auth: 'local' } })
    try {
      const params = { tenant_id: 'local' }
      for (const [id, body] of [
        ['offboarding.destroy_key', { confirm: 'destroy local' }],
        ['tenants.update', { plan: 'pro' }],
      ] as const) {
        const answer = await send(local, id, { params, body }, { key: local.operator_key })
        assertRefusal(answer, 'wrong_state', id)
      }
    } finally {
      await local.stop()
    }
  })

  test('the members a GMP client reads stand at the top level', async () => {
    const provoke = provoking['memory.audit capability_not_supported']
    assert.ok(provoke)
    const { body } = await answerTo('memory.audit', provoke)
    assert.equal(body.capability, 'audit')
    assert.equal(body.operation, 'memory.audit')
  })

  test('memory.supersede names the current head of what was superseded', async () => {
    const world = await buildWorld(service, new Set(['old_ref']))
    const provoke = provoking['memory.supersede superseded']
    assert.ok(provoke)
    const { body } = await provoke(world)
    assert.equal(body.head, world.ids.ref)
  })
})

describe('while an erasure is under way', () => {
  let gate: Gate
  let service: TestService
  let world: World
  before(async () => {
    gate = makeGate()
    service = await startContractService({ step: gate.step })
    world = await buildWorld(service)
  })
  after(async () => {
    gate.release()
    await service.stop()
  })

  test('a store that is being deleted refuses writes and is not found by reads', async () => {
    const { tenant, ids } = world
    const { store_id } = await tenant.ok('memory.create_store', { body: {} })
    const params = { store_id }
    await tenant.ok('memory.write', { params, body: { content: 'soon gone' } })
    const held = gate.hold('erasure:marked')
    const { job_id } = await tenant.ok('memory.delete_store', { params })
    await held
    for (const id of IN_STATE['store_deleting'] ?? []) {
      const answer = await tenant.ask(id, exampleOf(id, { ...ids, store_id }))
      assertRefusal(answer, 'store_deleting', id)
    }
    for (const id of ['memory.audit', 'memory.memories', 'memory.retrieve', 'memory.export']) {
      const answer = await tenant.ask(id, exampleOf(id, { ...ids, store_id }))
      assertRefusal(answer, 'store_not_found', id)
    }
    const again = await tenant.ok('memory.delete_store', { params })
    assert.equal(again.job_id, job_id)
    gate.release()
    await waitForJob(tenant, job_id)
  })

  test('memory.supersede answers erasing for a memory that is being erased', async () => {
    const { tenant, ids } = world
    const held = gate.hold('erasure:marked')
    const issued = tenant.ask('erasure.issue', { body: { fact_ref: ids.ref } })
    await held
    const params = { store_id: ids.store_id }
    const body = { old_ref: ids.ref, content: 'too late' }
    const answer = await tenant.ask('memory.supersede', { params, body })
    gate.release()
    assert.equal((await issued).status, 200)
    assertRefusal(answer, 'erasing', 'memory.supersede')
  })

  test('a put answers erasing while the current version of its item is being erased', async () => {
    const { tenant, ids } = world
    const params = { store_id: ids.store_id }
    const name = { namespace: ['erasing'], key: 'k' }
    const put = { ...name, value: { n: 1 } }
    const { ref } = await tenant.ok('items.put', { params, body: put })
    const held = gate.hold('erasure:marked')
    const issued = tenant.ask('erasure.issue', { body: { fact_ref: ref } })
    await held
    const single = await tenant.ask('items.put', { params, body: put })
    const batch = { operations: [{ op: 'put', ...put }] }
    const batched = await tenant.ask('items.batch', { params, body: batch })
    assert.equal((await tenant.ok('items.get', { params, body: name })).item, null)
    gate.release()
    assert.equal((await issued).status, 200)
    assertRefusal(single, 'erasing', 'items.put')
    assertRefusal(batched, 'erasing', 'items.batch')
  })
})

test('searches answer 503 index_building while there is no index', async () => {
  const first = await startContractService()
  const { tenant, ids } = await buildWorld(first, needsOf('memory.retrieve'))
  const items = Array.from({ length: 1_000 }, (_, i) => ({ content: `thing ${i} of many` }))
  for (let batch = 0; batch < 3; batch += 1)
    await tenant.ok('memory.write_batch', { params: { store_id: ids.store_id }, body: { items } })
  await first.stop({ keep: true })
  const service = await startContractService({ data_dir: first.data_dir })
  try {
    // No patience at all: the first request finds the index being built.
    const settings: { index_wait_ms: number } = service.kernel.settings
    const patience = settings.index_wait_ms
    settings.index_wait_ms = 0
    const again = new Tenant(service, tenant)
    const answer = await again.ask('memory.retrieve', exampleOf('memory.retrieve', ids))
    assertRefusal(answer, 'index_building', 'memory.retrieve')
    assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
    const search = { op: 'search', namespace_prefix: [], query: 'town' }
    for (const [id, body] of [
      ['items.search', { namespace_prefix: [], query: 'town' }],
      ['items.batch', { operations: [search] }],
    ] as const) {
      const params = { store_id: ids.store_id }
      assertRefusal(await again.ask(id, { params, body }), 'index_building', id)
    }
    settings.index_wait_ms = patience
    await again.ok('memory.retrieve', exampleOf('memory.retrieve', ids))
  } finally {
    await service.stop()
  }
})

test('without signing keys nothing is signed, written or erased: 503 no_signing_key', async () => {
  const service = await startContractService()
  try {
    const { tenant, ids } = await buildWorld(service)
    const { keyring, clock } = service.kernel
    const retire = async () => {
      for (const purpose of SIGNING_PURPOSES)
        await keyring.retireSigningKey(purpose, formatTime(clock.now()))
    }
    await tenant.ok('memory.write', exampleOf('memory.write', ids))
    await retire()
    for (const id of IN_STATE['no_signing_key'] ?? []) {
      const operator = id === 'offboarding.destroy_key'
      const key = operator ? service.operator_key : tenant.api_key
      const answer = await send(service, id, exampleOf(id, ids), { key })
      assertRefusal(answer, 'no_signing_key', id)
    }
    await tenant.ok('memory.memory', exampleOf('memory.memory', ids))
    await tenant.ok('decisions.get', exampleOf('decisions.get', ids))
  } finally {
    await service.stop()
  }
})

test('every refusal code belongs to an operation, to every operation or to the edge', () => {
  const declared = new Set<string>([
    ...operations.flatMap(({ refuses }) => refuses),
    ...COMMON_REFUSALS,
    'route_not_found',
    'method_not_allowed',
    'operator_required',
    'tenant_required',
  ])
  assert.deepEqual(
    Object.keys(refusals).filter((code) => !declared.has(code)),
    [],
  )
})
