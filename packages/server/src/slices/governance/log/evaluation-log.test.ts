// Rows of evaluations on their way: written once, counted once, each tenant for itself.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { openCutKernel } from '../../../testing/cut-kernel.ts'
import { openTestKernel } from '../../../testing/kernel.ts'
import { evaluationLog, flushEvaluations, type NewEvaluation } from './evaluation-log.ts'
import { type EvaluationRow, listCounts, listEvaluations } from './evaluations.sql.ts'

const NEWEST = { before: null, result: null, policy_sets: null, limit: 20_000 }

function rowOf({ clock, ids }: Kernel): EvaluationRow {
  return {
    ...{ created_us: clock.now(), evaluation_id: ids.hex(10), policy_set: 1 },
    ...{ operation: 'inference', verdicts: 'A', details: null, request: 'op=inference' },
    ...{ members: 1, denied: 0, escalated: 0, logged: 0 },
  }
}

const evaluationOf = (row: EvaluationRow): NewEvaluation => ({
  row,
  counted: () => [row.verdicts === 'A' ? 'p allowed' : 'p denied'],
})

/** Rows, and what their policy has been counted. */
const written = ({ db }: Kernel, tenant_id: string): Promise<[number, number]> =>
  db.read(tenant_id, async (look) => {
    const rows = await listEvaluations(look, NEWEST)
    const counts = await listCounts(look)
    return [rows.length, counts.reduce((sum, { count }) => sum + count, 0)]
  })

test('a row whose commit was not heard of is written and counted once', async (t) => {
  const { kernel, cutAfter } = await openCutKernel(t)
  for (const tenant_id of ['t1', 't2']) await kernel.keyring.createTenant(tenant_id)
  const log = evaluationLog(kernel)
  log.add('t1', evaluationOf(rowOf(kernel)))
  cutAfter('commit\0')
  await assert.rejects(log.flush('t1'))
  cutAfter('never said')
  await assert.doesNotReject(log.flush('t1'))
  assert.deepEqual(await written(kernel, 't1'), [1, 1])
  log.add('t2', evaluationOf(rowOf(kernel)))
  await log.flush('t2')
  assert.deepEqual(await written(kernel, 't2'), [1, 1])
  await flushEvaluations(kernel)
})

test('a tenant whose rows cannot be written waits and fails for itself alone', async (t) => {
  const { kernel, close } = await openTestKernel({ tenants: ['t1', 't2'] })
  t.after(async () => {
    await flushEvaluations(kernel)
    await close()
  })
  const log = evaluationLog(kernel)
  const nothing: string = JSON.parse('null')
  // The database takes no row without a request.
  const broken = { ...rowOf(kernel), request: nothing }
  log.add('t1', evaluationOf(broken))
  for (let i = 1; i < 10_000; i += 1) assert.equal(log.add('t1', evaluationOf(broken)), undefined)
  await assert.rejects(log.flush('t1'))
  for (let i = 0; i < 3; i += 1)
    await assert.rejects(async () => log.add('t1', evaluationOf(rowOf(kernel))))

  assert.equal(log.add('t2', evaluationOf(rowOf(kernel))), undefined)
  await log.flush('t2')
  await assert.rejects(log.flushAll())
  assert.deepEqual(await written(kernel, 't2'), [1, 1])

  broken.request = 'op=inference'
  await log.add('t1', evaluationOf(rowOf(kernel)))
  await log.flush('t1')
  // What was refused before is not kept: it is the first of the many, and the last one.
  assert.deepEqual(await written(kernel, 't1'), [2, 2])
})
