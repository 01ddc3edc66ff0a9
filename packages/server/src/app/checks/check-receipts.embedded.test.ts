// The consistency check finds execution receipts that nobody was given.

import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { parseConfig } from '../../config/config.ts'
import { type sceneOf, subjectScene } from '../../slices/subjects/testing/scene.ts'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { rawSql } from '../../testing/raw-sql.ts'
import { runFsck } from './fsck.ts'

const NAME = 'Jana Novak'

let service: TestService
let scene: ReturnType<typeof sceneOf>

before(async () => {
  service = await startTestService()
})
beforeEach(async () => {
  scene = await subjectScene(service)
})
after(() => service.stop())

/** Two decisions on one referent, in one workflow; the ids. */
async function decideTwice(): Promise<string[]> {
  const ids: string[] = []
  for (const decision of ['certify', 'reject']) {
    const body = { decision, invoice_id: 'INV-1', reason: 'as agreed', context: { of: NAME } }
    const { decision_record } = await scene.ok('POST', '/v1/governed/decisions', body)
    ids.push(decision_record.decision_id)
  }
  return ids
}

async function findings() {
  const config = parseConfig({ CUSTOS_DATA_DIR: service.data_dir })
  const reports = await runFsck(config, { tenant_id: scene.tenant_id })
  return reports.flatMap(({ findings }) => findings.map(({ kind, id, what }) => [kind, id, what]))
}

const alter = (change: string, decision_id: string) =>
  rawSql(
    service,
    `update cgr_receipts set ${change} where (tenant_id, seq) in
      (select tenant_id, seq from cgr_decisions where decision_id = ?)`,
    [Buffer.from(decision_id, 'hex')],
  )

test('receipts pass as they were given, also of a redacted decision', async () => {
  await decideTwice()
  assert.deepEqual(await findings(), [])
  assert.equal((await scene.erase({ text: NAME })).found.texts, 2)
  assert.deepEqual(await findings(), [])
})

const ALTERED = ['the receipt is not the one of the decision']
const UNSIGNED = ['the signature of the receipt does not verify']
const UNCHAINED = ['the receipt does not follow the one before it']
const OTHER = "x'00000000000000000000000000000000'"

for (const [what, change, expected] of [
  ['a byte of the signature', 'signature = zeroblob(64)', UNSIGNED],
  ['the key', "key_id = 'none'", UNSIGNED],
  ['the id', `receipt_id = ${OTHER}`, [...ALTERED, ...UNSIGNED]],
  ['the step before', `previous = ${OTHER}`, [...UNCHAINED, ...ALTERED]],
  ['the number of the step', 'step_number = 7', [...UNCHAINED, ...ALTERED]],
  ['the workflow', `workflow = ${OTHER}`, ['the receipt is of another workflow', ...UNCHAINED]],
] as const)
  test(`a receipt with another value is found: ${what}`, async () => {
    const [, second = ''] = await decideTwice()
    await alter(change, second)
    assert.deepEqual(
      await findings(),
      expected.map((fault) => ['receipt', second, fault]),
    )
  })

test('a receipt that is gone is missed, and its successor follows nothing', async () => {
  const [first = '', second = ''] = await decideTwice()
  await rawSql(
    service,
    `delete from cgr_receipts where (tenant_id, seq) in
      (select tenant_id, seq from cgr_decisions where decision_id = ?)`,
    [Buffer.from(first, 'hex')],
  )
  assert.deepEqual(await findings(), [
    ['receipt', first, 'has no receipt'],
    ['receipt', second, 'the receipt does not follow the one before it'],
  ])
})

test('the signature of a redacted decision is checked like others', async () => {
  const [first = ''] = await decideTwice()
  await scene.erase({ text: NAME })
  await alter('signature = zeroblob(64)', first)
  assert.deepEqual(await findings(), [
    ['receipt', first, 'the signature of the receipt does not verify'],
  ])
})
