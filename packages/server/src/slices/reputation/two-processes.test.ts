// Two services on one database: what both are told at once is recorded once, and still adds up.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OPERATOR_KEY } from '../../testing/harness.ts'
import { createDatabase } from '../../testing/postgres.ts'
import { startShared } from '../../testing/services-on-one-database.ts'
import { recompute } from './index.ts'

test('fifty of each at once over two services are one decision, outcome and review', async (t) => {
  const database = await createDatabase()
  const [one, two] = [await startShared(database.url, {}), await startShared(database.url, {})]
  t.after(async () => {
    await one.stop()
    await two.stop()
    await database.drop()
  })
  const post = async (at: number, path: string, body: unknown, key = OPERATOR_KEY) => {
    const { url } = at % 2 === 0 ? one : two
    const answer = await fetch(`${url}/v1${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
    })
    const text = await answer.text()
    assert.ok(answer.ok, `${path}: ${answer.status} ${text}`)
    return JSON.parse(text)
  }
  const { tenant_id, api_key } = await post(0, '/cloud/tenants', { name: 'both' })
  const fifty = async (path: string, body: unknown): Promise<number> => {
    const all = await Promise.all(
      Array.from({ length: 50 }, (_, at) => post(at, path, body, api_key)),
    )
    return all.filter(({ idempotent }) => !idempotent).length
  }
  const decision = { decision: 'certify', agent_handle: 'agent', invoice_id: 'one' }
  assert.equal(await fifty('/governed/decisions', decision), 1)
  const review = { invoice_ref: 'one', reviewer_handle: 'somebody', rating: 0.5 }
  assert.equal(await fifty('/governed/reviews', review), 1)
  assert.equal(await fifty('/governed/outcomes', { invoice_ref: 'one', outcome: 'paid' }), 1)
  const { differences, ...counted } = await one.kernel.db.read(tenant_id, (db) => recompute(db))
  assert.deepEqual(differences, [])
  assert.deepEqual([counted.decisions, counted.reviews, counted.outcomes], [1, 1, 1])
})
