// Rows of an older copy of the data: they open no longer once their text was removed.

import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { openScene, type Scene } from '../../../testing/erasure-scene.ts'
import { type DecisionRow, findDecision } from '../trail/decisions.sql.ts'
import { isErasureConflict, openRows } from '../trail/open.ts'
import { MARKER } from '../trail/redact-text.ts'

let scene: Scene

before(async () => {
  scene = await openScene()
})
after(() => scene.stop())

async function rowOf(id: string): Promise<DecisionRow> {
  const { db } = scene.service.kernel
  const row = await db.read(scene.tenant_id, (r) => findDecision(r, Buffer.from(id, 'hex')))
  assert.ok(row)
  return row
}

const open = (row: DecisionRow) => openRows(scene.service.kernel, scene.tenant_id, [row])
const get = async (id: string) => (await scene.api('GET', `/v1/decisions/${id}`)).body

/** The decision's row before `act`, which opens then and does not afterwards. */
async function assertClosedBy(id: string, act: () => Promise<unknown>): Promise<void> {
  const copied = await rowOf(id)
  assert.equal((await open(copied))[0]?.decision_id, id)
  await act()
  await assert.rejects(open(copied), isErasureConflict)
  assert.equal((await open(await rowOf(id)))[0]?.decision_id, id)
}

test('erasing a number that is no memory closes what decisions carried for it', async () => {
  const ref = 900_001
  const id = await scene.decide({
    query: 'Is Ursula Vogt, born 1951, insured?',
    output: 'kept',
    retrieved_refs: [ref],
    retrieved_contents: ['Ursula Vogt, born 1951'],
  })
  await assertClosedBy(id, async () => {
    const { body } = await scene.issue(ref)
    assert.equal(body.outcome, 'already_absent')
    assert.deepEqual(body.scrubbed_decision_ids, [id])
    assert.deepEqual(
      body.redactions.map(({ field }: { field: string }) => field),
      ['retrieved_contents', 'query'],
    )
    assert.ok(!body.limits.some((limit: string) => limit.includes('with the live keyring')))
  })
  const { query, output } = await get(id)
  assert.deepEqual([query, output], [`Is ${MARKER}, insured?`, 'kept'])
})

test('erasing a memory closes decisions that had named its number as a label', async () => {
  const next = (await scene.write('one before')) + 1
  const id = await scene.decide({
    query: 'q',
    output: 'o',
    retrieved_refs: [next],
    retrieved_contents: ['Viktor Wenger lives in Olten'],
  })
  const ref = await scene.write('Viktor Wenger lives in Olten')
  assert.equal(ref, next)
  await assertClosedBy(id, async () => {
    assert.equal((await scene.issue(ref)).body.outcome, 'erased')
  })
  assert.deepEqual((await get(id)).retrieved_contents, [MARKER])
})

test('decisions.scrub closes the old text although the memory stays', async () => {
  const ref = await scene.write('Wanda Zoller has the flu')
  const id = await scene.decide({
    query: 'Wanda Zoller has the flu, has she?',
    output: 'o',
    retrieved_refs: [ref],
  })
  await assertClosedBy(id, () => scene.api('DELETE', `/v1/decisions/scrub/${ref}`))
  assert.equal((await get(id)).query, `${MARKER}, has she?`)
})

test('decisions.redact closes a decision that was scrubbed before', async () => {
  const ref = 900_002
  const given = { retrieved_refs: [ref], retrieved_contents: ['Xaver Zumthor was here'] }
  const id = await scene.decide({ query: 'another secret', output: 'o', ...given })
  await scene.api('DELETE', `/v1/decisions/scrub/${ref}`)
  const scrubbed = await rowOf(id)
  assert.equal((await open(scrubbed))[0]?.document.query, 'another secret')
  assert.equal((await scene.api('POST', `/v1/decisions/${id}/redact`, {})).status, 200)
  await assert.rejects(open(scrubbed), isErasureConflict)
})
