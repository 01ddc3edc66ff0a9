// Attestations: signed once, read without signing, checked by anybody with the published keys.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { verifyCgrAttestation } from '@custos/proof'
import { newKey, provenBy } from './testing/keys.ts'
import { openScene } from './testing/scene.ts'

const scene = openScene()

test("'cgr.attest' signs what the score is, and the published key verifies it", async () => {
  const tenant = await scene.tenant()
  await tenant.earn('a/b@c', Array(12).fill('paid'))
  const attestation = await tenant.ok('POST', '/cgr/attestations', { agent_handle: 'a/b@c' })
  const { as_of: _, ...tiergate } = (await tenant.score('a/b@c')).tiergate
  for (const [name, value] of Object.entries(tiergate)) assert.deepEqual(attestation[name], value)
  assert.deepEqual([attestation.tier, attestation.schema], ['silver', 'cgr.attestation.v2'])
  // 'cgr.issuer', without a key
  const { body: issuer } = await scene.service.request('GET', '/v1/cgr/issuer')
  assert.equal(attestation.issuer_key_id, issuer.public_key)
  assert.equal(attestation.issuer, issuer.issuer)
  const { keys } = await tenant.ok('GET', '/gcrumbs/public_key')
  const verdict = await verifyCgrAttestation(attestation, keys)
  assert.equal(verdict.valid, true, verdict.reason ?? '')
  for (const [name, value] of Object.entries({
    cgr_score: 0.99,
    tier: 'gold',
    agent_handle: 'x',
  })) {
    const forged = await verifyCgrAttestation({ ...attestation, [name]: value }, keys)
    assert.equal(forged.valid, false, name)
  }
  const moved = await verifyCgrAttestation({ ...attestation, evidence_ref: null }, keys)
  assert.equal(moved.valid, true)
})

test('what says the same is signed once, and no read signs anything', async () => {
  const tenant = await scene.tenant()
  const agent = newKey()
  const said = { tenant_id: tenant.tenant_id, agent_handle: 'agent', invoice_id: 'one' }
  await tenant.decide('agent', 'one', provenBy(agent, said))
  const path = '/cgr/attestation/agent'
  assert.deepEqual(await tenant.refused('GET', path), [404, 'attestation_not_found'])
  const ask = { agent_handle: 'agent' }
  const first = await tenant.ok('POST', '/cgr/attestations', ask)
  assert.equal(first.subject_key, agent.key)
  assert.deepEqual(await tenant.ok('POST', '/cgr/attestations', ask), first)
  assert.deepEqual(await tenant.ok('GET', path), first) // 'cgr.attestation'
  const at_once = await Promise.all(
    Array.from({ length: 20 }, () => tenant.ok('POST', '/cgr/attestations', ask)),
  )
  assert.equal(new Set(at_once.map(({ signature }) => signature)).size, 1)
  const size = async () => (await tenant.ok('GET', '/gcrumbs/stats')).total_breadcrumbs
  const before = await size()
  const listed = await tenant.ok('GET', '/cgr/attestations') // 'cgr.attestations'
  assert.deepEqual(listed.attestations, [first])
  await tenant.ok('GET', '/cgr/scores') // 'cgr.scores'
  assert.equal(await size(), before)
  await tenant.outcome('one', 'paid')
  const second = await tenant.ok('POST', '/cgr/attestations', ask)
  assert.notEqual(second.signature, first.signature)
  assert.deepEqual(
    (await tenant.ok('GET', '/cgr/attestations')).attestations.map(
      ({ signature }: { signature: string }) => signature,
    ),
    [second.signature, first.signature],
  )
})

test('a page of attestations goes on behind the last one, whatever was signed since', async () => {
  const tenant = await scene.tenant()
  const attest = async (name: string) => {
    await tenant.earn(name, ['paid'])
    return tenant.ok('POST', '/cgr/attestations', { agent_handle: name })
  }
  for (const name of ['a', 'b', 'c']) await attest(name)
  const path = '/cgr/attestations?limit=2'
  const first = await tenant.ok('GET', path)
  await attest('d')
  const next = await tenant.ok('GET', `${path}&cursor=${first.next_cursor}`)
  assert.deepEqual(
    [first, next].map(({ attestations }) =>
      attestations.map(({ agent_handle }: { agent_handle: string }) => agent_handle),
    ),
    [['c', 'b'], ['a']],
  )
})

test('the log says that it was issued, under the id it is referred to by', async () => {
  const tenant = await scene.tenant()
  await tenant.decide('agent', 'one')
  const { evidence_ref } = await tenant.ok('POST', '/cgr/attestations', { agent_handle: 'agent' })
  const { breadcrumbs } = await tenant.ok('GET', '/gcrumbs/breadcrumbs?limit=1000')
  const entry = breadcrumbs.at(-1)
  assert.deepEqual(
    [entry.breadcrumb_id, entry.event_type],
    [evidence_ref, 'cgr.attestation_issued'],
  )
  assert.equal((await tenant.ok('GET', '/gcrumbs/verify?full=true')).status, 'intact')
})

test('nobody is attested who has decided nothing', async () => {
  const tenant = await scene.tenant()
  const refused = await tenant.refused('POST', '/cgr/attestations', { agent_handle: 'agent' })
  assert.deepEqual(refused, [404, 'score_not_found'])
  const read = await tenant.refused('GET', '/cgr/attestation/agent')
  assert.deepEqual(read, [404, 'score_not_found'])
})
