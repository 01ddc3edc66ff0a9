// Who is judged: handles, keys that are named and keys that are proven, rotations, and oneself.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { didKeyOf } from '@custos/proof'
import { type AgentKey, linkOf, newKey, nextMoment, provenBy, reportedBy } from './testing/keys.ts'
import { openScene, type Party } from './testing/scene.ts'

const scene = openScene()

const decideAs = (tenant: Party, agent: AgentKey, [agent_handle, invoice_id]: [string, string]) => {
  const { tenant_id } = tenant
  return tenant.decide(
    agent_handle,
    invoice_id,
    provenBy(agent, { tenant_id, agent_handle, invoice_id }),
  )
}

const allScores = async (tenant: Party) => (await tenant.ok('GET', '/cgr/scores')).scores

test('decisions of one key under two handles give one score under the newer handle', async () => {
  const tenant = await scene.tenant()
  const agent_key = newKey().key
  await tenant.decide('old name', 'one', { agent_key })
  await tenant.decide('new name', 'two', { agent_key: agent_key.toUpperCase() })
  const scores = await allScores(tenant)
  assert.equal(scores.length, 1)
  assert.deepEqual([scores[0].agent_handle, scores[0].n_pending], ['new name', 2])
  for (const handle of ['old name', 'new name', agent_key])
    assert.equal((await tenant.score(handle)).n_pending, 2)
  assert.deepEqual([scores[0].subject_key, scores[0].subject_did], [agent_key, didKeyOf(agent_key)])
})

test('one handle with two keys gives two scores, the proven one is answered first', async () => {
  const tenant = await scene.tenant()
  const [claimed, owner] = [newKey(), newKey()]
  await tenant.decide('agent', 'one', { agent_key: claimed.key })
  await decideAs(tenant, owner, ['agent', 'two'])
  await tenant.decide('agent', 'three')
  assert.equal((await allScores(tenant)).length, 3)
  const answered = await tenant.score('agent')
  assert.deepEqual([answered.subject_key, answered.proven], [owner.key, true])
  assert.equal(answered.same_handle, 2)
  const other = await tenant.score('agent', `?subject_key=${claimed.key}`)
  assert.deepEqual([other.subject_key, other.proven], [claimed.key, false])
  const { scores } = await tenant.ok('GET', '/cgr/scores?agent_handle=agent')
  assert.equal(scores.length, 3)
  const nobody = `/cgr/scores/agent?subject_key=${newKey().key}`
  assert.deepEqual(await tenant.refused('GET', nobody), [404, 'score_not_found'])
})

test('nobody adds to or damages the record of a key without signing with it', async () => {
  const tenant = await scene.tenant()
  const owner = newKey()
  await decideAs(tenant, owner, ['agent', 'one'])
  await tenant.outcome('one', 'paid')
  await tenant.decide('agent', 'spoiled', { agent_key: owner.key })
  await tenant.outcome('spoiled', 'default')
  const { n_resolved, cgr_score, proven } = await tenant.score('agent')
  assert.deepEqual([n_resolved, cgr_score, proven], [1, 2 / 3, true])
})

describe('a signature that proves nothing is refused, and nothing is recorded', () => {
  const owner = newKey()
  const stranger = newKey()
  const good = (tenant: Party) =>
    provenBy(owner, { tenant_id: tenant.tenant_id, agent_handle: 'agent', invoice_id: 'one' })
  const cases: Readonly<Record<string, (tenant: Party) => object>> = {
    'of another key': (tenant) => ({ ...good(tenant), agent_key: stranger.key }),
    'over another referent': (tenant) => ({ ...good(tenant), invoice_id: 'two' }),
    'over another decision': (tenant) => ({ ...good(tenant), decision: 'reject' }),
    'over another moment': (tenant) => ({ ...good(tenant), signed_at: nextMoment() }),
    'over another dimension': (tenant) => ({ ...good(tenant), dimension: 'deploys' }),
    'for another tenant': () =>
      provenBy(owner, { tenant_id: 'another', agent_handle: 'agent', invoice_id: 'one' }),
  }
  for (const [name, more] of Object.entries(cases))
    test(name, async () => {
      const tenant = await scene.tenant()
      const body = {
        decision: 'certify',
        agent_handle: 'agent',
        invoice_id: 'one',
        ...more(tenant),
      }
      const refused = await tenant.refused('POST', '/governed/decisions', body)
      assert.deepEqual(refused, [403, 'possession_unproven'])
      assert.equal((await allScores(tenant)).length, 0)
    })

  test('without its key, without its moment, or by a key that anybody can sign for', async () => {
    const tenant = await scene.tenant()
    const { agent_key, agent_signature, signed_at } = good(tenant)
    const weak = `01${'0'.repeat(62)}`
    for (const more of [
      { agent_signature, signed_at },
      { agent_key, agent_signature },
      { agent_key: weak },
      { agent_key: 'abc' },
      { agent_key: 'z'.repeat(64) },
    ]) {
      const body = { decision: 'certify', agent_handle: 'agent', invoice_id: 'one', ...more }
      const refused = await tenant.refused('POST', '/governed/decisions', body)
      assert.deepEqual(refused, [422, 'validation'])
    }
  })
})

test('a statement that was signed earlier does not take the place of a later one', async () => {
  const tenant = await scene.tenant()
  const { tenant_id } = tenant
  const owner = newKey()
  const [early, late] = [nextMoment(), nextMoment()]
  const said = (decision: string, signed_at: string) => ({
    decision,
    agent_handle: 'agent',
    invoice_id: 'one',
    ...provenBy(owner, {
      ...{ tenant_id, agent_handle: 'agent', invoice_id: 'one', decision, signed_at },
    }),
  })
  await tenant.ok('POST', '/governed/decisions', said('certify', late))
  const replayed = await tenant.refused('POST', '/governed/decisions', said('reject', early))
  assert.deepEqual(replayed, [409, 'older_statement'])
  const later = await tenant.ok('POST', '/governed/decisions', said('reject', nextMoment()))
  assert.equal(later.superseded_prior, true)
})

describe('oneself', () => {
  test('a reviewer with the handle or a key of the agent is refused', async () => {
    const tenant = await scene.tenant()
    const owner = newKey()
    await decideAs(tenant, owner, ['first', 'elsewhere'])
    await decideAs(tenant, owner, ['agent', 'one'])
    for (const reviewer_handle of ['agent', 'first', owner.key, owner.key.toUpperCase()]) {
      const body = { invoice_ref: 'one', reviewer_handle, rating: 1 }
      const refused = await tenant.refused('POST', '/governed/reviews', body)
      assert.deepEqual(refused, [409, 'self_review'], reviewer_handle)
      const bulk = [{ ...body, reviewer_handle: 'fine' }, body]
      const together = await tenant.refused('POST', '/governed/reviews/bulk', bulk)
      assert.deepEqual(together, [409, 'self_review'], reviewer_handle)
    }
    assert.equal((await tenant.score('agent')).confidence, 2)
  })

  test('a review that was there before its author decided weighs nothing', async () => {
    const tenant = await scene.tenant()
    await tenant.review('one', 'agent', 1)
    await tenant.decide('agent', 'one')
    await tenant.decide('another', 'one')
    assert.equal((await tenant.score('agent')).confidence, 2)
    assert.equal((await tenant.score('another')).confidence, 2.05)
  })

  test('a review may be of one of several decisions on a referent', async () => {
    const tenant = await scene.tenant()
    const { decision_record } = await tenant.decide('agent', 'one')
    await tenant.decide('another', 'one')
    const { decision_id } = decision_record
    await tenant.review('one', 'another', 1, { decision_id })
    await tenant.review('one', 'somebody', 1, { agent_handle: 'another' })
    assert.equal((await tenant.score('agent')).confidence, 2.05)
    assert.equal((await tenant.score('another')).confidence, 2.05)
    await tenant.review('one', 'somebody', 1)
    assert.equal((await tenant.score('agent')).cgr_score, 1.1 / 2.1)
    const elsewhere = { invoice_ref: 'two', reviewer_handle: 'x', rating: 1, decision_id }
    const refused = await tenant.refused('POST', '/governed/reviews', elsewhere)
    assert.deepEqual(refused, [422, 'rejected'])
  })

  test('an outcome reported by a key of the agent is refused, also after rotations', async () => {
    const tenant = await scene.tenant()
    const { tenant_id } = tenant
    const [owner, next, reporter] = [newKey(), newKey(), newKey()]
    await decideAs(tenant, owner, ['agent', 'one'])
    await tenant.decide('unproven', 'two', { agent_key: owner.key })
    const report = (invoice_ref: string, by: AgentKey) => ({
      invoice_ref,
      outcome: 'paid',
      ...reportedBy(by, { tenant_id, invoice_ref }),
    })
    await tenant.ok('POST', '/cgr/rotation', linkOf(owner, next, {}))
    for (const [invoice_ref, by] of [
      ['one', owner],
      ['one', next],
      ['two', owner],
    ] as const) {
      const sent = report(invoice_ref, by)
      const single = await tenant.refused('POST', '/governed/outcomes', sent)
      assert.deepEqual(single, [409, 'self_report'])
      const bulk = [{ invoice_ref: 'three', outcome: 'paid' }, sent]
      const together = await tenant.refused('POST', '/governed/outcomes/bulk', bulk)
      assert.deepEqual(together, [409, 'self_report'])
    }
    const forged = { ...report('one', reporter), reporter_key: next.key }
    const unproven = await tenant.refused('POST', '/governed/outcomes', forged)
    assert.deepEqual(unproven, [403, 'possession_unproven'])
    await tenant.ok('POST', '/governed/outcomes', report('one', reporter))
    assert.equal((await tenant.score('agent')).n_resolved, 1)
  })

  test('an outcome that was overtaken cannot be sent again by somebody else', async () => {
    const tenant = await scene.tenant()
    const { tenant_id } = tenant
    const reporter = newKey()
    const report = (outcome: string) => {
      const said = { invoice_ref: 'one', outcome }
      return { ...said, ...reportedBy(reporter, { tenant_id, ...said }) }
    }
    const [first, second] = [report('paid'), report('default')]
    await tenant.ok('POST', '/governed/outcomes', first)
    await tenant.ok('POST', '/governed/outcomes', second)
    const again = await tenant.refused('POST', '/governed/outcomes', first)
    assert.deepEqual(again, [409, 'older_statement'])
    const bulk = await tenant.refused('POST', '/governed/outcomes/bulk', [first])
    assert.deepEqual(bulk, [409, 'older_statement'])
    assert.equal((await tenant.ok('POST', '/governed/outcomes', second)).idempotent, true)
    await tenant.ok('POST', '/governed/outcomes', { invoice_ref: 'one', outcome: 'paid' })
  })

  test("'cgr.change_settings' lets a tenant compare the credentials", async () => {
    const tenant = await scene.tenant()
    // 'cgr.settings'
    const before = await tenant.ok('GET', '/cgr/settings')
    const judgments_final = false
    assert.deepEqual(before, { compare_credentials: false, judgments_final })
    await tenant.decide('agent', 'one')
    await tenant.ok('PUT', '/cgr/settings', { compare_credentials: true })
    const after = await tenant.ok('GET', '/cgr/settings')
    assert.deepEqual(after, { compare_credentials: true, judgments_final })
    const report = { invoice_ref: 'one', outcome: 'paid' }
    const opinion = { invoice_ref: 'one', reviewer_handle: 'somebody', rating: 1 }
    const reported = await tenant.refused('POST', '/governed/outcomes', report)
    assert.deepEqual(reported, [409, 'self_report'])
    const reviewed = await tenant.refused('POST', '/governed/reviews', opinion)
    assert.deepEqual(reviewed, [409, 'self_review'])
    const other = await tenant.withKey(['cgr:write'])
    await other.ok('POST', '/governed/reviews', opinion)
    await other.ok('POST', '/governed/outcomes', report)
    assert.equal((await tenant.score('agent')).n_resolved, 1)
  })
})

describe("'cgr.rotate'", () => {
  test('the keys of a chain are one agent, known by the key in force', async () => {
    const tenant = await scene.tenant()
    const [first, second, third] = [newKey(), newKey(), newKey()]
    await decideAs(tenant, first, ['agent', 'one'])
    const link = linkOf(first, second, { seq: 1, not_before: '2026-01-01T00:00:00Z' })
    const answer = await tenant.ok('POST', '/cgr/rotation', link)
    assert.deepEqual(answer, {
      prev_key: first.key,
      new_key: second.key,
      seq: 1,
      not_before: '2026-01-01T00:00:00.000000Z',
      recorded: true,
    })
    assert.deepEqual(await tenant.ok('POST', '/cgr/rotation', link), answer, 'once is enough')
    await tenant.ok('POST', '/cgr/rotation', linkOf(second, third, { seq: 2 }))
    await decideAs(tenant, third, ['agent', 'two'])
    const scores = await allScores(tenant)
    assert.equal(scores.length, 1)
    assert.equal(scores[0].n_pending, 2)
    assert.equal(scores[0].subject_key, third.key)
    assert.equal(scores[0].subject_did, didKeyOf(first.key))
    // 'cgr.rotations'
    const listed = await tenant.ok('GET', `/cgr/rotations?current=${second.key}`)
    assert.deepEqual(
      listed.rotations.map(({ new_key }: { new_key: string }) => new_key),
      [second.key, third.key],
    )
    assert.deepEqual(Object.keys(listed.rotations[0]), [
      'prev_key',
      'new_key',
      'seq',
      'not_before',
      'sig',
    ])
    assert.equal((await tenant.ok('GET', `/cgr/rotations?anchor=${second.key}`)).count, 0)
    assert.equal((await tenant.ok('GET', `/cgr/rotations?anchor=${first.key}`)).count, 2)
    for (const old of [first, second]) {
      const said = { agent_handle: 'agent', invoice_id: 'three' }
      const proof = provenBy(old, { ...said, tenant_id: tenant.tenant_id })
      const body = { ...said, decision: 'certify', ...proof }
      const refused = await tenant.refused('POST', '/governed/decisions', body)
      assert.deepEqual(refused, [409, 'rotation_refused'])
    }
  })

  test('a key that is not in force yet decides nothing, the one before it goes on', async () => {
    const tenant = await scene.tenant()
    const [first, second] = [newKey(), newKey()]
    const link = linkOf(first, second, { not_before: '2100-01-01T00:00:00Z' })
    await tenant.ok('POST', '/cgr/rotation', link)
    const said = { agent_handle: 'agent', invoice_id: 'one' }
    const proof = provenBy(second, { ...said, tenant_id: tenant.tenant_id })
    const body = { ...said, decision: 'certify', ...proof }
    const refused = await tenant.refused('POST', '/governed/decisions', body)
    assert.deepEqual(refused, [409, 'rotation_refused'])
    await decideAs(tenant, first, ['agent', 'one'])
    assert.equal((await tenant.score('agent')).subject_key, first.key)
  })

  test('a link out of order or date, forked, circular or to a known key is refused', async () => {
    const tenant = await scene.tenant()
    const [first, second, third, known] = [newKey(), newKey(), newKey(), newKey()]
    await decideAs(tenant, known, ['known', 'one'])
    const wrong = (link: object) => tenant.refused('POST', '/cgr/rotation', link)
    const refused = [409, 'rotation_refused']
    assert.deepEqual(await wrong(linkOf(first, second, { seq: 2 })), refused)
    assert.deepEqual(await wrong(linkOf(first, known, {})), refused)
    assert.deepEqual(await wrong(linkOf(first, first, {})), refused)
    const date = '2026-02-01T00:00:00Z'
    await tenant.ok('POST', '/cgr/rotation', linkOf(first, second, { not_before: date }))
    assert.deepEqual(await wrong(linkOf(first, third, {})), refused)
    const early = { seq: 2, not_before: '2026-01-31T00:00:00Z' }
    assert.deepEqual(await wrong(linkOf(second, third, early)), refused)
    assert.deepEqual(await wrong(linkOf(second, first, { seq: 2 })), refused)
    assert.deepEqual(await wrong(linkOf(known, second, {})), refused)
    const forged = { ...linkOf(second, third, { seq: 2 }), new_key: newKey().key }
    assert.deepEqual(await wrong(forged), [403, 'possession_unproven'])
    assert.deepEqual(await wrong({ ...forged, not_before: 'soon' }), [422, 'validation'])
    assert.equal((await tenant.ok('GET', '/cgr/rotations')).count, 1)
  })

  test('of many different successors at once one is recorded', async () => {
    const tenant = await scene.tenant()
    const first = newKey()
    const links = Array.from({ length: 20 }, () => linkOf(first, newKey(), {}))
    const answers = await Promise.all(
      links.map((link) => tenant.ask('POST', '/cgr/rotation', link)),
    )
    assert.equal(answers.filter(({ status }) => status === 200).length, 1)
    assert.equal((await tenant.ok('GET', '/cgr/rotations')).count, 1)
  })
})
