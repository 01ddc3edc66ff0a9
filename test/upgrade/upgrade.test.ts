// Data that an older version wrote: this version opens it, verifies it, serves it and goes on.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { cpSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { assertHolds, isSigned, LOG, reduced } from './testing/answers.ts'
import type { Body } from './testing/client.ts'
import { custosOk, fsckOk } from './testing/command-line.ts'
import { assertRestored, type Engine } from './testing/data.ts'
import { at, writeOnce } from './testing/fill-memory.ts'
import { approve } from './testing/fill-policies.ts'
import { decideAsSuccessor, HANDLE, INVOCATION } from './testing/fill-registries.ts'
import { Older } from './testing/opened.ts'

const PUBLIC_KEYS = '/v1/gcrumbs/public_key'
const ENGINES: readonly Engine[] = ['embedded', 'postgresql']
/** Words of what was erased, and of nothing else. */
const GONE = /bicycle|Iris|nuts|Visitors may stay|Nobody may read|Soon nobody/
const YEAR_HOURS = 366 * 24

for (const engine of ENGINES)
  describe(`data of an older version on ${engine}`, () => {
    let older: Older
    before(async () => {
      older = await Older.open(engine)
    })
    after(() => older?.remove())
    const given = () => older

    // In this order: what is read comes before what changes it.
    opening(given)
    reading(given)
    reporting(given)
    verifying(given)
    guarding(given)
    remembering(given)
    erased(given)
    goingOn(given)
    approving(given)
    using(given)
    leaving(given)
    moving(given, engine)
    afterAYear(given)
  })

type Given = () => Older

function opening(given: Given): void {
  test('is put in place as it was saved', async () => {
    await assertRestored(given().dir, given().database_url)
  })

  test('is sound to custos fsck before it is served', async () => {
    const { database_url } = given()
    if (database_url !== null) await custosOk(given().place(), ['migrate'])
    await given().fsck()
  })

  test('is restored by this version, beside its keyring', async () => {
    const older = given()
    if (older.database_url !== null) return
    const dir = older.place().settings['CUSTOS_DATA_DIR'] ?? ''
    const copy = join(older.dir, 'copy')
    cpSync(dir, copy, { recursive: true })
    const elsewhere = { ...older.place(), settings: { CUSTOS_DATA_DIR: copy } }
    await custosOk(elsewhere, ['restore', '--data', join(dir, 'custos.db'), '--force'])
    await fsckOk(elsewhere)
  })

  test('is served, by clocks that show the hour after it was written', async () => {
    await given().start()
    const { as_of } = await given().client('north').get('/v1/cgr/scores')
    const passed_ms = Date.parse(as_of) - Date.parse(given().kept.made_at)
    assert.ok(passed_ms >= 3_600_000 && passed_ms < 3_900_000, as_of)
  })
}

/** Purposes that were added since have a key too. */
const isOfOldPurpose = ({ purpose }: { purpose: string }): boolean =>
  purpose !== 'receipt' && purpose !== 'webhook'

function reading(given: Given): void {
  test('is answered as the older version answered it, scores to the last bit', async () => {
    for (const { who, path, body } of given().kept.recorded) {
      const now = await given().client(who).get(path)
      if (path === PUBLIC_KEYS) now.keys = now.keys.filter(isOfOldPurpose)
      assertHolds(reduced(path, now), body, `${who} ${path}`)
    }
  })

  test('verifies offline, what was kept of it then and what is answered now', async () => {
    const signed = given().kept.recorded.filter(isSigned)
    await given().verify(
      given().recorded('operator', PUBLIC_KEYS),
      signed.map(({ body }) => body),
    )
    const now: Body[] = []
    for (const { who, path } of signed) now.push(await given().client(who).get(path))
    const { north, gone } = given().known
    now.push(await given().client('north').get(`/v1/reports/${north.reports.kept}`))
    now.push(await given().client('north').get(LOG), await given().client('south').get(LOG))
    const left = await given()
      .client('operator')
      .get(`/v1/admin/tenants/${gone.tenant_id}/destruction`)
    assert.equal(left.verified, true)
    now.push(left.certificate)
    await given().verify(await given().client('operator').get(PUBLIC_KEYS), now)
  })
}

function reporting(given: Given): void {
  test('has its report as it was signed, and files of it', async () => {
    const client = given().client('north')
    const path = `/v1/reports/${given().known.north.reports.kept}`
    const report = await client.get(path)
    const { report_version, headline, tenant_name, sections } = report
    for (const absent of [report_version, headline, tenant_name]) assert.equal(absent, undefined)
    assert.ok(sections.length > 0)
    for (const { evidence, figures } of sections) {
      assert.ok(Object.values(evidence).every(Number.isInteger))
      assert.equal(figures, undefined)
    }
    const text = (await client.ask('GET', `${path}/download/json`)).text
    assert.deepEqual(JSON.parse(text), report)
    for (const [format, start] of [
      ['html', '<!doctype html>'],
      ['pdf', '%PDF-'],
      ['oscal', '{\n'],
    ] as const)
      assert.ok((await client.ask('GET', `${path}/download/${format}`)).text.startsWith(start))
  })
}

function verifying(given: Given): void {
  test('verifies by the service: registries, approvals, certificates, the whole log', async () => {
    const client = given().client('north')
    const { registries, approvals, erased } = given().known.north
    const { corpus_id, artifact_id, landing_id, composition_id, types, action_id } = registries
    const passed = [
      `/v1/provenance/corpora/${corpus_id}/verify`,
      `/v1/artifacts/${artifact_id}/verify`,
      `/v1/landing/${landing_id}/verify`,
      `/v1/compositions/${composition_id}/verify`,
      ...types.map((type_id) => `/v1/world-model/types/${type_id}/verify`),
      `/v1/world-model/actions/${action_id}/verify`,
      `/v1/hitl/requests/${approvals.approved.request_id}/verify`,
      `/v1/erasure/${erased.certificate_id}/verify`,
      `/v1/erasure/${erased.redaction_id}/verify`,
    ]
    for (const path of passed) {
      const verdict = await client.get(path)
      assert.ok(verdict.passed ?? verdict.valid, `${path}: ${JSON.stringify(verdict)}`)
    }
    const { status, tree_size } = await client.get('/v1/gcrumbs/verify?full=true')
    assert.deepEqual([status, tree_size], ['intact', given().recorded('north', LOG).length])
  })
}

function guarding(given: Given): void {
  test('is not shown to another tenant, nor to a limited, revoked or off-boarded key', async () => {
    const { north, gone } = given().known
    const { stores, refs } = north.memories
    const [ward, plain] = [stores.ward, stores.plain].map((store) => at(store, '/memories'))
    await given().client('south').refused(404, 'GET', String(ward))
    const reader = given().service.client(north.keys.reader)
    assert.equal((await reader.get(`${ward}/${refs.keys}`)).ref, refs.keys)
    await reader.refused(404, 'GET', String(plain))
    for (const key of [north.keys.revoked, gone.api_key])
      await given().service.client(key).refused(401, 'GET', '/v1/stores')
  })
}

const inStore = (older: Older, path: string): string =>
  at(older.known.north.memories.stores.ward, path)

function remembering(given: Given): void {
  const found = async (body: object): Promise<string[]> => {
    const answer = await given().client('north').post(inStore(given(), '/retrieve'), body)
    return answer.memories.map(({ content }: Body) => content)
  }

  test('is found by its words, by the time it was valid at, and within its namespace', async () => {
    const [first] = await found({ query: 'where are the spare keys' })
    assert.equal(first, 'The blue box holds the spare keys')
    const then = await found({ query: 'is bed 4 free', as_of: '2026-01-06T00:00:00Z' })
    assert.equal(then[0], 'Bed 4 is free')
    assert.deepEqual(await found({ query: 'tea', namespace: 'night' }), [
      'The night shift drinks tea',
    ])
    assert.ok(!(await found({ query: 'night shift tea' })).includes('The night shift drinks tea'))
  })

  test('takes a new version behind its newest one, and behind no other', async () => {
    const client = given().client('north')
    const { first, second, third } = given().known.north.memories.refs
    const path = inStore(given(), '/supersede')
    const refused = await client.refused(409, 'POST', path, { old_ref: first, content: 'No' })
    assert.equal(refused.error, 'superseded')
    const { ref } = await client.post(path, { old_ref: third, content: 'Bed 4 is being painted' })
    const chain = [first, second, third].map((one) =>
      client.get(inStore(given(), `/memories/${one}`)),
    )
    const next = (await Promise.all(chain)).map(({ superseded_by }) => superseded_by)
    assert.deepEqual(next, [second, third, ref])
    assert.equal((await found({ query: 'is bed 4 free' }))[0], 'Bed 4 is being painted')
  })

  test('answers a request that is repeated under its key, and writes nothing again', async () => {
    const { memories } = given().known.north
    const before = await given().client('north').get(inStore(given(), ''))
    const again = await writeOnce(given().client('north'), memories.stores.ward)
    assert.equal(again.ref, memories.refs.round)
    const { facts } = await given().client('north').get(inStore(given(), ''))
    assert.equal(facts, before.facts)
  })

  test('is exported, and imported into another store', async () => {
    const client = given().client('north')
    const { text } = await client.ask('GET', inStore(given(), '/export'))
    const { store_id } = await client.post('/v1/stores', { name: 'The same again' })
    const type = { 'content-type': 'application/x-ndjson' }
    const { imported } = await client.post(at(store_id, '/import'), text, type)
    const { memories } = await client.get(at(store_id, '/memories'))
    const { memories: kept } = await client.get(inStore(given(), '/memories'))
    const contents = (list: Body[]) => list.map(({ content }) => content).sort()
    assert.equal(imported, kept.length)
    assert.deepEqual(contents(memories), contents(kept))
  })
}

function erased(given: Given): void {
  test('keeps what was erased out of every text that is answered', async () => {
    const client = given().client('north')
    const { stores, refs, decisions } = given().known.north.memories
    for (const ref of [refs.bicycle, refs.iris, refs.visitors])
      await client.refused(404, 'GET', inStore(given(), `/memories/${ref}`))
    const paths = [stores.ward, stores.plain, 'default'].flatMap((store) => [
      at(store, '/export'),
      at(store, '/audit'),
    ])
    paths.push('/v1/decisions/export', '/v1/erasure', '/v1/erasure/subject', '/v1/governance/logs')
    for (const id of Object.values(decisions)) paths.push(`/v1/decisions/${id}/replay`)
    for (const path of paths) {
      const { status, text } = await client.ask('GET', path)
      assert.equal(status, 200, path)
      assert.doesNotMatch(text, GONE, path)
    }
    const query = 'Per Holm red bicycle, Iris Keller nuts, visitors until eight'
    const { memories } = await client.post(inStore(given(), '/retrieve'), { query })
    assert.doesNotMatch(JSON.stringify(memories), GONE)
  })

  test('certifies again what it has certified: the same certificate, nothing more', async () => {
    const { erased: known, memories } = given().known.north
    const client = given().client('north')
    const again = await client.post('/v1/erasure/issue', { fact_ref: memories.refs.bicycle })
    assert.equal(again.certificate_id, known.certificate_id)
    assert.equal(again.deleted, false)
    const hash = createHash('sha256').update(Buffer.from(known.content_salt, 'hex'))
    const content = hash.update('Per Holm owns a red bicycle').digest('hex')
    assert.equal(again.fact_content_hash, content)
  })
}

function goingOn(given: Given): void {
  test('has a log that goes on behind its old head and extends its old checkpoint', async () => {
    const client = given().client('north')
    const ids = given().recorded('north', LOG)
    const log = (await client.get(LOG)).breadcrumbs
    assert.deepEqual(reduced(LOG, { breadcrumbs: log.slice(0, ids.length) }), ids)
    const next = log[ids.length]
    assert.deepEqual([next.seq, next.prev_id], [ids.length, ids.at(-1)])
    const [last] = given().recorded('north', '/v1/gcrumbs/epochs').epochs.slice(-1)
    const rolled = await client.post('/v1/gcrumbs/roll')
    assert.deepEqual(
      [rolled.origin, rolled.generation, rolled.epoch_number],
      [last.origin, last.generation, last.epoch_number + 1],
    )
    const path = `/v1/gcrumbs/epochs/${rolled.epoch_number}/consistency?from=${last.epoch_number}`
    const proof = await client.get(path)
    assert.equal(proof.from_root, last.root_hash)
    await given().verify(await client.get(PUBLIC_KEYS), [proof, { breadcrumbs: log }])
  })

  test('has scores that go on, and that follow from its log', async () => {
    const client = given().client('north')
    const before = await client.get(`/v1/cgr/scores/${HANDLE}`)
    await decideAsSuccessor(client, given().known.north.tenant_id)
    await client.post('/v1/governed/outcomes', { invoice_ref: 'INV-7', outcome: 'paid' })
    const now = await client.get(`/v1/cgr/scores/${HANDLE}`)
    assert.equal(now.subject_did, before.subject_did)
    assert.equal(now.n_resolved, before.n_resolved + 1)
    // Ends with status 1 where a score or a record differs from the log.
    await custosOk(given().place(), ['cgr', 'recompute'])
  })

  test('counts the same again for the report of the same time', async () => {
    const client = given().client('north')
    const path = `/v1/reports/${given().known.north.reports.kept}`
    const { framework, period_start, period_end, log_seq, ...then } = await client.get(path)
    const asked = { framework, from: period_start, to: period_end, log_seq }
    const again = await client.post('/v1/reports/generate', asked)
    assert.equal(then.content_hash, given().recorded('north', path).content_hash)
    // These are of the version that makes the report.
    const ofVersion = ['catalogue_version', 'headline', 'limits']
    const counted = (content: object) =>
      Object.fromEntries(Object.entries(content).filter(([name]) => !ofVersion.includes(name)))
    assert.deepEqual(counted(again.content), counted(then.content))
  })

  test('passes the checks of assurance', async () => {
    // Not that of the clock: the one of the database is not shifted.
    const checks = ['chain', 'seals', 'ledger', 'policies']
    const { checks_results } = await given().client('north').post('/v1/assurance/run', { checks })
    assert.deepEqual(Object.keys(checks_results).sort(), checks.toSorted())
    for (const [name, check] of Object.entries<Body>(checks_results))
      assert.equal(check.status, 'pass', `${name}: ${JSON.stringify(check)}`)
  })
}

function approving(given: Given): void {
  test('lets the approver of then approve what has waited since', async () => {
    const client = given().client('north')
    const { waiting, late, approver_id } = given().known.north.approvals
    const decided = await approve(client, waiting.request_id, approver_id)
    assert.deepEqual([decided.status, decided.record_status], ['approved', 'registered'])
    const { requests } = await client.get('/v1/hitl/requests')
    assert.deepEqual(
      requests.map(({ request_id }: Body) => request_id),
      [late.request_id],
    )
    await given().verify(await client.get(PUBLIC_KEYS), [
      await client.get(`/v1/hitl/requests/${waiting.request_id}`),
      await client.get(`/v1/artifacts/${waiting.artifact_id}`),
    ])
  })

  test('holds to its policies', async () => {
    const client = given().client('north')
    const { ward } = given().known.north.memories.stores
    const shell = { operation: 'tool_execution', context: { tool_name: 'shell' } }
    assert.equal((await client.post('/v1/governance/evaluate', shell)).verdict, 'denied')
    const decision = { store_id: ward, model_id: 'model-a', query: 'Why?' }
    const forbidden = { ...decision, output: 'A forbidden word' }
    await client.refused(403, 'POST', '/v1/decisions/log', forbidden)
    const unlisted = { ...decision, model_id: 'model-z', output: 'Because' }
    await client.refused(403, 'POST', '/v1/decisions/log', unlisted)
    const { ref } = await client.post(inStore(given(), '/write'), {
      content: 'Ask ana@example.org',
    })
    const { content } = await client.get(inStore(given(), `/memories/${ref}`))
    assert.doesNotMatch(content, /example/)
    const artifact = { artifact_ref: 'adapters/new', base_model_ref: 'models/base-7b' }
    const layers = [{ digest: 'f6'.repeat(32) }]
    await client.refused(202, 'POST', '/v1/artifacts/register', { ...artifact, layers })
  })
}

function using(given: Given): void {
  test('takes decisions over its memories, and actions over its types', async () => {
    const client = given().client('north')
    const { stores, refs } = given().known.north.memories
    const { decision_id } = await client.post('/v1/decisions/log', {
      ...{ store_id: stores.ward, model_id: 'model-b', query: 'Where?', output: 'In the box' },
      retrieved_refs: [refs.keys],
    })
    const { memory_state } = await client.get(`/v1/decisions/${decision_id}/replay`)
    const used = memory_state.find(({ ref }: Body) => ref === refs.keys)
    assert.equal(used.content, 'The blue box holds the spare keys')
    const lacking = { ...INVOCATION, params: { note: 'no amount' } }
    const refused = await client.ask('POST', '/v1/world-model/actions/invoke', lacking)
    assert.ok(refused.status >= 400, refused.text)
    const other = { ...INVOCATION, subject_refs: [{ type: 'Invoice', ref: 'INV-2' }] }
    const invoked = await client.post('/v1/world-model/actions/invoke', other)
    assert.equal(invoked.gate, 'allowed')
  })
}

function leaving(given: Given): void {
  test('stands under its legal hold until that is released', async () => {
    const client = given().client('north')
    const { memories, hold_id } = given().known.north
    const path = at(memories.stores.plain, '/delete')
    const body = { ref: memories.refs.kept }
    const { error } = await client.refused(409, 'POST', path, body)
    assert.equal(error, 'legal_hold')
    await client.ok('DELETE', at(memories.stores.plain, `/holds/${hold_id}`))
    const { deleted, erasure_certificate_id } = await client.post(path, body)
    assert.equal(deleted, true)
    await given().verify(await client.get(PUBLIC_KEYS), [
      await client.get(`/v1/erasure/${erasure_certificate_id}`),
    ])
  })

  test('is destroyed with a tenant that leaves, and the certificate verifies', async () => {
    const operator = given().client('operator')
    const { tenant_id } = given().known.south
    const path = `/v1/admin/tenants/${tenant_id}`
    const confirm = `destroy ${tenant_id}`
    const { certificate } = await operator.post(`${path}/destroy-key`, { confirm })
    await operator.until(`${path}/destruction`, ({ removal }) => removal.state === 'removed')
    await given().client('south').refused(401, 'GET', '/v1/stores')
    await given().verify(await operator.get(PUBLIC_KEYS), [certificate])
  })
}

function moving(given: Given, engine: Engine): void {
  // On PostgreSQL the server's own tools copy.
  if (engine === 'postgresql') return

  test('is backed up while it is served, restored elsewhere, and sound there', async () => {
    const older = given()
    const copies = join(older.dir, 'copies')
    await custosOk(older.place(), ['backup', copies])
    const [data = '', keyring = ''] = readdirSync(copies).sort()
    const elsewhere = { ...older.place(), settings: { CUSTOS_DATA_DIR: join(older.dir, 'again') } }
    await custosOk(elsewhere, [
      ...['restore', '--data', join(copies, data), '--keyring', join(copies, keyring)],
    ])
    await fsckOk(elsewhere)
  })
}

function afterAYear(given: Given): void {
  test('is sound to custos fsck once it was served', async () => {
    await given().stop()
    await given().fsck()
  })

  test('goes by its retention and its deadlines a year later', async () => {
    const older = given()
    await older.start(older.place(YEAR_HOURS))
    const client = older.client('north')
    const { late, approver_id } = older.known.north.approvals
    assert.equal((await client.get(`/v1/hitl/requests/${late.request_id}`)).status, 'expired')
    await assert.rejects(approve(client, late.request_id, approver_id), /409/)
    const { due } = await client.get(inStore(older, '/retention'))
    assert.ok(due > 0)
    const { job_id } = await client.post(inStore(older, '/retention/run'))
    await client.done(job_id)
    assert.equal((await client.get(inStore(older, ''))).facts, 0)
    assert.equal((await client.get('/v1/gcrumbs/verify?full=true')).status, 'intact')
    await older.stop()
    await older.fsck()
  })
}
