// The orchestrator: ingestion of conversations, roles and statistics of runs, the handlers, and the
// timer of runs.

import {
  AGENT_ROLES,
  type orchestrator as contract,
  type InputOf,
  type memoryIngestion,
  type orchestrator,
  type WriteRequest,
  type workflows,
} from '@custos/contract'
import { parseTime } from '../../platform/clock.ts'
import type { Handler, HandlersOf } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { writeAll } from '../memory/index.ts'
import { extract } from './ingest/extract.ts'
import { failRun, managedRunner } from './managed/managed-run.ts'
import { replayDecision } from './managed/replay-decision.ts'
import { approveAction, getAction, listActions, rejectAction } from './runs/agent-actions.ts'
import {
  changeAgent,
  createAgent,
  deleteAgent,
  getAgent,
  listAgentPage,
  refuseLimited,
} from './runs/agents.ts'
import { beginStep, getStep } from './runs/begin-step.ts'
import { callTool, getCall, reportCall, resolveCall } from './runs/call-tool.ts'
import { completeStep } from './runs/complete-step.ts'
import {
  countAgentsByEnabled,
  countCallsByState,
  countStepsByState,
  sumRunsByState,
} from './runs/orchestrator.sql.ts'
import { bundle, getReceipt, listRunSteps, verifyRun } from './runs/run-reads.ts'
import { cancelRun, getRun, listReceipts, listRunPage, MANAGED_RUN, startRun } from './runs/runs.ts'
import {
  findAnyStep,
  propose,
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

/** Stores each turn of a conversation as a memory, word for word; with `extract` also its facts. */
const ingest: Handler<typeof memoryIngestion.ingest> = async (call, { params, body }) => {
  const { messages, session_id, metadata, namespace, tenant_id } = body
  const shared = { ...metadata, ...(session_id != null && { session_id }) }
  const place = { namespace: namespace ?? null, tenant_id: tenant_id ?? null }
  const now_us = call.kernel.clock.now()
  const items = messages.map((message) => ({ ...place, ...toMemory(message, shared, now_us) }))
  if (body.mode === 'extract') return extract(call, { ...params, body, items })
  if (body.model_id != null)
    return call.refuse('rejected', 'model_id is for the mode extract: verbatim asks no model')
  return writeAll(call, { ...params, items, loc: ['body', 'messages'] })
}

/** A timestamp in the future means a wrong clock, so it does not delay the memory's validity. */
function toMemory(
  {
    content,
    role,
    speaker,
    name,
    timestamp,
    message_id,
  }: InputOf<typeof memoryIngestion.ingest>['body']['messages'][number],
  shared: Readonly<Record<string, unknown>>,
  now_us: number,
): WriteRequest {
  // Retrieval looks for them under these names.
  const said = { speaker: speaker ?? name, role, timestamp, message_id }
  const known = Object.entries(said).filter(([, value]) => value != null)
  // The schema has checked the timestamp.
  const isPast = timestamp != null && (parseTime(timestamp) ?? now_us) < now_us
  return {
    content,
    metadata: { ...shared, ...Object.fromEntries(known) },
    ...(isPast && { valid_from: timestamp }),
  }
}

const listRoles: Handler<typeof contract.list_roles> = async () => ({
  roles: AGENT_ROLES.map((value) => ({
    value,
    label: `${value.slice(0, 1).toUpperCase()}${value.slice(1)}`,
  })),
})

/** PostgreSQL returns sums as strings. */
function sumOf<R>(rows: readonly R[], member: (row: R) => number | string | null): number {
  return rows.reduce((sum, row) => sum + Number(member(row) ?? 0), 0)
}

const showStats: Handler<typeof contract.stats> = async (call) => {
  refuseLimited(call)
  const { kernel, tenant_id } = call
  const [agents, runs, steps, calls] = await Promise.all([
    kernel.db.sums(tenant_id, countAgentsByEnabled),
    kernel.db.sums(tenant_id, sumRunsByState),
    kernel.db.sums(tenant_id, countStepsByState),
    kernel.db.sums(tenant_id, countCallsByState),
  ])
  const denied = ({ state }: { readonly state: string }) => state === 'denied'
  return {
    agents_total: sumOf(agents, ({ count }) => count),
    agents_active: sumOf(agents, ({ enabled, count }) => enabled * Number(count)),
    runs_total: sumOf(runs, ({ count }) => count),
    runs_active: sumOf(runs, ({ live }) => live),
    runs: Object.fromEntries(runs.map(({ state, count }) => [state, Number(count)])),
    steps_total: sumOf(steps, ({ count }) => count),
    steps_denied: sumOf(steps.filter(denied), ({ count }) => count),
    steps_escalated: sumOf(steps, ({ escalated }) => escalated),
    calls_total: sumOf(calls, ({ count }) => count),
    calls_denied: sumOf(calls.filter(denied), ({ count }) => count),
    calls_escalated: sumOf(calls, ({ escalated }) => escalated),
    receipts_total: sumOf(runs, ({ receipts }) => receipts),
    tokens_total: sumOf(runs, ({ tokens }) => tokens),
    cost_micro_total: sumOf(runs, ({ cost_micro }) => cost_micro),
  }
}

export { runDeltas } from './managed/run-deltas.ts'
export { agentActionRegistry, mayReadTexts } from './runs/agent-actions.ts'
export { agentTextSource, refuseLimited } from './runs/agents.ts'
export { loadRun } from './runs/runs.ts'
export { runTextSource, settleDueRuns } from './runs/settle-runs.ts'
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
