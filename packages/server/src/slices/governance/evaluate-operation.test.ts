// The text of an evaluation is what the same answer is written as, member by member.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { formatTime } from '../../platform/clock.ts'
import { RawJson } from '../../platform/raw-json.ts'
import { logId, showOutcome } from './evaluation-result.ts'
import { answer, showEvaluated } from './index.ts'
import { evaluateSet } from './rules/evaluate-set.ts'
import { textOfReference } from './testing/agreement.ts'
import { context, operation, policies } from './testing/policies.ts'
import { compiledOf } from './testing/policy-of-config.ts'

const words = fc.string({ unit: 'binary' })

const evaluation = fc.record({
  rules: policies,
  operation,
  given: context,
  names: fc.array(words, { minLength: 8, maxLength: 8 }),
  request: words,
  tenant_id: words,
  dry_run: fc.boolean(),
})

const [policy_set, evaluation_id, created_us] = [7, 'e'.repeat(20), 1_700_000_000_123_456]

test('an evaluation is written as the ordinary JSON of its answer', () =>
  fc.assert(
    fc.asyncProperty(evaluation, async ({ rules, names, given, tenant_id, dry_run, ...about }) => {
      const { operation, request } = about
      const compiled = rules.map((rule, i) =>
        compiledOf({ ...textOfReference(rule), policy_id: String(i), name: names[i] ?? '' }),
      )
      const exceeded = new Set(rules.flatMap((rule, i) => (rule.exceeded ? [i] : [])))
      const outcome = await evaluateSet(compiled, { operation, contexts: [given], exceeded })
      const set = { policy_set, policies: compiled }
      const ids = { evaluation_id, created_us, kept_operation: operation }
      const evaluated = { ...outcome, ...ids, operation, request, set }
      const written = showEvaluated(tenant_id, evaluated, dry_run)
      assert(written instanceof RawJson)
      const created_at = formatTime(created_us)
      const logs = outcome.outcomes.map((outcome, i) => {
        const log_id = dry_run ? null : logId(evaluation_id, i)
        const policy = compiled[i]
        assert(policy)
        const shown = { log_id, tenant_id, policy, outcome, operation, request, created_at }
        return showOutcome(shown)
      })
      const head = { evaluation_id: dry_run ? null : evaluation_id, policy_set, dry_run }
      assert.equal(written.text, JSON.stringify(answer(logs, head)))
    }),
    { numRuns: 300 },
  ))
