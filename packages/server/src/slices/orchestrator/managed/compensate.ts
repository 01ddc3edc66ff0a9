// Undoes what the tools of a run did, newest first. Each call that has a compensation is undone by
// another call, under the same policies and approvals, and at most once if its tool is `once`.

import assert from 'node:assert/strict'
import { orchestrator as contract } from '@custos/contract'
import { canonicalize, isObject, type Json, type JsonObject } from '@custos/proof'
import { findValueProblem } from '../../../platform/input/json-text.ts'
import type { JobPause } from '../../../platform/jobs/queue.ts'
import type { Call, Principal } from '../../../platform/kernel/call.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { prepareText, retryWhileErasing, storeText } from '../../decisions/index.ts'
import { type GateResult, gate, redactedOr } from '../../governance/index.ts'
import { findArgsProblem, isMemoryKind, type OpenTool, type ToolOutcome } from '../../llm/index.ts'
import { insertPrepared, prepareWaitingRecord } from '../../records/index.ts'
import { actionRequest, agentActionRegistry, callContext } from '../runs/agent-actions.ts'
import { knownAgent, loadAgent } from '../runs/agents.ts'
import { argsOf } from '../runs/call-tool.ts'
import type { CallRow, StepRow } from '../runs/orchestrator.sql.ts'
import { ownCall } from '../runs/own-call.ts'
import type { RunReason, RunUnit } from '../runs/run-unit.ts'
import { CUT, listActed, refsOf } from '../runs/run-view.ts'
import { act, CHECK_AGAIN_MS, markSent, mayRepeat, noteWaiting } from './answered-step.ts'
import { originsOf } from './conversation.ts'
import { NOT_SENT, type RunState, type RunWorker } from './run-worker.ts'

const ID_BYTES = 16
const LATER_MS = 1_000
/** The step number of compensating calls, which belong to no step. */
const NO_STEP = 0

interface UndoPlan {
  /** The call to undo, and its step. */
  readonly undone: CallRow
  readonly step: StepRow
  readonly tool: OpenTool | null
  readonly name: string
  readonly args: JsonObject
  /** Why the tool cannot be called, or `null` if it can. */
  readonly problem: RunReason | null
}

/** Makes one step of progress per call, so that any process can continue. */
export async function compensate(worker: RunWorker, state: RunState): Promise<JobPause | null> {
  for (const undone of listActed(state.calls)) {
    if (undone.state !== 'done') continue
    const step = state.steps.find(({ step_no }) => step_no === undone.step_no)
    assert(step, 'a call is of a step')
    const row = state.calls.find(({ compensates }) => compensates === undone.call_id)
    if (row?.state === 'waiting_hitl') return { again_ms: null }
    if (row?.state === 'intended') return executeUndo(worker, state, { row, step })
    if (row) continue
    const plan = planUndo(state, { undone, step })
    if (plan) return proposeUndo(worker, state, plan)
  }
  return worker.undo((unit) => unit.finishUndo(), 'compensated')
}

/** Returns `null` if the call has no compensation. */
function planUndo(
  { tools, texts }: RunState,
  { undone, step }: Pick<UndoPlan, 'undone' | 'step'>,
): UndoPlan | null {
  const called = tools.find(({ row }) => row.tool_id === undone.tool_id)
  const { compensation } = called?.words ?? {}
  if (!compensation) return null
  const named = { undone, step, name: compensation.tool }
  const tool = tools.find(({ words }) => words.name === compensation.tool) ?? null
  const given = texts.get(undone.args_text_id)?.text
  const result = texts.get(undone.result_text_id ?? '')?.text
  if (given === undefined || result === undefined)
    return { ...named, tool, args: {}, problem: 'input_erased' }
  const known = { args: argsOf(given).args, result: parse(result) }
  const found = Object.entries(compensation.map).map(
    ([name, path]) => [name, exactOf(followPath(known, path))] as const,
  )
  const args = Object.fromEntries(
    found.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
  const fits = tool !== null && findArgsProblem(tool, args) === null
  const missing = found.some(([, value]) => value === undefined)
  const usable = tool !== null && tool.row.kind !== 'client'
  return { ...named, tool, args, problem: usable ? undoProblem(fits && !missing) : 'tool_refused' }
}

const undoProblem = (fits: boolean): RunReason | null => (fits ? null : 'args_invalid')

/** A result that is not JSON is used as a string. */
function parse(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** A number that lost precision when it was parsed would undo something else. */
const exactOf = (value: Json | undefined): Json | undefined =>
  findValueProblem(value) === null ? value : undefined

function followPath(known: JsonObject, path: string): Json | undefined {
  let value: Json | undefined = known
  for (const member of path.split('.'))
    value = isObject(value) && Object.hasOwn(value, member) ? value[member] : undefined
  return value
}

/** Proposes a compensating call like any call: policies, approval, and the recorded intent. */
async function proposeUndo(
  worker: RunWorker,
  state: RunState,
  plan: UndoPlan,
): Promise<JobPause | null> {
  const principal = await worker.findStarter(state.run)
  const problem = principal ? plan.problem : 'credential_revoked'
  if (!principal || problem !== null) return refuseUndo(worker, plan, problem ?? 'tool_refused')
  try {
    return await permitUndo(worker, state, { ...plan, principal })
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    if (error.status === 429 || error.status === 503)
      return { again_ms: Math.max(LATER_MS, (error.extras.retry_after_s ?? 0) * 1_000) }
    return refuseUndo(worker, plan, 'step_refused')
  }
}

async function permitUndo(
  worker: RunWorker,
  state: RunState,
  plan: UndoPlan & { readonly principal: Principal },
): Promise<JobPause | null> {
  const { undone, step, tool, name, args: asked, principal } = plan
  assert(tool, 'a tool without problem is there')
  const { kernel, tenant_id, run_id } = worker
  const { step_id, agent_id } = step
  const { tool_id, version, kind, effect } = tool.row
  const call = ownCall(contract.call_tool, worker.callerOf(principal))
  const context_origins = undoOrigins(state)
  const known = { step, name, effect, args: asked, context_origins }
  const gated = await gateUndo(worker, call, known)
  if (gated.exceeded) return { again_ms: gated.exceeded.retry_after_s * 1_000 }
  const args = redactedOr(gated.redactions[0] ?? {}, 'args', asked)
  const text = canonicalize({ tool: name, args, version })
  const call_id = kernel.ids.hex(ID_BYTES)
  const denied = gated.verdict === 'denied'
  const operation = 'tool_execution' as const
  const proposed = { run_id, step_id, call_id, agent_id, operation, effect }
  await retryWhileErasing(async () => {
    const given = { kind: 'call_args', run_id, text, refs: refsOf([step]) } as const
    const kept = await prepareText(kernel, tenant_id, given)
    const { text_id, commitment } = kept
    const action =
      gated.verdict === 'escalated'
        ? await prepareWaitingRecord(call, agentActionRegistry, {
            request: actionRequest({ ...proposed, text_id, commitment }),
            gated,
            context_origins,
          })
        : null
    await worker.undo(async (unit) => {
      if (isPlanned(unit, undone)) return
      await storeText(unit.tx, kept)
      if (action) await insertPrepared(unit.tx, action)
      const row: CallRow = {
        ...newUndo(unit, { undone, call_id, effect }),
        state: denied ? 'denied' : action ? 'waiting_hitl' : 'intended',
        reason: denied ? 'policy' : null,
        args_text_id: text_id,
        args_commitment: commitment,
        policy_set: gated.policy_set,
        evaluation_id: gated.evaluation_id,
        action_id: action?.row.record_id ?? null,
        ended_us: denied ? unit.tx.now() : null,
        tool_id,
        kind,
      }
      await unit.addCall(row)
      if (denied) await unit.logUndo(row, step_id)
      else if (!action) await unit.intend(row, step_id)
    }, 'undo-intended')
  })
  return null
}

const undoOrigins = (state: RunState): string[] => [
  ...['caller', 'model'],
  ...(refsOf(state.steps).length > 0 ? ['memory'] : []),
  ...originsOf(state, state),
]

/** Policies see all that the run has read as the origin of the call. */
function gateUndo(
  { run_id }: RunWorker,
  call: Call,
  asked: Pick<UndoPlan, 'step' | 'name' | 'args'> &
    Pick<CallRow, 'effect'> & { readonly context_origins: readonly string[] },
): Promise<GateResult> {
  const { agent_id } = asked.step
  const ids = { run_id, agent_id, effect: asked.effect }
  const context = {
    ...callContext(ids, { tool: asked.name, args: asked.args }),
    context_origins: asked.context_origins,
  }
  return gate(call, 'tool_execution', context, { minted: ['agent_id', 'run_id'] })
}

const isPlanned = ({ calls }: RunUnit, { call_id }: CallRow): boolean =>
  calls.some(({ compensates }) => compensates === call_id)

const newUndo = (
  { tx, run, calls }: RunUnit,
  { undone, ...named }: Pick<CallRow, 'call_id' | 'effect'> & { readonly undone: CallRow },
) => ({
  ...named,
  run_id: run.run_id,
  step_no: NO_STEP,
  call_no: calls.filter(({ compensates }) => compensates !== null).length + 1,
  result_text_id: null,
  result_commitment: null,
  created_us: tx.now(),
  sent_us: null,
  record_id: null,
  compensates: undone.call_id,
})

/** Records a call that never began because its tool, arguments or rights are missing. */
async function refuseUndo(
  worker: RunWorker,
  { undone, step, name, args }: UndoPlan,
  reason: RunReason,
): Promise<null> {
  const { kernel, tenant_id, run_id } = worker
  const text = canonicalize({ tool: name, args })
  const call_id = kernel.ids.hex(ID_BYTES)
  await retryWhileErasing(async () => {
    const given = { kind: 'call_args', run_id, text, refs: refsOf([step]) } as const
    const kept = await prepareText(kernel, tenant_id, given)
    await worker.undo(async (unit) => {
      if (isPlanned(unit, undone)) return
      await storeText(unit.tx, kept)
      const row: CallRow = {
        ...newUndo(unit, { undone, call_id, effect: 'once' }),
        state: 'failed',
        reason,
        args_text_id: kept.text_id,
        args_commitment: kept.commitment,
        policy_set: step.policy_set,
        evaluation_id: null,
        action_id: null,
        ended_us: unit.tx.now(),
        tool_id: null,
        kind: null,
      }
      await unit.addCall(row)
      await unit.logUndo(row, step.step_id)
    }, 'undo-refused')
  })
  return null
}

/** Never resends a `once` tool: if no result came back, it may have acted. */
async function executeUndo(
  worker: RunWorker,
  state: RunState,
  { row, step }: { readonly row: CallRow; readonly step: StepRow },
): Promise<JobPause | null> {
  const end = (outcome: ToolOutcome, reason?: RunReason) =>
    endUndo(worker, { row, step }, outcome, reason)
  if (!mayRepeat(row) && row.sent_us !== null)
    return end({ fault: 'not_reported', acted: 'unknown' })
  const principal = await worker.findStarter(state.run)
  if (!principal) return end({ fault: 'rights', acted: 'unsent' }, 'credential_revoked')
  const tool = state.tools.find(({ row: { tool_id } }) => tool_id === row.tool_id)
  const text = state.texts.get(row.args_text_id)?.text
  if (text === undefined) return end({ fault: 'args', acted: 'unsent' }, 'input_erased')
  const { args, version } = argsOf(text)
  if (!tool || version !== tool.row.version)
    return end({ fault: 'tool_changed', acted: 'unsent' }, 'tool_refused')
  const { kernel, tenant_id } = worker
  const agent = knownAgent(
    await kernel.db.read(tenant_id, (db) => loadAgent(kernel, db, step.agent_id)),
  )
  if (!agent && isMemoryKind(tool.row.kind))
    return end({ fault: 'agent_gone', acted: 'unsent' }, 'tool_refused')
  if (!(await worker.mark((unit) => markSent(unit, step, row), 'undo-sending', 'undoing')))
    return NOT_SENT
  const outcome = await worker.whileLive(
    (signal) => act(worker, { step, row, tool, args, principal, agent }, signal),
    ({ ended_us }) => ended_us !== null,
  )
  await kernel.step('run:undo-acted')
  if (outcome === null) return null
  if ('waiting' in outcome) {
    await worker.undo((unit) => noteWaiting(unit, row, outcome), 'proposed')
    return { again_ms: CHECK_AGAIN_MS }
  }
  return end(outcome)
}

async function endUndo(
  worker: RunWorker,
  { row, step }: { readonly row: CallRow; readonly step: StepRow },
  outcome: ToolOutcome,
  reason: RunReason = 'tool_failed',
): Promise<null> {
  const { kernel, tenant_id, run_id } = worker
  const fault = 'fault' in outcome ? outcome : null
  const uncertain = fault?.acted === 'unknown' && row.effect === 'once'
  const text = 'fault' in outcome ? `${reason}: ${outcome.fault}` : outcome.result
  const told = 'fault' in outcome ? [] : (outcome.refs ?? [])
  const refs = [...new Set([...refsOf([step]), ...told])]
  await retryWhileErasing(async () => {
    const kept = await prepareText(kernel, tenant_id, { kind: 'call_result', run_id, text, refs })
    const named = { result_text_id: kept.text_id, result_commitment: kept.commitment }
    await worker.undo(async (unit) => {
      const now = unit.calls.find(({ call_id }) => call_id === row.call_id)
      if (now?.state !== 'intended') return
      if (!uncertain) await storeText(unit.tx, kept)
      await unit.endUndo(
        now,
        step.step_id,
        uncertain
          ? { state: 'uncertain', reason: CUT }
          : fault
            ? { state: 'failed', reason: fault.acted === 'unknown' ? CUT : reason, ...named }
            : { state: 'done', reason: null, ...named },
      )
    })
  })
  return null
}
