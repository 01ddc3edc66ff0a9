// The tools of governed agents: decisions, policies, actions, approvals and proofs.

import Type from 'typebox'
import { failed, fence, result, type ToolSpec, tool } from './tool.ts'

const Id = (description: string) => Type.String({ minLength: 1, description })
const NullableText = Type.Union([Type.String(), Type.Null()])
const AnyObject = (description: string) =>
  Type.Record(Type.String(), Type.Unknown(), { description })
const closed = { additionalProperties: false } as const
const json = (value: unknown) => fence(JSON.stringify(value, null, 2))

const log = tool({
  name: 'decision_log',
  title: 'Log a decision',
  description: 'Records what a model was asked and answered. Use it after each decision.',
  scopes: ['decisions:write'],
  hints: { readOnlyHint: false, destructiveHint: false },
  input: Type.Object(
    {
      model_id: Id('The model that decided'),
      query: Type.String({ description: 'What it was asked' }),
      output: Type.String({ description: 'What it answered' }),
      retrieved_refs: Type.Array(Type.Integer({ minimum: 0 }), {
        description: 'Memories it was shown',
      }),
      memory_seq: Type.Optional(Type.Integer({ description: '`log_seq` of the search' })),
      session_id: Type.Optional(Type.String()),
    },
    closed,
  ),
  output: Type.Object({
    decision_id: Type.String(),
    log_seq: Type.Integer(),
    signature: Type.String(),
  }),
  async run(decision, { session }) {
    const logged = await session.custos.decisions.log({ store_id: session.store, ...decision })
    const { decision_id, log_seq, signature } = logged
    return result({ decision_id, log_seq, signature }, `Logged as decision ${decision_id}.`)
  },
})

const replay = tool({
  name: 'decision_replay',
  title: 'Replay a decision',
  description: 'Shows a decision with the memories known then, and what was erased since.',
  scopes: ['decisions:read'],
  hints: { readOnlyHint: true },
  input: Type.Object({ decision_id: Id('Id of the decision') }, closed),
  output: Type.Object({
    decision: AnyObject('The decision'),
    facts_used: Type.Array(AnyObject('A memory')),
    facts_since_deleted: Type.Array(Type.Integer()),
    memory_seq: Type.Integer(),
  }),
  async run({ decision_id }, { session }) {
    const replayed = await session.custos.decisions.replay(decision_id)
    const { decision, facts_used, facts_since_deleted, memory_seq } = replayed
    const { query, output, model_id } = decision
    const text = json({ query, output, model_id, facts_used, facts_since_deleted })
    return result({ decision, facts_used, facts_since_deleted, memory_seq }, text)
  },
})

const check = tool({
  name: 'policy_check',
  title: 'Check policies',
  description: 'Says whether an operation may run. Use it before acting outside the service.',
  scopes: ['governance:read'],
  // Not read-only: the evaluation is recorded, except in a read-only session.
  hints: { destructiveHint: false },
  drySafe: true,
  input: Type.Object(
    {
      operation: Id('Name of the operation, for example `custom.send_mail`'),
      context: AnyObject('What policies read, for example `model_id`'),
    },
    closed,
  ),
  output: Type.Object({
    allowed: Type.Boolean(),
    escalated: Type.Boolean(),
    reasons: Type.Array(Type.String()),
  }),
  async run({ operation, context }, { session }) {
    const dry_run = session.options.read_only === true
    const body = { operation, context, dry_run }
    const { allowed, escalated, logs } = await session.custos.governance.evaluate(body)
    const against = logs.filter((entry) => entry.result !== 'allowed')
    const reasons = against.map(({ policy_name, detail }) => `${policy_name}: ${detail}`)
    const verdict = escalated ? 'A person has to approve it.' : 'It is denied.'
    const text = [allowed ? 'It may run.' : verdict, ...reasons].join('\n')
    return result({ allowed, escalated, reasons }, text)
  },
})

const propose = tool({
  name: 'action_propose',
  title: 'Propose an action',
  description: 'Records an action of a known type, or lets it wait for a person to approve it.',
  scopes: ['artifacts:read', 'artifacts:admin'],
  hints: { readOnlyHint: false, destructiveHint: false },
  input: Type.Object(
    {
      type_id: Id('Id of the action type'),
      arguments: AnyObject('Parameters of the action'),
      subject_refs: Type.Optional(
        Type.Array(Type.String(), { description: 'What the action applies to' }),
      ),
      authority: Type.Optional(
        Type.Object(
          {
            delegation_ref: Type.Optional(Type.String()),
            human_principal: Type.Optional(Type.String()),
            trust_tier: Type.Optional(
              Type.Enum(['untrusted', 'basic', 'verified', 'trusted', 'release', 'root']),
            ),
          },
          { ...closed, description: 'On whose behalf' },
        ),
      ),
    },
    closed,
  ),
  output: Type.Object({
    status: Type.String(),
    record: Type.Optional(AnyObject('The recorded action')),
    request_id: Type.Optional(Type.String()),
    expires_at: Type.Optional(Type.String()),
  }),
  async run({ type_id, arguments: params, subject_refs = [], authority }, { session }) {
    const { worldModel } = session.custos
    const { name, kind } = await worldModel.getType(type_id)
    if (kind !== 'action') return failed('The type is not that of an action.')
    const reply = await worldModel.invoke({
      action_name: name,
      subject_refs,
      params,
      ...(authority ? { authority } : {}),
    })
    if ('detail' in reply) {
      const { request_id, expires_at } = reply.detail
      const text = `Waits for a person until ${expires_at}: approval request ${request_id}.`
      return result({ status: 'waiting', request_id, expires_at }, text)
    }
    return result({ status: reply.status, record: reply }, `Action ${reply.action_id}: recorded.`)
  },
})

const approval = tool({
  name: 'approval_status',
  title: 'Look at an approval',
  description: 'Says whether somebody has decided on what waits.',
  scopes: ['compliance:read'],
  hints: { readOnlyHint: true },
  input: Type.Object({ request_id: Id('Id of the approval request') }, closed),
  output: Type.Object({
    status: Type.String(),
    record_id: Type.String(),
    decided_at: NullableText,
  }),
  async run({ request_id }, { session }) {
    const { status, record_id, record } = await session.custos.approvals.request(request_id)
    const { decided_at } = Object(record)
    const decided = typeof decided_at === 'string' ? decided_at : null
    return result({ status, record_id, decided_at: decided }, `The request is ${status}.`)
  },
})

const proof = tool({
  name: 'proof_get',
  title: 'Get a signed record',
  description: 'Returns a record that anybody can verify without trusting the service.',
  scopes: [],
  hints: { readOnlyHint: true },
  input: Type.Object(
    {
      kind: Type.Enum(['certificate', 'decision', 'entry']),
      id: Id('Id of the record; of an entry its number'),
    },
    closed,
  ),
  output: Type.Object({
    kind: Type.String(),
    id: Type.String(),
    record: AnyObject('The record'),
    verify: Type.String(),
  }),
  async run({ kind, id }, { session: { custos } }) {
    const verify = 'custos verify --keys keys.json record.json'
    if (kind === 'certificate') {
      const record = await custos.erasure.get(id)
      return result({ kind, id, record, verify }, `${json(record)}\nVerify it with: ${verify}`)
    }
    if (kind === 'decision') {
      const record = await custos.decisions.get(id)
      return result({ kind, id, record, verify }, `${json(record)}\nVerify it with: ${verify}`)
    }
    const seq = Number(id)
    if (!/^\d{1,15}$/.test(id)) return failed('The id of an entry is its number.')
    const { last_epoch: newest } = await custos.gcrumbs.stats()
    if (!newest) return failed('No checkpoint is signed yet.')
    const record = await custos.gcrumbs.proof(newest.epoch_number, { seq })
    return result({ kind, id, record, verify }, `${json(record)}\nVerify it with: ${verify}`)
  },
})

const runStart = tool({
  name: 'run_start',
  title: 'Start a run',
  description: 'Starts a run of an agent or a workflow. Follow it with run_status.',
  scopes: ['orchestrator:run'],
  hints: { readOnlyHint: false, destructiveHint: false },
  input: Type.Object(
    {
      agent_id: Type.Optional(Id('The agent; or workflow_id')),
      workflow_id: Type.Optional(Id('The workflow')),
      input_text: Id('What the run is for'),
      budget_tokens: Type.Optional(Type.Integer({ minimum: 1, description: 'Default: no limit' })),
    },
    closed,
  ),
  output: Type.Object({ run_id: Type.String(), state: Type.String() }),
  async run({ agent_id, workflow_id, input_text, budget_tokens: tokens }, { session }) {
    const { run_id, state } = await session.custos.orchestrator.startRun({
      ...(agent_id !== undefined && { agent_id }),
      ...(workflow_id !== undefined && { workflow_id }),
      input_text,
      executor: 'managed',
      ...(tokens !== undefined && { budget: { tokens } }),
    })
    return result({ run_id, state }, `Run ${run_id} is ${state}.`)
  },
})

const runStatus = tool({
  name: 'run_status',
  title: 'Look at a run',
  description: 'Says how far a run is, what it waits for, and what it answered.',
  scopes: ['orchestrator:run', 'decisions:read'],
  hints: { readOnlyHint: true },
  input: Type.Object({ run_id: Id('Id of the run') }, closed),
  output: Type.Object({
    state: Type.String(),
    reason: NullableText,
    steps: Type.Integer(),
    waiting_actions: Type.Array(Type.String()),
    answer: NullableText,
  }),
  async run({ run_id }, { session: { custos } }) {
    const found = await custos.orchestrator.getRun(run_id)
    const { state, termination_reason: reason, steps_total: steps } = found
    const waiting_actions = found.steps
      .flatMap((step) => [step, ...step.calls])
      .flatMap((one) => (one.state === 'waiting_hitl' ? (one.action_id ?? []) : []))
    const last = state === 'completed' ? found.steps.at(-1)?.decision_id : undefined
    const answer = last ? (await custos.decisions.get(last)).output : null
    const lines = [
      `The run is ${state}${reason === null ? '' : ` (${reason})`} after ${steps} steps.`,
      ...waiting_actions.map((action_id) => `A person has to decide on action ${action_id}.`),
      ...(answer === null ? [] : [fence(answer)]),
    ]
    return result({ state, reason, steps, waiting_actions, answer }, lines.join('\n'))
  },
})

export const governedTools: readonly ToolSpec[] = [
  ...[log, replay, check, propose, approval, proof],
  ...[runStart, runStatus],
]
