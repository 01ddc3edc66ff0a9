// decisions.redact through HTTP: a decision's own text removed, certified, once.

import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { contentHash, verifyCertificate } from '@custos/proof'
import { openScene, type Scene } from '../../testing/erasure-scene.ts'
import { keyGoneHere } from '../../testing/test-data.ts'

let scene: Scene

before(async () => {
  scene = await openScene()
})
after(() => scene.stop())

const MARKER = '[REDACTED — GDPR Article 17]'
const QUERY = 'Is Pavel Dvorak solvent?'
const OUTPUT = 'Pavel Dvorak earns 41,000 a year.'

const decide = () => scene.decide({ query: QUERY, output: OUTPUT, parameters: { who: 'Pavel' } })
const redact = (id: string, body?: unknown) =>
  scene.api('POST', `/v1/decisions/${id}/redact`, body ?? {})

test('decisions.redact removes query, output and parameters and certifies it', async () => {
  const id = await decide()
  const before = (await scene.api('GET', `/v1/decisions/${id}`)).body
  const { status, body, text } = await redact(id, { legal_basis: 'Art. 17(1)(d)' })
  assert.equal(status, 200, text)
  assert.equal(body.outcome, 'erased')
  assert.equal(body.fact_ref, null)
  assert.equal(body.decision_id, id)
  assert.equal(body.legal_basis, 'Art. 17(1)(d)')
  assert.deepEqual(body.scrubbed_decision_ids, [id])
  assert.deepEqual(body.coverage, { data: 'scrubbed', keyring: keyGoneHere() })
  const salt = Buffer.from(body.content_salt, 'hex')
  assert.equal(body.fact_content_hash, contentHash(salt, `${QUERY}\x1f${OUTPUT}`))
  const { keys } = (await scene.api('GET', '/v1/gcrumbs/public_key')).body
  assert.equal((await verifyCertificate(body, keys)).valid, true)

  const after = (await scene.api('GET', `/v1/decisions/${id}`)).body
  assert.equal(after.query, MARKER)
  assert.equal(after.output, MARKER)
  assert.equal(after.redacted, true)
  for (const field of ['decision_id', 'record_digest', 'signature', 'timestamp', 'log_seq'])
    assert.deepEqual(after[field], before[field], field)
  const all = (await scene.api('GET', '/v1/decisions/export')).text
  assert.ok(!all.includes('Pavel'))
  const { breadcrumbs } = (
    await scene.api('GET', `/v1/gcrumbs/breadcrumbs?offset=${body.log_seq}&limit=1`)
  ).body
  assert.equal(breadcrumbs[0].event_type, 'decision.redacted')
  assert.equal(breadcrumbs[0].payload.certificate_id, body.certificate_id)
})

test('redacting twice answers the first certificate, and the list and stats know it', async () => {
  const id = await decide()
  const first = (await redact(id)).body
  const second = (await redact(id)).body
  assert.equal(second.certificate_id, first.certificate_id)
  assert.equal(second.deleted, false)
  const { certificates } = (await scene.api('GET', '/v1/erasure')).body
  assert.equal(certificates[0].certificate_id, first.certificate_id)
  assert.equal((await scene.api('GET', '/v1/erasure/stats')).body.redactions, 2)
})

test('an unknown decision and a decision of another tenant are the same 404', async () => {
  const id = await decide()
  const stranger = await scene.service.createTenant('stranger')
  const foreign = await scene.service.request('POST', `/v1/decisions/${id}/redact`, {
    key: stranger.api_key,
    body: {},
  })
  const unknown = await redact('0'.repeat(32))
  assert.equal(foreign.status, 404)
  assert.equal(unknown.status, 404)
  assert.equal(foreign.body.error, 'decision_not_found')
  assert.equal((await scene.api('GET', `/v1/decisions/${id}`)).body.query, QUERY)
})

test('a memory of a redacted decision can be erased, and the other way round', async () => {
  const content = 'Pavel Dvorak has two loans'
  const ref = await scene.write(content)
  const used = {
    query: 'q',
    output: `so: ${content}`,
    retrieved_refs: [ref],
    retrieved_contents: [content],
  }
  const before = await scene.decide(used)
  const after = await scene.decide(used)
  await redact(before)
  const { body } = await scene.issue(ref)
  assert.deepEqual(body.scrubbed_decision_ids.toSorted(), [before, after].toSorted())
  const redacted = (await redact(after)).body
  assert.equal(redacted.verified, true)
  assert.ok(!(await scene.api('GET', '/v1/decisions/export')).text.includes('two loans'))
})

test('decisions.redact honours an idempotency key and refuses it for another body', async () => {
  const id = await decide()
  const headers = { 'idempotency-key': 'redact-once' }
  const send = (body: unknown) => scene.api('POST', `/v1/decisions/${id}/redact`, body, headers)
  const first = await send({})
  const replayed = await send({})
  assert.equal(replayed.body.certificate_id, first.body.certificate_id)
  assert.equal(replayed.body.deleted, true)
  assert.equal(replayed.body.content_salt, undefined)
  const refused = await send({ legal_basis: 'another' })
  assert.equal(refused.status, 409)
  assert.equal(refused.body.error, 'idempotency_key_reused')
})

test('without a signing key a decision is not redacted', async () => {
  const own = await openScene()
  try {
    const id = await own.decide({ query: QUERY, output: OUTPUT })
    await own.service.kernel.keyring.retireSigningKey('erasure', '2030-01-01T00:00:00.000000Z')
    const refused = await own.api('POST', `/v1/decisions/${id}/redact`, {})
    assert.equal(refused.status, 503)
    assert.equal(refused.body.error, 'no_signing_key')
    assert.equal((await own.api('GET', `/v1/decisions/${id}`)).body.query, QUERY)
  } finally {
    await own.stop()
  }
})

for (const at of [
  'erasure:planned',
  'erasure:ledger_recorded',
  'erasure:key_destroyed',
  'erasure:applied',
  'erasure:certified',
]) {
  test(`a redaction interrupted at ${at} is undone or finished by the next start`, async () => {
    let armed = false
    let gone = false
    const first = await openScene({
      step: (name) => {
        if (armed && name === at) gone = true
        if (gone) throw new Error('cut off')
      },
    })
    const decision = { query: QUERY, output: OUTPUT }
    const id = await first.decide(decision)
    armed = true
    assert.equal((await first.api('POST', `/v1/decisions/${id}/redact`, {})).status, 500)
    await first.stop({ keep: true })
    const again = await openScene({ data_dir: first.service.data_dir }, first)
    try {
      const { body } = await again.api('GET', `/v1/decisions/${id}`)
      assert.equal(body.query, at === 'erasure:planned' ? QUERY : MARKER)
      const answer = await again.api('POST', `/v1/decisions/${id}/redact`, {})
      assert.equal(answer.status, 200)
      assert.equal(answer.body.verified, true)
      assert.equal((await again.api('GET', '/v1/erasure/stats')).body.redactions, 1)
    } finally {
      await again.stop()
    }
  })
}
