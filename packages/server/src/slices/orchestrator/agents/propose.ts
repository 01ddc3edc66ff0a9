// POST /v1/orchestrator/agents/{agent_id}/propose: starts a run of one step with one call, through
// the public operations and with the caller's rights. Nothing is executed.

import { orchestrator } from '@custos/contract'
import { formatTime } from '../../../platform/clock.ts'
import type { Call, Handler } from '../../../platform/kernel/call.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { beginStepBy } from '../runs/begin-step.ts'
import { callToolBy } from '../runs/call-tool.ts'
import { listCalls, listSteps } from '../runs/orchestrator.sql.ts'
import { ownCall } from '../runs/own-call.ts'
import { RunUnit } from '../runs/run-unit.ts'
import { showCall } from '../runs/run-view.ts'
import { startRunOf } from '../runs/runs.ts'

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
