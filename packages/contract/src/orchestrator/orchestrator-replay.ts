// The operation that repeats the model request of a step of a managed run.

import Type from 'typebox'
import {
  about,
  boolean,
  count,
  Hex16,
  Nullable,
  number,
  OptionalNullable,
  text,
  time,
} from '../core/common.ts'
import { operation } from '../core/operation.ts'
import { boundedInteger, runLimits, TokenCount } from './orchestrator-records.ts'

const ReplayVerdict = Type.Object(
  {
    replay_id: Hex16,
    decision_id: Hex16,
    tenant_id: Type.String(),
    status: Type.Enum(['identical', 'degraded', 'diverged', 'impossible', 'error'], {
      description:
        '`degraded`: nearly the same words. `impossible`: the model was not called. `error`: ' +
        'it did not answer, or a policy denied its answer',
    }),
    divergence_reason: Nullable(text('Reason code; null: the answers are identical')),
    original_output: Nullable(
      text('Beginning of the original answer; null: erased, or not compared'),
    ),
    replayed_output: Nullable(text('Beginning of the new answer; null: there is none')),
    confidence: number('Similarity of the words of the two answers', { minimum: 0, maximum: 1 }),
    input_reconstructed: boolean('Whether the prompt was exactly the original one'),
    memory_match: boolean('Whether every original memory still exists'),
    model_available: boolean('Whether a provider of the model is configured'),
    output_hash_match: boolean('Whether the two answers are equal byte for byte'),
    model_version_used: Nullable(text('Version of the model that answered; null: not reported')),
    tokens_in: about(TokenCount, 'Tokens of the prompt'),
    tokens_out: about(TokenCount, 'Tokens of the answer'),
    cost_micro: about(TokenCount, 'Cost in millionths of the currency'),
    replay_latency_ms: count('Milliseconds until the model answered'),
    replayed_at: time('When it was replayed'),
  },
  { title: 'ReplayVerdict', description: 'Result of repeating the model call of a decision' },
)

export const replayOperations = {
  replay: operation({
    access: 'tenant',
    scope: 'orchestrator:run',
    extra_scopes: ['decisions:read', 'memory:read'],
    id: 'orchestrator.replay',
    method: 'POST',
    path: '/v1/orchestrator/replay/{decision_id}',
    summary: 'Repeats the model call of a decision of a managed run and compares the answers',
    description:
      'Use it to check whether a decision can be reproduced. The prompt is rebuilt from the ' +
      'original texts and memories; if one is erased, or agent, tools or provider have changed ' +
      'since, the status is `impossible` and nothing is sent. The provider charges for the ' +
      'call, and policies are evaluated as for a step. The answer is not stored, and no tool ' +
      'is called.',
    params: Type.Object({ decision_id: about(Hex16, 'Id of the decision') }),
    body: Type.Object({
      max_tokens: OptionalNullable(
        boundedInteger(
          'Maximum tokens, input and output; default: those of the step',
          runLimits.max_tokens_per_step,
        ),
      ),
      max_cost_micro: OptionalNullable(
        about(TokenCount, 'Maximum cost in millionths of the currency; default: that of the step'),
      ),
    }),
    body_optional: true,
    example: { max_tokens: 2_000 },
    status: 200,
    reply: ReplayVerdict,
    refuses: ['decision_not_found', 'budget_exhausted', 'policy_denied', 'approval_required'],
  }),
} as const
