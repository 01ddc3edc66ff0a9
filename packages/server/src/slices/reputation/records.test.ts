// Decisions, outcomes and reviews as they are recorded: once, the latest by arrival, all or none.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CGR_CONTEXT_BYTES_MAX, REVIEWS_PER_REFERENT_MAX } from '@custos/contract'
import { countIterations } from '../../testing/growth.ts'
import { listTables, rawSql } from '../../testing/raw-sql.ts'
import { openScene, type Party } from './testing/scene.ts'

const scene = openScene()
const PSEUDONYM = /^OUT-[0-9a-f]{24}$/

const MANY = 10_000
/** More than it takes to read the request and to answer. */
const ITERATIONS_MIN = 20

const rowsIn = async ({ service, tenant_id }: Party, table: string): Promise<number> => {
  const sql = `select count(*) as n from ${table} where tenant_id = ?`
  const [row] = await rawSql(service, sql, [tenant_id])
  return Number(row?.['n'])
}

describe("'cgr.decide'", () => {
  test('answers the record with a pseudonym of the referent, and without its context', async () => {
    const tenant = await scene.tenant()
    const answer = await tenant.ok('POST', '/governed/decisions', {
      decision: 'certify',
      reason: 'the amounts agree',
      invoice_id: 'INV-001',
      context: { amount: 12, vendor: 'Acme' },
    })
    const members = ['decision_record', 'execution_receipt', 'superseded_prior', 'idempotent']
    assert.deepEqual(Object.keys(answer), members)
    const { decision_id, created_at, log_seq, invoice_id, ...rest } = answer.decision_record
    assert.match(decision_id, /^[0-9a-f]{32}$/)
    assert.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
    assert.match(invoice_id, PSEUDONYM)
    assert.equal(typeof log_seq, 'number')
    assert.deepEqual(rest, {
      tenant_id: tenant.tenant_id,
      decision: 'certify',
      reason: 'the amounts agree',
      reason_code: null,
      agent_handle: 'invoice-certifier@kapwork-receivables',
      verifiability_tag: 'judgment',
      agent_tier: null,
      model_id: 'kapwork-verify-agent-v1',
      raw_output: '{"decision":"certify","reason":"the amounts agree"}',
      dimension: 'receivables',
      proven: false,
      signature: null,
      public_key: null,
    })
  })

  test('the pseudonym stands for the referent wherever it is sent', async () => {
    const tenant = await scene.tenant()
    const { decision_record } = await tenant.decide('agent', 'INV-001')
    const pseudonym = decision_record.invoice_id
    const recorded = await tenant.outcome(pseudonym, 'paid')
    assert.equal(recorded.invoice_ref, pseudonym)
    assert.equal((await tenant.outcome('INV-001', 'paid')).idempotent, true)
    assert.equal((await tenant.score('agent')).n_resolved, 1)
    const other = await scene.tenant()
    const elsewhere = await other.decide('agent', 'INV-001')
    assert.notEqual(elsewhere.decision_record.invoice_id, pseudonym)
  })

  test('the same again is the one there is, another one takes its place', async () => {
    const tenant = await scene.tenant()
    const first = await tenant.decide('agent', 'one')
    const again = await tenant.decide('agent', 'one', { reason: 'once more' })
    assert.deepEqual([again.idempotent, again.superseded_prior], [true, false])
    assert.deepEqual(again.decision_record, first.decision_record)
    const changed = await tenant.decide('agent', 'one', { decision: 'reject' })
    assert.deepEqual([changed.idempotent, changed.superseded_prior], [false, true])
    assert.equal((await tenant.score('agent')).n_pending, 0)
    const back = await tenant.decide('agent', 'one')
    assert.equal(back.superseded_prior, true)
    assert.equal((await tenant.score('agent')).n_pending, 1)
    assert.equal(await rowsIn(tenant, 'cgr_decisions'), 3)
  })

  test('another judgment counts afterwards too, unless the tenant lets them stand', async () => {
    const tenant = await scene.tenant()
    await tenant.earn('other', ['default'])
    const late = await tenant.decide('other', 'other 0', { decision: 'reject' })
    assert.deepEqual([late.idempotent, late.superseded_prior], [false, true])
    assert.equal((await tenant.score('other')).n_resolved, 0)
    await tenant.ok('PUT', '/cgr/settings', { judgments_final: true })
    await tenant.earn('agent', ['default'])
    for (const more of [{ decision: 'reject' }, { verifiability_tag: 'rule' }]) {
      const body = { decision: 'certify', agent_handle: 'agent', invoice_id: 'agent 0', ...more }
      const refused = await tenant.refused('POST', '/governed/decisions', body)
      assert.deepEqual(refused, [409, 'outcome_known'])
    }
    assert.equal((await tenant.score('agent')).n_resolved, 1)
  })

  test('without a referent every decision stands for itself and stays pending', async () => {
    const tenant = await scene.tenant()
    await tenant.decide('agent', null)
    const { idempotent, decision_record } = await tenant.decide('agent', null)
    assert.deepEqual([idempotent, decision_record.invoice_id], [false, null])
    assert.equal((await tenant.score('agent')).n_pending, 2)
  })

  test('fifty at once are one decision', async () => {
    const tenant = await scene.tenant()
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => tenant.decide('agent', 'one')),
    )
    assert.equal(answers.filter(({ idempotent }) => !idempotent).length, 1)
    assert.equal(new Set(answers.map((answer) => answer.decision_record.decision_id)).size, 1)
    assert.equal(await rowsIn(tenant, 'cgr_decisions'), 1)
    assert.equal((await tenant.score('agent')).n_pending, 1)
  })

  test('wrong words, keys and sizes are refused', async () => {
    const tenant = await scene.tenant()
    const wrong = (more: object) =>
      tenant.refused('POST', '/governed/decisions', { decision: 'certify', ...more })
    for (const more of [
      { decision: 'Certify' },
      { verifiability_tag: 'guess' },
      { agent_tier: 1.5 },
      { agent_handle: '' },
      { agent_handle: 'a\nb' },
      { dimension: 'Not One' },
      { context: [] },
      { invoice_id: 7 },
    ])
      assert.deepEqual(await wrong(more), [422, 'validation'], JSON.stringify(more))
    const context = { text: 'x'.repeat(CGR_CONTEXT_BYTES_MAX) }
    assert.deepEqual(await wrong({ context }), [422, 'rejected'])
    assert.equal((await tenant.ok('GET', '/cgr/scores')).count, 0)
  })
})

describe("'cgr.outcome'", () => {
  test('the same again changes nothing, whatever its date', async () => {
    const tenant = await scene.tenant()
    await tenant.decide('agent', 'one')
    const first = await tenant.outcome('one', 'paid', { outcome_date: '2026-01-02T00:00:00Z' })
    assert.match(first.invoice_ref, PSEUDONYM)
    assert.deepEqual(
      [first.outcome, first.recorded_at, first.superseded_prior, first.idempotent],
      ['paid', '2026-01-02T00:00:00.000000Z', false, false],
    )
    const before = await tenant.score('agent')
    const again = await tenant.outcome('one', 'paid', { outcome_date: '2026-02-02T00:00:00Z' })
    assert.deepEqual(again, { ...first, idempotent: true })
    const after = await tenant.score('agent')
    assert.deepEqual([after.cgr_score, after.log_seq], [before.cgr_score, before.log_seq])
  })

  test('of two the one that arrived later counts, however it is dated', async () => {
    const tenant = await scene.tenant()
    await tenant.decide('agent', 'one')
    await tenant.outcome('one', 'paid', { outcome_date: '2026-05-01T00:00:00Z' })
    const dated = { outcome_date: '2020-01-01T00:00:00+02:00' }
    const later = await tenant.outcome('one', 'default', dated)
    assert.equal(later.superseded_prior, true)
    assert.equal(later.recorded_at, '2019-12-31T22:00:00.000000Z')
    assert.equal((await tenant.score('agent')).cgr_score, 1 / 3)
    const amount = await tenant.outcome('one', 'default', { amount_recovered: 12.5 })
    assert.equal(amount.superseded_prior, true, 'another amount is another record')
    assert.equal((await tenant.score('agent')).cgr_score, 1 / 3)
  })

  test("may be dated by a day alone or without an offset, as is a 'cgr.review'", async () => {
    const tenant = await scene.tenant()
    const day = await tenant.outcome('one', 'paid', { outcome_date: '2026-05-01' })
    assert.equal(day.recorded_at, '2026-05-01T00:00:00.000000Z')
    const naive = await tenant.outcome('two', 'paid', { outcome_date: '2026-05-01T09:30' })
    assert.equal(naive.recorded_at, '2026-05-01T09:30:00.000000Z')
    const review = { invoice_ref: 'one', reviewer_handle: 'r', rating: 1, review_date: '20260502' }
    const { body } = await tenant.ask('POST', '/governed/reviews', review)
    assert.equal(body.recorded_at, '2026-05-02T00:00:00.000000Z')
  })

  test('fifty at once are one record', async () => {
    const tenant = await scene.tenant()
    await tenant.decide('agent', 'one')
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => tenant.outcome('one', 'paid')),
    )
    assert.equal(answers.filter(({ idempotent }) => !idempotent).length, 1)
    assert.equal(answers.filter(({ superseded_prior }) => superseded_prior).length, 0)
    assert.equal(await rowsIn(tenant, 'cgr_outcomes'), 1)
    assert.equal((await tenant.score('agent')).n_resolved, 1)
  })

  test('a word that is no outcome and a date that is none are refused', async () => {
    const tenant = await scene.tenant()
    for (const more of [
      { outcome: 'Paid' },
      { outcome_date: 'yesterday' },
      { outcome_date: '2026-02-30T00:00:00Z' },
      { amount_recovered: '12' },
      { invoice_ref: '' },
    ]) {
      const body = { invoice_ref: 'one', outcome: 'paid', ...more }
      const refused = await tenant.refused('POST', '/governed/outcomes', body)
      assert.deepEqual(refused, [422, 'validation'], JSON.stringify(more))
    }
    assert.equal(await rowsIn(tenant, 'cgr_outcomes'), 0)
  })
})

describe("'cgr.outcomes'", () => {
  test('one bad item and nothing is recorded', async () => {
    const tenant = await scene.tenant()
    const good = { invoice_ref: 'one', outcome: 'paid' }
    for (const bad of [{ invoice_ref: 'two', outcome: 'lost' }, { outcome: 'paid' }, 7]) {
      const refused = await tenant.refused('POST', '/governed/outcomes/bulk', [good, bad])
      assert.deepEqual(refused, [422, 'validation'])
    }
    assert.equal(await rowsIn(tenant, 'cgr_outcomes'), 0)
  })

  test('other requests run while thousands are recorded', async () => {
    const tenant = await scene.tenant()
    const items = Array.from({ length: MANY }, (_, at) => {
      return { invoice_ref: `one ${at}`, outcome: 'paid' }
    })
    const iterations = await countIterations(() =>
      tenant.ok('POST', '/governed/outcomes/bulk', items),
    )
    assert.ok(iterations > ITERATIONS_MIN, `${iterations} iterations`)
  })

  test('later items of one referent replace earlier ones, also by its pseudonym', async () => {
    const tenant = await scene.tenant()
    const { decision_record } = await tenant.decide('agent', 'one')
    const { count, recorded, collapsed_in_batch } = await tenant.ok(
      'POST',
      '/governed/outcomes/bulk',
      [
        { invoice_ref: 'one', outcome: 'paid' },
        { invoice_ref: 'two', outcome: 'paid' },
        { invoice_ref: decision_record.invoice_id, outcome: 'default' },
      ],
    )
    assert.deepEqual([count, collapsed_in_batch], [2, 1])
    const [first] = recorded
    assert.deepEqual(
      [first.invoice_ref, first.outcome, first.superseded_prior],
      [decision_record.invoice_id, 'default', false],
    )
    assert.equal((await tenant.score('agent')).cgr_score, 1 / 3)
    const empty = await tenant.ok('POST', '/governed/outcomes/bulk', [])
    assert.deepEqual(empty, { count: 0, recorded: [], collapsed_in_batch: 0 })
  })

  test('a retry with its key answers the same and records nothing', async () => {
    const tenant = await scene.tenant()
    await tenant.outcome('old', 'paid', { outcome_date: '2026-01-02T00:00:00Z' })
    const items = [
      { invoice_ref: 'old', outcome: 'paid' },
      { invoice_ref: 'new', outcome: 'paid' },
      { invoice_ref: 'dated', outcome: 'paid', outcome_date: '2026-01-03T00:00:00Z' },
    ]
    const headers = { 'idempotency-key': 'k' }
    const first = await tenant.ask('POST', '/governed/outcomes/bulk', items, headers)
    await tenant.outcome('new', 'default')
    const again = await tenant.ask('POST', '/governed/outcomes/bulk', items, headers)
    assert.deepEqual(again.body, first.body)
    assert.equal(again.headers.get('idempotency-replayed'), 'true')
    const fates = first.body.recorded.map(({ idempotent }: { idempotent: boolean }) => idempotent)
    assert.deepEqual(fates, [true, false, false])
  })
})

describe("'cgr.review'", () => {
  test('the same again changes nothing, another rating takes its place', async () => {
    const tenant = await scene.tenant()
    await tenant.decide('agent', 'one')
    const first = await tenant.review('one', 'somebody', 0.25)
    assert.match(first.invoice_ref, PSEUDONYM)
    const again = await tenant.review('one', 'somebody', 0.25)
    assert.deepEqual(again, { ...first, idempotent: true })
    const changed = await tenant.review('one', 'somebody', 1)
    assert.deepEqual([changed.superseded_prior, changed.rating], [true, 1])
    assert.equal((await tenant.score('agent')).cgr_score, 1.05 / 2.05)
    assert.equal((await tenant.score('agent')).confidence, 2.05)
  })

  test('fifty at once are one record', async () => {
    const tenant = await scene.tenant()
    await tenant.decide('agent', 'one')
    await Promise.all(Array.from({ length: 50 }, () => tenant.review('one', 'somebody', 1)))
    assert.equal(await rowsIn(tenant, 'cgr_reviews'), 1)
    assert.equal((await tenant.score('agent')).confidence, 2.05)
  })

  test('ratings beyond their range and dates that are none are refused', async () => {
    const tenant = await scene.tenant()
    for (const more of [
      { rating: 1.01 },
      { rating: -0.1 },
      { rating: '1' },
      { review_date: 'today' },
      { reviewer_handle: '' },
      { decision_id: 'x' },
    ]) {
      const body = { invoice_ref: 'one', reviewer_handle: 'somebody', rating: 1, ...more }
      const refused = await tenant.refused('POST', '/governed/reviews', body)
      assert.deepEqual(refused, [422, 'validation'], JSON.stringify(more))
    }
    assert.equal(await rowsIn(tenant, 'cgr_reviews'), 0)
  })
})

describe("'cgr.reviews'", () => {
  test('entries of one referent and reviewer collapse to the last one', async () => {
    const tenant = await scene.tenant()
    await tenant.decide('agent', 'one')
    const of = (reviewer_handle: string, rating: number) => ({
      invoice_ref: 'one',
      reviewer_handle,
      rating,
    })
    const items = [of('a', 0), of('b', 1), of('a', 1)]
    const answer = await tenant.ok('POST', '/governed/reviews/bulk', items)
    assert.deepEqual([answer.count, answer.collapsed_in_batch], [2, 1])
    assert.equal((await tenant.score('agent')).cgr_score, 1.1 / 2.1)
  })

  test('other requests run while thousands are recorded', async () => {
    const tenant = await scene.tenant()
    const items = Array.from({ length: MANY }, (_, at) => {
      return { invoice_ref: `one ${at}`, reviewer_handle: `of ${at % 50}`, rating: 1 }
    })
    const iterations = await countIterations(() =>
      tenant.ok('POST', '/governed/reviews/bulk', items),
    )
    assert.ok(iterations > ITERATIONS_MIN, `${iterations} iterations`)
  })

  test('a referent takes no more reviews than it may, none of a batch too large', async () => {
    const tenant = await scene.tenant()
    const of = (at: number) => ({
      invoice_ref: 'one',
      reviewer_handle: `reviewer ${at}`,
      rating: 1,
    })
    const items = Array.from({ length: REVIEWS_PER_REFERENT_MAX + 1 }, (_, at) => of(at))
    const refused = await tenant.refused('POST', '/governed/reviews/bulk', items)
    assert.deepEqual(refused, [422, 'rejected'])
    assert.equal(await rowsIn(tenant, 'cgr_reviews'), 0)
    await tenant.ok('POST', '/governed/reviews/bulk', items.slice(1))
    assert.deepEqual(await tenant.refused('POST', '/governed/reviews', items[0]), [422, 'rejected'])
    const known = { ...items[1], rating: 0 }
    assert.equal((await tenant.ok('POST', '/governed/reviews', known)).superseded_prior, true)
  })
})

test('no word of a caller stands in a row or on the log in clear', async () => {
  const tenant = await scene.tenant()
  const word = 'Xsecretword'
  const { decision_record } = await tenant.decide(`${word}/agent`, `${word} one`, {
    reason: word,
    context: { [word]: word },
    model_id: word,
    dimension: word.toLowerCase(),
  })
  const dimension = word.toLowerCase()
  await tenant.outcome(`${word} one`, 'disputed', { source: word, dimension })
  await tenant.review(`${word} one`, `${word}-reviewer`, 1, { source: word, dimension })
  await tenant.ok('POST', '/cgr/attestations', { agent_handle: `${word}/agent`, dimension })
  assert.ok(!decision_record.invoice_id.includes(word))
  const tables = (await listTables(tenant.service)).filter((name) => name.startsWith('cgr_'))
  for (const table of [...tables, 'breadcrumbs', 'idempotency', 'usage'])
    for (const row of await rawSql(tenant.service, `select * from ${table}`)) {
      const text = Object.values(row)
        .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString() : `${value}`))
        .join('\n')
      assert.ok(!text.toLowerCase().includes(dimension), `${table}: ${text}`)
    }
})
