// The face of governance: the gate for other slices, handlers for the HTTP layer.
//
// gate(call, operation, context, options?) -> Promise<GateResult>
//   asks the tenant's policies about one request: { verdict: 'allowed' | 'denied' | 'escalated',
//   evaluation_id, policy_set, policies: [{ policy_id, version, name, policy_type, action, result,
//   applicable, reason, detail }], redactions: [{ field: value }] }. It counts towards rate limits
//   and is kept, unless `dry_run`; a denial or an escalation is durable and on the log when it
//   returns. `call` is the operation's Call, or { kernel, tenant_id, principal } of one.
// gateItems(call, operation, contexts, options?)
//   the same for a request of several items: counted once, the heaviest item decides.
// admit(call, operation, context, options?) -> Promise<{ field: value }>
//   for operations that cannot wait: throws the 403 `policy_denied` or `approval_required`, or the
//   429 `rate_limited`, otherwise returns the values to use instead of those given (empty where
//   nothing is redacted).
// admitItems(call, operation, contexts): the same in the order of the items.
// redactedOr(redactions, key, given): the one value to use.
// refusalOf(gated): the Refusal that admit throws, for those that handle `escalated` themselves.
//
// An operation that gets a gate is added to GATED of gate.ts: evaluating it counts towards nothing.
// The names of operations and the context keys they carry are OPERATION_KEYS of the contract.

import type { governance } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import { createPolicy, deletePolicy, updatePolicy } from './create-policy.ts'
import { evaluateOperation } from './evaluate-operation.ts'
import { logs } from './logs.ts'
import { getPolicy, listPolicies, policyTypes, stats } from './reads.ts'
import { seedDefaults } from './seed-defaults.ts'

export { checkPolicies, digestPolicies } from './check.ts'
export {
  admit,
  admitItems,
  type GateResult,
  gate,
  gateItems,
  type PolicyVersion,
  refusalOf,
} from './gate.ts'
export { flushEvaluations } from './log/evaluation-log.ts'
export { type Redactions, redactedOr } from './rules/evaluate-set.ts'
export type { Context } from './rules/request.ts'
export { policyTextSource } from './text-sources.ts'

export const governanceHandlers = {
  stats,
  policy_types: policyTypes,
  create_policy: createPolicy,
  list_policies: listPolicies,
  get_policy: getPolicy,
  update_policy: updatePolicy,
  delete_policy: deletePolicy,
  evaluate: evaluateOperation,
  seed_defaults: seedDefaults,
  logs,
} satisfies HandlersOf<typeof governance>
