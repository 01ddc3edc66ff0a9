// Random policies, operations and contexts out of a few words, so that they often meet.

import { KNOWN_OPERATIONS, POLICY_ACTIONS } from '@custos/contract'
import fc from 'fast-check'
import type { ReferencePolicy } from './reference.ts'

const word = fc.constantFrom('a', 'b', 'ab', 'secret', '12-34')
/** The same as others read them, and what is no name. */
const disguised = fc.constantFrom('\uff41', 's\u200becret', 'ab ', '12-34\n', '', ' ')
const words = fc.array(word, { minLength: 1, maxLength: 3 })
const some = fc.array(word, { maxLength: 2 })
const pattern = fc.constantFrom('a', 'B', 'a+b', '^secret$', '\\d{2}-\\d{2}', '[^a-z]', 's.c|x')
const patterns = fc.array(pattern, { minLength: 1, maxLength: 3 })
export const operation = fc.constantFrom(...KNOWN_OPERATIONS, 'worldmodel.action.a', 'custom.a')
const operations = fc.array(operation, { maxLength: 2 })
const fields = fc.array(fc.constantFrom('query', 'output', 'content', 'metadata', 'params'), {
  minLength: 1,
  maxLength: 2,
})

const criterion = fc.record({
  field: fc.constantFrom('x', 'y'),
  operator: fc.constantFrom('==', '>', '<', 'contains'),
  value: fc.oneof(fc.integer({ min: 0, max: 3 }), word, fc.boolean()),
})
const entry = fc.record({
  list_path: fc.constantFrom('a', 'b'),
  match_all: fc.array(criterion, { minLength: 1, maxLength: 2 }),
})
const denyIf = fc.record(
  { action: word, params_has: fc.array(entry, { minLength: 1, maxLength: 2 }) },
  { requiredKeys: ['params_has'] },
)

const record = (shape: Record<string, fc.Arbitrary<unknown>>, requiredKeys: string[] = []) =>
  fc.record(shape, { requiredKeys })

const configs: Readonly<Record<string, fc.Arbitrary<Record<string, unknown>>>> = {
  rate_limit: record({ operations, max_requests: fc.integer({ min: 1, max: 3 }) }),
  model_allowlist: record({ models: words }, ['models']),
  content_filter: record({ patterns, check_fields: fields }, ['patterns']),
  data_scope: record({ allowed_stores: words }, ['allowed_stores']),
  token_budget: record({ max_tokens_per_request: fc.integer({ min: 0, max: 5 }) }),
  hitl_required: record({ operations, tools: some }),
  pii_guard: record({ patterns, check_fields: fields }, ['patterns']),
  world_model_constraint: record({ require_params: some, for_actions: some, deny_if: denyIf }),
  tool_deny: record({ denied_tools: patterns }, ['denied_tools']),
}

const policy: fc.Arbitrary<ReferencePolicy> = fc
  .constantFrom(...Object.keys(configs))
  .chain((policy_type) =>
    fc.record({
      policy_type: fc.constant(policy_type),
      action: fc.constantFrom(...POLICY_ACTIONS),
      config: configs[policy_type] ?? fc.constant({}),
      exceeded: fc.boolean(),
    }),
  )

export const policies = fc.array(policy, { minLength: 1, maxLength: 8 })

const value = fc.oneof(
  { weight: 6, arbitrary: word },
  disguised,
  fc.constant(null),
  fc.integer({ min: 0, max: 9 }),
)
const item = fc.record(
  { x: value, y: fc.oneof(value, fc.array(value, { maxLength: 2 })) },
  { requiredKeys: [] },
)
const list = fc.oneof(
  { weight: 8, arbitrary: fc.array(item, { maxLength: 3 }) },
  fc.array(fc.oneof(item, fc.constant(null), fc.array(item, { maxLength: 1 })), { maxLength: 2 }),
  value,
)
const params = fc.oneof(
  { weight: 6, arbitrary: record({ a: list, b: list, ab: value, secret: value }) },
  value,
)
const long = word.map((text) => text.repeat(30))

export const context = record({
  model_id: value,
  store_id: value,
  tool_name: value,
  tool: value,
  action: value,
  query: fc.oneof(value, long),
  output: fc.oneof(value, fc.array(value, { maxLength: 2 })),
  content: value,
  metadata: params,
  tokens: fc.oneof(fc.integer({ min: 0, max: 9 }), value),
  params,
})
