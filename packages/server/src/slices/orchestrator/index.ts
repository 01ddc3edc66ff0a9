// The face of the orchestrator: handlers, the registry for approvals, the timer of runs.

import type { orchestrator } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import { approveAction, getAction, listActions, rejectAction } from './agent-actions.ts'
import { createAgent, getAgent, listAgentPage } from './agents.ts'
import { beginStep, getStep } from './begin-step.ts'
import { bundle } from './bundle.ts'
import { callTool } from './call-tool.ts'
import { completeStep } from './complete-step.ts'
import { cancelRun, getRun, listReceipts, listRunPage, startRun } from './runs.ts'

export { agentActionRegistry } from './agent-actions.ts'
export { agentTextSource } from './agents.ts'
export { settleDueRuns } from './settle-runs.ts'

export const orchestratorHandlers = {
  create_agent: createAgent,
  list_agents: listAgentPage,
  get_agent: getAgent,
  start_run: startRun,
  list_runs: listRunPage,
  get_run: getRun,
  cancel_run: cancelRun,
  begin_step: beginStep,
  get_step: getStep,
  call_tool: callTool,
  complete_step: completeStep,
  receipts: listReceipts,
  bundle,
  list_actions: listActions,
  get_action: getAction,
  approve_action: approveAction,
  reject_action: rejectAction,
} satisfies HandlersOf<typeof orchestrator>
