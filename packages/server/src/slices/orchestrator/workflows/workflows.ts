// Workflows: created, listed, shown and deleted; their words are sealed. Steps are shown with their
// texts, where the caller may read them.

import {
  type workflows as contract,
  runLimits,
  type Workflow,
  type WorkflowStep,
} from '@custos/contract'
import { canonicalize } from '@custos/proof'
import { formatTime } from '../../../platform/clock.ts'
import type { TenantDb, Tx } from '../../../platform/db/tenant-db.ts'
import type { Call, Handler } from '../../../platform/kernel/call.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import {
  jsonPayload,
  REDACTED_SECRET,
  sealedColumn,
} from '../../../platform/kernel/sealed-column.ts'
import { REDACTED_TEXT, textSource } from '../../../platform/kernel/text-source.ts'
import { pageOf } from '../../../platform/page.ts'
import { Refusal } from '../../../platform/refusal.ts'
import { openTextsOfRun } from '../../decisions/index.ts'
import { appendCrumb } from '../../gcrumbs/index.ts'
import { meter } from '../../tenants/index.ts'
import { mayReadTexts } from '../runs/agent-actions.ts'
import { refuseLimited } from '../runs/agents.ts'
import { toolOf } from '../runs/call-tool.ts'
import {
  findAgent,
  findRun,
  listCalls,
  listRunsById,
  listSteps,
  type RunRow,
} from '../runs/orchestrator.sql.ts'
import { showStep } from '../runs/run-view.ts'
import {
  agentsOf,
  countLiveRunsOfWorkflow,
  countWorkflows,
  deleteWorkflowRow,
  findWorkflow,
  insertWorkflow,
  listedAgents,
  listWorkflowPage,
  listWorkflowsAfter,
  updateWorkflow,
  type WorkflowRow,
} from '../runs/workflows.sql.ts'

const ID_BYTES = 16

const workflowColumn = sealedColumn({
  domain: 'workflow',
  ids: (tenant_id, { workflow_id }: Pick<WorkflowRow, 'workflow_id'>) => [tenant_id, workflow_id],
  payload: jsonPayload<WorkflowText>(),
})

export const createWorkflow: Handler<typeof contract.create> = async (call, { body }) => {
  refuseLimited(call)
  const { kernel, tenant_id } = call
  requireAgents(call, body)
  const workflow_id = kernel.ids.hex(ID_BYTES)
  const words: WorkflowText = { name: body.name, description: body.description ?? '' }
  const definition = {
    mode: body.mode ?? 'sequential',
    agent_ids: [...body.agent_ids],
    supervisor_agent_id: body.supervisor_agent_id ?? null,
    max_rounds: body.max_rounds ?? runLimits.max_rounds.default,
    max_total_steps: body.max_total_steps ?? runLimits.max_total_steps.default,
  }
  const keys = await kernel.keyring.tenant(tenant_id)
  const given: Omit<WorkflowRow, 'created_us'> = {
    ...definition,
    workflow_id,
    agent_ids: JSON.stringify(definition.agent_ids),
    one_at_a_time: Number(body.one_at_a_time ?? false),
    definition_label: keys.label(`workflow\n${canonicalize({ ...definition, ...words })}`),
    run_id: null,
    ...(await workflowColumn.sealNew(kernel, tenant_id, { workflow_id }, words)),
  }
  const shown = await call.once<Workflow | string>({
    async run(tx) {
      const row = await insertNew(call, tx, given)
      return { reply: showWorkflow(row, words, { tenant_id, run: null }), ids: { workflow_id } }
    },
    replay: async (_, ids) => String(ids['workflow_id']),
  })
  return typeof shown === 'string' ? showNewest(call, shown) : shown
}

/** Refuses agents that do not fit the mode. */
function requireAgents(
  call: Call<typeof contract.create>,
  {
    mode = 'sequential',
    agent_ids,
    supervisor_agent_id,
  }: Parameters<Handler<typeof contract.create>>[1]['body'],
): void {
  const supervised = mode === 'supervisor'
  if (supervised && supervisor_agent_id == null)
    call.refuse('rejected', 'the mode supervisor needs supervisor_agent_id')
  if (!supervised && supervisor_agent_id != null)
    call.refuse('rejected', 'only the mode supervisor has a supervisor_agent_id')
  const distinct = new Set(agent_ids).size === agent_ids.length
  if (!distinct && (supervised || mode === 'parallel'))
    call.refuse('rejected', `an agent is twice in agent_ids of the mode ${mode}`)
  if (supervisor_agent_id != null && agent_ids.includes(supervisor_agent_id))
    call.refuse('rejected', 'a supervisor does not delegate to itself')
}

async function insertNew(
  call: Call<typeof contract.create>,
  tx: Tx,
  given: Omit<WorkflowRow, 'created_us'>,
): Promise<WorkflowRow> {
  for (const agent_id of agentsOf(given))
    if (!(await findAgent(tx, agent_id))) return call.refuse('agent_not_found')
  if ((await countWorkflows(tx)) >= runLimits.workflows_per_tenant) return call.refuse('too_many')
  const row: WorkflowRow = { ...given, created_us: tx.now() }
  await insertWorkflow(tx, row)
  meter(tx, call.operation.id, row.sealed.length)
  await appendChange(tx, row, 'created', call.principal.key_id)
  return row
}

const appendChange = (
  tx: Tx,
  { workflow_id, mode, definition_label }: Omit<WorkflowRow, 'created_us'>,
  change: 'created' | 'deleted' | 'redacted',
  changed_by: string,
) =>
  appendCrumb(tx, {
    event_type: 'workflow.changed',
    subject: workflow_id,
    payload: { change, mode, definition: definition_label, changed_by },
  })

/** Refuses a workflow that the tenant does not have. */
export async function loadWorkflow(db: TenantDb, workflow_id: string): Promise<WorkflowRow> {
  const row = await findWorkflow(db, workflow_id)
  if (!row) throw new Refusal('workflow_not_found')
  return row
}

async function openWords(
  kernel: Kernel,
  tenant_id: string,
  rows: readonly WorkflowRow[],
): Promise<WorkflowText[]> {
  const opened = await workflowColumn.openAll(kernel, tenant_id, rows)
  return opened.map((words) => words ?? { name: REDACTED_TEXT, description: '' })
}

/** Shows the workflow with the steps of its newest run. Refuses a workflow the tenant lacks. */
export async function showNewest(
  call: Pick<Call, 'kernel' | 'tenant_id' | 'principal' | 'read'>,
  workflow_id: string,
): Promise<Workflow> {
  const { kernel, tenant_id } = call
  return call.read(async (db) => {
    const row = await loadWorkflow(db, workflow_id)
    const [words] = await openWords(kernel, tenant_id, [row])
    const run = row.run_id === null ? null : ((await findRun(db, row.run_id)) ?? null)
    const steps = run === null ? [] : await showSteps(call, db, run)
    return { ...showWorkflow(row, words, { tenant_id, run }), steps }
  })
}

export const getWorkflow: Handler<typeof contract.get> = (call, { params }) => {
  refuseLimited(call)
  return showNewest(call, params.workflow_id)
}

export const listWorkflows: Handler<typeof contract.list> = async (call, { query }) => {
  refuseLimited(call)
  const { kernel, tenant_id } = call
  const page = pageOf(query, runLimits.page.default, call.operation.id)
  return call.read(async (db) => {
    const rows = await listWorkflowPage(db, query.status ?? null, page)
    const last = rows.at(-1)
    const words = await openWords(kernel, tenant_id, rows)
    const runs = await listRunsById(
      db,
      rows.flatMap(({ run_id }) => run_id ?? []),
    )
    return page.envelope(
      'workflows',
      rows.map((row, i) => {
        const run = runs.find(({ run_id }) => run_id === row.run_id) ?? null
        return showWorkflow(row, words[i], { tenant_id, run })
      }),
      last ? { at: last.created_us, id: last.workflow_id } : null,
    )
  })
}

/**
 * Marks the workflow first, so that no run of it begins; then destroys its secret. After a crash it
 * begins no run, and the deletion can be repeated.
 */
export const deleteWorkflow: Handler<typeof contract.delete> = async (call, { params }) => {
  refuseLimited(call)
  const { kernel, tenant_id } = call
  const { workflow_id } = params
  const { secret_no } = await call.transact(async (tx) => {
    const row = await loadWorkflow(tx, workflow_id)
    // Counts all runs, not only the newest.
    const live = await countLiveRunsOfWorkflow(tx, workflow_id)
    if (live > 0) return call.refuse('wrong_state', `${live} runs of it are under way`)
    await updateWorkflow(tx, workflow_id, { run_id: workflow_id })
    return row
  })
  if (secret_no !== REDACTED_SECRET)
    await kernel.keyring.destroySecrets(tenant_id, 'decision', [secret_no])
  return call.transact(async (tx) => {
    const row = await loadWorkflow(tx, workflow_id)
    await deleteWorkflowRow(tx, workflow_id)
    meter(tx, call.operation.id)
    await appendChange(tx, row, 'deleted', call.principal.key_id)
    return { deleted: true as const, workflow_id }
  })
}

/** A redacted workflow has no texts; its runs continue. */
export const workflowTextSource = textSource<WorkflowRow, WorkflowText>({
  kind: 'workflow',
  list: (db, after, limit) => listWorkflowsAfter(db, after?.workflow_id ?? '', limit),
  find: findWorkflow,
  idOf: ({ workflow_id }) => workflow_id,
  createdUs: ({ created_us }) => created_us,
  open: (kernel, tenant_id, rows) => workflowColumn.openAll(kernel, tenant_id, rows),
  redact: async (kernel, tenant_id, { row }) => [
    await workflowColumn.sealRedacted(kernel, tenant_id, row, {
      name: REDACTED_TEXT,
      description: '',
    }),
  ],
  async update(tx, row, [sealed]) {
    await updateWorkflow(tx, row.workflow_id, { secret_no: REDACTED_SECRET, sealed })
    await appendChange(tx, row, 'redacted', row.workflow_id)
  },
})

type WorkflowText = {
  readonly name: string
  readonly description: string
}

function showWorkflow(
  row: WorkflowRow,
  words: WorkflowText | undefined,
  { tenant_id, run }: { readonly tenant_id: string; readonly run: RunRow | null },
): Workflow {
  const agent_ids = listedAgents(row)
  return {
    workflow_id: row.workflow_id,
    tenant_id,
    name: words?.name ?? '',
    description: words?.description ?? '',
    agent_ids,
    agents: agent_ids,
    mode: row.mode,
    supervisor_agent_id: row.supervisor_agent_id,
    max_rounds: row.max_rounds,
    max_total_steps: row.max_total_steps,
    one_at_a_time: row.one_at_a_time === 1,
    status: run?.state ?? 'created',
    run_id: run?.run_id ?? null,
    termination_reason: run?.termination_reason ?? null,
    current_step: run?.steps ?? 0,
    total_tokens: run?.spent_tokens ?? 0,
    started_at: run ? formatTime(run.created_us) : null,
    completed_at: run?.ended_us == null ? null : formatTime(run.ended_us),
    created_at: formatTime(row.created_us),
    steps: [],
  }
}

/** Oldest first. */
export async function showSteps(
  call: Pick<Call, 'kernel' | 'principal'>,
  db: TenantDb,
  { run_id, workflow_id, executor }: RunRow,
): Promise<WorkflowStep[]> {
  const steps = await listSteps(db, run_id)
  const calls = await listCalls(db, run_id)
  const may = mayReadTexts(call)
  const texts = may ? await openTextsOfRun(call.kernel, db, run_id) : new Map<string, never>()
  const textOf = (text_id: string | null): string | null => texts.get(text_id ?? '')?.text ?? null
  return steps.map((row) => {
    const shown = showStep(row, calls)
    const answer = textOf(row.output_text_id)
    const made = calls.filter(({ step_no }) => step_no === row.step_no)
    const output_text =
      answer !== null && made.length > 0 && executor === 'managed' ? textOfAnswer(answer) : answer
    return {
      ...shown,
      workflow_id,
      tenant_id: db.tenant_id,
      status: shown.state,
      step_number: shown.step_no,
      step_index: shown.step_no - 1,
      decision_id: shown.decision_id ?? '',
      input_text: textOf(row.input_text_id),
      raw_output: output_text,
      output_text,
      tokens_used: shown.tokens_out ?? 0,
      token_usage: (shown.tokens_in ?? 0) + (shown.tokens_out ?? 0),
      tools_called: made.flatMap((one) => toolOf(textOf(one.args_text_id) ?? undefined) ?? []),
      governance_allowed: shown.state !== 'denied',
    }
  })
}

/** The text of an answer that asks for calls, whose JSON answered-step.ts writes. */
const textOfAnswer = (answer: string): string => JSON.parse(answer).text
