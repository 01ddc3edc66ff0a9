// The evaluator: it agrees with a second one, and fails closed where it cannot judge.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { assertAgreement } from '../testing/agreement.ts'
import { compiledOf, textOf } from '../testing/policy-of-config.ts'
import { evaluateSet } from './evaluate-set.ts'
import { type Recognisers, recognisers } from './personal-data.ts'
import { compilePolicy, type PolicyText, policyOf } from './policy.ts'
import { replaceIn } from './searchable.ts'

test('random policies on random requests get what a plain evaluator gives', () =>
  assertAgreement(2_000))

function evaluateOne(
  text: PolicyText,
  contexts: readonly Record<string, unknown>[],
  known?: Recognisers,
) {
  return evaluateSet([compiledOf(text, known)], {
    operation: 'memory.write',
    contexts,
    exceeded: new Set(),
  })
}

test('a policy that cannot be compiled, read or run denies, whatever its action', async () => {
  const bad = await evaluateOne(textOf('content_filter', { patterns: ['('] }), [{ content: 'x' }])
  assert.deepEqual(bad.outcomes[0]?.detail, { reason: 'bad_pattern' })
  assert.equal(bad.verdict, 'denied')
  const text = textOf('tool_deny', { denied_tools: ['x'] })
  const unreadable = await evaluateSet([policyOf(text, compilePolicy(null, recognisers))], {
    operation: 'inference',
    contexts: [{}],
    exceeded: new Set(),
  })
  assert.deepEqual(unreadable.outcomes[0]?.detail, { reason: 'unreadable' })
  const breaking: Recognisers = {
    entities: ['X'],
    find() {
      throw new Error('broken')
    },
  }
  const guard = textOf('pii_guard', { entities: ['X'], check_fields: ['content'] })
  const failed = await evaluateOne(guard, [{ content: 'x' }], breaking)
  assert.deepEqual(failed.outcomes[0]?.detail, { reason: 'failed' })
})

const LETTERS: Recognisers = {
  entities: ['LETTERS'],
  find: (text) =>
    [...text.matchAll(/[a-z]+/g)].map(({ index, 0: found }) => ({
      entity: 'LETTERS',
      start: index,
      end: index + found.length,
    })),
}

test('of a batch the heaviest item decides, and each item is redacted by itself', async () => {
  const guard = textOf('pii_guard', {
    entities: ['LETTERS'],
    patterns: ['\\d{4}'],
    check_fields: ['content'],
    redact: true,
  })
  const contexts = [{ content: '12 ab 3456' }, { content: '1' }, { content: 'Xb' }]
  const { verdict, outcomes, redactions } = await evaluateOne(guard, contexts, LETTERS)
  assert.equal(verdict, 'allowed')
  assert.equal(outcomes[0]?.result, 'logged')
  assert.deepEqual(redactions, [
    { content: '12 <LETTERS> <REDACTED>' },
    {},
    { content: 'X<LETTERS>' },
  ])
})

test('replacing spans leaves every character outside them and none inside', () => {
  const span = fc.record({ start: fc.nat(20), length: fc.integer({ min: 1, max: 6 }) })
  fc.assert(
    fc.property(fc.string({ minLength: 26, maxLength: 26 }), fc.array(span), (text, spans) => {
      const inside = (at: number) => spans.some((s) => at >= s.start && at < s.start + s.length)
      const kept = text.split('').filter((_, i) => !inside(i))
      const replaced = replaceIn(
        text,
        spans.map(({ start, length }) => ({ field: 'f', start, end: start + length, by: '' })),
      )
      assert.equal(replaced, kept.join(''))
    }),
  )
})

test('policies that take long without searching leave room for other requests', async () => {
  const policy = compiledOf(textOf('token_budget', {}))
  const slow = {
    ...policy,
    evaluate(...given: Parameters<typeof policy.evaluate>) {
      for (const from = performance.now(); performance.now() - from < 10; );
      return policy.evaluate(...given)
    },
  }
  let turns = 0
  const count = () => {
    turns += 1
    if (turns < 10) setImmediate(count)
  }
  setImmediate(count)
  const request = { operation: 'my.own', contexts: [{}], exceeded: new Set<number>() }
  await evaluateSet([slow, slow, slow], request)
  assert.ok(turns > 0)
})
