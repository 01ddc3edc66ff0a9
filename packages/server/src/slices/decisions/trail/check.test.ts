// The check of decisions: sound records pass, each alteration of a row is named.

import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { openScene, type Scene } from '../../../testing/erasure-scene.ts'
import { rawSql } from '../../../testing/raw-sql.ts'
import { testEngine } from '../../../testing/test-data.ts'
import { checkDecisions } from '../index.ts'

let scene: Scene

before(async () => {
  scene = await openScene()
})
after(() => scene.stop())

const check = () => checkDecisions(scene.service.kernel, scene.tenant_id)

/** Alters the newest decision behind the service's back; the caller gets its id. */
async function alter(assignment: string): Promise<string> {
  const id = await scene.decide({ query: 'q', output: 'o', token_count: 5 })
  const newest = '(select max(seq) from decisions)'
  await rawSql(scene.service, `update decisions set ${assignment} where seq = ${newest}`)
  return id
}

const LENGTHENED =
  testEngine() === 'postgres' ? `sealed || '\\x00'::bytea` : `cast(sealed || x'00' as blob)`

test('sound decisions pass: plain, with facts, scrubbed and redacted', async () => {
  const ref = await scene.write('Lea Moser has moved away')
  const facts = { retrieved_refs: [ref], retrieved_contents: ['Lea Moser has moved away'] }
  await scene.decide({ query: 'q', output: 'o', parameters: { a: 1.5 }, session_id: 's' })
  await scene.decide({ query: 'Lea Moser has moved away', output: 'o', ...facts })
  assert.deepEqual(await check(), { checked: 2, faults: [] })
  await scene.api('DELETE', `/v1/decisions/scrub/${ref}`)
  const redacted = await scene.decide({ query: 'q', output: 'o' })
  assert.equal((await scene.api('POST', `/v1/decisions/${redacted}/redact`, {})).status, 200)
  assert.deepEqual(await check(), { checked: 3, faults: [] })
})

test('every altered column of a decision is found and named', async () => {
  const cases = [
    ['token_count = 6', /does not give the digest/],
    ['latency_ms = 1', /does not give the digest/],
    [`store_id = 'x'`, /does not give the digest/],
    ['memory_seq = 0', /does not give the digest/],
    ['logged_us = logged_us + 1', /does not give the digest/],
    ['secret_no = secret_no + 1', /secret_no differs/],
    [`sealed = ${LENGTHENED}`, /seal does not open/],
  ] as const
  for (const [assignment, expected] of cases) {
    const before = (await check()).faults.length
    const id = await alter(assignment)
    const { faults } = await check()
    assert.equal(faults.length, before + 1, assignment)
    assert.equal(faults.at(-1)?.decision_id, id)
    assert.match(faults.at(-1)?.fault ?? '', expected)
  }
})

test('a decision that the index of uses hides from an erasure is found', async () => {
  const ref = await scene.write('Ivo Brandt plays the viola')
  for (const altering of [
    `delete from decision_facts where ref = ${ref}`,
    `update decision_facts set bound = 0 where ref = ${ref}`,
  ]) {
    const before = (await check()).faults.length
    const id = await scene.decide({ query: 'q', output: 'o', retrieved_refs: [ref] })
    await rawSql(scene.service, altering)
    const { faults } = await check()
    assert.equal(faults.length, before + 1, altering)
    assert.equal(faults.at(-1)?.decision_id, id)
    assert.match(faults.at(-1)?.fault ?? '', /index of uses/)
  }
})
