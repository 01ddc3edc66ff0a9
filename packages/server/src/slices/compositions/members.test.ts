// Members with records: what is found is shown, and a claim that contradicts it is rejected.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { member, openCompositionScene } from './testing/composition-scene.ts'

const scene = openCompositionScene()
const { ok, governed, rejected, register, certified, landed, corpus } = scene

const unverified = async (composition_id: string): Promise<string[]> =>
  (await ok('GET', `/compositions/${composition_id}/verify`)).unverified_members

const escalateArtifacts = () => {
  const config = { operations: ['artifacts.register'] }
  return scene.policy('hitl_required', config, { name: 'four eyes' })
}

test('an artifact is found by its id and by its name, and is verified then', async () => {
  const { artifact_id } = await certified('adapters/a')
  const members = [member('adapters/a'), member(artifact_id), member('elsewhere')]
  const row = await governed({ members })
  const found = { kind: 'artifact', id: artifact_id, status: 'certified', licenses: [] }
  const foundOf = (ref: string) =>
    row.members.find(({ ref_id }: { ref_id: string }) => ref_id === ref)?.found
  assert.deepEqual(foundOf('adapters/a'), found)
  assert.deepEqual(foundOf(artifact_id), found)
  assert.equal(foundOf('elsewhere'), null)
  assert.deepEqual(await unverified(row.composition_id), ['elsewhere'])
})

test('certificates, corpora and compositions are found by their ids', async () => {
  const { certificate_id } = await landed('adapters/a')
  const { corpus_id } = await corpus()
  const { composition_id } = await governed()
  const ids = [certificate_id, corpus_id, composition_id]
  const row = await governed({ members: ids.map((id) => member(id)), target_ref: 'all' })
  const kinds = row.members.map(({ found }: { found: { kind: string; status: string } }) => [
    found.kind,
    found.status,
  ])
  assert.deepEqual(kinds.sort(), [
    ['composition', 'governed'],
    ['corpus', 'sealed'],
    ['landing', 'issued'],
  ])
  assert.deepEqual(await unverified(row.composition_id), [])
})

test('an artifact that is only registered is not certified, whatever is claimed', async () => {
  const { artifact_id } = await register('adapters/a')
  for (const ref_id of [artifact_id, 'adapters/a']) {
    const { reasons } = await rejected({ members: [member(ref_id)] })
    assert.deepEqual(reasons, [
      `"${ref_id}" is claimed to be certified, but the artifact found is registered`,
    ])
  }
})

test('records that wait or were denied certify nothing', async () => {
  await escalateArtifacts()
  const asked = await scene.ask('POST', '/artifacts/register', {
    ...{ artifact_ref: 'adapters/w', base_model_ref: 'base-7b' },
    layers: [{ digest: '0'.repeat(64) }],
  })
  const { artifact_id } = asked.body.detail
  const waits = await rejected({ members: [member('adapters/w')] })
  assert.match(waits.reasons.join(), /the artifact found is waiting_hitl/)
  await ok('POST', `/artifacts/${artifact_id}/reject`, { approver: 'ben' })
  const denied = await rejected({ members: [member(artifact_id)] })
  assert.match(denied.reasons.join(), /the artifact found is denied/)
  const { composition_id = '' } = await rejected({ authority: {} })
  const inner = await rejected({ members: [member(composition_id)] })
  assert.match(inner.reasons.join(), /the composition found is denied/)
})

test('of many artifacts of one name the newest registered one counts', async () => {
  const { artifact_id } = await certified('adapters/a')
  const row = await governed({ members: [member('adapters/a')] })
  assert.equal(row.members[0].found.id, artifact_id)
  const newer = await scene.ask('POST', '/artifacts/register', {
    ...{ artifact_ref: 'adapters/a', base_model_ref: 'base-8b' },
    layers: [{ digest: '0'.repeat(64) }],
  })
  assert.equal(newer.status, 201, newer.text)
  const { reasons } = await rejected({ members: [member('adapters/a')], target_ref: 'later' })
  assert.match(reasons.join(), /the artifact found is registered/)
})

test('a licence other than the registered one is rejected, another spelling is not', async () => {
  await certified('adapters/a', { license: 'Apache-2.0 OR MIT' })
  for (const license of ['MIT', 'GPL-2.0-only', 'proprietary']) {
    const { reasons } = await rejected({ members: [member('adapters/a', license)] })
    assert.deepEqual(reasons, [
      `"adapters/a" is claimed to be under "${license}", but is registered under another`,
    ])
  }
  await governed({ members: [member('adapters/a', '(mit or apache-2.0)')] })
  await certified('adapters/b', { license: '  ' })
  await certified('adapters/c', { license: 7 })
  await governed({ members: [member('adapters/b', 'MIT'), member('adapters/c', 'ISC')] })
})

test('records of another tenant are not found', async () => {
  const { artifact_id } = await certified('adapters/a')
  const other = await scene.service.createTenant()
  const members = [member(artifact_id), member('adapters/a')]
  const answer = await scene.compose({ members }, { key: other.api_key })
  assert.equal(answer.status, 201, answer.text)
  assert.ok(answer.body.members.every(({ found }: { found: unknown }) => found === null))
})

test('a registered artifact is found, however often its name was denied since', async () => {
  const { artifact_id } = await certified('adapters/a')
  const denying = await scene.policy(
    ...(['hitl_required', { operations: ['artifacts.register'] }] as const),
    { action: 'deny', name: 'none' },
  )
  for (let i = 0; i < 51; i += 1) {
    const answer = await scene.ask('POST', '/artifacts/register', {
      ...{ artifact_ref: 'adapters/a', base_model_ref: `base-${i}` },
      layers: [{ digest: '0'.repeat(64) }],
    })
    assert.equal(answer.status, 403, answer.text)
  }
  await ok('DELETE', `/governance/policies/${denying}`)
  const row = await governed({ members: [member('adapters/a')] })
  assert.deepEqual(
    [row.members[0].found.id, row.members[0].found.status],
    [artifact_id, 'certified'],
  )
})
