// Conformance: the tenant's registries are the evidence, and what they do not know is named.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { rawSql } from '../../testing/raw-sql.ts'
import {
  AUTHORITY,
  BYTES,
  digestOf,
  HASHES,
  openLandingScene,
  ROOT,
} from './testing/landing-scene.ts'

const scene = openLandingScene()
const NAMED_LOOKED_AT = 50
const ARTIFACT = { artifact_ref: 'adapters/support', base_model_ref: 'models/base-7b' }

const subject = (more: object = {}) => ({
  artifact_ref: 'adapters/support',
  layer_hashes: HASHES,
  data_provenance: { merkle_root: ROOT },
  ...more,
})
const check = (more?: object) => scene.ok('POST', '/landing/conformance', subject(more))

test("'landing.conformance' passes nothing unknown, and stores nothing", async () => {
  const before = await scene.events()
  const { result, per_policy, evidence, reasons, not_checked, harness_version } = await check()
  assert.deepEqual([harness_version, result, reasons], ['landing/1', 'not_checked', []])
  assert.deepEqual(per_policy, {
    artifact_integrity: 'not_checked',
    data_provenance: 'not_checked',
    authority: 'not_checked',
  })
  assert.deepEqual(evidence, { artifact_id: null, corpus_id: null, layer_bytes: 'not_sent' })
  for (const start of [
    'artifact:',
    'layer_hashes:',
    'data_provenance:',
    'authority.delegation_ref:',
  ])
    assert.ok(
      not_checked.some((text: string) => text.startsWith(start)),
      start,
    )
  assert.deepEqual(await scene.ok('GET', '/landing/stats'), {})
  assert.deepEqual(await scene.events(), before)
})

test('the check and the certificate agree on the same subject', async () => {
  const data_provenance = await scene.corpus()
  await scene.register()
  const given = { data_provenance, authority: AUTHORITY, kind: 'lora+rag' }
  const { reasons, not_checked, ...conformance } = await check({
    ...given,
    base_model_ref: 'models/base-7b',
  })
  const document = await scene.issued(given)
  assert.deepEqual(document.conformance, conformance)
  assert.deepEqual(document.not_checked, not_checked)
  assert.deepEqual(reasons, [])
  assert.deepEqual(new Set(Object.values(conformance.per_policy)), new Set(['pass']))
})

describe('an artifact', () => {
  test('registered with these layers passes, whatever else has the name', async () => {
    await scene.register({ layers: [{ digest: digestOf(Buffer.from('older')) }] })
    const { artifact_id } = await scene.register()
    for (const more of [{}, { base_model_ref: 'models/base-7b' }, { kind: 'lora+rag' }]) {
      const { per_policy, evidence, not_checked } = await check(more)
      assert.deepEqual([per_policy.artifact_integrity, evidence.artifact_id], ['pass', artifact_id])
      assert.ok(!not_checked.some((text: string) => text.startsWith('artifact:')))
    }
  })

  test('registered with other layers, fewer, more or in another order fails', async () => {
    await scene.register()
    const [one = '', two = ''] = HASHES
    for (const layer_hashes of [[one], [one, two, one], [two, one], [one, one]]) {
      const { result, per_policy, reasons } = await check({ layer_hashes })
      assert.deepEqual([result, per_policy.artifact_integrity], ['fail', 'fail'])
      assert.match(reasons.join(), /layer_hashes/)
      assert.equal((await scene.issue({ layer_hashes })).status, 422)
    }
    assert.equal((await check({ base_model_ref: 'models/other' })).result, 'fail')
    assert.equal((await check({ kind: 'full' })).result, 'fail')
  })

  test('that waits or was denied is no evidence', async () => {
    const config = { operations: ['artifacts.register'] }
    const made = { name: 'look', policy_type: 'hitl_required', config }
    await scene.ok('POST', '/governance/policies', { ...made, action: 'escalate' })
    const { detail } = await scene.register()
    assert.equal((await check()).per_policy.artifact_integrity, 'not_checked')
    await scene.ok('POST', `/artifacts/${detail.artifact_id}/reject`, { approver: 'bo' })
    assert.equal((await check()).per_policy.artifact_integrity, 'not_checked')
  })

  test('of another tenant is not known', async () => {
    await scene.register()
    const other = await scene.service.createTenant()
    const { body } = await scene.ask('POST', '/landing/conformance', subject(), {
      key: other.api_key,
    })
    assert.equal(body.per_policy.artifact_integrity, 'not_checked')
  })

  test('that was denied or waits, however often, does not hide a registered one', async () => {
    await scene.register()
    const layers = [{ digest: 'f'.repeat(64) }]
    const gate = { policy_type: 'hitl_required', config: { operations: ['artifacts.register'] } }
    for (const action of ['deny', 'escalate']) {
      const made = { ...gate, name: action, action }
      const { policy_id } = await scene.ok('POST', '/governance/policies', made)
      for (let i = 0; i <= NAMED_LOOKED_AT; i += 1) {
        const body = { ...ARTIFACT, kind: `kind ${i}`, layers }
        const { status } = await scene.ask('POST', '/artifacts/register', body)
        assert.equal(status, action === 'deny' ? 403 : 202)
      }
      const { status, body, text } = await scene.issue({ layer_hashes: ['e'.repeat(64)] })
      assert.deepEqual([status, body.error], [422, 'rejected'], text)
      await scene.ok('DELETE', `/governance/policies/${policy_id}`)
    }
    assert.equal((await scene.issued()).conformance.per_policy.artifact_integrity, 'pass')
  })

  test('bytes alone pass, and fail against another registration', async () => {
    const layer_bytes = BYTES.map((bytes) => bytes.toString('base64'))
    const { per_policy, evidence, not_checked } = await check({ layer_bytes })
    assert.deepEqual(
      [per_policy.artifact_integrity, evidence.layer_bytes, evidence.artifact_id],
      ['pass', 'match', null],
    )
    assert.ok(not_checked.some((text: string) => text.startsWith('artifact:')))
    const longer = BYTES.map((bytes) => Buffer.concat([bytes, bytes]).toString('base64'))
    assert.equal((await check({ layer_bytes: longer })).per_policy.artifact_integrity, 'fail')
    await scene.register({ layers: [{ digest: HASHES[0] }] })
    assert.equal((await check({ layer_bytes })).per_policy.artifact_integrity, 'fail')
  })
})

describe('a corpus', () => {
  const asked = async (data_provenance: object) => {
    const { per_policy, evidence } = await check({ data_provenance })
    return [per_policy.data_provenance, evidence.corpus_id]
  }

  test('passes by its block, its id, its root or its hash', async () => {
    await scene.corpus('another', ['x'])
    const block = await scene.corpus()
    const { corpus_id, merkle_root, corpus_hash, sources } = block
    for (const given of [
      block,
      { ...block, sources: sources.toReversed() },
      { merkle_root },
      { merkle_root, corpus_id },
      { merkle_root, corpus_hash },
      { merkle_root: `sha256:${merkle_root.toUpperCase()}`, corpus_id: null, sources: null },
    ])
      assert.deepEqual(await asked(given), ['pass', corpus_id], JSON.stringify(given))
  })

  test('that contradicts its description fails, and nothing is issued', async () => {
    const block = await scene.corpus()
    const other = await scene.corpus('another', ['x'])
    const { merkle_root, sources } = block
    for (const given of [
      { ...block, merkle_root: ROOT },
      { ...block, merkle_root: other.merkle_root },
      { ...block, corpus_hash: ROOT },
      { ...block, corpus_hash: other.corpus_hash },
      { ...block, sources: sources.slice(1) },
      { ...block, sources: [...sources, 'm-3'] },
      { ...block, sources: [] },
      { ...block, corpus_id: other.corpus_id },
      { ...block, corpus_id: 'one of another registry' },
      { merkle_root, corpus_hash: ROOT },
    ]) {
      assert.deepEqual(await asked(given), ['fail', null], JSON.stringify(given))
      const { status, body } = await scene.issue({ data_provenance: given })
      assert.deepEqual([status, body.error], [422, 'rejected'])
    }
    assert.deepEqual(await scene.ok('GET', '/landing/stats'), {})
  })

  test('is found by its root, however many were sealed since', { timeout: 120_000 }, async () => {
    const { merkle_root, corpus_hash, corpus_id } = await scene.corpus()
    for (let i = 0; i <= 50; i += 1) await scene.corpus(`later ${i}`, [`s-${i}`])
    assert.deepEqual(await asked({ merkle_root }), ['pass', corpus_id])
    assert.deepEqual(await asked({ merkle_root, corpus_hash }), ['pass', corpus_id])
    const given = { data_provenance: { merkle_root, corpus_hash: ROOT } }
    assert.deepEqual(await asked(given.data_provenance), ['fail', null])
    assert.equal((await scene.issue(given)).status, 422)
  })

  test('with the id of a record that does not exist is a contradiction', async () => {
    const { merkle_root, corpus_id } = await scene.corpus()
    for (const named of ['0'.repeat(32), corpus_id.toUpperCase()])
      for (const root of [merkle_root, ROOT]) {
        const data_provenance = { merkle_root: root, corpus_id: named }
        assert.deepEqual(await asked(data_provenance), ['fail', null], named)
        const { status, body } = await scene.issue({ data_provenance })
        assert.equal(status, 422)
        assert.match(body.detail.reasons.join(), /corpus_id/)
      }
  })

  test('of another registry is named as not checked', async () => {
    const data_provenance = { merkle_root: ROOT, corpus_id: 'hub/mails', corpus_hash: ROOT }
    const { conformance, not_checked } = await scene.issued({ data_provenance })
    assert.equal(conformance.per_policy.data_provenance, 'not_checked')
    for (const member of ['corpus_id', 'corpus_hash'])
      assert.ok(not_checked.includes(`data_provenance.${member}: as given`), member)
  })

  test('without a sealed root fails here, as issuing would', async () => {
    for (const merkle_root of [undefined, null, '', 'sealed', 7, 'g'.repeat(64)]) {
      const { result, per_policy, reasons } = await check({ data_provenance: { merkle_root } })
      assert.deepEqual([result, per_policy.data_provenance], ['fail', 'fail'])
      assert.match(reasons.join(), /unsealed/)
    }
  })

  test('of the same sources under another name does not interfere', async () => {
    const one = await scene.corpus('one')
    const two = await scene.corpus('two')
    assert.equal(one.merkle_root, two.merkle_root)
    const { merkle_root, corpus_hash } = one
    assert.deepEqual(await asked({ merkle_root, corpus_hash }), ['pass', one.corpus_id])
  })

  test('of another tenant is not known', async () => {
    const block = await scene.corpus()
    const other = await scene.service.createTenant()
    const body = subject({ data_provenance: block })
    const answer = await scene.ask('POST', '/landing/conformance', body, { key: other.api_key })
    const { corpus_id: _, ...unnamed } = block
    const root = subject({ data_provenance: unnamed })
    const byRoot = await scene.ask('POST', '/landing/conformance', root, { key: other.api_key })
    assert.equal(byRoot.body.per_policy.data_provenance, 'not_checked')
    // The same as any id that nobody has.
    const none = subject({ data_provenance: { ...block, corpus_id: '0'.repeat(32) } })
    assert.deepEqual(await scene.ok('POST', '/landing/conformance', none), answer.body)
  })

  test('further members are recorded, and named as not checked', async () => {
    const data_provenance = { merkle_root: ROOT, region: { of: ['eu', null] }, empty: null }
    const document = await scene.issued({ data_provenance })
    assert.deepEqual(document.data_provenance, { merkle_root: ROOT, region: { of: ['eu', null] } })
    assert.ok(document.not_checked.includes('data_provenance.region: as given'))
  })
})

test('a certificate whose evidence is gone no longer verifies', async () => {
  const block = await scene.corpus()
  const { certificate_id } = await scene.issued({ data_provenance: block })
  const alter = "update records set status = 'denied' where record_id = ? returning 1"
  await rawSql(scene.service, alter, [block.corpus_id])
  const { passed, checks, reason } = await scene.verify(certificate_id)
  assert.deepEqual([passed, checks.signature, checks.corpus_sealed], [false, true, false])
  assert.match(reason, /corpus_sealed/)
})
