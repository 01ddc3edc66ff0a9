// erasure.issue through HTTP: every outcome, twice, at once, refused, hidden from every read.

import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
const hex = (text: string): Uint8Array => Buffer.from(text, 'hex')

test('erasure.issue answers a certificate of what was observed, verifiable offline', async () => {
  const content = 'Nadia Moreau lives at 12 rue Oberkampf'
  const ref = await scene.write(content)
  const decision_id = await scene.decide({
    query: `Where does she live? Note: ${content}.`,
    output: 'I looked it up.',
    retrieved_refs: [ref],
    retrieved_contents: [content],
  })
  const answer = await scene.issue(ref, { legal_basis: 'Art. 17(1)(b)', requested_by: 'case 4711' })
  assert.equal(answer.status, 200, answer.text)
  const certificate = answer.body
  assert.equal(certificate.outcome, 'erased')
  assert.equal(certificate.deleted, true)
  assert.equal(certificate.memory_deleted, true)
  assert.equal(certificate.decision_records_scrubbed, 1)
  assert.equal(certificate.fact_ref, ref)
  assert.equal(certificate.store_id, scene.store_id)
  assert.equal(certificate.legal_basis, 'Art. 17(1)(b)')
  assert.equal(certificate.requested_by, 'case 4711')
  assert.equal(certificate.verified, true)
  assert.deepEqual(certificate.scrubbed_decision_ids, [decision_id])
  assert.deepEqual(certificate.coverage, {
    data: 'tombstoned',
    keyring: keyGoneHere(),
    index: 'absent',
    decisions: 'scrubbed',
  })
  assert.ok(certificate.redactions.some((r: { field: string }) => r.field === 'query'))
  assert.ok(certificate.verification.paths.length >= 8, JSON.stringify(certificate.verification))
  assert.ok(certificate.erasure_requested_at < certificate.erasure_completed_at)
  assert.equal(
    certificate.fact_content_hash,
    contentHash(hex(certificate.content_salt), content),
    'the salt of the first answer shows what was erased',
  )
  const keys = (await scene.api('GET', '/v1/gcrumbs/public_key')).body.keys
  const verdict = await verifyCertificate(certificate, keys)
  assert.equal(verdict.valid, true, verdict.reason)
  assert.ok(!answer.text.includes('Oberkampf'))
})

test('the log entry a certificate names records that erasure, and its digest follows', async () => {
  const ref = await scene.write('The badge number is 8812-441')
  const { body: certificate } = await scene.issue(ref)
  const { breadcrumbs } = (
    await scene.api('GET', `/v1/gcrumbs/breadcrumbs?limit=1000&offset=${certificate.log_seq}`)
  ).body
  assert.equal(breadcrumbs[0].seq, certificate.log_seq)
  assert.equal(breadcrumbs[0].event_type, 'memory.erased')
  assert.deepEqual(breadcrumbs[0].payload, { ref, predecessor: null })
  const certified = breadcrumbs.find(
    (crumb: { event_type: string }) => crumb.event_type === 'erasure.certified',
  )
  assert.equal(certified.subject, certificate.certificate_id)
  const digest = await crypto.subtle.digest(
    'SHA-256',
    Buffer.from(certificate.signed_bytes, 'base64'),
  )
  assert.equal(certified.payload.digest, Buffer.from(digest).toString('hex'))
})

test('an erased memory is on no read path, and its decision shows the marker', async () => {
  const content = 'Passport X1234567 belongs to Ilse Brandt'
  const ref = await scene.write(content, { metadata: { topic: 'passports' } })
  const decision_id = await scene.decide({
    query: 'Whose passport is it?',
    output: `As noted: ${content}`,
    retrieved_refs: [ref],
    retrieved_contents: [content],
  })
  await scene.issue(ref)
  const store = `/v1/stores/${scene.store_id}`
  const reads = [
    await scene.api('POST', `${store}/retrieve`, { query: content, budget_tokens: 4096 }),
    await scene.api('GET', `${store}/audit`),
    await scene.api('GET', `${store}/memories?limit=1000`),
    await scene.api('GET', `${store}/export`),
    await scene.api('GET', '/v1/decisions?limit=1000'),
    await scene.api('GET', '/v1/decisions/export'),
    await scene.api('GET', `/v1/decisions/${decision_id}`),
    await scene.api('GET', `/v1/decisions/${decision_id}/replay`),
  ]
  for (const { status, text } of reads) {
    assert.equal(status, 200)
    assert.ok(!text.includes('Ilse Brandt'), text.slice(0, 400))
  }
  assert.equal((await scene.api('GET', `${store}/memories/${ref}`)).status, 404)
  const { body: decision } = await scene.api('GET', `/v1/decisions/${decision_id}`)
  assert.deepEqual(decision.retrieved_contents, [MARKER])
  const { body: replay } = await scene.api('GET', `/v1/decisions/${decision_id}/replay`)
  assert.deepEqual(replay.facts_since_deleted, [ref])
})

test('issuing twice answers the first certificate with deleted:false and no salt', async () => {
  const ref = await scene.write('Her maiden name is Okonkwo')
  const first = (await scene.issue(ref)).body
  const second = await scene.issue(ref, { legal_basis: 'another basis' })
  assert.equal(second.status, 200)
  const { deleted, memory_deleted, content_salt, ...again } = second.body
  assert.equal(deleted, false)
  assert.equal(memory_deleted, false)
  assert.equal(content_salt, undefined)
  const { deleted: _, memory_deleted: _m, content_salt: _s, ...once } = first
  assert.deepEqual(again, once)
})

test('twenty requests at once for one memory give one certificate and delete once', async () => {
  const ref = await scene.write('The alarm code of the depot is 77-31-90')
  const answers = await Promise.all(Array.from({ length: 20 }, () => scene.issue(ref)))
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
  assert.equal(new Set(answers.map(({ body }) => body.certificate_id)).size, 1)
  assert.equal(answers.filter(({ body }) => body.deleted).length, 1)
})

test('a ref only decisions name is already_absent and its contents are scrubbed', async () => {
  const ref = 900_001
  const decision_id = await scene.decide({
    query: 'q',
    output: 'o',
    retrieved_refs: [ref],
    retrieved_contents: ['Copied from another system: Tomasz Zielinski'],
  })
  const { status, body } = await scene.issue(ref)
  assert.equal(status, 200)
  assert.equal(body.outcome, 'already_absent')
  assert.equal(body.deleted, false)
  assert.equal(body.fact_content_hash, null)
  assert.deepEqual(body.scrubbed_decision_ids, [decision_id])
  const { body: decision } = await scene.api('GET', `/v1/decisions/${decision_id}`)
  assert.deepEqual(decision.retrieved_contents, [MARKER])
  const again = (await scene.issue(ref)).body
  assert.equal(again.certificate_id, body.certificate_id)

  const later = await scene.decide({
    query: 'q2',
    output: 'o2',
    retrieved_refs: [ref],
    retrieved_contents: ['Tomasz Zielinski once more'],
  })
  const { body: stored } = await scene.api('GET', `/v1/decisions/${later}`)
  assert.deepEqual(stored.retrieved_contents, [MARKER], 'contents that arrive later are refused')
})

test('a ref nothing names is nothing_found, never the memory certificate', async () => {
  const ref = 900_002
  const { status, body } = await scene.issue(ref)
  assert.equal(status, 200)
  assert.equal(body.outcome, 'nothing_found')
  assert.equal(body.deleted, false)
  assert.equal(body.log_seq, null)
  assert.equal((await scene.api('GET', `/v1/erasure/fact/${ref}`)).status, 404)
  assert.equal((await scene.api('GET', `/v1/erasure/${body.certificate_id}`)).body.verified, true)
  const again = (await scene.issue(ref)).body
  assert.notEqual(again.certificate_id, body.certificate_id)
})

test('fact_content and memory_deleted are ignored, a ref of another type is a 422', async () => {
  const ref = await scene.write('Room 14 is for the works council')
  const { body } = await scene.issue(ref, { fact_content: 'something else', memory_deleted: false })
  assert.equal(body.deleted, true)
  assert.equal(
    body.fact_content_hash,
    contentHash(hex(body.content_salt), 'Room 14 is for the works council'),
  )
  for (const fact_ref of ['1', 1.5, null, -1, {}, 2 ** 53]) {
    const answer = await scene.api('POST', '/v1/erasure/issue', { fact_ref })
    assert.equal(answer.status, 422, JSON.stringify(fact_ref))
  }
})

test('with store_id, a memory of another store is refused and stays', async () => {
  const ref = await scene.write('Stays where it is')
  const other = (await scene.api('POST', '/v1/stores', {})).body.store_id
  const refused = await scene.issue(ref, { store_id: other })
  assert.equal(refused.status, 404)
  assert.equal(refused.body.error, 'memory_not_found')
  const store = `/v1/stores/${scene.store_id}`
  assert.equal((await scene.api('GET', `${store}/memories/${ref}`)).status, 200)
  assert.equal((await scene.issue(ref, { store_id: scene.store_id })).body.deleted, true)
})

test('a credential limited to other stores can neither erase nor see', async () => {
  const ref = await scene.write('Out of reach of the limited key')
  const other = (await scene.api('POST', '/v1/stores', {})).body.store_id
  const { body: limited } = await scene.api('POST', '/v1/keys', {
    name: 'limited',
    class: 'service',
    scopes: ['erasure:execute', 'memory:read'],
    allowed_stores: [other],
  })
  const as = (method: string, path: string, body?: unknown) =>
    scene.service.request(method, path, {
      key: limited.api_key,
      ...(body === undefined ? {} : { body }),
    })
  const refused = await as('POST', '/v1/erasure/issue', { fact_ref: ref })
  const unknown = await as('POST', '/v1/erasure/issue', { fact_ref: 987_654 })
  assert.equal(refused.status, 404)
  assert.equal(unknown.status, 404)
  const certificate = (await scene.issue(ref)).body
  assert.equal((await as('POST', '/v1/erasure/issue', { fact_ref: ref })).status, 404)
  assert.equal((await as('GET', `/v1/erasure/fact/${ref}`)).status, 404)
  assert.equal((await as('GET', `/v1/erasure/${certificate.certificate_id}`)).status, 404)
  assert.equal((await as('GET', '/v1/erasure')).body.count, 0)
  assert.equal((await as('GET', '/v1/erasure/stats')).body.total, 0)
})

test('one idempotency key: the same body replays, another body does nothing', async () => {
  const [ref, other] = [await scene.write('First of two'), await scene.write('Second of two')]
  const headers = { 'idempotency-key': 'erase-first' }
  const send = (fact_ref: number) => scene.api('POST', '/v1/erasure/issue', { fact_ref }, headers)
  const first = await send(ref)
  const replayed = await send(ref)
  assert.equal(replayed.body.certificate_id, first.body.certificate_id)
  assert.equal(replayed.body.deleted, true)
  assert.equal(replayed.body.content_salt, undefined)
  const refused = await send(other)
  assert.equal(refused.status, 409)
  assert.equal(refused.body.error, 'idempotency_key_reused')
  const store = `/v1/stores/${scene.store_id}`
  assert.equal((await scene.api('GET', `${store}/memories/${other}`)).status, 200)
})

test('two tenants have memories with one number: erasing one leaves the other', async () => {
  const stranger = await scene.service.createTenant('stranger')
  const as = (method: string, path: string, body?: unknown) =>
    scene.service.request(method, path, {
      key: stranger.api_key,
      ...(body === undefined ? {} : { body }),
    })
  const { store_id } = (await as('POST', '/v1/stores', {})).body
  const { ref } = (await as('POST', `/v1/stores/${store_id}/write`, { content: 'theirs' })).body
  await scene.issue(ref)
  assert.equal((await as('GET', `/v1/stores/${store_id}/memories/${ref}`)).body.content, 'theirs')
  assert.equal((await as('GET', `/v1/erasure/fact/${ref}`)).status, 404)
})

test('without a signing key the answer is 503 and the memory is still there', async () => {
  const own = await openScene()
  try {
    const ref = await own.write('Must survive the missing key')
    await own.service.kernel.keyring.retireSigningKey('erasure', '2030-01-01T00:00:00.000000Z')
    const refused = await own.issue(ref)
    assert.equal(refused.status, 503)
    assert.equal(refused.body.error, 'no_signing_key')
    const store = `/v1/stores/${own.store_id}`
    const deleted = await own.api('POST', `${store}/delete`, { ref })
    assert.equal(deleted.status, 503)
    assert.equal((await own.api('DELETE', store)).status, 503)
    const { body } = await own.api('GET', `${store}/memories/${ref}`)
    assert.equal(body.content, 'Must survive the missing key')
  } finally {
    await own.stop()
  }
})

function filesUnder(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => join(dir, name))
    .filter((path) => statSync(path).isFile())
}

function hits(dirs: readonly string[], needles: readonly (string | Buffer)[]): string[] {
  return dirs.flatMap(filesUnder).flatMap((path) => {
    const bytes = readFileSync(path)
    return needles.filter((needle) => bytes.includes(needle)).map((needle) => `${path}: ${needle}`)
  })
}

test('neither the content nor its secret is in any file after it was erased', async () => {
  const copies = mkdtempSync(join(tmpdir(), 'custos-ledger-'))
  const scene = await openScene({ config: { ledger_copy: join(copies, 'ledger.ndjson') } })
  try {
    const canary = 'canary-3f81-Anneliese-Vogt'
    const content = `${canary} keeps bees in Freiburg`
    const ref = await scene.write(content, { metadata: { note: `${canary}-metadata` } })
    await scene.decide({
      query: `Who keeps bees? ${content}`,
      output: `${content} indeed`,
      retrieved_refs: [ref],
      retrieved_contents: [content],
      parameters: { hint: 'bees' },
    })
    const secrets = await scene.service.kernel.keyring.secrets(scene.tenant_id, 'fact', [ref])
    const secret = secrets.get(ref)
    assert.ok(secret)
    const needles = [canary, Buffer.from(canary).toString('base64').slice(0, 20), 'Freiburg']
    const issued = await scene.issue(ref)
    const salt: string = issued.body.content_salt
    assert.equal(salt.length, 64)
    needles.push(salt, Buffer.from(salt, 'hex').toString('base64'))
    const dirs = [scene.service.data_dir, copies]
    assert.deepEqual(hits(dirs, [...needles, secret, Buffer.from(salt, 'hex')]), [])
    await scene.stop({ keep: true })
    assert.deepEqual(hits(dirs, [...needles, secret, Buffer.from(salt, 'hex')]), [])
  } finally {
    rmSync(scene.service.data_dir, { recursive: true, force: true })
    rmSync(copies, { recursive: true, force: true })
  }
})

test("a self-test is apart in 'erasure.stats', whatever reasons its erasures give", async () => {
  const made = await scene.api('POST', '/v1/stores', { name: 'test', self_test: true })
  const path = `/v1/stores/${made.body.store_id}`
  const usage = async () => {
    const { body } = await scene.api('GET', '/v1/monitoring/stats')
    return body.usage_this_month.deletes
  }
  const statistics = async () => (await scene.api('GET', '/v1/erasure/stats')).body
  const [before, deletes] = [await statistics(), await usage()]
  const refs: number[] = []
  for (const content of ['synthetic one', 'synthetic two'])
    refs.push((await scene.api('POST', `${path}/write`, { content })).body.ref)
  const { body: certificate } = await scene.issue(refs[0] ?? -1, { legal_basis: 'Article 17' })
  assert.deepEqual(
    [certificate.outcome, certificate.legal_basis, certificate.requested_by],
    ['erased', 'none: synthetic data of a self-test', 'self_test'],
  )
  await scene.api('DELETE', path)
  await scene.service.kernel.jobs.idle()
  assert.deepEqual(await statistics(), { ...before, self_tests: before.self_tests + 2 })
  assert.equal(await usage(), deletes)
  const real = await scene.write('Ana is in Porto')
  const { body } = await scene.issue(real)
  assert.equal(body.legal_basis, 'GDPR Article 17 — Right to Erasure')
  assert.equal((await statistics()).total, before.total + 1)
  assert.equal(await usage(), deletes + 1)
})
