// The signed receipt of an ended step: what it was allowed, what it used and what it did.

import assert from 'node:assert/strict'
import type { Run } from '@custos/contract'
import { type JsonObject, signedBytes, verifyEd25519 } from '@custos/proof'
import { formatTime } from '../../../platform/clock.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import type { Signer } from '../../../platform/keys/keyring.ts'
import { KeyringError } from '../../../platform/keys/keyring-error.ts'
import { Refusal } from '../../../platform/refusal.ts'
import type { CallRow, RunRow, StepRow } from './orchestrator.sql.ts'
import { executorOf, receiptMemory } from './run-view.ts'

/** The parts of a receipt that repeat a client's claims if the client executed the step. */
const CLAIMED = ['output', 'results', 'tokens', 'cost', 'model'] as const

/** Refuses `no_signing_key`, because a step whose receipt cannot be signed must not begin. */
export function signerOf({ keyring }: Kernel): Signer {
  try {
    return keyring.signer('record')
  } catch (error) {
    if (error instanceof KeyringError && error.code === 'no_signing_key')
      throw new Refusal('no_signing_key')
    throw error
  }
}

interface ReceiptEnd
  extends Pick<
    RunRow,
    'spent_tokens' | 'spent_cost_micro' | 'reserved_tokens' | 'reserved_cost_micro'
  > {
  readonly charged_tokens: number
  readonly output_commitment: string | null
  readonly record_digest: string | null
  readonly model: JsonObject | null
}

export async function signReceipt(
  kernel: Kernel,
  {
    tenant_id,
    run,
    calls,
  }: { readonly tenant_id: string; readonly run: RunRow; readonly calls: readonly CallRow[] },
  step: StepRow,
  end: ReceiptEnd,
): Promise<JsonObject> {
  const signer = signerOf(kernel)
  const document: JsonObject = {
    schema_version: 'run/1',
    tenant_id,
    run_id: run.run_id,
    receipt_no: run.receipts,
    previous: run.last_receipt_digest,
    step_id: step.step_id,
    step_no: step.step_no,
    ...(step.turn_no !== null && { turn_no: step.turn_no }),
    agent_id: step.agent_id,
    executor: executorOf(run),
    claimed: claimedOf(executorOf(run), calls),
    state: step.state,
    reason: step.reason,
    memory: receiptMemory(step),
    policy: { policy_set: step.policy_set, evaluation_id: step.evaluation_id },
    action_id: step.action_id,
    permit: step.permit,
    model_id: step.model_id,
    ...(executorOf(run) === 'managed' && {
      model: { provider_id: step.provider_id, ...end.model },
    }),
    input_commitment: step.input_commitment,
    output_commitment: end.output_commitment,
    decision_id: step.decision_id,
    record_digest: end.record_digest,
    calls: calls.map(receiptCall),
    budget: {
      tokens: run.budget_tokens,
      cost_micro: run.budget_cost_micro,
      max_tokens: step.reserved_tokens,
      max_cost_micro: step.reserved_cost_micro,
      tokens_in: step.tokens_in,
      tokens_out: step.tokens_out,
      charged_tokens: end.charged_tokens,
      charged_cost_micro: step.cost_micro ?? 0,
      spent_tokens: end.spent_tokens,
      spent_cost_micro: end.spent_cost_micro,
      reserved_tokens: end.reserved_tokens,
      reserved_cost_micro: end.reserved_cost_micro,
    },
    began_at: formatTime(step.created_us),
    ended_at: formatTime(step.ended_us ?? step.created_us),
  }
  const message = signedBytes('run_receipt', document)
  const signature = signer.sign(message)
  assert(await verifyEd25519(signer.public_key, message, signature), 'a receipt does not verify')
  return {
    ...document,
    signature: signature.toString('base64'),
    public_key: signer.public_key.toString('base64'),
    key_id: signer.key_id,
  }
}

/** The parts of the receipt that rest only on a client's claims. */
function claimedOf(executor: Run['executor'], calls: readonly CallRow[]): string[] {
  if (executor === 'client') return [...CLAIMED]
  return calls.some(({ kind }) => kind === 'client') ? ['results'] : []
}

const receiptCall = (call: CallRow): JsonObject => ({
  call_id: call.call_id,
  effect: call.effect,
  ...(call.kind === 'client' && { executor: 'client' }),
  state: call.state,
  reason: call.reason,
  args_commitment: call.args_commitment,
  result_commitment: call.result_commitment,
  policy_set: call.policy_set,
  evaluation_id: call.evaluation_id,
  action_id: call.action_id,
})
