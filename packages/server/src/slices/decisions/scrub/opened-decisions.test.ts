// A decision that is read again is not decrypted again; erased text leaves the memory at once.

import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { openScene, type Scene } from '../../../testing/erasure-scene.ts'
import { OPERATOR_KEY } from '../../../testing/harness.ts'
import type { DecisionRow } from '../trail/decisions.sql.ts'
import { readSealed } from '../trail/document.ts'
import { openedDecisions, replaceSealed } from '../trail/open.ts'
import { findDecisionRow } from '../trail/reads.ts'

const CONTENT = 'Ilse Brandt moved to Graz'

let scene: Scene
before(async () => {
  scene = await openScene()
})
after(() => scene.stop())

async function decide({ tenant_id, service, ...one }: Scene) {
  const ref = await one.write(CONTENT)
  const id = await one.decide({
    query: 'where does she live',
    output: 'in Graz, as before',
    retrieved_refs: [ref],
    retrieved_contents: [CONTENT],
  })
  const stored = async (): Promise<DecisionRow> => {
    const row = await service.kernel.db.read(tenant_id, (db) => findDecisionRow(db, id))
    assert.ok(row)
    return row
  }
  /** The opened document of a row, as text; null: this process does not have it. */
  const inMemory = (row: DecisionRow) => {
    const document = openedDecisions.find(tenant_id, row)
    return document === undefined ? null : JSON.stringify(document)
  }
  const list = async () => (await one.api('GET', '/v1/decisions')).body.decisions
  return { ref, id, stored, inMemory, list }
}

test('a page that is read again is decrypted once; shared databases keep none', async () => {
  const { id, stored, inMemory, list } = await decide(scene)
  const row = await stored()
  assert.equal(inMemory(row), null)
  const first = await list()
  assert.equal(inMemory(row) !== null, !scene.service.kernel.db.shared)
  assert.deepEqual(await list(), first)
  assert.deepEqual((await scene.api('GET', `/v1/decisions/${id}`)).body, first[0])
  assert.equal(first[0].retrieved_contents[0], CONTENT)
})

test('a document is found for the bytes it was opened from, and kept for its tenant', () => {
  const row = { decision_id: Buffer.alloc(16, 7), sealed: Buffer.from('sealed') }
  const document = JSON.parse('{}')
  openedDecisions.add(openedDecisions.removals, 'one', { ...row, document })
  assert.equal(openedDecisions.find('one', row), document)
  assert.equal(openedDecisions.find('two', row), undefined)
  assert.equal(openedDecisions.find('one', { ...row, sealed: Buffer.from('Sealed') }), undefined)
  const { removals } = openedDecisions
  openedDecisions.remove('one', row.decision_id)
  openedDecisions.add(removals, 'one', { ...row, document })
  assert.equal(openedDecisions.has('one', row.decision_id), false, 'it may be the removed one')
})

test('the documents of a tenant are removed, and not those of one whose id ends so', () => {
  const row = { decision_id: Buffer.alloc(16, 8), sealed: Buffer.from('sealed') }
  for (const tenant_id of ['acme', 'not-acme'])
    openedDecisions.add(openedDecisions.removals, tenant_id, {
      ...row,
      document: JSON.parse('{}'),
    })
  openedDecisions.removeTenant('acme')
  assert.equal(openedDecisions.has('acme', row.decision_id), false)
  assert.equal(openedDecisions.has('not-acme', row.decision_id), true)
  openedDecisions.removeTenant('not-acme')
})

test('a document whose row is replaced leaves the memory with the commit', async () => {
  const { stored, list } = await decide(scene)
  const row = await stored()
  await list()
  const { sealed } = row
  const { secret_no } = readSealed(sealed).head
  const { kernel } = scene.service
  await kernel.db.transact(scene.tenant_id, (tx) => replaceSealed(tx, row, { sealed, secret_no }))
  assert.equal(openedDecisions.has(scene.tenant_id, row.decision_id), false)
})

for (const [what, erase] of [
  ['the memory is erased', ({ issue }: Scene, { ref }: { ref: number }) => issue(ref)],
  [
    'the decision is redacted',
    ({ api }: Scene, { id }: { id: string }) => api('POST', `/v1/decisions/${id}/redact`, {}),
  ],
] as const)
  test(`text of a decision leaves the memory when ${what}`, async () => {
    const decided = await decide(scene)
    const { stored, inMemory, list } = decided
    const before = await stored()
    await list()
    const { status, text } = await erase(scene, decided)
    assert.ok(status < 300, text)
    assert.equal(inMemory(before), null)
    const now = await stored()
    assert.ok(!Buffer.from(now.sealed).equals(before.sealed))
    await list()
    const shown = inMemory(now) ?? ''
    assert.ok(!shown.includes(what.startsWith('the memory') ? CONTENT : 'as before'), shown)
  })

test('nothing of a tenant stays in memory when it is off-boarded', async () => {
  const other = await openScene()
  try {
    const { stored, inMemory, list } = await decide(other)
    const row = await stored()
    await list()
    const { status, text } = await other.service.request(
      'POST',
      `/v1/admin/tenants/${other.tenant_id}/destroy-key`,
      { key: OPERATOR_KEY, body: { confirm: `destroy ${other.tenant_id}` } },
    )
    assert.equal(status, 200, text)
    assert.equal(inMemory(row), null)
  } finally {
    await other.stop()
  }
})
