// Records that are neither memories nor decisions: found, shown, redacted, certified.

import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { detectEnvelope, verifyEnvelope } from '@custos/proof'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { deleteEndedCredentials } from '../tenants/index.ts'
import { SUBJECT, subjectScene } from './testing/scene.ts'

let service: TestService
before(async () => {
  service = await startTestService()
})
after(() => service.stop())

const scene = () => subjectScene(service)
type Scene = Awaited<ReturnType<typeof scene>>

const MARKER = '[REDACTED — GDPR Article 17]'
const NAME = 'Jana Novak'
const DIGEST = 'a'.repeat(64)

const registered = ({ ok }: Scene, artifact_ref: string) =>
  ok('POST', '/v1/artifacts/register', {
    artifact_ref,
    base_model_ref: 'base',
    layers: [{ digest: DIGEST }],
    metadata: { trained_by: NAME },
  })

/** A record of each registry but artifacts, with the name in it. */
async function registerEach({ ok }: Scene) {
  await ok('POST', '/v1/provenance/corpora', {
    name: `letters of ${NAME}`,
    sources: [{ id: 's1', license: 'MIT', lawful_basis: 'consent', content_hash: DIGEST }],
    attestations: { representativeness: 'by region', bias_examination: 'done' },
  })
  const authority = { human_principal: NAME, trust_tier: 'verified' }
  const landed = await ok('POST', '/v1/landing/issue', {
    artifact_ref: 'adapters/support',
    base_model_ref: 'models/base',
    layer_hashes: [DIGEST],
    data_provenance: { merkle_root: '5'.repeat(64) },
    authority: { ...authority, delegation_ref: 'd-1' },
    conformance: { result: 'pass' },
    permitted_actions: ['answer'],
  })
  const composed = await ok('POST', '/v1/compositions', {
    composition_kind: 'assistant',
    members: [{ ref_id: 'somebody/else', license: 'MIT', certified: true }],
    target_ref: 'assistant/support',
    authority,
  })
  const type = await ok('POST', '/v1/world-model/types', {
    kind: 'action',
    name: 'greet',
    spec: { operation: 'greet', required_trust_tier: 'untrusted', input_schema: {} },
  })
  const action = await ok('POST', '/v1/world-model/actions/invoke', {
    action_name: 'greet',
    subject_refs: [NAME],
  })
  return { landed, composed, type, action }
}

describe("registry records in 'subjects.erase'", () => {
  test('lose their words and keep ids, digests and signature, with a certificate', async () => {
    const one = await scene()
    const { ok, preview, erase, manifestOf, bundleOf, verify } = one
    const made = await registered(one, `models/${NAME}`)
    const find = { text: NAME }
    const shown = await preview(find)
    assert.deepEqual(shown.found.kinds, [{ kind: 'artifact', texts: 1, held: 0 }])
    const done = await erase(find)
    assert.equal(done.status, 'done')
    assert.equal(done.found.texts, 1)

    const left = await ok('GET', `/v1/artifacts/${made.artifact_id}`)
    assert.equal(left.redacted, true)
    assert.deepEqual([left.artifact_ref, left.base_model_ref, left.metadata], [MARKER, MARKER, {}])
    assert.equal(left.document, null)
    const kept = ['artifact_id', 'status', 'proposal_digest', 'signature', 'key_id', 'created_at']
    for (const member of kept) assert.equal(left[member], made[member], member)
    assert.deepEqual(left.layer_hashes, made.layer_hashes)
    assert.equal(made.redacted, false)

    const manifest = await manifestOf(done.request_id)
    assert.equal(manifest.found.texts, 1)
    const entry = manifest.entries.find(
      ({ subject_id }: { subject_id: string }) => subject_id === made.artifact_id,
    )
    assert.deepEqual([entry.subject_kind, entry.outcome], ['artifact', 'erased'])
    const certificate = await ok('GET', `/v1/erasure/${entry.certificate_id}`)
    assert.equal(certificate.subject_id, made.artifact_id)
    assert.equal(certificate.coverage.data, 'scrubbed')
    const verdict = await verify(await bundleOf(done.request_id))
    assert.ok(verdict.valid, verdict.reason)
    assert.equal((await preview(find)).found.texts, 0)
  })

  test('are read, listed and verified when redacted, and register again', async () => {
    const one = await scene()
    const { ok, erase } = one
    const made = await registered(one, `models/${NAME}`)
    await erase({ text: NAME })
    const { artifacts } = await ok('GET', '/v1/artifacts')
    assert.deepEqual([artifacts.length, artifacts[0].redacted], [1, true])
    const verified = await ok('GET', `/v1/artifacts/${made.artifact_id}/verify`)
    assert.equal(verified.passed, false)
    assert.match(verified.reason, /texts were erased/)
    const again = await registered(one, `models/${NAME}`)
    assert.notEqual(again.artifact_id, made.artifact_id)
  })

  test('of every registry are found, shown by access, and redacted', async () => {
    const one = await scene()
    const { ok, erase, access, preview } = one
    const { landed, composed, type, action } = await registerEach(one)
    const kindsOf = async () => {
      const { found } = await preview({ text: NAME })
      return found.kinds.map(({ kind }: { kind: string }) => kind)
    }
    const every = ['corpus', 'action', 'composition', 'landing']
    assert.deepEqual((await kindsOf()).toSorted(), every.toSorted())
    const lines = await access({ text: NAME })
    const shown = lines.find(({ record }) => record === 'action')
    assert.equal(shown.id, action.action_id)
    assert.deepEqual(shown.content.request.subject_refs, [NAME])
    assert.equal(lines.at(-1).texts, lines[0].found.texts)
    await erase([{ text: NAME }, { text: 'greet' }])
    assert.deepEqual(await kindsOf(), [])
    const left = await ok('GET', `/v1/world-model/actions/${action.action_id}`)
    assert.deepEqual([left.redacted, left.action_name, left.subject_refs], [true, MARKER, []])
    const lost = await ok('GET', `/v1/world-model/types/${type.type_id}`)
    assert.deepEqual([lost.redacted, lost.name, lost.spec], [true, MARKER, {}])
    const [corpus] = (await ok('GET', '/v1/provenance/corpora')).corpora
    assert.deepEqual([corpus.redacted, corpus.name, corpus.source_count], [true, MARKER, 1])
    const certificate = await ok('GET', `/v1/landing/${landed.certificate_id}`)
    assert.deepEqual([certificate.redacted, certificate.authority.human_principal], [true, null])
    const composition = await ok('GET', `/v1/compositions/${composed.composition_id}`)
    assert.deepEqual([composition.redacted, composition.target_ref], [true, MARKER])
    for (const path of [
      '/v1/world-model/actions',
      '/v1/world-model/types',
      '/v1/landing',
      '/v1/compositions',
      `/v1/landing/${landed.certificate_id}/verify`,
      `/v1/compositions/${composed.composition_id}/verify`,
      `/v1/compositions/${composed.composition_id}/artifact`,
      `/v1/world-model/actions/${action.action_id}/verify`,
    ])
      await ok('GET', path)
  })
})

describe("approvals in 'subjects.erase'", () => {
  test('lose approver and reason; one that waits can no longer be decided', async () => {
    const one = await scene()
    const { ok, ask, erase, preview } = one
    const config = { operations: ['artifact.register'] }
    const policy = { name: 'n', policy_type: 'hitl_required', config }
    await ok('POST', '/v1/governance/policies', policy)
    const propose = async (artifact_ref: string, digest: string) => {
      const layers = [{ digest }]
      const body = { artifact_ref, base_model_ref: 'base', layers }
      return (await ask('POST', '/v1/artifacts/register', body)).body.detail
    }
    const approved = await propose('models/one', 'b'.repeat(64))
    await ok('POST', `/v1/artifacts/${approved.artifact_id}/approve`, {
      approver: NAME,
      reason: 'as agreed',
    })
    const waiting = await propose(`models/${NAME}`, 'c'.repeat(64))
    const { found } = await preview({ text: NAME })
    assert.deepEqual(
      found.kinds.map(({ kind, texts }: { kind: string; texts: number }) => [kind, texts]),
      [
        ['artifact', 2],
        ['approval', 1],
      ],
    )
    await erase({ text: NAME })
    const left = await ok('GET', `/v1/hitl/requests/${approved.request_id}`)
    assert.deepEqual([left.redacted, left.action, left.record], [true, MARKER, null])
    const record = await ok('GET', `/v1/artifacts/${approved.artifact_id}`)
    assert.deepEqual([record.approval.approver, record.approval.reason], [MARKER, null])
    const late = await ask('POST', `/v1/artifacts/${waiting.artifact_id}/approve`, {
      approver: 'Dana',
    })
    assert.deepEqual([late.status, late.body.error], [409, 'not_waiting'])
  })
})

describe("reasons of holds and bases of retention in 'subjects.erase'", () => {
  test('are redacted with their release; those of a store on hold are kept', async () => {
    const one = await scene()
    const { ok, erase, preview, store_id, manifestOf } = one
    const holds = `/v1/stores/${store_id}/holds`
    const { hold_id } = await ok('POST', holds, { reason: `${NAME} sues`, matter: 'm-1' })
    await ok('PUT', `/v1/stores/${store_id}/retention`, { retain_days: null, basis: NAME })
    const find = { text: NAME }
    const { found } = await preview(find)
    assert.deepEqual([found.texts, found.held], [2, 2])
    const held = await erase(find)
    assert.equal(held.status, 'done_with_holds')
    assert.equal((await ok('GET', holds)).holds[0].reason, `${NAME} sues`)
    await ok('DELETE', `${holds}/${hold_id}`, { reason: `${NAME} has settled` })
    const done = await erase(find)
    assert.equal(done.status, 'done')
    const outcomes = (await manifestOf(done.request_id)).entries.map(
      ({ subject_kind, outcome }: { subject_kind: string; outcome: string }) =>
        `${subject_kind} ${outcome}`,
    )
    assert.deepEqual(outcomes, ['hold erased', 'retention erased'])
    const [left] = (await ok('GET', holds)).holds
    assert.deepEqual([left.reason, left.matter, left.release_reason], [MARKER, null, MARKER])
    assert.equal((await ok('GET', `/v1/stores/${store_id}/retention`)).basis, MARKER)
    await ok('PUT', `/v1/stores/${store_id}/retention`, { retain_days: null, basis: `by ${NAME}` })
    assert.equal((await preview(find)).found.texts, 1)
    assert.equal((await erase(find)).found.texts, 1)
    assert.equal((await ok('GET', `/v1/stores/${store_id}/retention`)).basis, MARKER)
  })
})

describe("approvers, agents and policies in 'subjects.erase'", () => {
  test('an approver loses name and role, keeps the key, and may be named again', async () => {
    const { ok, erase, preview } = await scene()
    const { publicKey } = generateKeyPairSync('ed25519')
    const public_key = publicKey
      .export({ type: 'spki', format: 'der' })
      .subarray(-32)
      .toString('hex')
    const approvers = '/v1/hitl/approvers'
    const { approver_id } = await ok('POST', approvers, { name: NAME, role: 'head', public_key })
    const find = { text: NAME }
    for (const name of [NAME, `${NAME} again`]) {
      await ok('PUT', `${approvers}/${approver_id}`, { name })
      assert.equal((await preview(find)).found.texts, 1)
      assert.equal((await erase(find)).status, 'done')
      const left = await ok('GET', `${approvers}/${approver_id}`)
      assert.deepEqual([left.name, left.role, left.public_key], [MARKER, null, public_key])
      assert.equal((await preview(find)).found.texts, 0)
    }
  })

  test('governed decisions lose the name of their agent, which keeps its score', async () => {
    const { ok, erase, access } = await scene()
    const agent_handle = `agent of ${NAME}`
    const decision = { agent_handle, decision: 'certify', verifiability_tag: 'rule' }
    const sent = { ...decision, invoice_id: 'INV-1', reason: `because ${NAME} said so` }
    const made = await ok('POST', '/v1/governed/decisions', sent)
    await ok('POST', '/v1/governed/outcomes', { invoice_ref: 'INV-1', outcome: 'paid' })
    const path = `/v1/cgr/scores/${encodeURIComponent(agent_handle)}`
    const before = await ok('GET', path)
    await ok('POST', '/v1/cgr/attestations', { agent_handle })
    const lines = await access({ text: NAME })
    const records = lines.map(({ record }) => record)
    assert.deepEqual(records, ['header', 'governed_decision', 'attestation', 'end'])
    const done = await erase({ text: NAME })
    assert.deepEqual([done.status, done.found.texts], ['done', 2])
    const after = await ok('GET', path)
    assert.equal(after.agent_handle, MARKER)
    assert.equal(after.cgr_score, before.cgr_score)
    const { attestations } = await ok('GET', '/v1/cgr/attestations')
    assert.equal(attestations[0].agent_handle, MARKER)
    // Hashes of short inputs could be guessed: they go with the words.
    const again = await ok('POST', '/v1/governed/decisions', sent)
    assert.equal(again.decision_record.decision_id, made.decision_record.decision_id)
    assert.equal(again.execution_receipt, null)
    const { keys } = await ok('GET', '/v1/gcrumbs/public_key')
    const { valid } = await verifyEnvelope(detectEnvelope(made.execution_receipt), { keys })
    assert.equal(valid, true)
  })

  test('a policy is kept while it is in force, and redacted once it is changed', async () => {
    const { ok, erase, preview, manifestOf } = await scene()
    const policies = '/v1/governance/policies'
    const { policy_id } = await ok('POST', policies, {
      name: `not for ${NAME}`,
      policy_type: 'hitl_required',
      config: { operations: ['artifact.register'] },
    })
    const find = { text: NAME }
    const held = await erase(find)
    assert.deepEqual([held.status, held.found.held], ['done_with_holds', 1])
    await ok('PUT', `${policies}/${policy_id}`, { name: 'not for some' })
    const done = await erase(find)
    assert.equal(done.status, 'done')
    const [entry] = (await manifestOf(done.request_id)).entries
    assert.deepEqual([entry.subject_kind, entry.subject_id], ['policy', `${policy_id}:1`])
    assert.equal((await ok('GET', `${policies}/${policy_id}`)).name, 'not for some')
    assert.equal((await preview(find)).found.texts, 0)
  })
})

test('a key limited to stores reaches only records about those', async () => {
  const one = await scene()
  const { ok, store_id, ask } = one
  await registered(one, `models/${NAME}`)
  await ok('PUT', `/v1/stores/${store_id}/retention`, { retain_days: null, basis: NAME })
  const { api_key } = await ok('POST', '/v1/keys', {
    name: 'limited',
    scopes: ['erasure:execute'],
    allowed_stores: [store_id],
  })
  const body = { find: { text: NAME }, preview: true }
  const { body: shown } = await ask('POST', SUBJECT, body, api_key)
  assert.deepEqual(shown.found.kinds, [{ kind: 'retention', texts: 1, held: 0 }])
})

describe("keys and tokens in 'subjects.erase'", () => {
  const makeKey = ({ ok }: Scene, more: object) =>
    ok('POST', '/v1/keys', { scopes: ['memory:read'], ...more })
  const makeToken = ({ ok, store_id }: Scene, namespace: string) =>
    ok('POST', '/v1/keys/tokens', { store_id, namespace, scopes: ['memory:read'] })
  const nameOf = async ({ ok }: Scene, key_id: string): Promise<string | undefined> =>
    (await ok('GET', '/v1/keys')).keys.find((key: { key_id: string }) => key.key_id === key_id)
      ?.name

  test('a key loses its name and works on; what it named is nowhere stored in clear', async () => {
    const one = await scene()
    const { key_id, api_key, name } = await makeKey(one, { name: `app of ${NAME}` })
    assert.equal(name, `app of ${NAME}`)
    const clear = await rawSql(service, 'select * from credentials where name like ?', [
      `%${NAME}%`,
    ])
    assert.deepEqual(clear, [])
    assert.equal(await nameOf(one, key_id), name)
    const [, line] = await one.access({ text: NAME })
    assert.deepEqual([line.record, line.id, line.content], ['key', key_id, { name }])
    const [row] = await rawSql(service, 'select * from credentials where key_id = ?', [key_id])
    const done = await one.erase({ text: NAME })
    assert.deepEqual([done.status, done.found.texts], ['done', 1])
    assert.equal(await nameOf(one, key_id), MARKER)
    const { status } = await one.ask('GET', '/v1/stores/default/memories', undefined, api_key)
    assert.equal(status, 200)
    const numbers = [Number(row?.['name_secret_no'])]
    const secrets = await service.kernel.keyring.secrets(one.tenant_id, 'decision', numbers)
    assert.deepEqual([...secrets.values()], [null])
    const verdict = await one.verify(await one.bundleOf(done.request_id))
    assert.ok(verdict.valid, verdict.reason)
  })

  test('those of an erased namespace are found with it and revoked, others are not', async () => {
    const one = await scene()
    const { ask, store_id, preview, events } = one
    const key = await makeKey(one, { name: 'front end', namespace: 'jana' })
    const token = await makeToken(one, 'jana')
    const other = await makeToken(one, 'tomas')
    const read = async (api_key: string) =>
      (await ask('GET', `/v1/stores/${store_id}/memories`, undefined, api_key)).status
    assert.equal(await read(token.token), 200)
    const body = { namespace: 'jana' }
    const shown = await preview(undefined, body)
    assert.deepEqual(shown.found.kinds, [{ kind: 'key_namespace', texts: 2, held: 0 }])
    assert.ok(shown.searched.some((text: string) => text.includes('keys and tokens')))
    const listed = (await one.access(undefined, body)).filter(({ content }) => content)
    assert.deepEqual(
      listed.map(({ record, id, content }) => [record, id, content.namespace]).toSorted(),
      [key.key_id, token.key_id].map((id) => ['key_namespace', id, 'jana']).toSorted(),
    )
    const { request_id } = await one.erase(undefined, body)
    const { entries } = await one.manifestOf(request_id)
    assert.deepEqual(
      entries.map(({ subject_id, outcome }: Record<string, string>) => [subject_id, outcome]),
      [key.key_id, token.key_id].toSorted().map((id) => [id, 'erased']),
    )
    assert.deepEqual(
      [await read(key.api_key), await read(token.token), await read(other.token)],
      [401, 401, 200],
    )
    assert.equal((await events('tenant.key_revoked')).length, 2)
    await deleteEndedCredentials(service.kernel)
    assert.equal(await nameOf(one, key.key_id), undefined)
    assert.equal(await read(other.token), 200)
  })

  test('a namespace that names the person is found by text', async () => {
    const one = await scene()
    const { token } = await makeToken(one, `user-${NAME}`)
    const { found } = await one.preview({ text: NAME })
    assert.deepEqual(found.kinds, [{ kind: 'key_namespace', texts: 1, held: 0 }])
    assert.equal((await one.erase({ text: NAME })).status, 'done')
    const path = `/v1/stores/${one.store_id}/memories`
    assert.equal((await one.ask('GET', path, undefined, token)).status, 401)
    assert.equal((await one.preview({ text: NAME })).found.texts, 0)
  })
})

test('labels in clear are found and shown; an erasure says that it keeps them', async () => {
  const { ok, decide, write, preview, access, erase, manifestOf, bundleOf, verify } = await scene()
  await ok('POST', '/v1/stores', { store_id: 'jana-novak', name: 'one' })
  await decide('which?', 'this', { model_id: 'jana-novak-7b' })
  const ref = await write('to be erased')
  await ok('POST', '/v1/erasure/issue', { fact_ref: ref, requested_by: 'jana-novak herself' })
  const find = { text: 'jana-novak' }
  const shown = await preview(find)
  assert.deepEqual(shown.found.kinds, [{ kind: 'label', texts: 3, held: 3 }])
  assert.doesNotMatch(JSON.stringify(shown.not_searched), /store|model|key|legal_basis/)
  const lines = (await access(find)).filter(({ record }) => record === 'label')
  const contents = lines.map(({ content }) => JSON.stringify(content)).toSorted()
  assert.deepEqual(contents, [
    '{"legal_basis":"GDPR Article 17 — Right to Erasure","requested_by":"jana-novak herself"}',
    '{"model_id":"jana-novak-7b"}',
    '{"store_id":"jana-novak"}',
  ])
  const done = await erase(find)
  assert.equal(done.status, 'done_with_holds')
  const manifest = await manifestOf(done.request_id)
  assert.deepEqual(
    manifest.entries.map(({ subject_kind, outcome }: Record<string, string>) => [
      subject_kind,
      outcome,
    ]),
    Array.from({ length: 3 }, () => ['label', 'held']),
  )
  assert.doesNotMatch(JSON.stringify(manifest), /jana/i)
  const verdict = await verify(await bundleOf(done.request_id))
  assert.ok(verdict.valid, verdict.reason)
})
