// Builds policies, as the evaluation reads them, from a type and a configuration.

import type { PolicyAction, PolicyType } from '@custos/contract'
import { type Recognisers, recognisers } from '../rules/personal-data.ts'
import { type CompiledPolicy, compilePolicy, type PolicyText, policyOf } from '../rules/policy.ts'

export const textOf = (
  policy_type: PolicyType,
  config: object,
  action: PolicyAction = 'log_only',
): PolicyText => ({
  ...{ policy_id: 'p', version: 1, name: 'p', policy_type, action },
  config: { ...config },
})

export const compiledOf = (text: PolicyText, known: Recognisers = recognisers): CompiledPolicy =>
  policyOf(text, compilePolicy(text, known))
