// A step whose model asked for calls. Each call is checked, permitted and recorded before it acts,
// and its result is recorded before the next call.

import {
  type orchestrator as completing,
  orchestrator as contract,
  runLimits,
} from '@custos/contract'
import { canonicalize, contentHash, type JsonObject } from '@custos/proof'
import { retryOnConflict } from '../../../platform/concurrency.ts'
import type { JobPause } from '../../../platform/jobs/queue.ts'
import type { Call, Principal } from '../../../platform/kernel/call.ts'
import { Refusal } from '../../../platform/refusal.ts'
import {
  logDecision,
  noteDisclosure,
  openText,
  prepareText,
  retryWhileErasing,
  storeText,
} from '../../decisions/index.ts'
import { appendCrumb } from '../../gcrumbs/index.ts'
import { gate, refusalOf } from '../../governance/index.ts'
import {
  callHttp,
  findArgsProblem,
  isMemoryKind,
  type ModelAnswer,
  type OpenTool,
  type ToolOutcome,
} from '../../llm/index.ts'
import type { OpenAgent } from '../runs/agents.ts'
import { argsOf, callToolBy } from '../runs/call-tool.ts'
import { prepareStepDecision, refuseOutput } from '../runs/complete-step.ts'
import type { CallRow, StepRow } from '../runs/orchestrator.sql.ts'
import { ownCall } from '../runs/own-call.ts'
import { RunUnit } from '../runs/run-unit.ts'
import { CUT, isToReport, noteTold, refsOf, withdrawAction } from '../runs/run-view.ts'
import { type KeptAnswer, keptAnswerOf, originsOf } from './conversation.ts'
import { callAction, callMemory, type WaitingAction } from './memory-tool.ts'
import { callsOf } from './next-act.ts'
import { NOT_SENT, type RunWorker, type TurnState } from './run-worker.ts'
import { answerOf, turnOfCall } from './workflow-plan.ts'

/** Tries of a repeatable call in one process. */
const TRIES = 3
const ID_BYTES = 16
const ATTEMPTS = 8
/** The poll interval for a person's decision about an action of the world model. */
export const CHECK_AGAIN_MS = 2_000

/** Checks the answer like any output and stores it with its calls. Refuses as completing does. */
export async function keepAnswer(
  call: Call<(typeof completing)['complete_step']>,
  step: StepRow,
  {
    answer,
    used,
  }: {
    readonly answer: KeptAnswer
    readonly used: Record<'tokens_in' | 'tokens_out' | 'cost_micro', number>
  },
): Promise<void> {
  const { kernel, tenant_id } = call
  const { run_id, step_id } = step
  const text = canonicalize({
    ...answer,
    calls: answer.calls.map((one) => ({ ...one })),
    model: { ...answer.model },
  })
  if (Buffer.byteLength(text) > runLimits.text_bytes) throw new Refusal('rejected')
  if (answer.calls.length > runLimits.calls_per_step) throw new Refusal('rejected')
  const context = {
    run_id,
    agent_id: step.agent_id,
    model_id: step.model_id,
    store_id: step.store_id,
    output: text,
  }
  const gated = await gate(call, 'output_check', context, { minted: ['agent_id', 'run_id'] })
  if (gated.exceeded) throw refusalOf(gated)
  // A redacted call is no longer the call that the model asked for.
  const redacted = Object.keys(gated.redactions[0] ?? {}).length > 0
  if (gated.verdict !== 'allowed' || redacted) return refuseOutput(call, run_id, step_id, used)
  await retryWhileErasing(async () => {
    const refs = refsOf([step])
    const kept = await prepareText(kernel, tenant_id, { kind: 'step_output', run_id, text, refs })
    await call.transact(async (tx) => {
      const unit = await RunUnit.load(kernel, tx, run_id)
      const open = unit?.steps.find((one) => one.step_id === step_id)
      if (!unit?.live || open?.state !== 'permitted') return
      if ((await storeText(tx, kept)) === 'erased') return
      await unit.answer(open, { ...used, output_text_id: kept.text_id }, kept.commitment)
    })
  })
}

/** Does the next thing that the step's calls need; after the last call it completes the step. */
export async function actOnAnswer(
  worker: RunWorker,
  state: TurnState,
  step: StepRow,
): Promise<JobPause | null> {
  const kept = keptAnswerOf(state, step)
  // The answer is erased; settling the run ends it.
  if (!kept) return { again_ms: 0 }
  const made = callsOf(state, step)
  for (const [i, request] of kept.calls.entries()) {
    const row = made[i]
    if (!state.agent && (!row || row.state === 'intended'))
      return worker.unit((unit) => unit.end('failed', 'step_refused'))
    if (!row) return propose(worker, state, { step, request, call_no: i + 1 })
    if (row.state === 'waiting_hitl' || row.state === 'uncertain') return { again_ms: null }
    if (row.state === 'intended' && isToReport(row)) return { again_ms: null }
    if (row.state === 'intended') return execute(worker, state, { step, row })
  }
  return finish(worker, state, { step, kept })
}

interface ProposedCall {
  readonly step: StepRow
  readonly request: ModelAnswer['calls'][number]
  readonly call_no: number
}

async function propose(
  worker: RunWorker,
  state: TurnState,
  { step, request, call_no }: ProposedCall,
): Promise<JobPause | null> {
  const principal = await worker.findStarter(state.run)
  if (!principal) return null
  const tool = state.tools.find(({ words }) => words.name === request.tool)
  const problem = tool ? findArgsProblem(tool, request.args) : 'there is no such tool'
  if (!tool || problem !== null) {
    const reason = tool ? 'args_invalid' : 'tool_refused'
    return refuseCall(worker, { step, request, call_no }, { reason, problem: problem ?? '' })
  }
  const { tool_id, version, kind, effect } = tool.row
  const call = ownCall(contract.call_tool, worker.callerOf(principal))
  const input = {
    params: { run_id: worker.run_id, step_id: step.step_id },
    query: undefined,
    body: { tool: request.tool, args: request.args, effect },
    own: {
      tool_id: tool_id === '' ? null : tool_id,
      kind: tool_id === '' ? null : kind,
      version,
      context_origins: contextOf(state),
    },
  }
  const pause = await worker.operate(async () => {
    try {
      await callToolBy('managed', call, input)
    } catch (error) {
      // The call is recorded as denied, and the model is told.
      if (!(error instanceof Refusal) || error.code !== 'policy_denied') throw error
    }
  })
  await worker.kernel.step('run:intended')
  return pause
}

/** The origins of the texts that the model has read. */
const contextOf = (state: TurnState): string[] => [
  'caller',
  'model',
  ...(refsOf(state.seen.steps).length > 0 ? ['memory'] : []),
  ...originsOf(state.seen, state),
]

async function refuseCall(
  worker: RunWorker,
  { step, request, call_no }: ProposedCall,
  {
    reason,
    problem,
  }: { readonly reason: 'args_invalid' | 'tool_refused'; readonly problem: string },
): Promise<null> {
  const { kernel, tenant_id, run_id } = worker
  const refs = refsOf([step])
  const call_id = kernel.ids.hex(ID_BYTES)
  await retryWhileErasing(async () => {
    const given = { run_id, refs }
    const args = await prepareText(kernel, tenant_id, {
      ...given,
      kind: 'call_args',
      text: canonicalize({ tool: request.tool, args: request.args }),
    })
    const result = await prepareText(kernel, tenant_id, {
      ...given,
      kind: 'call_result',
      text: `${reason}: ${problem}`,
    })
    await worker.unit(async (unit) => {
      const now_us = unit.tx.now()
      await storeText(unit.tx, args)
      await storeText(unit.tx, result)
      const row: CallRow = {
        run_id,
        step_no: step.step_no,
        call_no,
        call_id,
        state: 'failed',
        reason,
        effect: 'read',
        args_text_id: args.text_id,
        args_commitment: args.commitment,
        result_text_id: result.text_id,
        result_commitment: result.commitment,
        policy_set: step.policy_set,
        evaluation_id: null,
        action_id: null,
        created_us: now_us,
        ended_us: now_us,
        tool_id: null,
        sent_us: null,
        kind: null,
        record_id: null,
        compensates: null,
      }
      await unit.addCall(row)
      await logRefused(unit, row, step)
    }, 'refused')
  })
  return null
}

const logRefused = ({ tx }: RunUnit, { run_id, call_id, reason }: CallRow, { step_id }: StepRow) =>
  appendCrumb(tx, {
    event_type: 'tool.failed',
    subject: call_id,
    payload: { run_id, step_id, state: 'failed', reason },
  })

interface IntendedCall {
  readonly step: StepRow
  readonly row: CallRow
  /** The steps that its result is derived from. Defaults to its own step. */
  readonly made_from?: readonly StepRow[]
}

/** Never resends a `once` tool: if no result came back, it may have acted. */
async function execute(
  worker: RunWorker,
  state: TurnState,
  { step, row }: IntendedCall,
): Promise<JobPause | null> {
  if (row.tool_id === null) return endDelegated(worker, { step, row })
  if (!mayRepeat(row) && row.sent_us !== null)
    return endCall(worker, { step, row }, { fault: 'not_reported', acted: 'unknown' })
  const principal = await worker.findStarter(state.run)
  if (!principal) return null
  const tool = state.tools.find(({ row: { tool_id } }) => tool_id === row.tool_id)
  const text = state.texts.get(row.args_text_id)?.text
  const given = text === undefined ? null : argsOf(text)
  if (!tool || !given || given.version !== tool.row.version)
    return endCall(worker, { step, row }, { fault: 'tool_changed', acted: 'unsent' })
  if (!(await worker.mark((unit) => markSent(unit, step, row), 'sending'))) return NOT_SENT
  if (tool.row.kind === 'client') return { again_ms: null }
  const outcome = await worker.whileLive((signal) =>
    act(worker, { step, row, tool, args: given.args, principal, agent: state.agent }, signal),
  )
  await worker.kernel.step('run:acted')
  if (outcome === null) return null
  if ('waiting' in outcome) {
    await worker.unit((unit) => noteWaiting(unit, row, outcome), 'proposed')
    return { again_ms: CHECK_AGAIN_MS }
  }
  return endCall(worker, { step, row }, outcome)
}

interface PermittedCall extends IntendedCall {
  readonly tool: OpenTool
  readonly args: JsonObject
  readonly principal: Principal
  readonly agent: OpenAgent | null
}

/** Calls the tool, with retries if it is repeatable. Rejects only once `signal` is aborted. */
export function act(
  worker: RunWorker,
  { step, row, tool, args, principal, agent }: PermittedCall,
  signal: AbortSignal,
): Promise<ToolOutcome | WaitingAction> {
  const { kind } = tool.row
  const request = {
    call_id: row.call_id,
    run_id: step.run_id,
    step_id: step.step_id,
    args,
    refs: refsOf([step]),
    stores: agent?.words.memory_stores ?? [],
  }
  const caller = worker.callerOf(principal)
  return send(row, (): Promise<ToolOutcome | WaitingAction> => {
    if (isMemoryKind(kind)) return callMemory(caller, { ...request, kind })
    if (kind === 'http') return callHttp(worker.kernel, tool.words, request, signal)
    return callAction(caller, { ...request, action_name: tool.words.action_name ?? '' }, row)
  })
}

/** Whether repeats act only once. Actions are invoked under the call's id, so they qualify. */
export const mayRepeat = ({ effect, kind }: CallRow): boolean =>
  effect !== 'once' || kind === 'action'

/** Makes the run wait until a person has decided the action. */
export async function noteWaiting(
  unit: RunUnit,
  { call_id }: CallRow,
  { waiting: record_id }: WaitingAction,
): Promise<void> {
  const now = unit.calls.find((one) => one.call_id === call_id)
  // The call ended while the action was being proposed.
  if (now && now.state !== 'intended') return withdrawAction(unit.tx, { ...now, record_id })
  if (!now || now.record_id === record_id) return
  await unit.setCall(now, { record_id })
  await unit.refresh()
}

/** Ends the call once the delegated agent's turn has its answer. */
async function endDelegated(
  worker: RunWorker,
  { step, row }: IntendedCall,
): Promise<JobPause | null> {
  const rows = await worker.load()
  const answer = rows && answerOf(rows, { turn_no: turnOfCall(rows, row) })
  if (!answer) return { again_ms: null }
  const text = rows.texts.get(answer.output_text_id ?? '')?.text
  // The answer is erased; settling the run ends it.
  if (text === undefined) return { again_ms: 0 }
  return endCall(worker, { step, row, made_from: [step, answer] }, { result: text })
}

/** Returns whether the call may be sent; a `once` tool is sent by one process only. */
export async function markSent(
  unit: RunUnit,
  step: StepRow,
  { call_id, tool_id }: CallRow,
): Promise<boolean> {
  const now = unit.calls.find((one) => one.call_id === call_id)
  if (now?.state !== 'intended' || (!mayRepeat(now) && now.sent_us !== null)) return false
  const recipient = { kind: 'tool', recipient_id: tool_id ?? '', step_id: step.step_id } as const
  if (!(await noteDisclosure(unit.tx, refsOf([step]), recipient))) return false
  await unit.setCall(now, { sent_us: unit.tx.now() })
  await unit.refresh()
  return true
}

async function send<T extends object>(
  row: CallRow,
  act: () => Promise<ToolOutcome | T>,
): Promise<ToolOutcome | T> {
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await act()
    const again = 'fault' in outcome && outcome.acted === 'unknown' && mayRepeat(row)
    if (!again || attempt >= TRIES) return outcome
  }
}

async function endCall(
  worker: RunWorker,
  { step, row, made_from = [step] }: IntendedCall,
  outcome: ToolOutcome,
): Promise<null> {
  const { kernel, tenant_id, run_id } = worker
  const told = 'fault' in outcome ? [] : (outcome.refs ?? [])
  const refs = [...new Set([...refsOf(made_from), ...told])]
  const cut = 'fault' in outcome && outcome.acted === 'unknown'
  const uncertain = cut && row.effect === 'once'
  const text = 'fault' in outcome ? `tool_failed: ${outcome.fault}` : outcome.result
  await retryWhileErasing(async () => {
    const kept = await prepareText(kernel, tenant_id, { kind: 'call_result', run_id, text, refs })
    const named = { result_text_id: kept.text_id, result_commitment: kept.commitment }
    await worker.unit(async (unit) => {
      const now = unit.calls.find((one) => one.call_id === row.call_id)
      if (now?.state !== 'intended') return
      if (!uncertain) await storeText(unit.tx, kept)
      const change = uncertain
        ? ({ state: 'uncertain', reason: CUT } as const)
        : 'fault' in outcome
          ? ({ state: 'failed', reason: cut ? CUT : 'tool_failed', ...named } as const)
          : ({ state: 'done', reason: null, ...named } as const)
      await noteTold(unit.tx, step, told)
      await unit.endCall(now, step.step_id, change)
      await unit.refresh()
    }, 'called')
  })
  return null
}

/** Logs the decision and signs the receipt, in one unit of work. */
async function finish(
  worker: RunWorker,
  state: TurnState,
  { step, kept }: { readonly step: StepRow; readonly kept: KeptAnswer },
): Promise<JobPause | null> {
  const { kernel, tenant_id } = worker
  const found = await kernel.db.read(tenant_id, (db) =>
    openText(kernel, db, step.output_text_id ?? ''),
  )
  const input = state.texts.get(step.input_text_id)?.text
  if (!found || input === undefined) return { again_ms: 0 }
  const output_commitment = contentHash(Buffer.from(found.salt, 'hex'), found.text)
  const answer = {
    input,
    output: found.text,
    tokens_out: step.tokens_out ?? 0,
    model_version: kept.model.version,
  }
  const pause = await worker.operate(() =>
    retryWhileErasing(() =>
      retryOnConflict(() => storeFinished(worker, { step, kept }, { answer, output_commitment }), {
        on: 'decision_id',
        attempts: ATTEMPTS,
      }),
    ),
  )
  return pause
}

/** Throws a conflict if another decision has the same id. */
async function storeFinished(
  worker: RunWorker,
  { step, kept }: { readonly step: StepRow; readonly kept: KeptAnswer },
  {
    answer,
    output_commitment,
  }: {
    readonly answer: Parameters<typeof prepareStepDecision>[3]
    readonly output_commitment: string
  },
): Promise<void> {
  const decision = await prepareStepDecision(worker.kernel, worker.tenant_id, step, answer)
  await worker.unit(async (unit) => {
    const open = unit.steps.find((one) => one.step_id === step.step_id)
    if (open?.state !== 'answered') return
    const { decision_id, record_digest } = await logDecision(unit.tx, decision)
    const signed = { output_commitment, record_digest, model: { ...kept.model } }
    await unit.endStep(open, { state: 'completed', reason: null, ...signed }, { decision_id })
    await unit.refresh()
  }, 'finished')
}
