// Operations on workflows: agents that take turns in runs that this service executes.

import Type, { type Static } from 'typebox'
import {
  about,
  boolean,
  Cursor,
  count,
  Hex16,
  Label,
  Limit,
  label,
  Name,
  Nullable,
  Offset,
  OptionalNullable,
  page,
  Reason,
  Timestamp,
  text,
  time,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'
import { operation } from '../core/operation.ts'
import {
  boundedInteger,
  RUN_STATES,
  Run,
  RunBudget,
  RunReceipt,
  RunText,
  runFields,
  runLimits,
  runVerdict,
  WaitSeconds,
  WORKFLOW_MODES,
  WorkflowStep,
} from './orchestrator-records.ts'

const run = { access: 'tenant', scope: 'orchestrator:run' } as const
const admin = { access: 'tenant', scope: 'orchestrator:admin' } as const
const path = '/v1/orchestrator/workflows'
const workflowPath = `${path}/{workflow_id}` as const
const params = Type.Object({ workflow_id: about(Hex16, 'Id of the workflow') })

const WorkflowMode = Type.Enum(WORKFLOW_MODES, {
  title: 'WorkflowMode',
  description:
    '`sequential`: the input of each agent is the answer of the previous one. `round_robin`: ' +
    'the same, in rounds. `parallel`: all at once with the input. `supervisor`: one delegates ' +
    'tasks to the others',
})
const WorkflowStatus = Type.Enum(['created', ...RUN_STATES], {
  title: 'WorkflowStatus',
  description: 'State of its newest run; `created`: it has none',
})

const fields = {
  name: about(Name, 'What people call it'),
  description: about(label({ minLength: 0, maxLength: limits.reason_chars }), 'What it is for'),
  agent_ids: Type.Array(Hex16, {
    description: 'Its agents in order, or those that a supervisor delegates to',
    minItems: 1,
    maxItems: runLimits.agents_per_workflow,
  }),
  mode: about(WorkflowMode, 'How its agents take turns'),
  supervisor_agent_id: Nullable(text('Agent that delegates; null: another mode')),
  max_rounds: boundedInteger('Rounds of `round_robin`', runLimits.max_rounds),
  max_total_steps: boundedInteger('Most steps of a run', runLimits.max_total_steps),
  one_at_a_time: boolean('Whether a run is refused while another is active'),
}

export const Workflow = Type.Object(
  {
    workflow_id: Hex16,
    tenant_id: Type.String(),
    ...fields,
    agents: about(fields.agent_ids, 'The same as `agent_ids`'),
    status: about(WorkflowStatus, 'State of its newest run'),
    run_id: Nullable(text('Id of the newest run; null: it has none')),
    termination_reason: about(
      runFields.termination_reason,
      'Why the newest run ended other than completed',
    ),
    current_step: count('Steps of the newest run'),
    total_tokens: count('Tokens that its steps used'),
    started_at: Nullable(time('When the newest run started')),
    completed_at: Nullable(time('When it ended')),
    created_at: Timestamp,
    steps: Type.Array(WorkflowStep, {
      description: 'Steps of the newest run, oldest first; empty in a list',
    }),
  },
  { title: 'Workflow', description: 'A workflow: agents that take turns in one run' },
)
export type Workflow = Static<typeof Workflow>

export const workflows = {
  create: operation({
    ...admin,
    id: 'workflows.create',
    method: 'POST',
    path,
    summary: 'Creates a workflow: agents that take turns in the runs of it',
    description: 'Use it once for each task of several agents. A workflow never changes.',
    body: Type.Object({
      name: fields.name,
      description: OptionalNullable(fields.description),
      agent_ids: fields.agent_ids,
      mode: Type.Optional(about({ ...WorkflowMode, default: 'sequential' }, 'How they take turns')),
      supervisor_agent_id: OptionalNullable(about(Hex16, 'Agent that delegates, of `supervisor`')),
      max_rounds: OptionalNullable(fields.max_rounds),
      max_total_steps: OptionalNullable(fields.max_total_steps),
      one_at_a_time: Type.Optional(
        boolean('Whether a run is refused while another is active; default: false'),
      ),
    }),
    example: { name: 'weekly report', agent_ids: ['0123456789abcdef0123456789abcdef'] },
    status: 201,
    reply: Workflow,
    refuses: ['agent_not_found', 'rejected', 'too_many', 'idempotency_key_reused'],
    idempotent: true,
  }),
  list: operation({
    ...run,
    id: 'workflows.list',
    method: 'GET',
    path,
    summary: 'Lists the workflows, newest first',
    description: 'Use it to find the id of a workflow.',
    query: Type.Object({
      status: Type.Optional(about(WorkflowStatus, 'Only those in this state')),
      limit: Limit(runLimits.page),
      offset: Offset,
      cursor: Cursor,
    }),
    status: 200,
    reply: page('workflows', Workflow),
    refuses: ['rejected'],
  }),
  get: operation({
    ...run,
    id: 'workflows.get',
    method: 'GET',
    path: workflowPath,
    summary: 'Returns one workflow with the steps of its newest run',
    description: 'Use it to follow the newest run. Texts need `decisions:read`.',
    params,
    status: 200,
    reply: Workflow,
    refuses: ['workflow_not_found'],
  }),
  delete: operation({
    ...admin,
    id: 'workflows.delete',
    method: 'DELETE',
    path: workflowPath,
    summary: 'Deletes a workflow; its runs stay',
    description: 'Use it for one that is no longer used. Refused while its newest run goes on.',
    params,
    status: 200,
    reply: Type.Object({
      deleted: Type.Literal(true, { description: 'It is deleted' }),
      workflow_id: Hex16,
    }),
    refuses: ['workflow_not_found', 'wrong_state'],
  }),
  run: operation({
    ...run,
    extra_scopes: ['memory:read'],
    id: 'workflows.run',
    method: 'POST',
    path: `${workflowPath}/run`,
    summary: 'Starts a run of a workflow and waits until it ends',
    description:
      'Use it when the caller needs the result synchronously; `orchestrator.start_run` does ' +
      'not wait. After `timeout_seconds`, or when approval is required, it returns 202 and the ' +
      'run continues.',
    params,
    body: Type.Object({
      input_text: about(RunText, 'Input of the run'),
      timeout_seconds: WaitSeconds,
      budget: OptionalNullable(about(RunBudget, 'Budget of its steps; default: no limit')),
    }),
    example: { input_text: 'Report on the week', timeout_seconds: 60 },
    status: 200,
    reply: Workflow,
    accepted: Workflow,
    refuses: [
      'workflow_not_found',
      'agent_not_found',
      'provider_not_found',
      'rejected',
      'wrong_state',
      'too_many',
      'no_signing_key',
      'idempotency_key_reused',
    ],
    idempotent: true,
  }),
  resume: operation({
    ...admin,
    id: 'workflows.resume',
    method: 'POST',
    path: `${workflowPath}/resume`,
    summary: 'Approves or rejects what the newest run waits for',
    description:
      'Use it to decide by name, as `orchestrator.approve_action` does. Where several wait, name ' +
      'one.',
    params,
    body: Type.Object({
      approved: boolean('Whether it is approved'),
      approver: about(Label, 'Who decides; never the principal of the request'),
      feedback: OptionalNullable(about(Reason, 'Why')),
      action_id: OptionalNullable(about(Hex16, 'Action to decide on; default: the only one')),
    }),
    example: { approved: true, approver: 'ben' },
    status: 200,
    reply: Workflow,
    refuses: [
      'workflow_not_found',
      'action_not_found',
      'wrong_state',
      'not_waiting',
      'approval_expired',
      'self_approval',
      'attestation_required',
      'policy_denied',
      'approval_required',
      'no_signing_key',
    ],
  }),
  terminate: operation({
    ...admin,
    id: 'workflows.terminate',
    method: 'POST',
    path: `${workflowPath}/terminate`,
    summary: 'Ends the newest run of a workflow',
    description: 'Use it to stop. Nothing of the run is executed afterwards.',
    params,
    status: 200,
    reply: Type.Object({
      terminated: Type.Literal(true, { description: 'The run has ended' }),
      workflow_id: Hex16,
    }),
    refuses: ['workflow_not_found', 'wrong_state', 'no_signing_key'],
  }),
  receipts: operation({
    ...run,
    id: 'workflows.receipts',
    method: 'GET',
    path: `${workflowPath}/receipts`,
    summary: 'Lists the receipts of the newest run, oldest first',
    description: 'Use it to keep what the run did. Receipts hold no text.',
    params,
    status: 200,
    reply: Type.Object({
      workflow_id: Hex16,
      receipts: Type.Array(RunReceipt, { description: 'One for each ended step' }),
      count: count('Number of receipts'),
    }),
    refuses: ['workflow_not_found'],
  }),
  verify_chain: operation({
    ...run,
    id: 'workflows.verify_chain',
    method: 'GET',
    path: `${workflowPath}/verify-chain`,
    summary: 'Checks the receipts of the newest run and everything its bundle proves',
    description: 'Use it as `orchestrator.verify`. A workflow without a run is `empty`.',
    params,
    status: 200,
    reply: Type.Object({
      workflow_id: Hex16,
      run_id: Nullable(text('Id of the newest run; null: it has none')),
      ...runVerdict,
      tampered_at: about(runVerdict.tampered_at_step, 'The same as `tampered_at_step`'),
    }),
    refuses: ['workflow_not_found', 'no_signing_key'],
  }),
  run_step: operation({
    ...run,
    extra_scopes: ['memory:read'],
    id: 'workflows.run_step',
    method: 'POST',
    path: '/v1/orchestrator/step',
    summary: 'Asks one agent once: a managed run that ends with its answer',
    description:
      'Use it to try an agent. It waits at most `timeout_seconds`, and then answers 202: the run ' +
      'goes on.',
    body: Type.Object({
      agent_id: about(Hex16, 'Agent that is asked'),
      input_text: about(RunText, 'What it is asked'),
      timeout_seconds: WaitSeconds,
    }),
    example: { agent_id: '0123456789abcdef0123456789abcdef', input_text: 'Summarise the week' },
    status: 200,
    reply: WorkflowStep,
    accepted: Run,
    refuses: [
      'agent_not_found',
      'provider_not_found',
      'rejected',
      'too_many',
      'no_signing_key',
      'idempotency_key_reused',
    ],
    idempotent: true,
  }),
  find_step: operation({
    ...run,
    id: 'workflows.find_step',
    method: 'GET',
    path: '/v1/orchestrator/steps/{step_id}',
    summary: 'Returns one step of any run; with `decisions:read` its texts too',
    description: 'Use it where only the id of the step is known.',
    params: Type.Object({ step_id: about(Hex16, 'Id of the step') }),
    status: 200,
    reply: WorkflowStep,
    refuses: ['step_not_found'],
  }),
} as const
