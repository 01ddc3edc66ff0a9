// The face of the orchestrator: handlers, the registry for approvals, the timer of runs.

import type { memoryIngestion, orchestrator, workflows } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { changeAgent, deleteAgent } from './agents/change-agent.ts'
import { listRoles, showStats } from './agents/overview.ts'
import { propose } from './agents/propose.ts'
import { ingest } from './ingest/ingest.ts'
import { failRun, managedRunner } from './managed/managed-run.ts'
import { replayDecision } from './managed/replay-decision.ts'
import { approveAction, getAction, listActions, rejectAction } from './runs/agent-actions.ts'
import { createAgent, getAgent, listAgentPage } from './runs/agents.ts'
import { beginStep, getStep } from './runs/begin-step.ts'
import { bundle } from './runs/bundle.ts'
import { callTool } from './runs/call-tool.ts'
import { completeStep } from './runs/complete-step.ts'
import { getCall, reportCall, resolveCall } from './runs/resolve-call.ts'
import { getReceipt, listRunSteps, verifyRun } from './runs/run-reads.ts'
import { cancelRun, getRun, listReceipts, listRunPage, MANAGED_RUN, startRun } from './runs/runs.ts'
import {
  findAnyStep,
  receiptsOfWorkflow,
  resumeWorkflow,
  runStep,
  runWorkflow,
  terminateWorkflow,
  verifyChain,
} from './workflows/workflow-runs.ts'
import {
  createWorkflow,
  deleteWorkflow,
  getWorkflow,
  listWorkflows,
} from './workflows/workflows.ts'

export { runDeltas } from './managed/run-deltas.ts'
export { agentActionRegistry, mayReadTexts } from './runs/agent-actions.ts'
export { agentTextSource, refuseLimited } from './runs/agents.ts'
export { loadRun } from './runs/runs.ts'
export { settleDueRuns } from './runs/settle-runs.ts'
export { loadNewest } from './workflows/workflow-runs.ts'
export { workflowTextSource } from './workflows/workflows.ts'

export const orchestratorHandlers = {
  create_agent: createAgent,
  list_agents: listAgentPage,
  get_agent: getAgent,
  update_agent: changeAgent,
  delete_agent: deleteAgent,
  list_roles: listRoles,
  stats: showStats,
  replay: replayDecision,
  start_run: startRun,
  list_runs: listRunPage,
  get_run: getRun,
  list_steps: listRunSteps,
  cancel_run: cancelRun,
  begin_step: beginStep,
  get_step: getStep,
  call_tool: callTool,
  propose,
  get_call: getCall,
  report_call: reportCall,
  resolve_call: resolveCall,
  complete_step: completeStep,
  receipts: listReceipts,
  get_receipt: getReceipt,
  verify: verifyRun,
  bundle,
  list_actions: listActions,
  get_action: getAction,
  approve_action: approveAction,
  reject_action: rejectAction,
} satisfies HandlersOf<typeof orchestrator>

export const workflowHandlers = {
  create: createWorkflow,
  list: listWorkflows,
  get: getWorkflow,
  delete: deleteWorkflow,
  run: runWorkflow,
  resume: resumeWorkflow,
  terminate: terminateWorkflow,
  receipts: receiptsOfWorkflow,
  run_step: runStep,
  verify_chain: verifyChain,
  find_step: findAnyStep,
} satisfies HandlersOf<typeof workflows>

export const memoryIngestionHandlers = { ingest } satisfies HandlersOf<typeof memoryIngestion>

export function registerRunJobs(kernel: Kernel): void {
  kernel.jobs.register(MANAGED_RUN, managedRunner(kernel), {
    queue: 'runs',
    abandon: (tx, { payload }) => failRun(kernel, tx, String(payload['run_id'])),
  })
}
