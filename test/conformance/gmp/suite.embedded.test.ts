// What the suite cannot judge, what it says of servers of other shapes, and what it leaves behind.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConformanceError } from '@custos/conformance'
import { type Fault, faultyFetch } from './testing/faulty.ts'
import { by, openScene, SEVEN } from './testing/scene.ts'

const { keys, request, restricted, run, storesOf } = openScene()

test('retrieval is measured beside the verdicts', async () => {
  const { measurements } = await run({ measure: true })
  assert.deepEqual(
    measurements.map(({ workload }) => workload),
    ['W3', 'W4', 'W8'],
  )
  for (const { metrics } of measurements) assert.ok((metrics['recall'] ?? 0) >= 0.9)
})

test('seeds are repeatable: the same digest, and the same verdicts with another', async () => {
  const [one, two] = [await run({ seed: 11 }), await run({ seed: 12 })]
  assert.notEqual(one.workload_digest, two.workload_digest)
  const verdicts = (result: typeof one) => result.capabilities.map(({ verdict }) => verdict)
  assert.deepEqual(verdicts(one), verdicts(two))
  assert.equal(one.seed, 11)
})

test('without a second tenant multi_tenant is not judged, and not counted', async () => {
  const result = await run()
  const { verdict, reason, checks } = by(result, 'multi_tenant')
  assert.equal(verdict, 'not_tested')
  assert.match(reason ?? '', /credential was not given/)
  assert.ok(checks.length > 0 && checks.every(({ passed }) => passed))
  assert.deepEqual([result.passed, result.tested], [6, 6])
})

test('a credential of the same tenant, or one that may nothing, is no second tenant', async () => {
  const same = await run({ other_api_key: await restricted({ class: 'tenant' }) })
  assert.equal(by(same, 'multi_tenant').verdict, 'not_tested')
  assert.match(by(same, 'multi_tenant').reason ?? '', /of the same tenant/)
  const unknown = await run({ other_api_key: `${keys.other}x` })
  assert.equal(by(unknown, 'multi_tenant').verdict, 'not_tested')
  assert.match(by(unknown, 'multi_tenant').reason ?? '', /makes no store.* 401/)
  assert.deepEqual(await storesOf(keys.own), [])
})

for (const [what, body] of [
  ['may only read', { class: 'read_only' }],
  ['may write but make no store', { scopes: ['memory:read', 'memory:write'] }],
] as const)
  test(`with a credential that ${what} the suite cannot run, and makes nothing`, async () => {
    const api_key = await restricted({ name: what, ...body })
    await assert.rejects(run({ api_key }), (error) => {
      assert.ok(error instanceof ConformanceError)
      assert.match(error.message, /create store answered 403/)
      return true
    })
    assert.deepEqual(await storesOf(keys.own), [])
  })

/** Every store is made without these capabilities. */
const without =
  (...missing: readonly string[]): Fault =>
  async ({ method, path, body }, forward) => {
    if (method !== 'POST' || path !== '/v1/stores') return undefined
    const capabilities = SEVEN.filter((capability) => !missing.includes(capability))
    return forward({ body: { ...body, capabilities } })
  }

test('what is not declared is used all the same: the protocol wants it refused', async () => {
  const missing = ['audit', 'supersession_chain', 'bi_temporal', 'hard_delete', 'multi_tenant']
  const result = await run({ fetch: faultyFetch(without(...missing)) })
  for (const capability of missing) {
    const { verdict, checks } = by(result, capability)
    assert.equal(verdict, 'not_declared')
    assert.deepEqual(
      checks.map(({ passed }) => passed),
      [true],
      JSON.stringify(checks),
    )
  }
  assert.deepEqual([result.passed, result.tested], [2, 2])
})

test('a server that does what it does not declare is shown to, without a verdict', async () => {
  const hiding: Fault = async ({ operation }, forward) => {
    if (operation !== 'capabilities') return undefined
    const { status, body } = await forward()
    const told = body.capabilities.filter((name: string) => name !== 'hard_delete')
    return { status, body: { capabilities: [...told, 'time_travel'] } }
  }
  const result = await run({ fetch: faultyFetch(hiding) })
  const { verdict, checks } = by(result, 'hard_delete')
  assert.equal(verdict, 'not_declared')
  assert.match(checks[0]?.detail ?? '', /it was carried out/)
  assert.equal(checks[0]?.passed, false)
  assert.ok(result.declared_capabilities.includes('time_travel'))
})

test('a server of fewer fields is judged by those that the protocol has', async () => {
  const bare: Fault = async (_, forward) => {
    const { status, body } = await forward()
    if (status >= 400 || typeof body !== 'object') return { status, body }
    const { ref, refs, store_id, deleted, capabilities, stores, state } = body
    const memories = body.memories?.map((m: Record<string, unknown>) => {
      const { content, tenant_id, superseded_by, source } = m
      return { ref: m['ref'], content, tenant_id, superseded_by, source }
    })
    const kept = { ref, refs, store_id, deleted, capabilities, stores, memories, state }
    return { status, body: JSON.parse(JSON.stringify(kept)) }
  }
  const result = await run({ other_api_key: keys.other, fetch: faultyFetch(bare) })
  assert.deepEqual([result.passed, result.tested], [7, 7], JSON.stringify(result.capabilities))
  assert.deepEqual(result.server, {})
})

test('refs may be texts, and the audit may come in pages', async () => {
  const texts: Fault = async (sent, forward) => {
    const number = (ref: unknown) => (typeof ref === 'string' ? Number(ref.slice(4)) : ref)
    const text = (ref: unknown) => (typeof ref === 'number' ? `ref-${ref}` : ref)
    const { body, operation, path } = sent
    const asked = body && { ...body, ref: number(body.ref), old_ref: number(body.old_ref) }
    const paged = operation === 'audit' && !path.includes('limit')
    const limited = { path: `${path}${path.includes('?') ? '&' : '?'}limit=7` }
    const answer = await forward({ ...(body ? { body: asked } : {}), ...(paged ? limited : {}) })
    if (answer.body?.ref !== undefined) answer.body.ref = text(answer.body.ref)
    for (const memory of answer.body?.memories ?? []) {
      memory.ref = text(memory.ref)
      memory.superseded_by = text(memory.superseded_by)
    }
    return answer
  }
  const result = await run({ fetch: faultyFetch(texts) })
  assert.deepEqual([result.passed, result.tested], [6, 6], JSON.stringify(result.capabilities))
})

for (const [status, error, what] of [
  [403, 'policy_denied', 'a policy of the tenant'],
  [429, 'rate_limited', 'a limit'],
] as const)
  test(`${what} in the way (${status}) is no failure of the server, and no pass`, async () => {
    const refusing: Fault = async ({ operation }) =>
      operation === 'delete' ? { status, body: { error } } : undefined
    const result = await run({ fetch: faultyFetch(refusing) })
    const { verdict, reason } = by(result, 'hard_delete')
    assert.equal(verdict, 'not_tested')
    assert.equal(reason, `delete answered ${status} ${error}`)
    assert.equal(result.tested, 5)
  })

test('a server that goes away in the middle is no verdict, and what is left is named', async () => {
  let requests = 0
  const dying: Fault = async () => {
    requests += 1
    if (requests > 90) throw new Error('gone')
    return undefined
  }
  await assert.rejects(run({ fetch: faultyFetch(dying) }), (error) => {
    assert.ok(error instanceof ConformanceError)
    assert.match(error.message, /no answer from .*: gone/)
    assert.ok(error.leftovers.length > 0)
    return true
  })
  const left = await storesOf(keys.own)
  assert.ok(left.length > 0 && left.every(({ name }) => name.startsWith('conformance-')))
  for (const { store_id } of left) await request('DELETE', `/v1/stores/${store_id}`)
})

test('where stores cannot be deleted their memories are, and the stores are named', async () => {
  const keeping: Fault = async ({ method }) =>
    method === 'DELETE' ? { status: 405, body: {} } : undefined
  const result = await run({ fetch: faultyFetch(keeping) })
  assert.deepEqual(
    result.leftovers.map(({ store_id }) => store_id),
    result.store_ids,
  )
  for (const { store_id, reason } of result.leftovers) {
    assert.match(reason, /cannot delete a store; its memories were deleted/)
    const path = `/v1/stores/${store_id}`
    const audit = await request('GET', `${path}/audit`)
    assert.deepEqual(audit.body.memories, [])
    await request('DELETE', path)
  }
})

for (const [what, options] of [
  ['no whole number as seed', { seed: 1.5 }],
  ['a negative seed', { seed: -1 }],
  ['no budget', { budget: 0 }],
] as const)
  test(`${what} is refused before anything is sent`, async () => {
    const fetch = async () => assert.fail('something was sent')
    await assert.rejects(run({ ...options, fetch }), ConformanceError)
  })
