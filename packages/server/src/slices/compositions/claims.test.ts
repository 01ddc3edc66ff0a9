// Claimed licences are compared with those that records and their evidence state.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_LICENSE } from '@custos/proof'
import { member, openCompositionScene } from './testing/composition-scene.ts'

const scene = openCompositionScene()
const { ok, compose, governed, rejected, register, certified, landed, corpus } = scene

const foundLicenses = ({ members }: { members: { found: { licenses: string[] } }[] }) =>
  members.map(({ found }) => found.licenses)

const blockOf = async (sources: readonly object[]) => {
  const { corpus_id } = await corpus(sources)
  return ok('GET', `/provenance/corpora/${corpus_id}/block`)
}

test('the licences of the sources of a corpus join the one that is claimed', async () => {
  const nd = await corpus([
    { id: 'a', license: 'MIT' },
    { id: 'b', license: 'CC-BY-NC-ND-4.0' },
  ])
  const { reasons } = await rejected({ members: [member(nd.corpus_id)] })
  assert.match(reasons.join(), /^CC-BY-NC-ND-4\.0 .*adapted material/)
  const nc = await corpus([{ id: 'a', license: 'CC-BY-NC-4.0' }])
  const row = await governed({ members: [member(nc.corpus_id)] })
  assert.deepEqual(row.license_verdict.expression, 'CC-BY-NC-4.0 AND MIT')
  assert.deepEqual(foundLicenses(row), [['CC-BY-NC-4.0']])
  const used = await rejected({ members: [member(nc.corpus_id), member('x', 'commercial')] })
  assert.match(used.reasons.join(), /forbids commercial use/)
  assert.equal((await scene.offline(row)).valid, true)
})

test('a source without a licence is reported, through every record that refers to it', async () => {
  const { corpus_id } = await corpus([{ id: 'a', lawful_basis: 'consent' }])
  const inner = await governed({ members: [member(corpus_id)] })
  const outer = await governed({ members: [member(inner.composition_id)], target_ref: 'outer' })
  for (const { license_verdict, members } of [inner, outer]) {
    assert.deepEqual(license_verdict.reported, [
      {
        license: `not SPDX: ${NO_LICENSE}`,
        members: [members[0].ref_id],
        why: 'a lawful basis is stated, and no licence',
      },
    ])
    assert.match(license_verdict.detail, /not judged: not SPDX: no licence is stated/)
  }
})

test('a claim for a certificate is compared with the artifact it is about', async () => {
  await register('adapters/gpl', { license: 'GPL-2.0-only' })
  const { certificate_id } = await landed('adapters/gpl')
  const { reasons } = await rejected({ members: [member(certificate_id)] })
  assert.match(reasons.join(), /claimed to be under "MIT", but is registered under another/)
  await governed({ members: [member(certificate_id, 'GPL-2.0')] })
})

test('the same holds where the artifact was registered after its certificate', async () => {
  const block = await blockOf([{ id: 'a', license: 'CC-BY-4.0' }])
  const { certificate_id } = await landed('adapters/later', block)
  await governed({ members: [member(certificate_id)] })
  await register('adapters/later', { license: 'GPL-2.0-only' })
  const { reasons } = await rejected({ members: [member(certificate_id)], target_ref: 'again' })
  assert.match(reasons.join(), /claimed to be under "MIT", but is registered under another/)
})

test('a certificate and its artifact inherit the licences of their corpus', async () => {
  const block = await blockOf([{ id: 'a', license: 'CC-BY-NC-ND-4.0' }])
  const { artifact_id } = await register('adapters/trained', { license: 'MIT' })
  const { certificate_id } = await landed('adapters/trained', block)
  for (const ref_id of [certificate_id, artifact_id, 'adapters/trained']) {
    const { reasons } = await rejected({ members: [member(ref_id)] })
    assert.match(reasons.join(), /^CC-BY-NC-ND-4\.0 .*adapted material/)
  }
})

test('registering a composition as an artifact does not remove its licences', async () => {
  const members = [member('adapters/nc', 'CC-BY-NC-4.0')]
  const { composition_id } = await governed({ members, target_ref: 'stacks/nc' })
  const { artifact_ref } = await ok('GET', `/compositions/${composition_id}/artifact`)
  const unregistered = await governed({ members: [member(artifact_ref)], target_ref: 'clean' })
  assert.equal(unregistered.license_verdict.expression, 'CC-BY-NC-4.0 AND MIT')
  const { artifact_id, certificate_id } = await certified(artifact_ref, { license: 'MIT' })
  for (const ref_id of [artifact_ref, artifact_id, certificate_id]) {
    const row = await governed({ members: [member(ref_id)], target_ref: `of ${ref_id}` })
    assert.equal(row.license_verdict.expression, 'CC-BY-NC-4.0 AND MIT')
    const { reasons } = await rejected({ members: [member(ref_id), member('x', 'GPL-3.0-only')] })
    assert.match(reasons.join(), /^CC-BY-NC-4\.0 with GPL-3\.0-only /)
  }
  // Another composition of the same name does not either.
  await governed({ members: [member('adapters/free')], target_ref: artifact_ref })
  const again = await governed({ members: [member(artifact_id)], target_ref: 'again' })
  assert.equal(again.license_verdict.expression, 'CC-BY-NC-4.0 AND MIT')
})

test('a record that states no licence is named as not compared', async () => {
  await certified('adapters/silent')
  const { composition_id } = await governed({ members: [member('adapters/silent')] })
  const { passed, not_checked } = await ok('GET', `/compositions/${composition_id}/verify`)
  assert.equal(passed, true)
  assert.match(not_checked.join('\n'), /license of "adapters\/silent": .* none to compare/)
})

test('the licences that a record states at the time of the approval count', async () => {
  await certified('stacks/late')
  const members = [member('stacks/late')]
  const policy_id = await scene.policy('hitl_required', { operations: ['compositions.compose'] })
  const { body } = await compose({ members, target_ref: 'waits' })
  const { composition_id } = body.detail
  await ok('PUT', `/governance/policies/${policy_id}`, { enabled: false })
  await governed({ members: [member('x', 'GPL-2.0-only')], target_ref: 'stacks/late' })
  const answer = await scene.ask('POST', `/compositions/${composition_id}/approve`, {
    approver: 'ben',
  })
  assert.deepEqual([answer.status, answer.body.error], [422, 'rejected'], answer.text)
  assert.match(answer.body.detail.reasons[0], /is not what it was when this was proposed/)
})
