// The schemas and limits of agents, runs, steps, calls and waiting actions.

import Type, { type Static } from 'typebox'
import {
  about,
  boolean,
  count,
  Hex16,
  Hex32,
  integer,
  JsonObject,
  Label,
  label,
  Name,
  Nullable,
  OptionalNullable,
  Ref,
  Timestamp,
  text,
  time,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'
import { recordFields } from '../registries/records.ts'

export const AGENT_ROLES = [
  'researcher',
  'writer',
  'reviewer',
  'classifier',
  'executor',
  'supervisor',
  'custom',
] as const
/** States of runs. The allowed transitions are in `@custos/proof`, for the offline verifier too. */
export const RUN_STATES = [
  'running',
  'waiting_hitl',
  'waiting_client',
  'waiting_resolution',
  'compensating',
  'completed',
  'denied',
  'failed',
  'terminated',
] as const
/** Whether the effects of a run are undone if it ends other than completed. */
export const ON_FAILURE = ['stop', 'compensate'] as const
/** How much of the effects of a run was undone. */
export const COMPENSATIONS = ['complete', 'partial', 'none'] as const
/** Who calls the models: the caller, between `begin` and `complete`, or this service. */
export const RUN_EXECUTORS = ['client', 'managed'] as const
/**
 * How the agents of a workflow take turns. `sequential`: each agent gets the answer of the previous
 * one. `round_robin`: the same, in rounds. `parallel`: all agents get the input at once.
 * `supervisor`: one agent delegates tasks to the others.
 */
export const WORKFLOW_MODES = ['sequential', 'parallel', 'supervisor', 'round_robin'] as const
export const STEP_STATES = [
  'waiting_hitl',
  'permitted',
  'answered',
  'completed',
  'denied',
  'failed',
] as const
export const CALL_STATES = [
  'waiting_hitl',
  'intended',
  'done',
  'denied',
  'failed',
  'uncertain',
] as const
/** The effect of a tool. `once`: executing it twice does harm. */
export const TOOL_EFFECTS = ['read', 'idempotent', 'once'] as const
/** The reasons why a run, a step or a call ended other than completed. */
export const RUN_REASONS = [
  'cancelled',
  'deadline_exceeded',
  'permit_expired',
  'policy',
  'output_refused',
  'hitl_rejected',
  'hitl_expired',
  'input_erased',
  'not_reported',
  'reported',
  'run_ended',
  'model_failed',
  'model_refused',
  'quota_exceeded',
  'attempt_lost',
  'step_refused',
  'budget_exhausted',
  'max_steps_reached',
  'credential_revoked',
  'executor_failed',
  'args_invalid',
  'tool_refused',
  'tool_failed',
  'resolved',
  'loop_detected',
  'no_compensation',
] as const

export const runLimits = {
  agents_per_tenant: 500,
  workflows_per_tenant: 500,
  agents_per_workflow: 16,
  /** The most steps that a parallel workflow runs at the same time. */
  parallel_steps: 4,
  max_rounds: { min: 1, max: 50, default: 3 },
  max_total_steps: { min: 1, max: 500, default: 100 },
  max_steps: { min: 1, max: 500, default: 50 },
  max_tokens_per_step: { min: 1, max: 10_000_000, default: 4_096 },
  tools: 100,
  fallbacks: 5,
  calls_per_step: 64,
  deadline_s: { min: 1, max: 604_800, default: 3_600 },
  /** How long a stopped run may undo what it did, in seconds. */
  compensation_s: 86_400,
  permit_s: { min: 1, max: 3_600, default: 600 },
  text_bytes: 256 * 1024,
  prompt_chars: 100_000,
  /** The most memories that a step is derived from, directly or through its inputs. */
  sources: 1_000,
  page: { min: 1, max: 200, default: 50 },
} as const

export const boundedInteger = (description: string, { min, max }: { min: number; max: number }) =>
  integer(description, { minimum: min, maximum: max })
export const AgentRole = Type.Enum(AGENT_ROLES, {
  title: 'AgentRole',
  description: 'What an agent is for',
})
export const RunState = Type.Enum(RUN_STATES, {
  title: 'RunState',
  description:
    '`running`: its executor may begin steps. `waiting_hitl`: a step or call waits for ' +
    'approval. `waiting_client`: the caller has to report the result of a call. ' +
    '`waiting_resolution`: a person has to say whether the call of a `once` tool took effect. ' +
    '`compensating`: it has stopped, and its tool calls are being undone. `denied`: a policy ' +
    'or a person denied a step. `failed`: no model answered. `terminated`: it was stopped ' +
    'early.',
})
export const RunExecutor = Type.Enum(RUN_EXECUTORS, {
  title: 'RunExecutor',
  description: '`client`: the caller, between `begin` and `complete`. `managed`: this service',
})
const StepState = Type.Enum(STEP_STATES, {
  title: 'StepState',
  description:
    '`permitted`: the model may be called until the permit expires. `answered`: it has ' +
    'answered, and its tool calls are in progress',
})
const CallState = Type.Enum(CALL_STATES, {
  title: 'RunCallState',
  description:
    '`intended`: the call may be made. `uncertain`: the call of a `once` tool may have taken ' +
    'effect, but was not reported.',
})
export const ToolEffect = Type.Enum(TOOL_EFFECTS, {
  title: 'ToolEffect',
  description: '`read`: changes nothing. `idempotent`: may be repeated. `once`: never repeat it',
})
const EndReason = Type.Enum(RUN_REASONS, {
  title: 'RunReason',
  description: 'Reason code if it ended other than completed',
})
export const TokenCount = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const CostMicro = about(TokenCount, 'Millionths of the currency')
export const RunText = text(`A text of at most ${runLimits.text_bytes} bytes`, {
  maxLength: runLimits.text_bytes,
})

export const RunBudget = Type.Object(
  {
    tokens: OptionalNullable(
      about(TokenCount, 'Tokens of all steps, input and output; null: no limit'),
    ),
    cost_micro: OptionalNullable(
      about(TokenCount, 'Cost in millionths of the currency; null: no limit'),
    ),
  },
  {
    title: 'RunBudget',
    description: 'Maximum use of all steps of a run together',
    additionalProperties: false,
  },
)
const Used = Type.Object(
  {
    tokens: about(TokenCount, 'Tokens'),
    cost_micro: CostMicro,
  },
  { title: 'RunUse', description: 'Tokens and cost' },
)

export const agentFields = {
  name: about(Name, 'Unique among the agents of the tenant'),
  role: about(AgentRole, 'What it is for'),
  description: about(label({ minLength: 0, maxLength: limits.reason_chars }), 'What it does'),
  model_id: about(Label, 'Model that it calls unless a step names another'),
  system_prompt: text('Instructions for the model', { maxLength: runLimits.prompt_chars }),
  memory_stores: Type.Array(Label, {
    description: 'Stores that its steps may read; empty: every store',
    maxItems: limits.policies_per_tenant,
  }),
  fallback_models: Type.Array(Label, {
    description: 'Models that a managed run calls, in this order, if `model_id` fails',
    maxItems: runLimits.fallbacks,
  }),
  tools: Type.Array(Label, {
    description: 'Names of tools that it may call; empty: every tool',
    maxItems: runLimits.tools,
  }),
  max_steps: boundedInteger('Steps of a run that it starts', runLimits.max_steps),
  max_tokens_per_step: boundedInteger(
    'Maximum tokens of one step, input and output',
    runLimits.max_tokens_per_step,
  ),
  temperature: Type.Number({ minimum: 0, maximum: 2, description: 'Temperature for the model' }),
}

export const Agent = Type.Object(
  {
    agent_id: Hex16,
    tenant_id: Type.String(),
    ...agentFields,
    version: count('Version number, from 1'),
    enabled: boolean('Whether it may begin steps'),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: 'Agent', description: 'An agent: model, prompt, stores and tools of its steps' },
)
export type Agent = Static<typeof Agent>

export const RunCall = Type.Object(
  {
    call_id: Hex16,
    step_id: Hex16,
    run_id: Hex16,
    state: about(CallState, 'State of the call'),
    reason: Nullable(about(EndReason, 'Reason code if it ended other than done')),
    effect: about(ToolEffect, 'What repeating it does'),
    by_caller: boolean(
      'Whether the caller of the managed run makes the call and reports the result',
    ),
    args_commitment: about(Hex32, 'Salted SHA-256 of tool and arguments'),
    result_commitment: Nullable(about(Hex32, 'Salted SHA-256 of the result')),
    policy_set: count('Number of the policies that were evaluated'),
    evaluation_id: Nullable(text('Id of the evaluation; null: there were no policies')),
    action_id: Nullable(text('Id of the action that required approval; null: none')),
    compensates: Nullable(text('Id of the call that this one compensates; null: none')),
    created_at: Timestamp,
    ended_at: Nullable(time('When it ended')),
  },
  { title: 'RunCall', description: 'A call of a tool by a step' },
)
export type RunCall = Static<typeof RunCall>

export const RunCallTexts = Type.Object(
  {
    ...RunCall.properties,
    tool: Nullable(text('Name of the tool; null: erased, or no right')),
    args: Nullable(about(JsonObject, 'Arguments; null: erased, or no right')),
    result: Nullable(text('What it answered; null: nothing yet, erased, or no right')),
  },
  { title: 'RunCallTexts', description: 'A call with its texts' },
)

export const RunStep = Type.Object(
  {
    step_id: Hex16,
    run_id: Hex16,
    step_no: count('Number of the step in the run, from 1'),
    turn_no: Nullable(count('Turn of the workflow, from 0; null: the run is of one agent')),
    agent_id: Hex16,
    state: about(StepState, 'State of the step'),
    reason: Nullable(about(EndReason, 'Reason code if it ended other than completed')),
    model_id: text('Model that is called'),
    store_id: Nullable(text('Store that was read; null: none')),
    memory_seq: count('Log position at which memory was read'),
    retrieved_refs: Type.Array(Ref, { description: 'Memories that the step retrieved' }),
    inherited_refs: Type.Array(Ref, { description: 'Memories that its input derives from' }),
    policy_set: count('Number of the policies that were evaluated'),
    evaluation_id: Nullable(text('Id of the evaluation; null: there were no policies')),
    action_id: Nullable(text('Id of the action that required approval; null: none')),
    permit: Nullable(text('Id of the permit; null: there is none')),
    max_tokens: count('Tokens reserved for it, input and output'),
    max_cost_micro: CostMicro,
    expires_at: Nullable(time('When the permit ends; null: there is none, or it has ended')),
    tokens_in: Nullable(about(TokenCount, 'Tokens of the prompt, as reported')),
    tokens_out: Nullable(about(TokenCount, 'Tokens of the output, as reported')),
    cost_micro: Nullable(CostMicro),
    decision_id: Nullable(text('Id of the logged decision; null: none yet')),
    calls: Type.Array(RunCall, { description: 'Its calls, oldest first' }),
    created_at: Timestamp,
    ended_at: Nullable(time('When it ended')),
  },
  { title: 'RunStep', description: 'One model call of a run, with its permit' },
)
export type RunStep = Static<typeof RunStep>
export const RunStepTexts = Type.Object(
  {
    ...RunStep.properties,
    input_text: Nullable(text('Input as policies redacted it; null: erased, or no right')),
    output_text: Nullable(
      text('What the model answered; null: nothing yet, denied, erased, or no right'),
    ),
  },
  { title: 'RunStepTexts', description: 'A step with its texts' },
)

export const RunUndo = Type.Object(
  {
    call_id: about(Hex16, 'Call of a tool that acted, or may have'),
    undone: boolean('Whether it was undone'),
    undone_by: Nullable(text('Id of the call that undoes it; null: there is none')),
    reason: Nullable(about(EndReason, 'Why it was not undone; null: it was, or is being undone')),
  },
  { title: 'RunUndo', description: 'What became of one thing that a run did' },
)
export type RunUndo = Static<typeof RunUndo>

export const OnFailure = Type.Enum(ON_FAILURE, {
  title: 'OnFailure',
  description:
    'If the run fails: `stop` leaves its effects, `compensate` undoes calls that have a ' +
    'compensation',
})
const Compensation = Type.Enum(COMPENSATIONS, {
  title: 'Compensation',
  description: 'How many of the effects of tool calls were undone',
})

export const runFields = {
  run_id: Hex16,
  tenant_id: Type.String(),
  agent_id: about(Hex16, 'Its agent, or the first of its workflow'),
  workflow_id: Nullable(text('Id of the workflow; null: the run is of one agent')),
  executor: about(RunExecutor, 'Who asks the models'),
  state: about(RunState, 'State of the run'),
  termination_reason: Nullable(about(EndReason, 'Reason code if it ended other than completed')),
  budget: about(RunBudget, 'What its steps may use'),
  spent: about(Used, 'What ended steps used, as reported, or reserved where nobody reported'),
  reserved: about(Used, 'What steps under way may still use'),
  on_failure: about(OnFailure, 'What becomes of what it did when it ends other than completed'),
  compensation: Nullable(
    about(Compensation, 'How much was undone; null: no compensation was requested'),
  ),
  compensation_deadline_at: Nullable(
    time('Deadline of the compensation; null: no compensation was requested'),
  ),
  compensation_stopped: Nullable(
    about(EndReason, 'Why the compensation stopped early; null: it did not'),
  ),
  max_steps: count('Maximum number of steps'),
  steps_total: count('Number of steps so far'),
  receipts: count('Receipts that were signed'),
  last_receipt_digest: Nullable(text('SHA-256 of the newest receipt; null: none yet')),
  started_by: text('Id of the key that started it'),
  deadline_at: time('When it ends at the latest'),
  created_at: Timestamp,
  ended_at: Nullable(time('When it ended')),
}
export const Run = Type.Object(runFields, {
  title: 'Run',
  description: 'A run: steps of agents under one budget',
})
export type Run = Static<typeof Run>

export const ActionProposal = Type.Object(
  {
    agent_id: Hex16,
    run_id: Hex16,
    step_id: Hex16,
    call_id: Nullable(text('Id of the call; null: policies denied the step already')),
    tool: text('Name of the tool'),
    state: about(CallState, 'State of the call: act only once it is `intended`'),
    denied: boolean('Whether a policy denied it'),
    escalated: boolean('Whether a person had, or has, to approve it'),
    executed: Type.Literal(false, { description: 'A proposal executes nothing' }),
    action_id: Nullable(text('Id of the action to approve; null: none')),
    created_at: Timestamp,
  },
  { title: 'ActionProposal', description: 'What became of a call that an agent proposes' },
)

const RunMemory = Type.Object(
  { ref: Ref, content: text('Text of the memory') },
  { title: 'RunMemory', description: 'A memory for the prompt: data, never instructions' },
)
export const StepPermit = Type.Object(
  {
    step: about(RunStep, 'The step'),
    step_id: Hex16,
    permit: Nullable(text('Id of the permit; null: the step waits or has ended')),
    input_text: Nullable(text('Input to use, as policies redacted it; null: erased, or no right')),
    output_text: Nullable(text('What the model answered; null: not yet, erased, or no right')),
    memory: Type.Array(RunMemory, { description: 'Memories for the prompt, best first' }),
    memory_seq: count('Log position at which memory was read'),
    max_tokens: count('Most tokens, in and out'),
    expires_at: Nullable(time('When the permit ends')),
  },
  { title: 'StepPermit', description: 'What a step may use, and what it was given' },
)
export type StepPermit = Static<typeof StepPermit>

const waiting = Type.Object(
  {
    status: Type.Literal('waiting_hitl', { description: 'Waits for an approval' }),
    request_id: text('Id of the approval request'),
    action_id: text('Id of the action to approve'),
    expires_at: time('When the approval request expires'),
    step_id: Hex16,
    call_id: Nullable(text('Id of the call; null: the step itself waits')),
  },
  { title: 'WaitingAction', description: 'What waits for a person' },
)
export const WaitingReply = Type.Object(
  { detail: about(waiting, 'The approval request') },
  { title: 'WaitingActionReply', description: 'A person has to approve first' },
)

export const WaitSeconds = Type.Optional(
  integer('Seconds to wait for the end of the run', { minimum: 0, maximum: 300, default: 300 }),
)

export const WorkflowStep = Type.Object(
  {
    ...RunStep.properties,
    workflow_id: Nullable(text('Id of the workflow; null: the run is of one agent')),
    tenant_id: Type.String(),
    status: about(StepState, 'The same as `state`'),
    step_number: count('The same as `step_no`'),
    step_index: count('`step_no` less one'),
    decision_id: text('Id of the logged decision; empty: none yet'),
    input_text: Nullable(text('Input of the step; null: erased, or not permitted to the caller')),
    raw_output: Nullable(text('The same as `output_text`')),
    output_text: Nullable(
      text('Output of the step; null: none yet, erased, or not permitted to the caller'),
    ),
    tokens_used: count('Tokens of the output'),
    token_usage: count('Tokens in and out'),
    tools_called: Type.Array(Type.String(), {
      description: 'Names of the tools called; only if the caller may read texts',
    }),
    governance_allowed: boolean('False: a policy or a person denied it'),
  },
  { title: 'WorkflowStep', description: 'A step of a workflow with its texts' },
)
export type WorkflowStep = Static<typeof WorkflowStep>

export const AgentAction = Type.Object(
  {
    action_id: Hex16,
    run_id: Hex16,
    step_id: Hex16,
    call_id: Nullable(text('Id of the call; null: the step itself')),
    agent_id: Hex16,
    operation: Type.Enum(['inference', 'tool_execution', 'memory.write'], {
      description:
        'Operation to approve. `memory.write`: a fact that a model extracted from a ' +
        'conversation; then `run_id`, `step_id` and `agent_id` are the `extraction_id`',
    }),
    effect: Nullable(about(ToolEffect, 'Effect class of the tool; null: the action is a step')),
    commitment: about(Hex32, 'Salted SHA-256 of the input, or of tool and arguments'),
    text: Nullable(text('Text to approve: input of the step, or JSON of tool and arguments')),
    ...recordFields,
  },
  { title: 'AgentAction', description: 'A step or call of an agent that required approval' },
)
export type AgentAction = Static<typeof AgentAction>

export const runVerdict = {
  status: Type.Enum(['intact', 'tampered', 'empty'], {
    title: 'RunVerdictStatus',
    description: '`empty`: no step has ended yet',
  }),
  steps_verified: count('Receipts that are valid and follow each other, from the first'),
  tampered_at_step: Nullable(count('First step whose receipt is not; null: none')),
  reason: Nullable(text('The check that failed; null: none did')),
}

export const RunReceipt = about(
  Type.Record(Type.String(), Type.Unknown(), {
    title: 'RunReceipt',
    description: 'Signed statement about one ended step; see docs/orchestration.md',
  }),
  'The receipt',
)
