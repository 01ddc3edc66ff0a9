// Issuing certificates: what is computed, what is refused, and that answers verify offline.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { manifestDigest } from '@custos/proof'
import { CHECKS } from './index.ts'
import {
  AUTHORITY,
  BYTES,
  HASHES,
  openLandingScene,
  ROOT,
  request,
} from './testing/landing-scene.ts'

const scene = openLandingScene()

async function assertRejected(more: object, reason: RegExp): Promise<void> {
  const before = await scene.events()
  const { status, body, text } = await scene.issue(more)
  assert.equal(status, 422, text)
  assert.equal(body.error, 'rejected')
  assert.equal(body.detail.status, 'rejected')
  assert.match(body.detail.reasons.join('\n'), reason)
  assert.deepEqual(await scene.ok('GET', '/landing/stats'), {}, 'something was stored')
  assert.deepEqual(await scene.events(), before)
}

async function assertUnissued(more: object): Promise<void> {
  const before = await scene.ok('GET', '/landing/stats')
  assert.equal((await scene.issue(more)).body.error, 'rejected')
  assert.deepEqual(await scene.ok('GET', '/landing/stats'), before)
}

test('a blank name or kind is refused before anything is checked or stored', async () => {
  for (const blank of [' ', '\ufeff', '\u3000'])
    for (const field of ['artifact_ref', 'base_model_ref', 'kind']) {
      const { status, body } = await scene.issue({ [field]: blank })
      assert.deepEqual([status, body.error], [422, 'validation'], field)
      assert.match(body.detail[0].msg, /white space/)
    }
  assert.deepEqual(await scene.ok('GET', '/landing/stats'), {})
})

test("G1 G2 G3: 'landing.get', 'landing.list', 'landing.stats' show what was signed", async () => {
  const document = await scene.issued()
  const { certificate_id } = document
  assert.deepEqual(
    [document.schema_version, document.version, document.record_kind],
    ['lc/1', 'lc/1', 'landing'],
  )
  assert.deepEqual(document.artifact, {
    artifact_ref: 'adapters/support',
    base_model_ref: 'models/base-7b',
    kind: 'lora+rag',
    layer_hashes: HASHES,
    manifest_digest: manifestDigest({
      base_model_ref: 'models/base-7b',
      kind: 'lora+rag',
      layer_hashes: HASHES,
    }),
  })
  const { trust_tier, ...named } = AUTHORITY
  assert.deepEqual(document.authority, { ...named, claimed_tier: trust_tier, trust_tier })
  assert.deepEqual(document.claimed_conformance, { result: 'pass', harness_version: 'own/3' })
  assert.deepEqual(document.permitted_actions, ['answer', 'summarise'])

  const row = await scene.ok('GET', `/landing/${certificate_id}`)
  assert.deepEqual(row.document, document)
  assert.deepEqual([row.certificate_id, row.status], [certificate_id, 'issued'])
  assert.deepEqual(row.conformance, document.conformance)
  assert.equal(row.signer_public_key, document.public_key)
  const verdict = await scene.offline(row.document)
  assert.equal(verdict.valid, true, verdict.reason)
  assert.deepEqual(await scene.ok('GET', '/landing/stats'), { issued: 1 })
  const { certificates, count } = await scene.ok('GET', '/landing')
  assert.deepEqual([certificates, count], [[row], 1])
  assert.equal((await scene.events()).at(-1), 'landing.issued')
})

test("G4: 'landing.verify' recomputes everything and gives five answers", async () => {
  const block = await scene.corpus()
  const { certificate_id } = await scene.issued({ data_provenance: block })
  const verified = await scene.verify(certificate_id)
  assert.equal(verified.passed, true, verified.reason)
  assert.deepEqual([verified.status, verified.reason], ['issued', null])
  assert.deepEqual(verified.reconstruction, {
    what: 'adapters/support on models/base-7b',
    from_where: block.corpus_hash,
    under_whom: 'ana@example.org @ verified',
    cleared_how: 'pass',
    may_do: ['answer', 'summarise'],
  })
  const names = Object.keys(verified.checks)
  for (const name of [...CHECKS, 'corpus_sealed']) assert.ok(names.includes(name), name)
  assert.ok(Object.values(verified.checks).every((passed) => passed === true))
  assert.ok(verified.not_checked.length > 0)
})

test('a subject without outside evidence is issued, and not passed', async () => {
  const { certificate_id, conformance } = await scene.issued()
  assert.deepEqual(
    [conformance.result, conformance.per_policy.authority],
    ['not_checked', 'pass'],
    'two free texts are no finding',
  )
  const { passed, reason, checks, reconstruction } = await scene.verify(certificate_id)
  assert.deepEqual([passed, reason], [true, null])
  assert.equal(reconstruction.cleared_how, 'not_checked')
  assert.deepEqual(
    [checks.conformance_not_failed, 'conformance_pass' in checks],
    [true, false],
    'nothing says that it passed',
  )
})

test('with any outside evidence it passes', async () => {
  const results: string[] = []
  const issue = async (more: object) => results.push((await scene.issued(more)).conformance.result)
  await issue({ layer_bytes: BYTES.map((bytes) => bytes.toString('base64')) })
  await issue({ data_provenance: await scene.corpus() })
  await scene.register()
  await issue({})
  assert.deepEqual(results, ['pass', 'pass', 'pass'])
})

test('G6: provenance without a sealed root is refused, in every form', async () => {
  const roots = [undefined, null, '', true, 7, 'sealed', 'g'.repeat(64), `${ROOT}0`, [ROOT]]
  for (const merkle_root of roots)
    await assertRejected({ data_provenance: { merkle_root } }, /unsealed/)
})

test('G7: bytes that do not match the digests are refused, fewer and more too', async () => {
  const sent = BYTES.map((bytes) => bytes.toString('base64'))
  const wrong = [[], sent.slice(0, 1), [...sent, sent[0]], sent.toReversed(), [sent[0], '']]
  for (const layer_bytes of wrong) await assertRejected({ layer_bytes }, /layer_bytes/)
  const { conformance, not_checked } = await scene.issued({ layer_bytes: sent })
  assert.deepEqual(
    [conformance.per_policy.artifact_integrity, conformance.evidence.layer_bytes],
    ['pass', 'match'],
  )
  assert.ok(!not_checked.join().includes('bytes'))
})

test("G8: 'landing.issue' stores a denial with its reason, and signs nothing", async () => {
  const policy_id = await scene.rule('deny')
  const { status, body } = await scene.issue()
  assert.equal(status, 403)
  assert.equal(body.error, 'policy_denied')
  const { certificate_id } = body.detail
  assert.deepEqual([body.detail.status, body.detail.policy_id], ['denied', policy_id])
  const row = await scene.ok('GET', `/landing/${certificate_id}`)
  assert.deepEqual(
    [row.status, row.document, row.signature, row.conformance],
    ['denied', null, null, null],
  )
  const verified = await scene.verify(certificate_id)
  assert.deepEqual([verified.passed, verified.reconstruction], [false, {}])
  assert.deepEqual(verified.checks, Object.fromEntries(CHECKS.map((name) => [name, false])))
  assert.equal((await scene.events()).at(-1), 'landing.denied')
})

test('G10: an id is 32 hex characters and follows from what was proposed', async () => {
  const [one, two] = [await scene.issued(), await scene.issued()]
  assert.match(one.certificate_id, /^[0-9a-f]{32}$/)
  assert.notEqual(one.certificate_id, two.certificate_id)
  const { checks } = await scene.verify(one.certificate_id)
  assert.deepEqual([checks.certificate_id, checks.proposal_digest], [true, true])
  const moved = await scene.offline({ ...one, certificate_id: two.certificate_id })
  assert.ok(moved.checks.some(({ name, ok }) => name === 'certificate_id' && !ok))
})

describe('a claim is recorded and never believed', () => {
  test('one that fails, as a whole or in a part, does not issue', async () => {
    await assertRejected({ conformance: { result: 'fail' } }, /claims the result fail/)
    for (const name of ['authority', 'a check of their own'])
      await assertRejected(
        { conformance: { result: 'pass', per_policy: { [name]: 'fail' } } },
        /claims that (authority|a check) fails/,
      )
  })

  test('one that passes a check that fails does not issue', async () => {
    const conformance = { result: 'pass', per_policy: { authority: 'pass' } }
    await assertRejected({ conformance, authority: {} }, /claims that authority passes/)
  })

  test('with members of its own it is recorded; what fails in it fails', async () => {
    const per_policy = { authority: 'n/a', bias: true, 'own check': '0.93 of 1', empty: '' }
    const { claimed_conformance } = await scene.issued({
      conformance: { result: 'pass', per_policy },
    })
    assert.deepEqual(claimed_conformance, { result: 'pass', per_policy })
    await assertUnissued({ conformance: { result: 'pass', per_policy: { bias: false } } })
    await scene.register({ layers: [{ digest: 'f'.repeat(64) }] })
    const conformance = { result: 'pass', per_policy: { artifact_integrity: true } }
    const { body } = await scene.issue({ conformance })
    assert.match(body.detail.reasons.join(), /claims that artifact_integrity passes/)
    for (const value of [1, null, {}, ['pass']]) {
      const { status, body: refused } = await scene.issue({
        conformance: { result: 'pass', per_policy: { bias: value } },
      })
      assert.deepEqual([status, refused.error], [422, 'validation'])
    }
  })

  test('a result that is none is refused: 422', async () => {
    for (const conformance of [{ result: 'passed' }, { result: true }, 'pass']) {
      const { status, body } = await scene.issue({ conformance })
      assert.deepEqual([status, body.error], [422, 'validation'])
    }
  })

  test('nobody has to claim anything: without a claim `not_checked` is recorded', async () => {
    for (const conformance of [undefined, null, {}, { result: null }]) {
      const { claimed_conformance, certificate_id } = await scene.issued({ conformance })
      assert.deepEqual(claimed_conformance, { result: 'not_checked' })
      const { passed } = (await scene.ask('GET', `/landing/${certificate_id}/verify`)).body
      assert.equal(passed, true)
    }
  })

  test('what it passes and no check covers stays unchecked', async () => {
    const claim = { result: 'pass', per_policy: { data_provenance: 'pass' }, note: { by: ['me'] } }
    const { conformance, claimed_conformance } = await scene.issued({ conformance: claim })
    assert.deepEqual(claimed_conformance, claim)
    assert.equal(conformance.per_policy.data_provenance, 'not_checked')
  })
})

describe('the authority', () => {
  test('names a delegation and a person, or nothing is issued', async () => {
    await assertRejected({ authority: { ...AUTHORITY, delegation_ref: null } }, /delegation_ref/)
    await assertRejected({ authority: { ...AUTHORITY, human_principal: ' ' } }, /human_principal/)
  })

  test('claims no more than its credential may', async () => {
    const key = await scene.key({
      scopes: ['compliance:read', 'compliance:admin'],
      max_trust_tier: 'basic',
    })
    const issue = (trust_tier: string) =>
      scene.ask('POST', '/landing/issue', request({ authority: { ...AUTHORITY, trust_tier } }), {
        key,
      })
    const above = await issue('verified')
    assert.equal(above.status, 422, above.text)
    assert.match(above.body.detail.reasons.join(), /basic at most/)
    const within = await issue('basic')
    assert.equal(within.body.authority.trust_tier, 'basic')
  })

  test('is untrusted where it claims nothing', async () => {
    const { trust_tier: _, ...authority } = AUTHORITY
    const document = await scene.issued({ authority })
    assert.deepEqual(
      [document.authority.claimed_tier, document.authority.trust_tier],
      [null, 'untrusted'],
    )
  })
})

test('digests count by their value, with and without the name of the hash', async () => {
  const spelled = HASHES.map((hash) => `sha256:${hash.toUpperCase()}`)
  const merkle_root = `sha256:${ROOT.replaceAll('5', 'A')}`
  const document = await scene.issued({ layer_hashes: spelled, data_provenance: { merkle_root } })
  assert.deepEqual(document.artifact.layer_hashes, HASHES)
  assert.equal(document.data_provenance.merkle_root, 'a'.repeat(64))
})

test('a retry with the same key is the same certificate, another body a conflict', async () => {
  const { service, api_key: key } = scene
  const issue = (body: object) =>
    service.request('POST', '/v1/landing/issue', {
      key,
      body,
      headers: { 'idempotency-key': 'once' },
    })
  const [first, again] = [await issue(request()), await issue(request())]
  assert.deepEqual([first.status, again.status], [201, 201], again.text)
  assert.deepEqual(again.body, first.body)
  assert.equal((await issue(request({ kind: 'full' }))).body.error, 'idempotency_key_reused')
  assert.deepEqual(await scene.ok('GET', '/landing/stats'), { issued: 1 })
})

test('members that are too long are refused before anything is signed', async () => {
  await assertRejected(
    { conformance: { result: 'pass', note: 'x'.repeat(16 * 1024) } },
    /conformance is longer/,
  )
  await assertRejected(
    { data_provenance: { merkle_root: ROOT, note: 'x'.repeat(512 * 1024) } },
    /data_provenance is longer/,
  )
})

test('a page shows every certificate once, while others are issued', async (t) => {
  const ids: string[] = []
  for (let i = 0; i < 13; i += 1) ids.unshift((await scene.issued()).certificate_id)
  const { db } = scene.service.kernel
  const read = db.read.bind(db)
  let issuing = false
  t.mock.method(db, 'read', async (...args: Parameters<typeof read>) => {
    const found = await read(...args)
    if (Array.isArray(found) && found.length > 1 && !issuing) {
      issuing = true
      await scene.issued()
    }
    return found
  })
  const { certificates } = await scene.ok('GET', '/landing?limit=13')
  const shown = certificates.map((one: { certificate_id: string }) => one.certificate_id)
  assert.equal(issuing, true)
  assert.deepEqual(shown, ids)
})

test('unknown ids and ids of other tenants are the same 404', async () => {
  const { certificate_id } = await scene.issued()
  const other = await scene.service.createTenant()
  for (const id of [certificate_id, 'f'.repeat(32)])
    for (const [method, path] of [
      ['GET', `/landing/${id}`],
      ['GET', `/landing/${id}/verify`],
      ['POST', `/landing/${id}/approve`],
      ['POST', `/landing/${id}/reject`],
    ] as const) {
      const body = method === 'POST' ? { approver: 'bo' } : undefined
      const { status, body: answered } = await scene.ask(method, path, body, { key: other.api_key })
      assert.deepEqual([status, answered.error], [404, 'landing_not_found'], `${method} ${path}`)
    }
})
