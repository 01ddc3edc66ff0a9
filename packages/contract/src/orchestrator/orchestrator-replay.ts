// The operation that asks a model again what a step of a managed run had asked it.

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
        '`degraded`: nearly the same words. `impossible`: the model was not asked. `error`: it ' +
        'did not answer, or a policy refused what it answered',
    }),
    divergence_reason: Nullable(text('Code of why it is not identical; null: it is')),
    original_output: Nullable(text('Begin of the answer of then; null: erased, or not compared')),
    replayed_output: Nullable(text('Begin of the answer of now; null: there is none')),
    confidence: number('Likeness of the two answers by their words', { minimum: 0, maximum: 1 }),
    input_reconstructed: boolean('Whether the model was asked exactly what it was asked then'),
    memory_match: boolean('Whether every memory of then is still there'),
    model_available: boolean('Whether a provider of the model is configured'),
    output_hash_match: boolean('Whether the two answers are the same bytes'),
    model_version_used: Nullable(text('Version that answered now; null: it did not say')),
    tokens_in: about(TokenCount, 'Tokens of the prompt'),
    tokens_out: about(TokenCount, 'Tokens of the answer'),
    cost_micro: about(TokenCount, 'Cost in millionths of the currency'),
    replay_latency_ms: count('Milliseconds until the model answered'),
    replayed_at: time('When it was replayed'),
  },
  { title: 'ReplayVerdict', description: 'What a model answers to the question of a decision' },
)

export const replayOperations = {
  replay: operation({
    access: 'tenant',
    scope: 'orchestrator:run',
    extra_scopes: ['decisions:read', 'memory:read'],
    id: 'orchestrator.replay',
    method: 'POST',
    path: '/v1/orchestrator/replay/{decision_id}',
    summary: 'Asks the model again what led to a decision of a managed run, and compares',
    description:
      'Use it to see whether a decision can be repeated. The question is built from texts and ' +
      'memories of then; where one is erased, or agent or tools have changed since, it is ' +
      '`impossible` and nothing is sent. It costs what the model costs, and policies are asked ' +
      'as for a step. Nothing of the answer is stored, and no tool is called.',
    params: Type.Object({ decision_id: about(Hex16, 'Id of the decision') }),
    body: Type.Object({
      max_tokens: OptionalNullable(
        boundedInteger(
          'Tokens, in and out; default: as the step had',
          runLimits.max_tokens_per_step,
        ),
      ),
      max_cost_micro: OptionalNullable(
        about(TokenCount, 'Cost in millionths of the currency; default: as the step had'),
      ),
    }),
    body_optional: true,
    example: { max_tokens: 2_000 },
    status: 200,
    reply: ReplayVerdict,
    refuses: ['decision_not_found', 'budget_exhausted', 'policy_denied', 'approval_required'],
  }),
} as const
