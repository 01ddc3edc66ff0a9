// Actions over HTTP: trust, parameters, policies, people, and the record that is signed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TRUST_TIERS } from '@custos/contract'
import { ACTION_TIERS, paramsDigest } from '@custos/proof'
import { deleteFrom, update } from '../../platform/db/tenant-db.ts'
import { CERTIFY, CLIENT, INVOCATION, mutations, openWorldScene } from './testing/world-scene.ts'

const scene = openWorldScene()
const { ask, told, register, invoke } = scene
const UNKNOWN = '0'.repeat(32)
const OPERATION = 'worldmodel.action.certify'

const path = (id: string) => `/world-model/actions/${id}`
const approve = (id: string, body: object = { approver: 'ben' }) =>
  ask('POST', `${path(id)}/approve`, body)

/** The id of an action that waits. */
async function waiting(more: object = {}): Promise<string> {
  await scene.policy('hitl_required', { operations: [OPERATION] })
  const { status, body } = await invoke(more)
  assert.equal(status, 202, JSON.stringify(body))
  assert.equal(body.detail.status, 'waiting_hitl')
  return body.detail.action_id
}

test("'world_model.invoke' signs what 'world_model.get_action' reads", async () => {
  await scene.build()
  const { status, body: row } = await invoke()
  assert.equal(status, 201)
  assert.match(row.action_id, /^[0-9a-f]{32}$/)
  const { action_name, subject_refs, params, operation, gate, type, document } = row
  assert.deepEqual(
    [action_name, subject_refs, params],
    ['certify', INVOCATION.subject_refs, INVOCATION.params],
  )
  assert.deepEqual([operation, gate, row.status], [OPERATION, 'allowed', 'invoked'])
  assert.equal(row.params_digest, paramsDigest(INVOCATION.params))
  assert.deepEqual(row.authority, {
    ...{ delegation_ref: 'd-7', human_principal: 'ada' },
    ...{ claimed_tier: 'trusted', trust_tier: 'trusted' },
  })
  const named = await told(200, 'GET', `/world-model/types/${type.type_id}`)
  assert.deepEqual([type.version, type.schema_digest], [1, named.schema_digest])
  for (const member of ['action_name', 'params', 'params_digest', 'operation', 'gate', 'type'])
    assert.deepEqual(document[member], row[member], member)
  assert.deepEqual(await told(200, 'GET', path(row.action_id)), row)
  const [crumb] = await scene.crumbs('action.invoked')
  assert.equal(crumb.subject, row.action_id)
  // Ids and digests may spell anything.
  const words = JSON.stringify(crumb).replaceAll(/"[0-9a-f]{16,}"/g, '""')
  for (const word of ['ada', 'INV-1', 'as seen', 'certify']) assert.ok(!words.includes(word), word)
})

test("'world_model.verify_action' attributes it, and no leaf can be changed", async () => {
  await scene.build()
  const { body: row } = await invoke()
  const verified = await told(200, 'GET', `${path(row.action_id)}/verify`)
  assert.equal(verified.passed, true)
  const names = ['signature', 'action_id', 'proposal_digest', 'params_consistent', 'operation']
  for (const name of [...names, 'trust_tier', 'subject_type', 'shape', 'type_version'])
    assert.equal(verified.checks[name], true, name)
  assert.deepEqual(verified.attribution, {
    ...{ who: 'ada', did: 'certify', to: INVOCATION.subject_refs, gate: 'allowed' },
    under: { delegation_ref: 'd-7', trust_tier: 'trusted' },
  })
  assert.equal((await scene.offline(row.document)).valid, true)
  let count = 0
  for (const changed of mutations(row.document)) {
    count += 1
    assert.equal((await scene.offline(changed)).valid, false, JSON.stringify(changed))
  }
  assert.ok(count >= 30, String(count))
})

test('an action that names a missing version of its type does not verify', async () => {
  await scene.build()
  const { body: row } = await invoke()
  const { type_id, record_id } = row.type
  await register({ ...CERTIFY, spec: { ...CERTIFY.spec, required_trust_tier: 'basic' } })
  const verify = () => told(200, 'GET', `${path(row.action_id)}/verify`)
  assert.equal((await verify()).passed, true)
  const { db } = scene.service.kernel
  await db.transact(scene.tenant_id, async (tx) => {
    const gone = deleteFrom(tx, 'records').where('record_id', '=', record_id)
    assert.equal(await tx.run(gone), 1)
  })
  const verified = await verify()
  assert.deepEqual([verified.passed, verified.checks.type_version], [false, false])
  assert.match(verified.reason, /^type_version: /)
  assert.equal(verified.checks.signature, true)
  // Another version in its place is not the one that was named.
  await db.transact(scene.tenant_id, async (tx) => {
    const other = update(tx, 'records').set({ version: 1 }).where('series_id', '=', type_id)
    assert.equal(await tx.run(other), 1)
  })
  assert.equal((await verify()).checks.type_version, false)
})

test('what a policy redacts in an action is not stored in its refusal either', async () => {
  await scene.build()
  const guard = { entities: ['EMAIL_ADDRESS'], check_fields: ['params'], redact: true }
  await scene.policy('pii_guard', guard, { action: 'log_only' })
  const params = { amount: 1, note: 'ask bob.secret@example.org' }
  const { body: denied } = await invoke({ params, authority: {} })
  assert.equal(denied.error, 'policy_denied')
  const { body: done } = await invoke({ params })
  for (const id of [denied.detail.action_id, done.action_id]) {
    const row = await told(200, 'GET', path(id))
    assert.deepEqual(row.params, { amount: 1, note: 'ask <EMAIL_ADDRESS>' })
  }
})

test('a list leaves out the large members of an action', async () => {
  await scene.build()
  const { body: small } = await invoke()
  const { body: large } = await invoke({ params: { amount: 1, note: 'x'.repeat(20_000) } })
  const { invocations } = await told(200, 'GET', '/world-model/actions')
  assert.deepEqual(invocations, [{ ...large, params: null, document: null }, small])
})

test('an action below its tier is refused, stored, logged; one at its tier is signed', async () => {
  await scene.build()
  for (const authority of [undefined, {}, { trust_tier: 'basic' }]) {
    const { status, body } = await invoke({ authority })
    assert.deepEqual([status, body.error], [403, 'policy_denied'])
    const { action_id, reason } = body.detail
    assert.equal(body.detail.status, 'denied')
    assert.match(reason, /below verified/)
    const row = await told(200, 'GET', path(action_id))
    assert.deepEqual([row.status, row.document, row.gate], ['denied', null, null])
    assert.equal(row.reason, reason)
    assert.deepEqual(row.params, INVOCATION.params)
    const verified = await told(200, 'GET', `${path(action_id)}/verify`)
    assert.deepEqual([verified.passed, verified.status], [false, 'denied'])
  }
  const crumbs = await scene.crumbs('action.denied')
  assert.deepEqual(
    crumbs.map(({ payload }) => payload.reason),
    ['trust_tier', 'trust_tier', 'trust_tier'],
  )
  assert.equal((await invoke({ authority: { trust_tier: 'verified' } })).status, 201)
  assert.equal((await invoke({ authority: { trust_tier: 'admin' } })).status, 422)
  const { actions } = await told(200, 'GET', '/world-model/actions/stats')
  assert.deepEqual(actions, { denied: 3, invoked: 1 })
})

test('a claim does not exceed the ceiling of the credential', async () => {
  await scene.build()
  const body = { scopes: ['artifacts:admin'], max_trust_tier: 'basic' }
  const { api_key: key } = await told(201, 'POST', '/keys', body)
  const claimed = { authority: { trust_tier: 'root' } }
  assert.equal((await invoke(claimed, { key })).status, 403)
  await register({ ...CERTIFY, spec: { ...CERTIFY.spec, required_trust_tier: 'basic' } })
  const { status, body: row } = await invoke(claimed, { key })
  assert.equal(status, 201)
  const { claimed_tier, trust_tier } = row.authority
  assert.deepEqual([claimed_tier, trust_tier], ['root', 'basic'])
  assert.equal(row.type.version, 2)
})

test('parameters that do not fit are refused with every problem, without values', async () => {
  await scene.build()
  const { status, body } = await invoke({ params: { amount: 'canary', note: 7 } })
  assert.equal(status, 422)
  assert.deepEqual(
    body.detail.map(({ loc }: { loc: string[] }) => loc),
    [
      ['body', 'params', 'amount'],
      ['body', 'params', 'note'],
    ],
  )
  assert.ok(!JSON.stringify(body).includes('canary'))
  assert.equal((await invoke({ params: undefined })).status, 422)
  const huge = { amount: 1, note: 'x'.repeat(64 * 1024) }
  assert.equal((await invoke({ params: huge })).status, 422)
  const { invocations } = await told(200, 'GET', '/world-model/actions')
  assert.deepEqual(invocations, [])
})

test('subjects are of the type of the action, and of existing types', async () => {
  await scene.build()
  const subjects: readonly (readonly [refs: unknown, status: number])[] = [
    [
      [
        { type: 'Invoice', ref: 'a' },
        { type: 'Invoice', ref: 'b' },
      ],
      201,
    ],
    [[{ type: 'Client', ref: 'a' }], 422],
    [[{ type: 'Invoice', ref: 'a' }, 'b'], 422],
    [['a'], 422],
    [[], 422],
  ]
  for (const [subject_refs, status] of subjects)
    assert.equal((await invoke({ subject_refs })).status, status, JSON.stringify(subject_refs))
  const { subject_type: _, ...spec } = CERTIFY.spec
  await register({ ...CERTIFY, spec })
  const free: readonly (readonly [refs: unknown, status: number])[] = [
    [[], 201],
    [['a', { type: 'Client', ref: 'b' }], 201],
    [[{ type: 'Nobody', ref: 'a' }], 422],
    [[7], 422],
  ]
  for (const [subject_refs, status] of free) {
    const { status: told, body } = await invoke({ subject_refs })
    assert.equal(told, status, JSON.stringify(body))
    if (status === 201) assert.deepEqual(body.subject_refs, subject_refs)
  }
})

test('a policy denies an action, and the denial and its reason are stored', async () => {
  await scene.build()
  const config = { deny_if: { action: 'certify', params_has: [] } }
  assert.equal((await ask('POST', '/governance/policies', config)).status, 422)
  await scene.policy('world_model_constraint', { require_params: ['note'] })
  assert.equal((await invoke()).status, 201)
  const { status, body } = await invoke({ params: { amount: 1 } })
  assert.deepEqual([status, body.error], [403, 'policy_denied'])
  const row = await told(200, 'GET', path(body.detail.action_id))
  assert.equal(row.status, 'denied')
  const [crumb] = await scene.crumbs('action.denied')
  assert.deepEqual([crumb.subject, crumb.payload.reason], [row.action_id, 'policy'])
})

test("'world_model.approve_action' signs exactly what waited, under the same id", async () => {
  await scene.build()
  const id = await waiting()
  const before = await told(200, 'GET', path(id))
  assert.deepEqual([before.status, before.document], ['waiting_hitl', null])
  assert.deepEqual(before.params, INVOCATION.params)
  const { status, body: row } = await approve(id, { approver: 'ben', reason: 'seen it' })
  assert.equal(status, 200, JSON.stringify(row))
  assert.deepEqual([row.action_id, row.status], [id, 'invoked'])
  const { document } = row
  assert.deepEqual(document.params, INVOCATION.params)
  assert.deepEqual(document.authority.human_principal, 'ada')
  assert.equal(document.proposal_digest, before.proposal_digest)
  assert.deepEqual([document.approval.approver, document.approval.reason], ['ben', 'seen it'])
  assert.equal((await told(200, 'GET', `${path(id)}/verify`)).passed, true)
  assert.equal((await scene.offline(document)).valid, true)
  assert.equal((await approve(id)).status, 409)
  assert.deepEqual((await told(200, 'GET', '/world-model/actions/stats')).actions, { invoked: 1 })
})

test('of twenty concurrent approvals one signs, and the proposer cannot approve', async () => {
  await scene.build()
  const id = await waiting()
  const own = await approve(id, { approver: ' ADA ' })
  assert.deepEqual([own.status, own.body.error], [403, 'self_approval'])
  const answers = await Promise.all(Array.from({ length: 20 }, () => approve(id)))
  const statuses = answers.map(({ status }) => status).sort()
  assert.deepEqual(statuses, [200, ...Array.from({ length: 19 }, () => 409)])
  assert.equal((await scene.crumbs('action.invoked')).length, 1)
})

test("'world_model.reject_action' ends it, and nothing is signed", async () => {
  await scene.build()
  const id = await waiting()
  const answer = await told(200, 'POST', `${path(id)}/reject`, { approver: 'ben', reason: 'no' })
  assert.deepEqual(answer, { action_id: id, status: 'denied', approver: 'ben' })
  const row = await told(200, 'GET', path(id))
  assert.deepEqual([row.status, row.document, row.reason], ['denied', null, 'no'])
  assert.equal((await approve(id)).status, 409)
})

test('a waiting action is checked against its type as it is at the approval', async () => {
  await scene.build()
  const id = await waiting()
  const stricter = { ...CERTIFY.spec, required_trust_tier: 'root' }
  await register({ ...CERTIFY, spec: stricter })
  const { status, body } = await approve(id)
  assert.deepEqual([status, body.error], [403, 'policy_denied'])
  const input_schema = { ...CERTIFY.spec.input_schema, reason: { required: true } }
  await register({ ...CERTIFY, spec: { ...CERTIFY.spec, input_schema } })
  assert.equal((await approve(id)).status, 422)
  assert.equal((await told(200, 'GET', path(id))).status, 'waiting_hitl')
  const looser = { ...CERTIFY.spec, required_trust_tier: 'basic' }
  await register({ ...CERTIFY, spec: looser })
  const { body: row } = await approve(id)
  assert.deepEqual([row.status, row.type.version], ['invoked', 1])
})

test('a retry under the same key gets the first answer, invoked or refused', async () => {
  await scene.build()
  const headers = { 'idempotency-key': 'one' }
  const [first, again] = [await invoke({}, { headers }), await invoke({}, { headers })]
  assert.deepEqual([again.status, again.body], [201, first.body])
  assert.equal((await invoke({ params: { amount: 1 } }, { headers })).status, 409)
  const low = { authority: { trust_tier: 'basic' } }
  const other = { headers: { 'idempotency-key': 'two' } }
  const [denied, told_again] = [await invoke(low, other), await invoke(low, other)]
  assert.deepEqual([denied.status, told_again.status], [403, 403])
  assert.equal(denied.body.detail.action_id, told_again.body.detail.action_id)
  const { count } = await told(200, 'GET', '/world-model/actions')
  assert.equal(count, 2)
})

test("'world_model.list_actions' and 'world_model.action_stats' know every state", async () => {
  await scene.build()
  const { body: invoked } = await invoke()
  const { body: denied } = await invoke({ authority: {} })
  const id = await waiting()
  const page = await told(200, 'GET', '/world-model/actions')
  assert.equal(Object.keys(page)[0], 'invocations')
  assert.deepEqual(
    page.invocations.map(({ action_id }: { action_id: string }) => action_id),
    [id, denied.detail.action_id, invoked.action_id],
  )
  const { actions } = await told(200, 'GET', '/world-model/actions/stats')
  assert.deepEqual(actions, { denied: 1, invoked: 1, waiting_hitl: 1 })
  for (const query of ['limit=0', 'limit=201', 'offset=-1', 'cursor=x'])
    assert.equal((await ask('GET', `/world-model/actions?${query}`)).status, 422, query)
})

test('an unknown action, and that of another tenant, are the same 404', async () => {
  await scene.build()
  const { body: row } = await invoke()
  await scene.changeTenant()
  for (const id of [row.action_id, UNKNOWN])
    for (const [method, tail, body] of [
      ['GET', '', undefined],
      ['GET', '/verify', undefined],
      ['POST', '/approve', { approver: 'ben' }],
      ['POST', '/reject', { approver: 'ben' }],
    ] as const) {
      const answer = await ask(method, `${path(id)}${tail}`, body)
      assert.deepEqual([answer.status, answer.body.error], [404, 'action_not_found'])
    }
  const unknown = await invoke()
  assert.deepEqual([unknown.status, unknown.body.error], [404, 'type_not_found'])
  await register(CLIENT)
  assert.equal((await invoke({ action_name: 'Client' })).status, 404)
})

test('the verifier ranks tiers as the service does', () => {
  assert.deepEqual([...ACTION_TIERS], [...TRUST_TIERS])
})
