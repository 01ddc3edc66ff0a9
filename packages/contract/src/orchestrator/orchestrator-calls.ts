// Operations on tool calls: shown, reported by the caller that acted, or resolved by a person.

import Type from 'typebox'
import { about, boolean, Hex16, JsonObject, Label, OptionalNullable } from '../core/common.ts'
import { operation } from '../core/operation.ts'
import {
  ActionProposal,
  RunCall,
  RunCallTexts,
  RunText,
  ToolEffect,
} from './orchestrator-records.ts'

const run = { access: 'tenant', scope: 'orchestrator:run' } as const
const admin = { access: 'tenant', scope: 'orchestrator:admin' } as const
const callPath = '/v1/orchestrator/runs/{run_id}/calls/{call_id}' as const
const callParams = Type.Object({
  run_id: about(Hex16, 'Id of the run'),
  call_id: about(Hex16, 'Id of the call'),
})

export const callOperations = {
  propose: operation({
    ...run,
    extra_scopes: ['memory:read'],
    id: 'orchestrator.propose',
    method: 'POST',
    path: '/v1/orchestrator/agents/{agent_id}/propose',
    summary: 'Proposes one call of a tool for an agent; policies, or a person, say whether it may',
    description:
      'Use it where an agent of your own wants to act once. It starts a run of one step with ' +
      'this call, and executes nothing: act once the call is `intended`, then complete the step ' +
      'with the result and `final`. What policies deny is answered with `denied`, what a person ' +
      'has to approve with `escalated` and its `action_id`.',
    params: Type.Object({ agent_id: about(Hex16, 'Id of the agent') }),
    body: Type.Object({
      tool: about(Label, 'Name of the tool'),
      args: Type.Optional(about(JsonObject, 'Arguments, exactly as the tool will get them')),
      effect: Type.Optional(about({ ...ToolEffect, default: 'once' }, 'What repeating it does')),
      reason: OptionalNullable(about(RunText, 'Why the agent wants it: the input of the step')),
    }),
    example: { tool: 'send_mail', args: { subject: 'Weekly report' }, reason: 'It is Friday.' },
    status: 201,
    reply: ActionProposal,
    refuses: [
      'agent_not_found',
      'tool_refused',
      'too_many',
      'rejected',
      'approval_required',
      'no_signing_key',
    ],
  }),
  get_call: operation({
    ...run,
    id: 'orchestrator.get_call',
    method: 'GET',
    path: callPath,
    summary: 'Returns one call; with `decisions:read` its tool, arguments and result too',
    description: 'Use it to learn what a call of a `client` tool is to do.',
    params: callParams,
    status: 200,
    reply: RunCallTexts,
    refuses: ['run_not_found', 'call_not_found'],
  }),
  report_call: operation({
    ...run,
    id: 'orchestrator.report_call',
    method: 'POST',
    path: `${callPath}/report`,
    summary: 'Reports what a call of a `client` tool answered; the run goes on',
    description:
      'Use it after acting on a call of a run that is `waiting_client`. The model is told the ' +
      'result as data. The receipt says that it is only claimed.',
    params: callParams,
    body: Type.Object({
      result: about(RunText, 'Result of the tool'),
      failed: Type.Optional(boolean('Whether the tool failed')),
    }),
    example: { result: 'Three rows were updated.' },
    status: 200,
    reply: RunCall,
    refuses: [
      'run_not_found',
      'call_not_found',
      'rejected',
      'wrong_state',
      'idempotency_key_reused',
    ],
    idempotent: true,
  }),
  resolve_call: operation({
    ...admin,
    id: 'orchestrator.resolve_call',
    method: 'POST',
    path: `${callPath}/resolve`,
    summary: 'Says whether an uncertain call of a `once` tool has acted; the run goes on',
    description:
      'Use it after looking at the receiver: a process died while it called the tool, which is ' +
      'never called again. The model is told what you say. Once the step of the call has ended, ' +
      'its receipt is signed, and nothing is changed any more.',
    params: callParams,
    body: Type.Object({
      happened: boolean('Whether the tool acted'),
      result: OptionalNullable(about(RunText, 'What it answered, for the model')),
    }),
    example: { happened: true, result: 'The mail was sent.' },
    status: 200,
    reply: RunCall,
    refuses: ['run_not_found', 'call_not_found', 'rejected', 'wrong_state'],
  }),
} as const
