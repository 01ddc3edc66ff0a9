// The artifact registry over HTTP: registration, policies in front of it, approvals, certificates.

import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { verifyEnvelope } from '@custos/proof'
import { update } from '../../platform/db/tenant-db.ts'
import { startTestService, type TestService } from '../../testing/harness.ts'

let service: TestService
let key: string

before(async () => {
  service = await startTestService()
})
beforeEach(async () => {
  key = (await service.createTenant()).api_key
})
after(() => service.stop())

const ask = (method: string, path: string, body?: unknown, headers = {}) =>
  service.request(method, `/v1${path}`, { key, headers, ...(body ? { body } : {}) })

const HASH = (digit: string) => digit.repeat(64)
const ADAPTER = {
  artifact_ref: 'adapter/support@3',
  base_model_ref: 'base-7b',
  layers: [
    { media_type: 'application/octet-stream', digest: `sha256:${HASH('A')}`, size: 10 },
    { digest: HASH('b') },
  ],
  metadata: { license: 'MIT' },
}

const register = (body: object = ADAPTER) => ask('POST', '/artifacts/register', body)

async function escalating(operations = ['artifacts.register']): Promise<void> {
  const body = { name: 'four eyes', policy_type: 'hitl_required', config: { operations } }
  assert.equal((await ask('POST', '/governance/policies', body)).status, 200)
}

async function waiting(): Promise<string> {
  const { status, body, text } = await register()
  assert.equal(status, 202, text)
  assert.equal(body.detail.status, 'waiting_hitl')
  return body.detail.artifact_id
}

const events = async (): Promise<string[]> =>
  (await ask('GET', '/gcrumbs/breadcrumbs?limit=1000')).body.breadcrumbs.map(
    ({ event_type }: { event_type: string }) => event_type,
  )

const published = async () => (await service.request('GET', '/v1/gcrumbs/public_key')).body.keys

test('artifacts.register answers a signed record that verifies offline', async () => {
  const { status, body, text } = await register()
  assert.equal(status, 201, text)
  assert.match(body.artifact_id, /^[0-9a-f]{32}$/)
  assert.equal(body.status, 'registered')
  assert.equal(body.kind, 'lora+rag')
  assert.deepEqual(body.layer_hashes, [HASH('a'), HASH('b')])
  assert.equal(body.document.artifact_id, body.artifact_id)
  const envelope = { type: 'record', kind: 'artifact', record: body.document }
  const verdict = await verifyEnvelope(envelope, { keys: await published() })
  assert.equal(verdict.valid, true, verdict.reason)
  assert.ok((await events()).includes('artifact.registered'))
})

test('every member of the signed record is under the signature', async () => {
  const { body } = await register()
  const keys = await published()
  for (const [path, changed] of mutations(body.document)) {
    const envelope = { type: 'record', kind: 'artifact', record: changed }
    const verdict = await verifyEnvelope(envelope, { keys })
    assert.equal(verdict.valid, false, `a change of ${path} is not noticed`)
  }
})

/** The document with each of its leaves changed in turn. */
function* mutations(document: unknown, path = ''): Generator<[string, unknown]> {
  if (Array.isArray(document)) {
    for (const [i, item] of document.entries())
      for (const [at, changed] of mutations(item, `${path}[${i}]`))
        yield [at, document.with(i, changed)]
  } else if (typeof document === 'object' && document !== null) {
    for (const [name, value] of Object.entries(document))
      for (const [at, changed] of mutations(value, `${path}.${name}`))
        yield [at, { ...document, [name]: changed }]
  } else if (typeof document === 'number') yield [path, document + 1]
  else yield [path, `${document}x`]
}

test('the same artifact again is the existing record', async () => {
  const first = await register()
  const again = await register({ ...ADAPTER, metadata: { other: true } })
  assert.equal(again.status, 201)
  assert.equal(again.body.artifact_id, first.body.artifact_id)
  assert.deepEqual(again.body.document, first.body.document)
  const other = await register({ ...ADAPTER, layers: ADAPTER.layers.toReversed() })
  assert.notEqual(other.body.artifact_id, first.body.artifact_id)
  assert.notEqual(other.body.manifest_digest, first.body.manifest_digest)
})

test('twenty concurrent registrations of one artifact make one record', async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => register()))
  assert.equal(new Set(answers.map(({ body }) => body.artifact_id)).size, 1)
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]))
  assert.deepEqual((await ask('GET', '/artifacts/stats')).body, { registered: 1 })
})

test('artifacts.get, artifacts.list and artifacts.stats show what the tenant has', async () => {
  const { body } = await register()
  const { body: one } = await ask('GET', `/artifacts/${body.artifact_id}`)
  assert.deepEqual(one, body)
  const { body: listed } = await ask('GET', '/artifacts?limit=10')
  assert.deepEqual(listed.artifacts, [body])
  const other = await service.createTenant()
  const foreign = await service.request('GET', `/v1/artifacts/${body.artifact_id}`, {
    key: other.api_key,
  })
  assert.deepEqual([foreign.status, foreign.body.error], [404, 'artifact_not_found'])
})

test('artifacts.integrity compares order and number of layers', async () => {
  const { body } = await register()
  const compare = async (layer_hashes: string[]) =>
    (await ask('POST', `/artifacts/${body.artifact_id}/integrity`, { layer_hashes })).body.match
  assert.equal(await compare([HASH('a'), `sha256:${HASH('b')}`]), true)
  assert.equal(await compare([HASH('b'), HASH('a')]), false)
  assert.equal(await compare([HASH('a')]), false)
})

test('a denial is stored, logged and answered with 403; a retry is evaluated again', async () => {
  const policy = {
    name: 'no adapters',
    policy_type: 'content_filter',
    config: { patterns: ['adapter'], check_fields: ['artifact_ref'] },
  }
  const made = await ask('POST', '/governance/policies', policy)
  const { status, body } = await register()
  assert.deepEqual([status, body.error, body.name], [403, 'policy_denied', 'no adapters'])
  assert.equal(body.detail.status, 'denied')
  const { body: kept } = await ask('GET', `/artifacts/${body.detail.artifact_id}`)
  assert.deepEqual([kept.status, kept.document], ['denied', null])
  const { body: verdict } = await ask('GET', `/artifacts/${body.detail.artifact_id}/verify`)
  assert.equal(verdict.passed, false)
  assert.ok((await events()).includes('artifact.denied'))
  await ask('DELETE', `/governance/policies/${made.body.policy_id}`)
  const after = await register()
  assert.equal(after.status, 201)
  assert.notEqual(after.body.artifact_id, body.detail.artifact_id)
})

test('an escalated artifact waits, is approved once, and keeps its id', async () => {
  await escalating()
  const artifact_id = await waiting()
  assert.equal(await waiting(), artifact_id, 'proposed again it is the same request')
  const decide = () => ask('POST', `/artifacts/${artifact_id}/approve`, { approver: 'Dana' })
  const answers = await Promise.all(Array.from({ length: 20 }, decide))
  const won = answers.filter(({ status }) => status === 200)
  assert.equal(won.length, 1)
  for (const { status, body } of answers)
    if (status !== 200) assert.deepEqual([status, body.error], [409, 'not_waiting'])
  const approved = won[0]?.body
  assert.deepEqual([approved.artifact_id, approved.status], [artifact_id, 'registered'])
  assert.equal(approved.document.approval.approver, 'Dana')
  assert.equal(approved.document.approval.proposal_digest, approved.proposal_digest)
  const { body: verdict } = await ask('GET', `/artifacts/${artifact_id}/verify`)
  assert.equal(verdict.passed, true, verdict.reason)
  assert.equal((await events()).filter((type) => type === 'approval.approved').length, 1)
})

test('a rejected artifact stays denied; the proposer of a request cannot decide it', async () => {
  await escalating()
  const artifact_id = await waiting()
  const { body: row } = await ask('GET', `/artifacts/${artifact_id}`)
  const self = await ask('POST', `/artifacts/${artifact_id}/reject`, {
    approver: ` ${row.requested_by.toUpperCase()} `,
  })
  assert.deepEqual([self.status, self.body.error], [403, 'self_approval'])
  const rejected = await ask('POST', `/artifacts/${artifact_id}/reject`, {
    approver: 'Dana',
    reason: 'not reviewed',
  })
  assert.deepEqual(rejected.body, { artifact_id, status: 'denied', approver: 'Dana' })
  const again = await ask('POST', `/artifacts/${artifact_id}/approve`, { approver: 'Dana' })
  assert.deepEqual([again.status, again.body.error], [409, 'not_waiting'])
  const { body: denied } = await ask('GET', `/artifacts/${artifact_id}`)
  assert.deepEqual(
    [denied.status, denied.reason, denied.approval.approver],
    ['denied', 'not reviewed', 'Dana'],
  )
})

test('policies of the time of the approval hold: a new denial or escalation refuses', async () => {
  await escalating()
  const artifact_id = await waiting()
  const approve = () => ask('POST', `/artifacts/${artifact_id}/approve`, { approver: 'Dana' })
  const filter = {
    name: 'no adapters',
    policy_type: 'content_filter',
    config: { patterns: ['adapter'], check_fields: ['artifact_ref'] },
  }
  const { body: denying } = await ask('POST', '/governance/policies', filter)
  assert.equal((await approve()).body.error, 'policy_denied')
  await ask('PUT', `/governance/policies/${denying.policy_id}`, { action: 'escalate' })
  assert.equal((await approve()).body.error, 'approval_required')
  await ask('DELETE', `/governance/policies/${denying.policy_id}`)
  assert.equal((await approve()).status, 200)
})

test('a retry with the same Idempotency-Key gets the same artifact', async () => {
  const headers = { 'idempotency-key': 'one' }
  const first = await ask('POST', '/artifacts/register', ADAPTER, headers)
  const again = await ask('POST', '/artifacts/register', ADAPTER, headers)
  assert.equal(again.body.artifact_id, first.body.artifact_id)
  await escalating()
  const other = { ...ADAPTER, artifact_ref: 'adapter/other@1' }
  const { body } = await register(other)
  const path = `/artifacts/${body.detail.artifact_id}/approve`
  const keyed = { 'idempotency-key': 'two' }
  const approved = await ask('POST', path, { approver: 'Dana' }, keyed)
  const retried = await ask('POST', path, { approver: 'Dana' }, keyed)
  assert.deepEqual([approved.status, retried.status], [200, 200])
  assert.deepEqual(retried.body, approved.body)
})

test('artifacts.certify takes an issued certificate of the same artifact only', async () => {
  const { body } = await register()
  const certify = (certificate_id: string) =>
    ask('POST', `/artifacts/${body.artifact_id}/certify`, { certificate_id })
  const unknown = await certify(HASH('0').slice(32))
  assert.deepEqual([unknown.status, unknown.body.error], [404, 'landing_not_found'])
})

const landed = (more: object = {}) =>
  ask('POST', '/landing/issue', {
    ...{ artifact_ref: ADAPTER.artifact_ref, base_model_ref: ADAPTER.base_model_ref },
    layer_hashes: [HASH('a'), HASH('b')],
    data_provenance: { merkle_root: HASH('5') },
    authority: { delegation_ref: 'd-1', human_principal: 'ana', trust_tier: 'verified' },
    conformance: { result: 'pass' },
    permitted_actions: ['answer'],
    ...more,
  })

test('artifacts.verify checks the certificate of a certified artifact', async () => {
  const { body } = await register()
  const verify = async () => (await ask('GET', `/artifacts/${body.artifact_id}/verify`)).body
  assert.equal('certificate' in (await verify()).checks, false)
  const { body: own } = await landed()
  const { body: other } = await landed({ artifact_ref: 'adapter/other@1' })
  const certified = await verify()
  assert.deepEqual(
    [certified.passed, certified.checks.certificate, certified.certificate_id],
    [true, true, own.certificate_id],
  )
  const link = (linked_id: string) =>
    service.kernel.db.transact(body.tenant_id, (tx) =>
      tx.run(update(tx, 'records').set({ linked_id }).where('record_id', '=', body.artifact_id)),
    )
  for (const [certificate_id, reason] of [
    [other.certificate_id, 'the certificate is about another artifact'],
    [HASH('0').slice(32), 'the certificate does not exist'],
  ]) {
    await link(certificate_id)
    const verified = await verify()
    assert.deepEqual(
      [verified.passed, verified.checks.certificate, verified.reason],
      [false, false, reason],
    )
  }
})
