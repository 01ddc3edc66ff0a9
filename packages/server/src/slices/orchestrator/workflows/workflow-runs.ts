// Runs for callers who name a workflow, and mean its newest run, or one agent: they ask it one
// question, or let it propose one call.

import { setTimeout as sleep } from 'node:timers/promises'
import { type workflows as contract, orchestrator, type Workflow } from '@custos/contract'
import { formatTime } from '../../../platform/clock.ts'
import { accepted, type Call, type Handler } from '../../../platform/kernel/call.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { approveAction, rejectAction } from '../runs/agent-actions.ts'
import { refuseLimited } from '../runs/agents.ts'
import { beginStepBy } from '../runs/begin-step.ts'
import { callToolBy } from '../runs/call-tool.ts'
import {
  findRun,
  findStepById,
  listCalls,
  listSteps,
  type RunRow,
} from '../runs/orchestrator.sql.ts'
import { ownCall, passOn } from '../runs/own-call.ts'
import { checkRun } from '../runs/run-reads.ts'
import { RunUnit } from '../runs/run-unit.ts'
import { showCall, showRun } from '../runs/run-view.ts'
import { cancelRun, receiptsOf, startRunOf } from '../runs/runs.ts'
import { loadWorkflow, showNewest, showSteps } from './workflows.ts'

const LOOK_MS = 100
const SECOND_MS = 1_000
const ENDED = 300
const NO_RUN = { status: 'empty', steps_verified: 0, tampered_at_step: null, reason: null } as const

/** Polls until the run ends, waits, or `seconds` pass. Returns `null` once the caller is gone. */
async function waitForEnd(
  call: Pick<Call, 'read' | 'gone'>,
  run_id: string,
  seconds = ENDED,
): Promise<RunRow | null> {
  const until = performance.now() + seconds * SECOND_MS
  for (;;) {
    const run = await call.read((db) => findRun(db, run_id))
    if (!run || call.gone.aborted) return null
    const waits = run.state.startsWith('waiting_') || run.state === 'compensating'
    if (run.ended_us !== null || waits || performance.now() >= until) return run
    await sleep(LOOK_MS)
  }
}

export const runWorkflow: Handler<typeof contract.run> = async (call, { params, body }) => {
  refuseLimited(call)
  const { workflow_id } = params
  const { input_text, timeout_seconds, budget = null } = body
  const started = await startRunOf(passOn(call, orchestrator.start_run), {
    workflow_id,
    input_text,
    budget,
  })
  const run = await waitForEnd(call, started.run_id, timeout_seconds)
  const shown: Workflow = await showNewest(call, workflow_id)
  return run?.ended_us == null ? accepted(shown) : shown
}

/** Loads the workflow's newest run. Refuses a workflow without runs. */
export async function loadNewest(call: Pick<Call, 'read'>, workflow_id: string): Promise<RunRow> {
  return call.read(async (db) => {
    const { run_id } = await loadWorkflow(db, workflow_id)
    const run = run_id === null ? undefined : await findRun(db, run_id)
    if (!run) throw new Refusal('wrong_state', 'the workflow has no run')
    return run
  })
}

export const resumeWorkflow: Handler<typeof contract.resume> = async (call, { params, body }) => {
  refuseLimited(call)
  const { run_id } = await loadNewest(call, params.workflow_id)
  const waiting = await call.read(async (db) =>
    [...(await listSteps(db, run_id)), ...(await listCalls(db, run_id))].flatMap(
      ({ state, action_id }) => (state === 'waiting_hitl' && action_id !== null ? [action_id] : []),
    ),
  )
  const { action_id = null, approved, approver, feedback } = body
  const [only, more] = waiting
  if (action_id === null && more !== undefined)
    return call.refuse('wrong_state', 'several actions wait: name one as action_id')
  const chosen = action_id ?? only
  if (chosen === undefined) return call.refuse('not_waiting', 'nothing of the run waits')
  if (!waiting.includes(chosen)) return call.refuse('action_not_found')
  const input = {
    params: { action_id: chosen },
    query: undefined,
    body: { approver, ...(feedback != null && { reason: feedback }) },
  }
  if (approved) await approveAction(passOn(call, orchestrator.approve_action), input)
  else await rejectAction(passOn(call, orchestrator.reject_action), input)
  return showNewest(call, params.workflow_id)
}

export const terminateWorkflow: Handler<typeof contract.terminate> = async (call, { params }) => {
  refuseLimited(call)
  const { run_id } = await loadNewest(call, params.workflow_id)
  await cancelRun(passOn(call, orchestrator.cancel_run), {
    params: { run_id },
    query: undefined,
    body: {},
  })
  return { terminated: true as const, workflow_id: params.workflow_id }
}

export const receiptsOfWorkflow: Handler<typeof contract.receipts> = (call, { params }) => {
  refuseLimited(call)
  const { workflow_id } = params
  return call.read(async (db) => {
    const { run_id } = await loadWorkflow(db, workflow_id)
    const receipts = run_id === null ? [] : receiptsOf(await listSteps(db, run_id))
    return { workflow_id, receipts, count: receipts.length }
  })
}

export const verifyChain: Handler<typeof contract.verify_chain> = async (call, { params }) => {
  refuseLimited(call)
  const { workflow_id } = params
  const { run_id } = await call.read((db) => loadWorkflow(db, workflow_id))
  const verdict = run_id === null ? NO_RUN : await checkRun(call, run_id)
  return { ...verdict, workflow_id, run_id, tampered_at: verdict.tampered_at_step }
}

export const runStep: Handler<typeof contract.run_step> = async (call, { body }) => {
  refuseLimited(call)
  const { agent_id, input_text, timeout_seconds } = body
  const asked = { agent_id, input_text, executor: 'managed' } as const
  const started = await startRunOf(passOn(call, orchestrator.start_run), asked)
  const run = await waitForEnd(call, started.run_id, timeout_seconds)
  if (!run) return accepted(started)
  const last = (await call.read((db) => showSteps(call, db, run))).at(-1)
  return run.ended_us === null || !last ? accepted(showRun(run, call.tenant_id)) : last
}

export const findAnyStep: Handler<typeof contract.find_step> = (call, { params }) => {
  refuseLimited(call)
  return call.read(async (db) => {
    const row = await findStepById(db, params.step_id)
    const run: RunRow | undefined = row && (await findRun(db, row.run_id))
    const steps = run ? await showSteps(call, db, run) : []
    return steps.find(({ step_id }) => step_id === params.step_id) ?? call.refuse('step_not_found')
  })
}

/** How long a proposed call may wait for approval. */
const DAY_S = 86_400
/** The deadline until the call is stored: it bounds what a process that dies leaves behind. */
const MINUTE_S = 60
const MEANWHILE = 'the run was ended meanwhile'

export const propose: Handler<(typeof orchestrator)['propose']> = async (
  call,
  { params: { agent_id }, body },
) => {
  const { tool, reason } = body
  const started = { agent_id, deadline_s: MINUTE_S, ...(reason && { input_text: reason }) }
  const { run_id } = await startRunOf(ownCall(orchestrator.start_run, call), started)
  try {
    if (await isDenied(() => makeCall(call, run_id, body))) await endRun(call, run_id, 'policy')
  } catch (error) {
    const code = error instanceof Refusal ? error.code : null
    const why = code === 'approval_required' ? 'cancelled' : 'step_refused'
    // If this fails too, the deadline ends the run.
    await endRun(call, run_id, why).catch(() => undefined)
    if (code === 'wrong_state' || code === 'permit_expired')
      throw new Refusal('unavailable', MEANWHILE)
    throw error
  }
  return showProposal(call, run_id, tool)
}

/** Throws `policy_denied` if policies deny the step or the call. */
async function makeCall(
  call: Call<(typeof orchestrator)['propose']>,
  run_id: string,
  { tool, args = {}, effect = 'once', reason }: Parameters<typeof propose>[1]['body'],
): Promise<void> {
  const query = undefined
  await beginStepBy('client', ownCall(orchestrator.begin_step, call), {
    params: { run_id },
    query,
    body: { input_text: reason ?? tool, budget_tokens: 0, permit_s: MINUTE_S },
  })
  const { step_id, state } = await loadStep(call, run_id)
  if (state === 'waiting_hitl')
    return call.refuse('approval_required', 'a person approves each step of the agent: begin one')
  await callToolBy('client', ownCall(orchestrator.call_tool, call), {
    params: { run_id, step_id },
    query,
    body: { tool, args, effect },
    hold_s: DAY_S,
  })
}

const loadStep = async (call: Call, run_id: string) => {
  const [step] = await call.read((db) => listSteps(db, run_id))
  if (!step) throw new Refusal('unavailable', MEANWHILE)
  return step
}

/** Returns whether policies denied `act`; other refusals are thrown. */
async function isDenied(act: () => Promise<void>): Promise<boolean> {
  try {
    await act()
    return false
  } catch (error) {
    if (error instanceof Refusal && error.code === 'policy_denied') return true
    throw error
  }
}

/** Does nothing if the run has ended, or if its call is stored and has not ended. */
const endRun = (
  call: Call,
  run_id: string,
  reason: 'policy' | 'step_refused' | 'cancelled',
): Promise<void> =>
  call.transact(async (tx) => {
    const unit = await RunUnit.load(call.kernel, tx, run_id)
    const states = { policy: 'denied', step_refused: 'failed', cancelled: 'terminated' } as const
    const stands = unit?.calls.some(({ ended_us }) => ended_us === null)
    if (unit?.live && !stands) await unit.end(states[reason], reason)
  })

async function showProposal(call: Call, run_id: string, tool: string) {
  const step = await loadStep(call, run_id)
  const [row] = await call.read((db) => listCalls(db, run_id))
  const made = row && showCall(row, step.step_id)
  const { agent_id, step_id } = step
  return {
    agent_id,
    run_id,
    step_id,
    tool,
    call_id: made?.call_id ?? null,
    state: made?.state ?? ('denied' as const),
    denied: (made?.state ?? 'denied') === 'denied',
    escalated: made?.action_id != null,
    executed: false as const,
    action_id: made?.action_id ?? null,
    created_at: formatTime(step.created_us),
  }
}
