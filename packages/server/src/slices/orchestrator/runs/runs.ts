// Handlers that start, list, show and cancel runs, and list the receipts of a run.

import { type orchestrator as contract, type Run, runLimits, scopeCovers } from '@custos/contract'
import { formatTime } from '../../../platform/clock.ts'
import type { TenantDb, Tx } from '../../../platform/db/tenant-db.ts'
import type { Call, Handler } from '../../../platform/kernel/call.ts'
import { pageOf } from '../../../platform/page.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { type PreparedText, prepareText, storeText } from '../../decisions/index.ts'
import { appendCrumb } from '../../gcrumbs/index.ts'
import { findModel } from '../../llm/index.ts'
import { meter, planLimits } from '../../tenants/index.ts'
import { deletedNameKey, loadAgent, refuseLimited } from './agents.ts'
import {
  type AgentRow,
  countLiveRuns,
  findAgent,
  findRun,
  insertRun,
  listCalls,
  listRuns,
  listSteps,
  type RunRow,
} from './orchestrator.sql.ts'
import { signerOf } from './run-receipt.ts'
import { RunUnit } from './run-unit.ts'
import { executorOf, showRun, showStep, showUndone } from './run-view.ts'
import { settleRun } from './settle-runs.ts'
import {
  agentsOf,
  findWorkflow,
  isBeingDeleted,
  updateWorkflow,
  type WorkflowRow,
} from './workflows.sql.ts'

/** The kind of job that executes a managed run. */
export const MANAGED_RUN = 'orchestrator.run'
const ID_BYTES = 16
const NEW_RUN = {
  state: 'running',
  termination_reason: null,
  ends_as: null,
  compensation: null,
  compensation_until_us: null,
  compensation_stopped: null,
  receipts: 0,
  last_receipt_digest: null,
} as const
const SECOND_US = 1_000_000

/** Refuses a text that exceeds the limit in bytes. */
export function requireShort(name: string, given: string): void {
  if (Buffer.byteLength(given) > runLimits.text_bytes)
    throw new Refusal('rejected', `${name} is longer than ${runLimits.text_bytes} bytes`)
}

export const startRun: Handler<typeof contract.start_run> = (call, { body }) =>
  startRunOf(call, body)

export async function startRunOf(
  call: Call<typeof contract.start_run>,
  body: NewRun['body'],
): Promise<Run> {
  refuseLimited(call)
  const { kernel, tenant_id } = call
  signerOf(kernel)
  const run_id = kernel.ids.hex(ID_BYTES)
  const { input_text } = body
  if (input_text) requireShort('input_text', input_text)
  const { workflow, agent_ids } = await loadStarted(call, body)
  const managed = workflow !== null || body.executor === 'managed'
  if (!managed && body.on_failure === 'compensate')
    return call.refuse('rejected', 'only a managed run compensates: it knows its tools')
  if (managed) await requireManageable(call, { input_text, agent_ids })
  const text = input_text
    ? await prepareText(kernel, tenant_id, {
        kind: 'run_input',
        run_id,
        text: input_text,
        refs: [],
      })
    : null
  return call.once<Run>({
    async run(tx) {
      const agent = await findStartable(tx, agent_ids)
      if (!agent) return call.refuse('agent_not_found')
      if (agent.enabled === 0) return call.refuse('rejected', 'the agent is disabled')
      if (workflow !== null) await holdWorkflow(call, tx, { workflow, run_id })
      const row = await insertNew(call, tx, { run_id, agent, workflow, managed, text, body })
      return { reply: showRun(row, tenant_id), ids: { run_id } }
    },
    async replay(tx, ids) {
      return showRun(await loadRun(tx, String(ids['run_id'])), tenant_id)
    },
  })
}

/** Loads what the run executes: one agent, or a workflow with its agents. */
async function loadStarted(
  call: Call<typeof contract.start_run>,
  { agent_id, workflow_id, executor }: NewRun['body'],
): Promise<{ workflow: WorkflowRow | null; agent_ids: string[] }> {
  if ((agent_id == null) === (workflow_id == null))
    return call.refuse('rejected', 'give either agent_id or workflow_id')
  if (workflow_id == null) return { workflow: null, agent_ids: [agent_id ?? ''] }
  if (executor === 'client')
    return call.refuse('rejected', 'a workflow is executed by this service: managed')
  const workflow = await call.read((db) => findWorkflow(db, workflow_id))
  if (!workflow) return call.refuse('workflow_not_found')
  return { workflow, agent_ids: agentsOf(workflow) }
}

/** Returns the first agent, or undefined if any is missing or being deleted. */
async function findStartable(tx: Tx, agent_ids: readonly string[]): Promise<AgentRow | undefined> {
  const rows = []
  for (const agent_id of agent_ids) {
    const row = await findAgent(tx, agent_id)
    if (row?.name_key === deletedNameKey(agent_id)) return undefined
    rows.push(row)
  }
  return rows.includes(undefined) ? undefined : rows[0]
}

/** Makes this run the workflow's newest. Refuses if only one may run and one is under way. */
async function holdWorkflow(
  call: Call<typeof contract.start_run>,
  tx: Tx,
  { workflow: { workflow_id }, run_id }: { workflow: WorkflowRow; run_id: string },
): Promise<void> {
  const now = await findWorkflow(tx, workflow_id)
  if (!now || isBeingDeleted(now)) return call.refuse('workflow_not_found')
  const newest = now.run_id === null ? null : await findRun(tx, now.run_id)
  if (now.one_at_a_time === 1 && newest?.ended_us === null)
    return call.refuse('wrong_state', 'a run of the workflow is under way')
  await updateWorkflow(tx, workflow_id, { run_id })
}

/**
 * Refuses a managed run without an input text, without a key that may read memory, or with an agent
 * or provider that does not exist.
 */
async function requireManageable(
  call: Call<typeof contract.start_run>,
  {
    agent_ids,
    input_text,
  }: { agent_ids: readonly string[]; input_text: string | null | undefined },
): Promise<void> {
  const { kernel, principal } = call
  if (!input_text) return call.refuse('rejected', 'a managed run needs input_text')
  if (principal.session)
    return call.refuse('rejected', 'a managed run needs a key: it goes on after the session')
  if (!scopeCovers(principal.scopes, 'memory:read'))
    throw new Refusal('scope_missing', 'a managed run reads memory: the key lacks memory:read')
  await call.read(async (db) => {
    for (const agent_id of agent_ids) {
      const agent = await loadAgent(kernel, db, agent_id)
      if (!agent) return call.refuse('agent_not_found')
      if (!(await findModel(kernel, db, agent.words.model_id)))
        return call.refuse('provider_not_found')
    }
  })
}

interface NewRun {
  readonly run_id: string
  readonly agent: AgentRow
  readonly workflow: WorkflowRow | null
  readonly managed: boolean
  readonly text: PreparedText | null
  readonly body: Parameters<typeof startRun>[1]['body']
}

async function insertNew(
  call: Call<typeof contract.start_run>,
  tx: Tx,
  { run_id, agent, workflow, managed, text, body }: NewRun,
): Promise<RunRow> {
  const { runs } = await planLimits(call.kernel, tx)
  if (runs !== null && (await countLiveRuns(tx)) >= runs) return call.refuse('too_many')
  if (text) await storeText(tx, text)
  const seconds = body.deadline_s ?? runLimits.deadline_s.default
  const deadline_us = tx.now() + seconds * SECOND_US
  const job = managed ? await call.kernel.jobs.enqueue(tx, MANAGED_RUN, { run_id }) : null
  const row: RunRow = {
    run_id,
    agent_id: agent.agent_id,
    ...NEW_RUN,
    input_text_id: text?.text_id ?? null,
    budget_tokens: body.budget?.tokens ?? null,
    budget_cost_micro: body.budget?.cost_micro ?? null,
    reserved_tokens: 0,
    reserved_cost_micro: 0,
    spent_tokens: 0,
    spent_cost_micro: 0,
    steps: 0,
    max_steps: workflow?.max_total_steps ?? agent.max_steps,
    started_by: call.principal.key_id,
    deadline_us,
    check_us: deadline_us,
    created_us: tx.now(),
    ended_us: null,
    executor: managed ? 'managed' : null,
    job_id: job?.job_id ?? null,
    workflow_id: workflow?.workflow_id ?? null,
    on_failure: body.on_failure ?? null,
  }
  await insertRun(tx, row)
  meter(tx, call.operation.id)
  await appendCrumb(tx, {
    event_type: 'run.started',
    subject: run_id,
    payload: {
      agent_id: row.agent_id,
      budget_tokens: row.budget_tokens,
      budget_cost_micro: row.budget_cost_micro,
      deadline_at: formatTime(deadline_us),
      started_by: row.started_by,
      ...(managed && { executor: 'managed' as const }),
      ...(workflow && {
        workflow: {
          workflow_id: workflow.workflow_id,
          mode: workflow.mode,
          agents: agentsOf(workflow).length,
          definition: workflow.definition_label,
        },
      }),
    },
  })
  return row
}

/** Loads a run. Refuses if the run has another executor. */
export async function loadRunOf(
  db: TenantDb,
  run_id: string,
  executor: Run['executor'],
): Promise<RunRow> {
  const run = await loadRun(db, run_id)
  if (executorOf(run) !== executor)
    throw new Refusal('wrong_state', `the executor of the run is ${executorOf(run)}`)
  return run
}

/** Loads a run. Refuses if the tenant has no run with this id. */
export async function loadRun(db: TenantDb, run_id: string): Promise<RunRow> {
  const run = await findRun(db, run_id)
  if (!run) throw new Refusal('run_not_found')
  return run
}

export const listRunPage: Handler<typeof contract.list_runs> = async (call, { query }) => {
  refuseLimited(call)
  const page = pageOf(query, runLimits.page.default, call.operation.id)
  const rows = await call.read((db) => listRuns(db, query.state ?? null, page))
  const last = rows.at(-1)
  return page.envelope(
    'runs',
    rows.map((row) => showRun(row, call.tenant_id)),
    last ? { at: last.created_us, id: last.run_id } : null,
  )
}

export const getRun: Handler<typeof contract.get_run> = (call, { params }) => {
  refuseLimited(call)
  return call.read(async (db) => {
    const run = await loadRun(db, params.run_id)
    const calls = await listCalls(db, run.run_id)
    const steps = (await listSteps(db, run.run_id)).map((step) => showStep(step, calls))
    return { ...showRun(run, call.tenant_id), steps, undone: showUndone(run, calls) }
  })
}

export const cancelRun: Handler<typeof contract.cancel_run> = async (call, { params, body }) => {
  refuseLimited(call)
  const { kernel, tenant_id } = call
  const compensate = body?.compensate ?? null
  await settleRun(kernel, tenant_id, params.run_id)
  return call.transact(async (tx) => {
    const unit = await RunUnit.load(kernel, tx, params.run_id)
    if (!unit) return call.refuse('run_not_found')
    if (unit.undoing) {
      // A repeated cancel request must not stop an undo, so only `compensate: false` stops it.
      if (compensate !== false)
        return call.refuse('wrong_state', 'it undoes what it did; `compensate: false` ends that')
      await unit.stopUndo('cancelled')
      meter(tx, call.operation.id)
      return showRun(unit.run, tenant_id)
    }
    if (!unit.live) return call.refuse('wrong_state', 'the run has ended')
    if (compensate && executorOf(unit.run) === 'client')
      return call.refuse('rejected', 'only a managed run compensates: it knows its tools')
    await unit.end('terminated', 'cancelled', compensate)
    meter(tx, call.operation.id)
    return showRun(unit.run, tenant_id)
  })
}

export const listReceipts: Handler<typeof contract.receipts> = (call, { params }) => {
  refuseLimited(call)
  return call.read(async (db) => {
    const { run_id } = await loadRun(db, params.run_id)
    const receipts = receiptsOf(await listSteps(db, run_id))
    return { run_id, receipts, count: receipts.length }
  })
}

// RunUnit writes each receipt as the JSON of a signed document.
export const receiptsOf = (
  steps: readonly { readonly receipt: string | null }[],
): { [member: string]: unknown; receipt_no: number }[] =>
  steps
    .flatMap(({ receipt }) => (receipt === null ? [] : [JSON.parse(receipt)]))
    .sort((a, b) => a.receipt_no - b.receipt_no)
