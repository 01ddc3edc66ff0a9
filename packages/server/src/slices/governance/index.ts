// The public interface of governance: the gate for other slices, evaluation on request, handlers.
//
// gate(call, operation, context, options?) -> Promise<GateResult>
//   evaluates the tenant's policies for one request: { verdict: 'allowed' | 'denied' | 'escalated',
//   evaluation_id, policy_set, policies: [{ policy_id, version, name, policy_type, action, result,
//   applicable, reason, detail }], redactions: [{ field: value }] }. It counts towards rate limits
//   and is stored, unless `dry_run`; a denial or an escalation is durable and on the log when it
//   returns. `call` is the operation's Call, or { kernel, tenant_id, principal } of one.
// gateItems(call, operation, contexts, options?)
//   the same for a request of several items: counted once; the strictest result decides.
// admit(call, operation, context, options?) -> Promise<{ field: value }>
//   for operations that cannot wait: throws the 403 `policy_denied` or `approval_required`, or the
//   429 `rate_limited`, otherwise returns the values to use instead of the given ones (empty if
//   nothing is redacted).
// admitItems(call, operation, contexts): the same for several items, in their order.
// redactedOr(redactions, key, given): the one value to use.
// refusalOf(gated): the Refusal that admit throws, for those that handle `escalated` themselves.
//
// Add operations that call the gate to GATED in gate.ts: evaluating them counts towards nothing.
// OPERATION_KEYS of the contract lists the operations and the context keys that they carry.

import assert from 'node:assert/strict'
import type {
  governance as contract,
  Evaluation,
  GovernanceLog,
  governance,
  PolicyResult,
} from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import type { Call, Handler, HandlersOf } from '../../platform/kernel/call.ts'
import { type RawJson, rawJson } from '../../platform/raw-json.ts'
import { validationDetail } from '../../platform/validation.ts'
import { readMeter } from '../tenants/index.ts'
import { createPolicy, deletePolicy, seedDefaults, updatePolicy } from './create-policy.ts'
import {
  type EvaluationResult,
  readOutcomes,
  recordOf,
  showLogs,
  writeEvaluated,
  writeIndex,
} from './evaluation-result.ts'
import { evaluate, record } from './gate.ts'
import { findEvaluation } from './log/evaluations.sql.ts'
import { policySets } from './policy-sets.ts'
import { getPolicy, listPolicies, logs, policyTypes, stats } from './reads.ts'
import { verdictOf } from './rules/evaluate-set.ts'
import { currentName, findNameProblem } from './rules/operation-names.ts'

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
export { checkPolicies, digestPolicies, policyTextSource } from './sealed-policy.ts'

/** POST /v1/governance/evaluate: returns the result of each enabled policy and the verdict. */
const evaluateOperation: Handler<typeof contract.evaluate> = async (call, { body }) => {
  const operation = readOperation(body.operation)
  const dry_run = body.dry_run ?? false
  const contexts = [body.context ?? {}]
  const set = await policySets(call.kernel).of(call)
  const evaluated = await evaluate(call, set, { operation, contexts, dry_run, by: 'caller' })
  if (call.idempotency_key !== null) return evaluateOnce(call, evaluated, dry_run)
  if (evaluated !== null && !dry_run) await record(call, evaluated)
  return showEvaluated(call.tenant_id, evaluated, dry_run)
}

/** Returns the current name of the operation. Refuses a name that no policy can have. */
function readOperation(name: string): string {
  const problem = findNameProblem(name)
  if (problem !== null) throw validationDetail(['body', 'operation'], problem, 'enum')
  return currentName(name)
}

interface EvaluationIds {
  readonly evaluation_id: string | null
  readonly created_us: number
  readonly policy_set: number
}

/**
 * With an idempotency key all rows are durable before the reply. A retry is evaluated again and
 * returns the first evaluation if the result is the same, otherwise a new one.
 */
async function evaluateOnce(
  call: Call<typeof contract.evaluate>,
  evaluated: EvaluationResult | null,
  dry_run: boolean,
): Promise<Evaluation | RawJson<Evaluation>> {
  const { kernel, tenant_id } = call
  const keys = await kernel.keyring.tenant(tenant_id)
  const kept = await call.once<EvaluationIds>({
    async run(tx) {
      const ids = keptOf(evaluated, dry_run)
      if (evaluated !== null && !dry_run) await writeEvaluated(tx, keys, evaluated)
      return { reply: ids, ids: { ...ids } }
    },
    // The stored ids were written by `run` above.
    replay: async (_, { evaluation_id, created_us, policy_set }) => ({
      evaluation_id: evaluation_id === null ? null : String(evaluation_id),
      created_us: Number(created_us),
      policy_set: Number(policy_set),
    }),
  })
  readMeter(kernel).count(tenant_id, call.operation.id)
  if (dry_run || kept.evaluation_id === (evaluated?.evaluation_id ?? null))
    return showEvaluated(tenant_id, evaluated, dry_run)
  const again = await showKept(call, kept, evaluated)
  if (again !== null) return again
  if (evaluated !== null) await record(call, evaluated)
  return showEvaluated(tenant_id, evaluated, dry_run)
}

function keptOf(evaluated: EvaluationResult | null, dry_run: boolean): EvaluationIds {
  if (evaluated === null || dry_run) return { evaluation_id: null, created_us: 0, policy_set: 0 }
  const { evaluation_id, created_us, set } = evaluated
  return { evaluation_id, created_us, policy_set: set.policy_set }
}

/** Returns `null` if the same policies now give another result. */
async function showKept(
  call: Call<typeof contract.evaluate>,
  { evaluation_id, created_us, policy_set }: EvaluationIds,
  evaluated: EvaluationResult | null,
): Promise<Evaluation | null> {
  if (evaluation_id === null || evaluated === null) return null
  const row = await call.read((db) => findEvaluation(db, { created_us, evaluation_id }))
  const fresh = recordOf(evaluated).row
  if (row?.policy_set !== fresh.policy_set || row.verdicts !== fresh.verdicts) return null
  const { operation } = evaluated
  const picked = readOutcomes(row.verdicts, null).map((_, index) => ({ row, index }))
  const logs = (await showLogs(call, picked)).map((log) => ({ ...log, operation }))
  return answer(logs, { evaluation_id, policy_set, dry_run: false })
}

/** Writes the JSON of `answer` for the results that `showOutcome` makes of each outcome. */
export function showEvaluated(
  tenant_id: string,
  evaluated: EvaluationResult | null,
  dry_run: boolean,
): Evaluation | RawJson<Evaluation> {
  if (evaluated === null) return answer([], { evaluation_id: null, policy_set: 0, dry_run })
  const { set, outcomes, operation, request, created_us } = evaluated
  const evaluation_id = dry_run ? null : evaluated.evaluation_id
  const created_at = formatTime(created_us)
  const log_id = dry_run ? '"log_id":null' : `"log_id":"${evaluation_id}`
  const tenant = `${dry_run ? '' : '"'},${membersOf({ tenant_id })},`
  const about = `,${membersOf({ operation, request_summary: request, created_at })}`
  const evaluations: string[] = []
  const logs: string[] = []
  for (const [i, outcome] of outcomes.entries()) {
    const written = set.policies[i]?.write(outcome)
    assert(written, 'there is an outcome for each policy, and no other')
    const index = dry_run ? '' : writeIndex(i)
    evaluations.push(i === 0 ? '{' : '},{', log_id, index, tenant, written.evaluation, about)
    logs.push(written.log)
  }
  if (outcomes.length > 0) evaluations.push('}')
  const { allowed, ...decision } = decide(outcomes)
  const head = membersOf({ ...decision, evaluation_id, policy_set: set.policy_set, dry_run })
  const entries = evaluations.join('')
  return rawJson(`{"allowed":${allowed},"evaluations":[${entries}],${head},"logs":[${logs}]}`)
}

/** The JSON of an object without its braces. */
const membersOf = (value: object): string => JSON.stringify(value).slice(1, -1)

export function answer(
  evaluations: GovernanceLog[],
  about: Pick<Evaluation, 'evaluation_id' | 'policy_set' | 'dry_run'>,
): Evaluation {
  const { allowed, ...decision } = decide(evaluations)
  return {
    allowed,
    evaluations,
    ...decision,
    ...about,
    logs: evaluations.map(({ policy_name, policy_type, action, result, detail }) => ({
      ...{ policy_name, policy_type, action, result, detail },
    })),
  }
}

function decide(outcomes: readonly { readonly result: PolicyResult }[]) {
  const summary = { total: outcomes.length, allowed: 0, denied: 0, escalated: 0, logged: 0 }
  for (const { result } of outcomes) summary[result] += 1
  const verdict = verdictOf(outcomes.map(({ result }) => result))
  return { allowed: verdict === 'allowed', summary, verdict, escalated: verdict === 'escalated' }
}

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
