// Operations on agents and their runs: durable steps, each with memory, policies, a budget and a
// signed receipt.

import Type from 'typebox'
import {
  about,
  boolean,
  Cursor,
  count,
  Hex16,
  integer,
  JsonObject,
  Label,
  Limit,
  Offset,
  OptionalNullable,
  page,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'
import { operation } from '../core/operation.ts'
import {
  APPROVAL_REFUSALS,
  DECISION_REFUSALS,
  ResumeRequest,
  recordPageQuery,
  rejectedReply,
  resumeExample,
} from '../registries/records.ts'
import { agentOperations } from './orchestrator-agents.ts'
import { callOperations } from './orchestrator-calls.ts'
import {
  AgentAction,
  boundedInteger,
  OnFailure,
  Run,
  RunBudget,
  RunCall,
  RunExecutor,
  RunReceipt,
  RunState,
  RunStep,
  RunStepTexts,
  RunText,
  RunUndo,
  runFields,
  runLimits,
  runVerdict,
  StepPermit,
  TokenCount,
  ToolEffect,
  WaitingReply,
} from './orchestrator-records.ts'
import { replayOperations } from './orchestrator-replay.ts'

const run = { access: 'tenant', scope: 'orchestrator:run' } as const
const admin = { access: 'tenant', scope: 'orchestrator:admin' } as const
const path = '/v1/orchestrator'
const runPath = `${path}/runs/{run_id}` as const
const stepPath = `${runPath}/steps/{step_id}` as const
const runParams = Type.Object({ run_id: about(Hex16, 'Id of the run') })
const stepParams = Type.Object({
  ...runParams.properties,
  step_id: about(Hex16, 'Id of the step'),
})
const actionParams = Type.Object({ action_id: about(Hex16, 'Id of the action') })

export const orchestrator = {
  ...agentOperations,
  ...replayOperations,
  ...callOperations,
  start_run: operation({
    ...run,
    id: 'orchestrator.start_run',
    method: 'POST',
    path: `${path}/runs`,
    summary: 'Starts a run; its steps are executed by the caller or by this service',
    description:
      'Use it before the first step. No policy is asked yet: each step is. A run of the caller ' +
      'ends when a step is completed with `final`, when it is cancelled, or at its deadline. A ' +
      '`managed` run answers `input_text` by itself: read it until it has ended. It needs a key, ' +
      'with `memory:read` too, whose rights are looked up at every permit.',
    body: Type.Object({
      agent_id: OptionalNullable(about(Hex16, 'Agent that it starts with; or `workflow_id`')),
      workflow_id: OptionalNullable(about(Hex16, 'Workflow that it executes, as `managed`')),
      input_text: OptionalNullable(about(RunText, 'Input of the run')),
      budget: OptionalNullable(about(RunBudget, 'Budget of its steps; default: no limit')),
      deadline_s: Type.Optional(
        integer('Seconds until it ends at the latest', {
          minimum: runLimits.deadline_s.min,
          maximum: runLimits.deadline_s.max,
          default: runLimits.deadline_s.default,
        }),
      ),
      on_failure: OptionalNullable(
        about(OnFailure, 'Of a `managed` run that ends other than completed; default: `stop`'),
      ),
      executor: Type.Optional(
        about(RunExecutor, 'Who asks the models; default: `client`, of a workflow `managed`'),
      ),
    }),
    example: {
      agent_id: '0123456789abcdef0123456789abcdef',
      input_text: 'Summarise the week',
      budget: { tokens: 20_000 },
    },
    status: 201,
    reply: Run,
    refuses: [
      'agent_not_found',
      'workflow_not_found',
      'provider_not_found',
      'rejected',
      'wrong_state',
      'too_many',
      'no_signing_key',
      'idempotency_key_reused',
    ],
    idempotent: true,
  }),
  list_runs: operation({
    ...run,
    id: 'orchestrator.list_runs',
    method: 'GET',
    path: `${path}/runs`,
    summary: 'Lists the runs, newest first',
    description: 'Use it to find runs that wait for a person.',
    query: Type.Object({
      state: Type.Optional(about(RunState, 'Only those in this state')),
      limit: Limit(runLimits.page),
      offset: Offset,
      cursor: Cursor,
    }),
    status: 200,
    reply: page('runs', Run),
    refuses: ['rejected'],
  }),
  get_run: operation({
    ...run,
    id: 'orchestrator.get_run',
    method: 'GET',
    path: runPath,
    summary: 'Returns one run with its steps',
    description: 'Use it to follow a run.',
    params: runParams,
    status: 200,
    reply: Type.Object({
      ...runFields,
      steps: Type.Array(RunStep, { description: 'Its steps, oldest first' }),
      undone: Type.Array(RunUndo, {
        description: 'Of a run that compensates: what its tools did, newest first',
      }),
    }),
    refuses: ['run_not_found'],
  }),
  list_steps: operation({
    ...run,
    id: 'orchestrator.list_steps',
    method: 'GET',
    path: `${runPath}/steps`,
    summary: 'Lists the steps of a run, oldest first; with `decisions:read` their texts too',
    description: 'Use it to read what was asked and answered.',
    params: runParams,
    status: 200,
    reply: Type.Object({
      run_id: Hex16,
      steps: Type.Array(RunStepTexts, { description: 'Its steps' }),
      count: count('Number of steps'),
    }),
    refuses: ['run_not_found'],
  }),
  cancel_run: operation({
    ...run,
    id: 'orchestrator.cancel_run',
    method: 'POST',
    path: `${runPath}/cancel`,
    summary: 'Ends a run: from then on it gets no permit and nothing of it is executed',
    description:
      'Use it to stop. What open permits had reserved counts as spent. With `compensate` what ' +
      'the tools of a managed run did is undone first. A run that is `compensating` ends only ' +
      'with `compensate: false`: what is not undone then is listed in `undone`.',
    params: runParams,
    body: Type.Object({
      compensate: OptionalNullable(
        boolean(
          'Whether to undo what its tools did; default: as the run was started. `false` also ' +
            'ends the undoing of a run that is `compensating`',
        ),
      ),
    }),
    body_optional: true,
    example: { compensate: false },
    status: 200,
    reply: Run,
    refuses: ['run_not_found', 'rejected', 'wrong_state', 'no_signing_key'],
  }),
  begin_step: operation({
    ...run,
    extra_scopes: ['memory:read'],
    id: 'orchestrator.begin_step',
    method: 'POST',
    path: `${runPath}/steps`,
    summary: 'Permits one question to a model: retrieves, asks the policies, reserves budget',
    description:
      'Use it before every call of a model. 202 where a person has to approve: then read the ' +
      'step until it has its permit. `input_text` is bound to every memory that earlier steps ' +
      'of the run used; `input_from` only to those of that step.',
    params: runParams,
    body: Type.Object({
      agent_id: OptionalNullable(about(Hex16, 'Agent of the step; default: that of the run')),
      input_text: OptionalNullable(about(RunText, 'Input of the step')),
      input_from: OptionalNullable(about(Hex16, 'Step whose output is the input')),
      model_id: OptionalNullable(about(Label, 'Model; default: that of the agent')),
      store_id: OptionalNullable(about(Label, 'Store to read; default: the first of the agent')),
      query: OptionalNullable(about(RunText, 'What to search; default: the input')),
      budget_tokens: OptionalNullable(
        boundedInteger('Tokens of memory to retrieve', { min: 0, max: limits.budget_tokens }),
      ),
      max_tokens: OptionalNullable(
        boundedInteger('Tokens to reserve, in and out', runLimits.max_tokens_per_step),
      ),
      max_cost_micro: OptionalNullable(about(TokenCount, 'Cost to reserve, in millionths')),
      permit_s: Type.Optional(
        integer('Seconds until the permit ends', {
          minimum: runLimits.permit_s.min,
          maximum: runLimits.permit_s.max,
          default: runLimits.permit_s.default,
        }),
      ),
    }),
    example: { input_text: 'What changed this week?', budget_tokens: 1_024 },
    status: 201,
    reply: StepPermit,
    accepted: WaitingReply,
    refuses: [
      'run_not_found',
      'agent_not_found',
      'step_not_found',
      'store_not_found',
      'rejected',
      'wrong_state',
      'budget_exhausted',
      'too_many',
      'too_many_sources',
      'policy_denied',
      'approval_required',
      'no_signing_key',
      'idempotency_key_reused',
    ],
    idempotent: true,
  }),
  get_step: operation({
    ...run,
    id: 'orchestrator.get_step',
    method: 'GET',
    path: stepPath,
    summary: 'Returns one step; with `decisions:read` its input and memory too',
    description: 'Use it to fetch the permit of a step that waited for a person.',
    params: stepParams,
    status: 200,
    reply: StepPermit,
    refuses: ['run_not_found', 'step_not_found'],
  }),
  call_tool: operation({
    ...run,
    id: 'orchestrator.call_tool',
    method: 'POST',
    path: `${stepPath}/calls`,
    summary: 'Permits one call of a tool: asks the policies, records the intent',
    description:
      'Use it before a tool acts. Send `call_id` as the idempotency key of the tool. 202 where a ' +
      'person has to approve: act only once the call is `intended`.',
    params: stepParams,
    body: Type.Object({
      tool: about(Label, 'Name of the tool'),
      args: Type.Optional(about(JsonObject, 'Arguments, exactly as the tool will get them')),
      effect: Type.Optional(about({ ...ToolEffect, default: 'once' }, 'What repeating it does')),
    }),
    example: { tool: 'send_mail', args: { subject: 'Weekly report' }, effect: 'once' },
    status: 201,
    reply: RunCall,
    accepted: WaitingReply,
    refuses: [
      'run_not_found',
      'step_not_found',
      'wrong_state',
      'permit_expired',
      'tool_refused',
      'too_many',
      'rejected',
      'policy_denied',
      'no_signing_key',
      'idempotency_key_reused',
    ],
    idempotent: true,
  }),
  complete_step: operation({
    ...run,
    id: 'orchestrator.complete_step',
    method: 'POST',
    path: `${stepPath}/complete`,
    summary: 'Completes a step: checks its output, logs the decision, signs the receipt',
    description:
      'Use it after the model has answered. Unreported calls end as `failed`, those of `once` ' +
      'tools as `uncertain`. A denied output is not stored.',
    params: stepParams,
    body: Type.Object({
      output: about(RunText, 'What the model answered'),
      calls: OptionalNullable(
        Type.Array(
          Type.Object({
            call_id: Hex16,
            result: about(RunText, 'Result of the tool'),
            failed: Type.Optional(boolean('Whether the tool failed')),
          }),
          {
            description: 'Results of the tool calls of the step',
            maxItems: runLimits.calls_per_step,
          },
        ),
      ),
      tokens_in: about(TokenCount, 'Tokens of the prompt'),
      tokens_out: about(TokenCount, 'Tokens of the output'),
      cost_micro: OptionalNullable(
        about(TokenCount, 'Cost in millionths of the currency; default: as reserved'),
      ),
      model_version: OptionalNullable(about(Label, 'Version of the model that answered')),
      final: Type.Optional(boolean('Whether this step completes the run')),
    }),
    example: { output: 'Two things changed.', tokens_in: 900, tokens_out: 12, final: true },
    status: 200,
    reply: Type.Object({
      step: about(RunStep, 'The step'),
      run: about(Run, 'The run after it'),
      receipt: RunReceipt,
    }),
    refuses: [
      'run_not_found',
      'step_not_found',
      'wrong_state',
      'permit_expired',
      'rejected',
      'policy_denied',
      'approval_required',
      'free_ceiling_reached',
      'no_signing_key',
      'idempotency_key_reused',
    ],
    idempotent: true,
  }),
  receipts: operation({
    ...run,
    id: 'orchestrator.receipts',
    method: 'GET',
    path: `${runPath}/receipts`,
    summary: 'Lists the receipts of a run, oldest first',
    description: 'Use it to keep what a run did. Receipts hold no text.',
    params: runParams,
    status: 200,
    reply: Type.Object({
      run_id: Hex16,
      receipts: Type.Array(RunReceipt, { description: 'One for each ended step' }),
      count: count('Number of receipts'),
    }),
    refuses: ['run_not_found'],
  }),
  get_receipt: operation({
    ...run,
    id: 'orchestrator.get_receipt',
    method: 'GET',
    path: `${path}/receipts/{receipt_id}`,
    summary: 'Returns the receipt of one step of any run',
    description: 'Use it where only the step is known. A step has its receipt once it has ended.',
    params: Type.Object({
      receipt_id: about(Hex16, 'Id of the receipt: the `step_id` that it states'),
    }),
    status: 200,
    reply: RunReceipt,
    refuses: ['step_not_found', 'wrong_state'],
  }),
  verify: operation({
    ...run,
    id: 'orchestrator.verify',
    method: 'GET',
    path: `${runPath}/verify`,
    summary: 'Checks the receipts of a run and everything its bundle proves',
    description:
      'Use it to see whether anything of a run was changed in the database. Those who do not ' +
      'trust the service verify the bundle offline: these are the same checks.',
    params: runParams,
    status: 200,
    reply: Type.Object({ run_id: Hex16, ...runVerdict }),
    refuses: ['run_not_found', 'no_signing_key'],
  }),
  bundle: operation({
    ...run,
    extra_scopes: ['decisions:read', 'gcrumbs:read'],
    id: 'orchestrator.bundle',
    method: 'GET',
    path: `${runPath}/bundle`,
    summary: 'Streams everything that proves a run, for `custos verify`',
    description:
      'Use it to check a run without this service: log entries with proofs, receipts, approvals, ' +
      'and texts with their salts while they exist.',
    params: runParams,
    status: 200,
    reply: Type.Record(Type.String(), Type.Unknown(), {
      title: 'RunBundleLine',
      description: 'A line; `type` says what it holds',
    }),
    reply_type: 'application/x-ndjson',
    refuses: ['run_not_found', 'no_signing_key'],
  }),
  list_actions: operation({
    ...run,
    id: 'orchestrator.list_actions',
    method: 'GET',
    path: `${path}/actions`,
    summary: 'Lists the actions that waited for a person, newest first',
    description: 'Use it to find what waits. Texts are left out: get one action to read its text.',
    query: recordPageQuery,
    status: 200,
    reply: page('actions', AgentAction),
    refuses: ['rejected'],
  }),
  get_action: operation({
    ...run,
    id: 'orchestrator.get_action',
    method: 'GET',
    path: `${path}/actions/{action_id}`,
    summary: 'Returns one action; with `decisions:read` its text too',
    description: 'Use it to read the text to approve.',
    params: actionParams,
    status: 200,
    reply: AgentAction,
    refuses: ['action_not_found'],
  }),
  approve_action: operation({
    ...admin,
    id: 'orchestrator.approve_action',
    method: 'POST',
    path: `${path}/actions/{action_id}/approve`,
    summary: 'Approves a waiting step or call, exactly as it was proposed',
    description: 'Use it to decide by name. The permit is given in the same transaction.',
    params: actionParams,
    body: ResumeRequest,
    example: resumeExample,
    status: 200,
    reply: AgentAction,
    refuses: ['action_not_found', ...APPROVAL_REFUSALS],
    idempotent: true,
  }),
  reject_action: operation({
    ...admin,
    id: 'orchestrator.reject_action',
    method: 'POST',
    path: `${path}/actions/{action_id}/reject`,
    summary: 'Rejects a waiting step or call; its run is denied',
    description: 'Use it to refuse what an agent proposes.',
    params: actionParams,
    body: ResumeRequest,
    example: resumeExample,
    status: 200,
    reply: rejectedReply('action_id'),
    refuses: ['action_not_found', ...DECISION_REFUSALS],
    idempotent: true,
  }),
} as const
