// How runs, steps and calls are shown, without their texts.

import type { Run, RunCall, RunStep, RunUndo } from '@custos/contract'
import { type JsonObject, mayHaveActed } from '@custos/proof'
import { formatTime } from '../../../platform/clock.ts'
import type { TenantDb, Tx } from '../../../platform/db/tenant-db.ts'
import { hasRedactedText } from '../../decisions/index.ts'
import { loadFactStates } from '../../memory/index.ts'
import { withdrawRequest } from '../../records/index.ts'
import {
  type CallRow,
  findStep,
  type RunRow,
  type StepRow,
  updateStep,
} from './orchestrator.sql.ts'

/** What is left of the budget. `null` means no limit. */
export function leftOf(run: RunRow): { tokens: number | null; cost_micro: number | null } {
  const { budget_tokens, budget_cost_micro } = run
  const { spent_tokens, reserved_tokens, spent_cost_micro, reserved_cost_micro } = run
  const cost = spent_cost_micro + reserved_cost_micro
  return {
    tokens: budget_tokens === null ? null : budget_tokens - spent_tokens - reserved_tokens,
    cost_micro: budget_cost_micro === null ? null : budget_cost_micro - cost,
  }
}

const time = (us: number | null): string | null => (us === null ? null : formatTime(us))

interface StepSources {
  readonly retrieved: readonly number[]
  readonly inherited: readonly number[]
  /** Memories that tools returned: not part of the step's input, but of all later steps'. */
  readonly called?: readonly number[]
}

// Written by begin-step.ts.
export const sourcesOf = ({ sources }: Pick<StepRow, 'sources'>): StepSources => JSON.parse(sources)

/** Refs of all memories that the steps and their successors derive from, in ascending order. */
export function refsOf(steps: readonly Pick<StepRow, 'sources'>[]): number[] {
  const all = steps
    .map(sourcesOf)
    .flatMap(({ retrieved, inherited, called = [] }) => [...retrieved, ...inherited, ...called])
  return [...new Set(all)].sort((a, b) => a - b)
}

/** Whether a memory that the run derives from is erased, or one of its texts is redacted. */
export async function isInputErased(
  db: TenantDb,
  run_id: string,
  steps: readonly StepRow[],
): Promise<boolean> {
  const states = await loadFactStates(db, refsOf(steps))
  return [...states.values()].includes('erased') || (await hasRedactedText(db, run_id))
}

/** Adds memories that a call returned to the sources of the step. */
export async function noteTold(tx: Tx, step: StepRow, refs: readonly number[]): Promise<void> {
  if (refs.length === 0) return
  const now = (await findStep(tx, step.run_id, step.step_id)) ?? step
  const sources = sourcesOf(now)
  const called = [...new Set([...(sources.called ?? []), ...refs])]
  await updateStep(tx, step.step_id, { sources: JSON.stringify({ ...sources, called }) })
}

/** The memory part of a step's receipt. */
export function receiptMemory(step: StepRow): JsonObject {
  const { retrieved, inherited, called = [] } = sourcesOf(step)
  return {
    store_id: step.store_id,
    memory_seq: step.memory_seq,
    retrieved_refs: [...retrieved],
    inherited_refs: [...inherited],
    ...(called.length > 0 && { called_refs: [...called] }),
  }
}

export const executorOf = ({ executor }: Pick<RunRow, 'executor'>): Run['executor'] =>
  executor ?? 'client'

export function showRun(row: RunRow, tenant_id: string): Run {
  return {
    run_id: row.run_id,
    tenant_id,
    agent_id: row.agent_id,
    workflow_id: row.workflow_id,
    executor: executorOf(row),
    state: row.state,
    termination_reason: row.termination_reason,
    budget: { tokens: row.budget_tokens, cost_micro: row.budget_cost_micro },
    spent: { tokens: row.spent_tokens, cost_micro: row.spent_cost_micro },
    reserved: { tokens: row.reserved_tokens, cost_micro: row.reserved_cost_micro },
    on_failure: row.on_failure ?? 'stop',
    compensation: row.compensation,
    compensation_deadline_at: time(row.compensation_until_us),
    compensation_stopped: row.compensation_stopped,
    max_steps: row.max_steps,
    steps_total: row.steps,
    receipts: row.receipts,
    last_receipt_digest: row.last_receipt_digest,
    started_by: row.started_by,
    deadline_at: formatTime(row.deadline_us),
    created_at: formatTime(row.created_us),
    ended_at: time(row.ended_us),
  }
}

export function showStep(row: StepRow, calls: readonly CallRow[]): RunStep {
  const { retrieved, inherited } = sourcesOf(row)
  return {
    step_id: row.step_id,
    run_id: row.run_id,
    step_no: row.step_no,
    turn_no: row.turn_no,
    agent_id: row.agent_id,
    state: row.state,
    reason: row.reason,
    model_id: row.model_id,
    store_id: row.store_id,
    memory_seq: row.memory_seq,
    retrieved_refs: [...retrieved],
    inherited_refs: [...inherited],
    policy_set: row.policy_set,
    evaluation_id: row.evaluation_id,
    action_id: row.action_id,
    permit: row.permit,
    max_tokens: row.reserved_tokens,
    max_cost_micro: row.reserved_cost_micro,
    expires_at: time(row.expires_us),
    tokens_in: row.tokens_in,
    tokens_out: row.tokens_out,
    cost_micro: row.cost_micro,
    decision_id: row.decision_id,
    calls: calls
      .filter(({ step_no }) => step_no === row.step_no)
      .map((one) => showCall(one, row.step_id)),
    created_at: formatTime(row.created_us),
    ended_at: time(row.ended_us),
  }
}

export function showCall(row: CallRow, step_id: string): RunCall {
  return {
    call_id: row.call_id,
    step_id,
    run_id: row.run_id,
    state: row.state,
    reason: row.reason,
    effect: row.effect,
    by_caller: row.kind === 'client',
    args_commitment: row.args_commitment,
    result_commitment: row.result_commitment,
    policy_set: row.policy_set,
    evaluation_id: row.evaluation_id,
    action_id: row.action_id,
    compensates: row.compensates,
    created_at: formatTime(row.created_us),
    ended_at: time(row.ended_us),
  }
}

/** Whether the run may begin nothing more, because it has ended or is compensating. */
export const isOver = ({ ended_us, state }: Pick<RunRow, 'ended_us' | 'state'>): boolean =>
  ended_us !== null || state === 'compensating'

/** Tool calls that acted or may have, newest first. Delegations to other agents do not count. */
export const listActed = (calls: readonly CallRow[]): CallRow[] =>
  calls
    .filter(({ compensates }) => compensates === null)
    .filter(({ effect, state, reason }) => mayHaveActed(effect, state, reason))
    .toReversed()

/** Ids of the acted calls that are not undone. */
export function listLeft(calls: readonly CallRow[]): string[] {
  const done = calls.filter(({ state }) => state === 'done')
  const undone = new Set(done.map(({ compensates }) => compensates))
  return listActed(calls).flatMap(({ call_id }) => (undone.has(call_id) ? [] : [call_id]))
}

/** The reason of a call that was sent but not answered: it may have acted. */
export const CUT = 'not_reported'

/** Whether the client has to execute the call and report its result. */
export const isToReport = ({ kind, state, sent_us }: CallRow): boolean =>
  kind === 'client' && state === 'intended' && sent_us !== null

/** The outcome of undoing, for each call that acted. */
export function showUndone(run: RunRow, calls: readonly CallRow[]): RunUndo[] {
  if (run.compensation === null && run.state !== 'compensating') return []
  const acted = listActed(calls)
  const byOf = ({ call_id }: CallRow) => calls.find(({ compensates }) => compensates === call_id)
  const last = acted.findLastIndex((call) => byOf(call) !== undefined)
  return acted.map((call, at) => {
    const by = byOf(call)
    // Calls are undone in this order, so those after the last were not reached.
    const unreached = at > last ? run.compensation_stopped : null
    const passed = run.compensation === null && at > last ? null : 'no_compensation'
    const why = by ? by.reason : (unreached ?? passed)
    const reason = call.state === 'done' ? why : call.reason
    return {
      call_id: call.call_id,
      undone: by?.state === 'done',
      undone_by: by?.call_id ?? null,
      reason: by?.state === 'done' ? null : reason,
    }
  })
}

/**
 * Withdraws the approval request of a step or call that ends while it waits for a person.
 * @param row `record_id` names an action of the world model that waits for its own approval
 */
export async function withdrawAction(
  tx: Tx,
  row: {
    readonly state: string
    readonly action_id: string | null
    readonly record_id?: string | null
  },
): Promise<void> {
  const { state, action_id, record_id = null } = row
  if (state === 'waiting_hitl' && action_id !== null)
    await withdrawRequest(tx, 'agent_action', action_id, 'run_ended')
  if (record_id !== null) await withdrawRequest(tx, 'action', record_id, 'run_ended')
}
