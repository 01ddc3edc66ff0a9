// POST /v1/orchestrator/agents/{agent_id}/propose: a run of one step with one call, by the
// operations and with the rights of the caller. Nothing is executed.

import { orchestrator } from '@custos/contract'
import { formatTime } from '../../../platform/clock.ts'
import type { Call, Handler, ReplayIds } from '../../../platform/kernel/call.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { beginStepBy } from '../runs/begin-step.ts'
import { callToolBy } from '../runs/call-tool.ts'
import { findEarlierIds } from '../runs/earlier-answer.ts'
import { listCalls, listSteps } from '../runs/orchestrator.sql.ts'
import { ownCall, passOn } from '../runs/own-call.ts'
import { RunUnit } from '../runs/run-unit.ts'
import { showCall } from '../runs/run-view.ts'
import { startRunOf } from '../runs/runs.ts'

/** As long as an approval waits. */
const DAY_S = 86_400
/** Until its call is stored: a process that is gone by then leaves nothing behind for longer. */
const MINUTE_S = 60
const MEANWHILE = 'the run was ended meanwhile'

export const propose: Handler<(typeof orchestrator)['propose']> = async (
  call,
  { params: { agent_id }, body },
) => {
  const { tool, reason } = body
  const earlier = await findEarlierIds(call)
  if (earlier) return showEarlier(call, earlier, tool)
  const started = { agent_id, deadline_s: MINUTE_S, ...(reason && { input_text: reason }) }
  const { run_id } = await startRunOf(ownCall(orchestrator.start_run, call), started)
  let denied: boolean
  try {
    denied = await isDenied(() => makeCall(call, run_id, body))
    if (denied) await endRun(call, run_id, 'policy')
  } catch (error) {
    const code = error instanceof Refusal ? error.code : null
    const why = code === 'approval_required' ? 'cancelled' : 'step_refused'
    // Where that fails too, the deadline ends it.
    await endRun(call, run_id, why).catch(() => undefined)
    // Another request with the same key may have come first, and been denied.
    const stored = code === null ? null : await findEarlierIds(call)
    if (stored) return showEarlier(call, stored, tool)
    if (code === 'wrong_state' || code === 'permit_expired')
      throw new Refusal('unavailable', MEANWHILE)
    throw error
  }
  const stored_id = await findStored(call, run_id, denied)
  if (stored_id !== run_id) await endRun(call, run_id, 'cancelled')
  return showProposal(call, stored_id, tool)
}

/** Throws `policy_denied` where policies deny the step or the call. */
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
  // Its key is stored with the call: a request that is repeated begins no other.
  await callToolBy('client', passOn(call, orchestrator.call_tool), {
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

/** What policies deny is an answer. */
async function isDenied(act: () => Promise<void>): Promise<boolean> {
  try {
    await act()
    return false
  } catch (error) {
    if (error instanceof Refusal && error.code === 'policy_denied') return true
    throw error
  }
}

/** Does nothing to a run that has ended, or whose call is stored: that stands. */
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

/** The run that answers requests with the key: this one, unless another request came first. */
async function findStored(call: Call, run_id: string, denied: boolean): Promise<string> {
  if (call.idempotency_key === null) return run_id
  const made = denied ? [] : await call.read((db) => listCalls(db, run_id))
  if (made.length > 0) return run_id
  if (!denied) return String((await findEarlierIds(call))?.['run_id'])
  const { step_id } = await loadStep(call, run_id)
  return call.once<string>({
    run: async () => ({ reply: run_id, ids: { run_id, step_id, call_id: null } }),
    replay: async (_, ids) => String(ids['run_id']),
  })
}

const showEarlier = (call: Call, { run_id }: ReplayIds, tool: string) =>
  showProposal(call, String(run_id), tool)

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
