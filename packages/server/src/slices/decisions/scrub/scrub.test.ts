// `decisions.scrub` through HTTP, and the functions that an erasure uses.

import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { verifyDecision } from '@custos/proof'
import { openScene, type Scene } from '../../../testing/erasure-scene.ts'
import { dropCached } from '../../memory/index.ts'
import { probeDecisions, readBackScrubbed } from '../index.ts'
import { findDecision } from '../trail/decisions.sql.ts'
import { readSealed } from '../trail/document.ts'
import { MARKER } from '../trail/redact-text.ts'
import type { ScrubSubject } from '../trail/scrub-document.ts'
import { applyScrub, planScrub, type ScrubbedDecision } from './plan-scrub.ts'

let scene: Scene

before(async () => {
  scene = await openScene()
})
after(() => scene.stop())

const scrub = async (ref: number) => (await scene.api('DELETE', `/v1/decisions/scrub/${ref}`)).body
const get = async (id: string) => (await scene.api('GET', `/v1/decisions/${id}`)).body
/** As an erasure of the subjects plans it. */
async function planErased(subjects: readonly ScrubSubject[]): Promise<ScrubbedDecision[]> {
  const planned: ScrubbedDecision[] = []
  const wanted = { subjects, erased: true }
  for await (const { scrubbed } of planScrub(scene.service.kernel, scene.tenant_id, wanted))
    planned.push(scrubbed)
  return planned
}
const headOf = async (id: string) => {
  const row = await scene.service.kernel.db.read(scene.tenant_id, (db) =>
    findDecision(db, Buffer.from(id, 'hex')),
  )
  assert.ok(row)
  return readSealed(row.sealed).head
}

test('decisions.scrub replaces the fact everywhere and keeps identity and signature', async () => {
  const content = 'Dora Meier failed the exam'
  const [ref, other] = [await scene.write(content), await scene.write('Dora is 31')]
  const id = await scene.decide({
    query: `Is it true that dora meier failed the exam?`,
    output: 'yes',
    retrieved_refs: [ref, other],
    retrieved_contents: [content, 'Dora is 31'],
  })
  const before = await get(id)
  assert.deepEqual((await headOf(id)).bound, [ref, other])
  assert.deepEqual(await scrub(ref), { fact_ref: ref, decisions_affected: 1, decision_ids: [id] })
  const scrubbed = await get(id)
  assert.deepEqual(scrubbed.retrieved_contents, [MARKER, 'Dora is 31'])
  assert.equal(scrubbed.query, `Is it true that ${MARKER}?`)
  assert.equal(scrubbed.redacted, true)
  assert.deepEqual(scrubbed.redactions, [
    { field: 'retrieved_contents', count: 1, ref },
    { field: 'query', count: 1, ref },
  ])
  for (const field of ['decision_id', 'signature', 'record_digest', 'timestamp', 'output'])
    assert.equal(scrubbed[field], before[field])
  assert.deepEqual((await headOf(id)).bound, [other])
  const { keys } = (await scene.api('GET', '/v1/gcrumbs/public_key')).body
  assert.equal((await verifyDecision(scrubbed, keys)).valid, true)
  const memory = await scene.api('GET', `/v1/stores/${scene.store_id}/memories/${ref}`)
  assert.equal(memory.body.content, content)
})

test('scrubbing twice, or a ref nobody used, affects nothing and logs nothing', async () => {
  const ref = await scene.write('Emil Frei moved to Chur')
  await scene.decide({ query: 'q', output: 'o', retrieved_refs: [ref] })
  assert.equal((await scrub(ref)).decisions_affected, 1)
  const size = async () => (await scene.api('GET', '/v1/gcrumbs/stats')).body.total_breadcrumbs
  const before = await size()
  assert.deepEqual(await scrub(ref), { fact_ref: ref, decisions_affected: 0, decision_ids: [] })
  assert.equal((await scrub(88_000_001)).decisions_affected, 0)
  assert.equal(await size(), before)
})

test('the log says which ref was scrubbed from which decision, and how often', async () => {
  const ref = await scene.write('Franz Huber is bankrupt')
  const id = await scene.decide({
    query: 'Franz Huber is bankrupt',
    output: 'o',
    retrieved_refs: [ref, ref],
    retrieved_contents: ['Franz Huber is bankrupt', 'a part'],
  })
  await scrub(ref)
  const { total_breadcrumbs } = (await scene.api('GET', '/v1/gcrumbs/stats')).body
  const { breadcrumbs } = (
    await scene.api('GET', `/v1/gcrumbs/breadcrumbs?offset=${total_breadcrumbs - 1}`)
  ).body
  assert.equal(breadcrumbs[0].event_type, 'decision.scrubbed')
  assert.equal(breadcrumbs[0].subject, id)
  assert.deepEqual(breadcrumbs[0].payload, { ref, redactions: 3 })
})

test('contents given for a ref that is no fact are scrubbed by what the record holds', async () => {
  const ref = 88_000_002
  const id = await scene.decide({
    query: 'They say Greta Lang was there.',
    output: 'o',
    retrieved_refs: [ref],
    retrieved_contents: ['Greta Lang was there'],
  })
  assert.equal((await scrub(ref)).decisions_affected, 1)
  const scrubbed = await get(id)
  assert.equal(scrubbed.query, `They say ${MARKER}.`)
  assert.deepEqual(scrubbed.retrieved_contents, [MARKER])
})

test('a ref out of range is refused, and scrubbing needs erasure:execute', async () => {
  for (const bad of ['-1', '1.5', 'x', '9007199254740992'])
    assert.equal((await scene.api('DELETE', `/v1/decisions/scrub/${bad}`)).status, 422, bad)
  const { body: key } = await scene.api('POST', '/v1/keys', { class: 'service' })
  const refused = await scene.service.request('DELETE', '/v1/decisions/scrub/1', {
    key: key.api_key,
  })
  assert.equal(refused.status, 403)
})

test('a scrub touches no decision of another tenant that used the same number', async () => {
  const ref = await scene.write('Hans Iten plays chess')
  const stranger = await scene.service.createTenant('stranger')
  const as = (method: string, path: string, body?: unknown) =>
    scene.service.request(method, path, { key: stranger.api_key, body })
  const theirs = await as('POST', '/v1/decisions/log', {
    store_id: 's',
    model_id: 'm',
    query: 'Hans Iten plays chess',
    output: 'o',
    retrieved_refs: [ref],
    retrieved_contents: ['Hans Iten plays chess'],
  })
  await scrub(ref)
  assert.equal(
    (await as('GET', `/v1/decisions/${theirs.body.decision_id}`)).body.query,
    theirs.body.query,
  )
})

test('a plan removes several facts at once, applies once, and is read back', async () => {
  const { kernel } = scene.service
  const contents = ['Ida Jost is ill today', 'Ida Jost was ill before']
  const refs = [await scene.write(contents[0] ?? ''), await scene.write(contents[1] ?? '')]
  const id = await scene.decide({
    query: `${contents[0]}; ${contents[1]}`,
    output: 'o',
    retrieved_refs: refs,
    retrieved_contents: contents,
  })
  const subjects = refs.map((ref, i) => ({ ref, content: contents[i] ?? null }))
  const [subject] = subjects
  assert.ok(subject)
  const seen = await probeDecisions(kernel, scene.tenant_id, [subject])
  assert.deepEqual(
    seen(subject.ref).map(({ result }) => result),
    ['present', 'present', 'present', 'present'],
  )

  const scrubbed = await planErased(subjects)
  assert.deepEqual(
    scrubbed.map(({ decision_id }) => decision_id),
    [id],
  )
  assert.ok(!Buffer.from(scrubbed[0]?.sealed ?? '', 'base64').includes('Jost'))
  assert.deepEqual(await readBackScrubbed(kernel, scene.tenant_id, [id], refs[0] ?? -1), [])

  // As it is on an erasure: the secrets are gone before the rows are replaced.
  await kernel.keyring.destroySecrets(scene.tenant_id, 'fact', refs)
  dropCached(kernel, scene.tenant_id, scene.store_id, refs)
  const apply = () =>
    kernel.db.transact(scene.tenant_id, (tx) => applyScrub(tx, { refs, scrubbed }))
  assert.deepEqual(await apply(), { changed: [id], diverged: [] })
  assert.deepEqual(await apply(), { changed: [], diverged: [] })
  assert.deepEqual((await headOf(id)).bound, [])
  for (const [i, ref] of refs.entries()) {
    assert.deepEqual(await readBackScrubbed(kernel, scene.tenant_id, [id], ref), [id])
    const content = contents[i] ?? null
    const probed = (await probeDecisions(kernel, scene.tenant_id, [{ ref, content }]))(ref)
    assert.deepEqual(
      new Set(probed.map(({ result }) => result)),
      new Set(['absent']),
      JSON.stringify(probed),
    )
  }
  assert.equal((await get(id)).query, `${MARKER}; ${MARKER}`)
})

test('a plan is not applied over a newer document, and a missing row is passed over', async () => {
  const { kernel } = scene.service
  const [one, two] = [await scene.write('Jan Koller is away'), await scene.write('Jan is back')]
  const id = await scene.decide({ query: 'q', output: 'o', retrieved_refs: [one, two] })
  const plan = (ref: number) => planErased([{ ref, content: null }])
  const apply = (ref: number, scrubbed: Awaited<ReturnType<typeof plan>>) =>
    kernel.db.transact(scene.tenant_id, (tx) => applyScrub(tx, { refs: [ref], scrubbed }))
  const first = await plan(one)
  const [changed, unchanged] = [
    { changed: [id], diverged: [] },
    { changed: [], diverged: [] },
  ]
  assert.deepEqual(await apply(one, first), changed)
  assert.deepEqual(await apply(two, await plan(two)), changed)
  assert.deepEqual(await apply(one, first), unchanged)
  assert.deepEqual((await headOf(id)).bound, [])
  const elsewhere = first.map((decision) => ({ ...decision, decision_id: '0'.repeat(32) }))
  assert.deepEqual(await apply(one, elsewhere), unchanged)
})

test('a read waits while a decision is between its secret and its scrubbed text', async () => {
  const { kernel } = scene.service
  const ref = await scene.write('Karl Lutz is in hospital')
  const id = await scene.decide({ query: 'q', output: 'o', retrieved_refs: [ref] })
  const scrubbed = await planErased([{ ref, content: null }])
  await kernel.keyring.destroySecrets(scene.tenant_id, 'fact', [ref])
  const reading = scene.api('GET', `/v1/decisions/${id}`)
  await new Promise((resolve) => setTimeout(resolve, 120))
  await kernel.db.transact(scene.tenant_id, (tx) => applyScrub(tx, { refs: [ref], scrubbed }))
  assert.equal((await reading).status, 200)
})

test('a session whose id repeats an erased memory is no longer found by that id', async () => {
  const content = 'Lena Orr, room 12'
  const ref = await scene.write(content)
  const decided = { query: 'q', output: 'o', retrieved_refs: [ref] }
  await scene.decide({ ...decided, session_id: content })
  const other = await scene.decide({ ...decided, session_id: 'ward round' })
  const idsOf = async (session_id: string) => {
    const path = `/v1/decisions?session_id=${encodeURIComponent(session_id)}`
    const { decisions } = (await scene.api('GET', path)).body
    return decisions.map(({ decision_id }: { decision_id: string }) => decision_id)
  }
  assert.equal((await idsOf(content)).length, 1)
  await scene.issue(ref)
  assert.deepEqual([await idsOf(content), await idsOf('ward round')], [[], [other]])
})

test('no word of a decision stands in the clear in its row', async () => {
  const id = await scene.decide({
    query: 'zebra question',
    output: 'zebra answer',
    session_id: 'zebra session',
    parameters: { zebra: 'zebra' },
    retrieved_refs: [88_000_003],
    retrieved_contents: ['zebra content'],
  })
  const row = await scene.service.kernel.db.read(scene.tenant_id, (db) =>
    findDecision(db, Buffer.from(id, 'hex')),
  )
  assert.ok(row)
  for (const value of Object.values(row))
    assert.ok(!Buffer.from(value instanceof Uint8Array ? value : String(value)).includes('zebra'))
})
