// Describes the detail of an outcome in plain words.

import { CHECK_FIELDS, type PolicyType } from '@custos/contract'
import type { Detail } from './outcome.ts'

const KEYS: Readonly<Partial<Record<PolicyType, readonly string[]>>> = {
  ...CHECK_FIELDS,
  model_allowlist: ['model_id'],
  data_scope: ['store_id'],
  token_budget: ['tokens'],
  hitl_required: ['tool_name'],
  world_model_constraint: ['action', 'params'],
  tool_deny: ['tool_name'],
}

/** Empty if the policy simply allowed the request. */
export function describeDetail(
  policy: {
    readonly policy_type: PolicyType
    readonly config: Readonly<Record<string, unknown>>
  },
  detail: Detail | null,
): string {
  if (detail === null) return ''
  const field = fieldsOf(policy)[detail.field ?? 0] ?? 'the context'
  const { count = 0, limit = 0, item } = detail
  switch (detail.reason) {
    case 'rate_exceeded':
      return `more than ${limit} requests in ${count} s`
    case 'model_not_listed':
      return 'the model is not on the list'
    case 'store_not_listed':
      return 'the store is not on the list'
    case 'pattern_found':
      return `${field} matches pattern ${(item ?? 0) + 1}`
    case 'personal_data':
      return `${field} holds personal data: ${foundBy(detail)}`
    case 'over_budget':
      return `${count} tokens, ${limit} are allowed`
    case 'approval_needed':
      return 'a person has to approve this'
    case 'parameter_missing':
      return `required parameter ${(item ?? 0) + 1} is missing`
    case 'parameters_refused':
      return 'the parameters hold what the policy refuses'
    case 'tool_denied':
      return `the tool is entry ${(item ?? 0) + 1} of the list`
    case 'approved':
      return 'a person has approved this'
    case 'missing_context':
      return `${field} is missing`
    case 'wrong_type':
      return `${field} has a value of a type that cannot be judged`
    case 'field_too_long':
      return `${field} has ${count} bytes, ${limit} can be read`
    case 'ambiguous':
      return `${field} is given under two names with different values`
    case 'too_many_found':
      return `${field} holds more than ${limit} matches, which is too many to redact`
    case 'work_exceeded':
      return 'the policies would search longer than one request may: send less at once'
    case 'bad_pattern':
      return 'the policy has a pattern that cannot be used'
    case 'unreadable':
      return 'the policy cannot be read'
    case 'failed':
      return 'the policy could not be evaluated'
  }
}

function foundBy({ item, entities = [], count = 0 }: Detail): string {
  const pattern = item === undefined ? [] : [`pattern ${item + 1}`]
  const recognised = entities.length === 0 ? [] : [`${entities.join(', ')} (${count} found)`]
  return [...pattern, ...recognised].join(' and ')
}

function fieldsOf({
  policy_type,
  config,
}: Parameters<typeof describeDetail>[0]): readonly string[] {
  const given = config['check_fields']
  return Array.isArray(given) ? given.map(String) : (KEYS[policy_type] ?? [])
}
