// Requests: due dates, who sees them, their manifests, what is written during an erasure, failures.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { formatTime } from '../../platform/clock.ts'
import type { JobContext } from '../../platform/jobs/queue.ts'
import { jobChunkLength } from '../../platform/kernel/kernel.ts'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { subjectEraser } from './erase-job.ts'
import { SUBJECT, subjectScene } from './testing/scene.ts'

/** What happens at a step of the job, once, for a test that asks for it. */
const atStep = new Map<string, () => Promise<void>>()

let service: TestService
before(async () => {
  service = await startTestService({
    async step(name) {
      const act = atStep.get(name)
      if (!act) return
      atStep.delete(name)
      await act()
    },
  })
})
after(() => service.stop())

const scene = () => subjectScene(service)
const DAY_US = 86_400_000_000
const daysAgo = (days: number) => formatTime(service.kernel.clock.now() - days * DAY_US)

/** An erasure that does not end before `release` is called. */
async function openRequest(of: Awaited<ReturnType<typeof scene>>, more: object = {}) {
  let release = () => {}
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  const reached = new Promise<void>((resolve) => {
    atStep.set('subject:begun', () => {
      resolve()
      return gate
    })
  })
  const { request_id } = await of.request({ text: 'Jana Novak' }, more)
  await reached
  return { request_id, release }
}

describe('due dates', () => {
  test("'subjects.extend' gives two further months once, its reason sealed", async () => {
    const of = await scene()
    const { request_id, release } = await openRequest(of, { received_at: daysAgo(10) })
    const before = await of.ok('GET', `${SUBJECT}/${request_id}`)
    assert.equal(before.due_at.slice(8, 10), before.received_at.slice(8, 10))
    assert.deepEqual(before.find, { text: 'Jana Novak', match: 'ignore_case' })
    const path = `${SUBJECT}/${request_id}/extend`
    const extended = await of.ok('POST', path, { reason: 'many stores' })
    assert.ok(extended.due_at > before.due_at)
    const shown = await of.ok('GET', `${SUBJECT}/${request_id}`)
    assert.equal(shown.extension_reason, 'many stores')
    const again = await of.ask('POST', path, { reason: 'more' })
    assert.deepEqual([again.status, again.body.error], [409, 'wrong_state'])
    release()
    const done = await of.settled(request_id)
    assert.equal(done.extension_reason, null)
    assert.equal(done.due_at, extended.due_at)
    const late = await of.ask('POST', path, { reason: 'more' })
    assert.deepEqual([late.status, late.body.error], [409, 'wrong_state'])
    const [crumb] = await of.events('subject.extended')
    assert.equal(crumb.payload.previous_due_at, before.due_at)
  })

  test("past its day it is overdue, in 'subjects.list' too, and cannot be extended", async () => {
    const of = await scene()
    await of.erase({ text: 'Somebody Else' }, { received_at: daysAgo(90) })
    const { request_id, release } = await openRequest(of, { received_at: daysAgo(40) })
    const ids = async (query: string) => {
      const { requests } = await of.ok('GET', `${SUBJECT}?${query}`)
      return requests.map((one: { request_id: string }) => one.request_id)
    }
    assert.deepEqual(await ids('overdue=true'), [request_id])
    assert.equal((await ids('overdue=false')).length, 1)
    assert.deepEqual(await ids('status=running'), [request_id])
    const { status } = await of.ask('POST', `${SUBJECT}/${request_id}/extend`, { reason: 'late' })
    assert.equal(status, 409)
    release()
    assert.equal((await of.settled(request_id)).overdue, false)
  })

  test('its job cannot be cancelled', async () => {
    const of = await scene()
    const { request_id, release } = await openRequest(of)
    const { job_id } = await of.ok('GET', `${SUBJECT}/${request_id}`)
    const { status, body } = await of.ask('DELETE', `/v1/jobs/${job_id}`)
    release()
    assert.deepEqual([status, body.error], [409, 'job_not_cancellable'])
    await of.settled(request_id)
  })

  test("there is no 'subjects.manifest' before the end", async () => {
    const of = await scene()
    const { request_id, release } = await openRequest(of)
    const { status, body } = await of.ask('GET', `${SUBJECT}/${request_id}/manifest`)
    assert.deepEqual([status, body.error], [409, 'wrong_state'])
    release()
    await of.settled(request_id)
    assert.equal((await of.manifestOf(request_id)).request_id, request_id)
  })
})

describe('a stored manifest', () => {
  test('is not answered when it was altered, alone or with its certificates', async () => {
    const of = await scene()
    const { request_id } = await of.erase({ text: 'Jana Novak' })
    const id = Buffer.from(request_id, 'hex')
    const sql =
      'update subject_requests set manifest = replace(manifest, ?, ?) where request_id = ?'
    await rawSql(service, sql, ['"searched_again":true', '"searched_again":false', id])
    for (const query of ['', '?format=bundle']) {
      const path = `${SUBJECT}/${request_id}/manifest${query}`
      const { status, body } = await of.ask('GET', path)
      assert.deepEqual([status, body.error], [500, 'internal'])
    }
  })
})

describe('what is written during an erasure', () => {
  test('is found by the second search and erased with a certificate too', async () => {
    const of = await scene()
    await of.write('Jana Novak lives in Brno')
    let late: [number, string] | undefined
    atStep.set('subject:recorded', async () => {
      late = [
        await of.write('Jana Novak came back'),
        await of.decide('Is Jana Novak back?', 'It seems so'),
      ]
    })
    const done = await of.erase({ text: 'Jana Novak' })
    const { entries, found_later, searched_to_seq, log_seq } = await of.manifestOf(done.request_id)
    assert.equal(found_later, 2)
    assert.deepEqual([entries[1].fact_ref, entries[2].decision_id], late)
    assert.ok(searched_to_seq > log_seq)
    const verdict = await of.verify(await of.bundleOf(done.request_id))
    assert.ok(verdict.valid, verdict.reason)
  })

  test('is erased as a version of what was found, whatever its content', async () => {
    const of = await scene()
    const first = await of.write('Jana Novak lives in Brno')
    let second = 0
    const { request_id, release } = await openRequest(of)
    second = await of.supersede(first, 'She has moved to Plzen')
    release()
    await of.settled(request_id)
    const { entries } = await of.manifestOf(request_id)
    assert.deepEqual(
      entries.map((entry: { fact_ref: number }) => entry.fact_ref),
      [first, second],
    )
  })

  test('and erased by another request has that certificate', async () => {
    const of = await scene()
    const ref = await of.write('Jana Novak lives in Brno')
    const { request_id, release } = await openRequest(of)
    const { certificate_id } = await of.ok('POST', '/v1/erasure/issue', { fact_ref: ref })
    release()
    await of.settled(request_id)
    const { entries } = await of.manifestOf(request_id)
    assert.deepEqual(entries[0].certificate_id, certificate_id)
  })
})

describe('beside others', () => {
  test('a small request is done before a long one that began earlier', async () => {
    const [long, small] = [await scene(), await scene()]
    const items = Array.from({ length: 450 }, (_, n) => ({ content: `Jana Novak, note ${n}` }))
    await long.ok('POST', `/v1/stores/${long.store_id}/write_batch`, { items })
    await small.write('Jana Novak lives in Brno')
    const chunk = jobChunkLength(service.kernel)
    const { ms } = chunk
    // A chunk is one batch then: the long request has three.
    chunk.ms = 0
    try {
      const { request_id, release } = await openRequest(long)
      const other = await small.request({ text: 'Jana Novak' })
      release()
      const [last, first] = [await long.settled(request_id), await small.settled(other.request_id)]
      assert.ok(last.started_at < first.started_at && first.completed_at < last.completed_at)
      assert.deepEqual(last.progress, { done: 450, total: 450 })
    } finally {
      chunk.ms = ms
    }
  })
})

describe('a failure in the middle', () => {
  test('is repaired by the next attempt', async () => {
    const of = await scene()
    await of.write('Jana Novak lives in Brno')
    atStep.set('subject:erased', () => Promise.reject(new Error('for once')))
    const { request_id } = await of.request({ text: 'Jana Novak' })
    assert.equal((await of.settled(request_id)).status, 'done')
    assert.equal((await of.ok('GET', '/v1/erasure/stats')).total, 1)
  })

  test('to prove one of them gone delays neither the others nor the decisions', async () => {
    const of = await scene()
    const items = Array.from({ length: 230 }, (_, n) => ({ content: `Jana Novak, note ${n}` }))
    const { refs } = await of.ok('POST', `/v1/stores/${of.store_id}/write_batch`, { items })
    const naming = await of.decide('Who is Jana Novak?', 'A customer')
    const other = await of.decide('What is for lunch?', 'Soup')
    // A decision that is said to use it, and does not show that it is gone.
    const using = [of.tenant_id, refs[3], of.tenant_id, Buffer.from(other, 'hex')]
    const insert = `insert into decision_facts (tenant_id, ref, decision_seq, bound)
      select ?, ?, seq, 0 from decisions where tenant_id = ? and decision_id = ?`
    atStep.set('erasure:caches_dropped', async () => void (await rawSql(service, insert, using)))
    const { request_id, job_id } = await of.request({ text: 'Jana Novak' })
    // The second attempt is over when a third one begins.
    const sql = 'select attempts from jobs where job_id = ?'
    let shown = await of.ok('GET', `${SUBJECT}/${request_id}`)
    for (let attempts = 0; attempts < 3 && shown.completed_at === null; await delay(20)) {
      attempts = Number((await rawSql(service, sql, [job_id]))[0]?.['attempts'])
      shown = await of.ok('GET', `${SUBJECT}/${request_id}`)
    }
    assert.deepEqual([shown.status, shown.progress], ['running', { done: 230, total: 231 }])
    assert.match((await of.ok('GET', `/v1/decisions/${naming}`)).query, /^\[REDACTED/)
    const remove = 'delete from decision_facts where tenant_id = ? and ref = ?'
    await rawSql(service, remove, [of.tenant_id, refs[3]])
    assert.equal((await of.settled(request_id)).status, 'done')
    const { entries } = await of.manifestOf(request_id)
    assert.ok(entries.every(({ outcome }: { outcome: string }) => outcome === 'erased'))
    const verdict = await of.verify(await of.bundleOf(request_id))
    assert.ok(verdict.valid, verdict.reason)
  })

  test('that lasts never ends the job: it says why, and tries again later and later', async () => {
    const of = await scene()
    const { request_id, release } = await openRequest(of)
    const context = (attempts: number): JobContext => ({
      job: {
        job_id: 'f'.repeat(24),
        tenant_id: of.tenant_id,
        kind: 'subject.erase',
        state: 'running',
        payload: { request_id },
        attempts,
        error: null,
        progress_done: 0,
        progress_total: 0,
        created_us: 0,
        updated_us: 0,
      },
      progress: () => Promise.reject(new Error('whenever it is asked')),
      finishIn: () => Promise.resolve(),
      stopping: false,
      cancelled: false,
      signal: new AbortController().signal,
    })
    const run = subjectEraser(service.kernel)
    await assert.rejects(run(context(7)))
    const error = 'Error'
    assert.deepEqual(await run(context(8)), { again_ms: 60_000, error })
    assert.deepEqual(await run(context(9)), { again_ms: 120_000, error })
    assert.deepEqual(await run(context(500)), { again_ms: 600_000, error })
    release()
    await of.settled(request_id)
  })
})

describe("'subjects.access'", () => {
  test('answers memories with all versions, decisions, certificates of redactions', async () => {
    const of = await scene()
    const first = await of.write('Jana Novak lives in Brno', { customer: 'c-17' })
    const second = await of.supersede(first, 'She has moved to Plzen')
    const used = await of.decide('where to?', 'Plzen', { retrieved_refs: [second] })
    const naming = await of.decide('Who is Jana Novak?', 'A customer')
    await of.write('The office opens at nine')
    const redacted = await of.decide('hers?', 'yes', { retrieved_refs: [first] })
    await of.ok('POST', `/v1/decisions/${redacted}/redact`, {})
    const lines = await of.access({ text: 'jana novak' })
    const [header, ...records] = lines
    const end = records.at(-1)
    assert.deepEqual(end, { record: 'end', memories: 2, decisions: 3, texts: 0, certificates: 1 })
    assert.equal(header.record, 'header')
    assert.deepEqual(header.found.facts, 2)
    for (const searched of ['records of registries', 'texts of runs; agents'])
      assert.ok(
        header.searched.some((text: string) => text.startsWith(searched)),
        searched,
      )
    const memories = records.filter(({ record }) => record === 'memory')
    assert.deepEqual(
      memories.map(({ ref, content, metadata, versions, store_id }) => [
        ...[ref, content, metadata.customer ?? null, versions.length],
        store_id,
      ]),
      [
        [first, 'Jana Novak lives in Brno', 'c-17', 2, of.store_id],
        [second, 'She has moved to Plzen', null, 1, of.store_id],
      ],
    )
    const decisions = records.filter(({ record }) => record === 'decision')
    assert.deepEqual(
      decisions.map(({ decision_id }) => decision_id),
      [used, naming, redacted],
    )
    const [certificate] = records.filter(({ record }) => record === 'certificate')
    assert.equal(certificate.decision_id, redacted)
  })

  test("is recorded in numbers only, as 'subjects.get' shows, and has no manifest", async () => {
    const of = await scene()
    await of.write('Jana Novak lives in Brno')
    const [header] = await of.access({ text: 'Jana Novak' })
    const shown = await of.ok('GET', `${SUBJECT}/${header.request_id}`)
    assert.deepEqual([shown.kind, shown.status, shown.find], ['access', 'done', null])
    const [crumb] = await of.events('subject.accessed')
    assert.equal(crumb.subject, header.request_id)
    assert.ok(!JSON.stringify(crumb).includes('Jana'))
    const { status } = await of.ask('GET', `${SUBJECT}/${header.request_id}/manifest`)
    assert.equal(status, 409)
  })

  test('is not for a key that may erase and not read', async () => {
    const of = await scene()
    const make = async (scopes: string[]) =>
      (await of.ok('POST', '/v1/keys', { name: 'dpo', scopes })).api_key
    const body = { find: { text: 'Jana Novak' } }
    const key = await make(['erasure:execute', 'memory:read'])
    const refused = await of.ask('POST', `${SUBJECT}/access`, body, key)
    assert.deepEqual([refused.status, refused.body.error], [403, 'scope_missing'])
    const may = await make(['erasure:execute', 'memory:read', 'decisions:read'])
    assert.equal((await of.ask('POST', `${SUBJECT}/access`, body, may)).status, 200)
  })
})

test('a key limited to a store finds, erases and sees that store only', async () => {
  const of = await scene()
  const other = (await of.ok('POST', '/v1/stores', { name: 'other' })).store_id
  const own = await of.write('Jana Novak here')
  const kept = await of.write('Jana Novak there', {}, other)
  await of.decide('Jana Novak there?', 'yes', { store_id: other, retrieved_refs: [own] })
  const made = await of.ok('POST', '/v1/keys', {
    name: 'own',
    class: 'tenant',
    scopes: ['*'],
    allowed_stores: [of.store_id],
  })
  const key = made.api_key
  const find = { text: 'Jana Novak' }
  const { text } = await of.ask('POST', `${SUBJECT}/access`, { find }, key)
  assert.ok(text.includes('here') && !text.includes('there'), text)
  const sent = { find, store_ids: [other], expect_digest: '0'.repeat(64) }
  const foreign = await of.ask('POST', SUBJECT, sent, key)
  assert.equal(foreign.status, 404)
  const { digest } = (await of.ask('POST', SUBJECT, { find, preview: true }, key)).body
  const mine = await of.ask('POST', SUBJECT, { find, expect_digest: digest }, key)
  assert.equal(mine.status, 202, mine.text)
  const { request_id } = mine.body
  await of.settled(request_id)
  assert.ok(await of.ok('GET', `/v1/stores/${other}/memories/${kept}`))
  const hidden = await of.erase({ text: 'there' })
  assert.equal((await of.ask('GET', `${SUBJECT}/${hidden.request_id}`, undefined, key)).status, 404)
  const { body } = await of.ask('GET', SUBJECT, undefined, key)
  assert.deepEqual(
    body.requests.map((one: { request_id: string; kind: string }) => one.kind),
    ['erase', 'access'],
  )
  assert.equal((await of.ok('GET', SUBJECT)).count, 3)
})
