// A short form of the property run: in process, and through the real service.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInProcess, runOverHttp, violationOf } from './budget-runs.ts'
import { withService } from './process.ts'

test('no random store, query or budget makes ranking and packing exceed the budget', async () => {
  const { requests, violations, nearly_full } = await runInProcess(2_000, 11)
  assert.deepEqual(violations, [])
  assert.equal(requests, 2_000)
  assert(nearly_full > 400, `only ${nearly_full} came near their budget`)
})

test('nor does it through the service, while stores grow', async () => {
  const run = await withService((service) => runOverHttp(service, 200, 12))
  assert.deepEqual(run.violations, [])
  assert.equal(run.requests, 200)
  assert(run.nearly_full > 20, `only ${run.nearly_full} came near their budget`)
})

test('a violation is told by the tokens counted anew, whatever the answer says of itself', () => {
  const request = { query: 'q', budget_tokens: 3, top_k: null, min_score: null }
  const contents = ['one two', 'three']
  assert.equal(violationOf({ request, contents, tokens_used: 3 }), null)
  const small = { ...request, budget_tokens: 2 }
  assert.match(violationOf({ request: small, contents, tokens_used: 2 }) ?? '', /^3 tokens for/)
  assert.match(violationOf({ request, contents, tokens_used: 2 }) ?? '', /said to be 2/)
  const one = { ...request, top_k: 1 }
  assert.match(violationOf({ request: one, contents, tokens_used: 3 }) ?? '', /2 memories of 1/)
})
