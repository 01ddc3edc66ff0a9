// POST /v1/orchestrator/agents/{agent_id}/propose: a run of one step with one call, by the
// operations and with the rights of the caller. Nothing is executed.

import { orchestrator } from '@custos/contract'
import { formatTime } from '../../../platform/clock.ts'
import type { Call, Handler } from '../../../platform/kernel/call.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { beginStepBy } from '../runs/begin-step.ts'
import { callToolBy } from '../runs/call-tool.ts'
import { findEarlierIds } from '../runs/earlier-answer.ts'
import { findCall, listCalls, listSteps } from '../runs/orchestrator.sql.ts'
import { ownCall, passOn } from '../runs/own-call.ts'
import { RunUnit } from '../runs/run-unit.ts'
import { showCall } from '../runs/run-view.ts'
import { startRunOf } from '../runs/runs.ts'

/** As long as an approval waits. */
const DAY_S = 86_400
const MEANWHILE = 'the run was ended meanwhile'

export const propose: Handler<(typeof orchestrator)['propose']> = async (
  call,
  { params: { agent_id }, body },
) => {
  const { tool, args = {}, effect = 'once', reason } = body
  const earlier = await findEarlierIds(call)
  if (earlier) return showEarlier(call, String(earlier['call_id']), tool)
  const started = { agent_id, deadline_s: DAY_S, ...(reason && { input_text: reason }) }
  const { run_id } = await startRunOf(ownCall(orchestrator.start_run, call), started)
  const query = undefined
  const input = { input_text: reason ?? tool, budget_tokens: 0, permit_s: DAY_S }
  await orEnd(call, run_id, () =>
    beginStepBy('client', ownCall(orchestrator.begin_step, call), {
      params: { run_id },
      query,
      body: input,
    }),
  )
  const step = await loadStep(call, run_id)
  if (step.state === 'waiting_hitl') {
    await endRun(call, run_id, 'cancelled')
    return call.refuse('approval_required', 'a person approves each step of the agent: begin one')
  }
  // Its key is stored with the call: a request that is repeated begins no other.
  if (step.state === 'permitted')
    await orEnd(call, run_id, () =>
      callToolBy('client', passOn(call, orchestrator.call_tool), {
        params: { run_id, step_id: step.step_id },
        query,
        body: { tool, args, effect },
      }),
    )
  const [made] = await call.read((db) => listCalls(db, run_id))
  const stored = made ? null : await findEarlierIds(call)
  if (stored) {
    // Another request with the same key came first.
    await endRun(call, run_id, 'cancelled')
    return showEarlier(call, String(stored['call_id']), tool)
  }
  return showProposal(call, run_id, tool)
}

const loadStep = async (call: Call, run_id: string) => {
  const [step] = await call.read((db) => listSteps(db, run_id))
  if (!step) throw new Refusal('unavailable', MEANWHILE)
  return step
}

/** What policies deny is an answer; what is refused otherwise leaves no run behind. */
async function orEnd(call: Call, run_id: string, act: () => Promise<unknown>) {
  try {
    await act()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const denied = error.code === 'policy_denied'
    await endRun(call, run_id, denied ? 'policy' : 'step_refused')
    if (error.code === 'wrong_state') throw new Refusal('unavailable', MEANWHILE)
    if (!denied) throw error
  }
}

const endRun = (
  call: Call,
  run_id: string,
  reason: 'policy' | 'step_refused' | 'cancelled',
): Promise<void> =>
  call.transact(async (tx) => {
    const unit = await RunUnit.load(call.kernel, tx, run_id)
    const states = { policy: 'denied', step_refused: 'failed', cancelled: 'terminated' } as const
    if (unit?.live) await unit.end(states[reason], reason)
  })

async function showEarlier(call: Call, call_id: string, tool: string) {
  const row = await call.read((db) => findCall(db, call_id))
  if (!row) throw new Refusal('unavailable', MEANWHILE)
  return showProposal(call, row.run_id, tool)
}

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
