// POST /v1/governance/evaluate: the result of each enabled policy, and the verdict.

import type { governance as contract, Evaluation, GovernanceLog } from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import type { Call, Handler } from '../../platform/kernel/call.ts'
import { validationDetail } from '../../platform/validation.ts'
import { readMeter } from '../tenants/index.ts'
import {
  type EvaluationResult,
  readOutcomes,
  recordOf,
  writeEvaluated,
} from './evaluation-result.ts'
import { logId, showLogs, showOutcome } from './evaluation-rows.ts'
import { evaluate, record } from './gate.ts'
import { findEvaluation } from './log/evaluations.sql.ts'
import { verdictOf } from './rules/evaluate-set.ts'
import { currentName, findNameProblem } from './rules/operation-names.ts'

type EvaluateCall = Call<typeof contract.evaluate>

export const evaluateOperation: Handler<typeof contract.evaluate> = async (call, { body }) => {
  const operation = readOperation(body.operation)
  const dry_run = body.dry_run ?? false
  const contexts = [body.context ?? {}]
  const evaluated = await evaluate(call, { operation, contexts, dry_run, by: 'caller' })
  if (call.idempotency_key !== null) return evaluateOnce(call, evaluated, dry_run)
  if (evaluated !== null && !dry_run) await record(call, evaluated)
  return showEvaluated(call.tenant_id, evaluated, dry_run)
}

/** The current name. Refuses one that no policy can name. */
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
 * With an idempotency key all rows are durable before the answer. A retry is evaluated again: if
 * the result is the same, it returns the first evaluation; otherwise it returns a new one.
 */
async function evaluateOnce(
  call: EvaluateCall,
  evaluated: EvaluationResult | null,
  dry_run: boolean,
): Promise<Evaluation> {
  const { kernel, tenant_id } = call
  const keys = await kernel.keyring.tenant(tenant_id)
  const kept = await call.once<EvaluationIds>({
    async run(tx) {
      const ids = keptOf(evaluated, dry_run)
      if (evaluated !== null && !dry_run) await writeEvaluated(tx, keys, evaluated)
      return { reply: ids, ids: { ...ids } }
    },
    // Written by run above.
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

/** Null where the same policies do not say the same any more. */
async function showKept(
  call: EvaluateCall,
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

function showEvaluated(
  tenant_id: string,
  evaluated: EvaluationResult | null,
  dry_run: boolean,
): Evaluation {
  if (evaluated === null) return answer([], { evaluation_id: null, policy_set: 0, dry_run })
  const { evaluation_id, set, outcomes, operation, request } = evaluated
  const created_at = formatTime(evaluated.created_us)
  const logs = set.policies.flatMap((policy, i): GovernanceLog[] => {
    const outcome = outcomes[i]
    if (!outcome) return []
    const log_id = dry_run ? null : logId(evaluation_id, i)
    return [showOutcome({ log_id, tenant_id, policy, outcome, operation, request, created_at })]
  })
  const { policy_set } = set
  return answer(logs, { evaluation_id: dry_run ? null : evaluation_id, policy_set, dry_run })
}

function answer(
  evaluations: GovernanceLog[],
  about: Pick<Evaluation, 'evaluation_id' | 'policy_set' | 'dry_run'>,
): Evaluation {
  const summary = { total: evaluations.length, allowed: 0, denied: 0, escalated: 0, logged: 0 }
  for (const { result } of evaluations) summary[result] += 1
  const verdict = verdictOf(evaluations.map(({ result }) => result))
  return {
    allowed: verdict === 'allowed',
    evaluations,
    summary,
    verdict,
    escalated: verdict === 'escalated',
    ...about,
    logs: evaluations.map(({ policy_name, policy_type, action, result, detail }) => ({
      ...{ policy_name, policy_type, action, result, detail },
    })),
  }
}
