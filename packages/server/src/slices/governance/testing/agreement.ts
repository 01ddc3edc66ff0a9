// The property that the evaluator and the reference agree, for any number of runs.

import assert from 'node:assert/strict'
import type { PolicyAction, PolicyType } from '@custos/contract'
import fc from 'fast-check'
import { evaluateSet, type Verdict } from '../rules/evaluate-set.ts'
import type { CompiledPolicy, PolicyText } from '../rules/policy.ts'
import { context, operation, policies } from './policies.ts'
import { compiledOf, textOf } from './policy-of-config.ts'
import { type ReferencePolicy, referenceResult, type Word } from './reference.ts'

/** Random policy sets on random requests; throws with the smallest that differ. */
export async function assertAgreement(runs: number): Promise<void> {
  await fc.assert(fc.asyncProperty(policies, operation, context, agree), { numRuns: runs })
}

async function agree(
  set: ReferencePolicy[],
  name: string,
  given: Record<string, unknown>,
): Promise<void> {
  const expected = set.map((policy) => referenceResult(policy, name, given))
  const exceeded = new Set(set.flatMap((policy, i) => (policy.exceeded ? [i] : [])))
  const request = { operation: name, contexts: [given], exceeded }
  const found = await evaluateSet(set.map(compiled), request)
  const words = found.outcomes.map(({ result, applicable }) => (applicable ? result : '-'))
  assert.deepEqual(words, expected)
  assert.equal(found.verdict, verdictOf(expected))
}

function verdictOf(words: readonly Word[]): Verdict {
  if (words.includes('denied')) return 'denied'
  return words.includes('escalated') ? 'escalated' : 'allowed'
}

const compiled = (policy: ReferencePolicy): CompiledPolicy => compiledOf(textOfReference(policy))

// Drawn from the contract's enums.
export const textOfReference = ({ policy_type, action, config }: ReferencePolicy): PolicyText =>
  textOf(policy_type as PolicyType, config, action as PolicyAction)
