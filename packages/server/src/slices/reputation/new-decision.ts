// Prepares a governed decision: checks, labels and seals it before its unit of work.

import {
  CGR_CONTEXT_BYTES_MAX,
  type DecisionRecord,
  DIMENSION_DEFAULT,
  type GovernedDecisionRequest,
} from '@custos/contract'
import { isObject } from '@custos/proof'
import { parseTime } from '../../platform/clock.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import type { TenantKeys } from '../../platform/keys/keyring.ts'
import { Refusal } from '../../platform/refusal.ts'
import { draftReceipt } from './receipts/execution-receipt.ts'
import {
  type KnownBy,
  keyLabel,
  nameLabel,
  proves,
  pseudonymOf,
  readKey,
  referentLabel,
} from './rows/labels.ts'
import { sealPayload } from './rows/sealed-payload.ts'

/** The texts of a decision, without the members that its unit of work adds. */
export type RecordedTexts = Omit<DecisionRecord, 'created_at' | 'log_seq'>

/** The names of an agent, sealed under the same secret as its decision. */
export type NameTexts = { readonly agent_handle: string; readonly agent_key: string | null }

export interface NewDecision {
  readonly words: RecordedTexts
  readonly receipt: ReturnType<typeof draftReceipt>
  readonly known_by: KnownBy
  readonly agent_key: string | null
  readonly signed_us: number | null
  readonly handle: Buffer
  /** The label of the key in the request, before any rotation chain is resolved. */
  readonly key: Buffer | null
  readonly referent: Buffer | null
  readonly secret_no: number
  readonly sealed_name: Buffer
  readonly sealed: Buffer
}

const DECISION_ID_BYTES = 16

/**
 * @param rule given for decisions of `verify-batch`. `joined`: whether outcomes apply to the
 * decision, and it replaces an earlier one on the referent
 */
export async function prepareDecision(
  kernel: Kernel,
  keys: TenantKeys,
  body: GovernedDecisionRequest,
  rule: { reason_code: DecisionRecord['reason_code']; joined: boolean } | null = null,
): Promise<NewDecision> {
  const started_us = kernel.clock.now()
  const context = isObject(body.context) ? body.context : {}
  if (Buffer.byteLength(JSON.stringify(context)) > CGR_CONTEXT_BYTES_MAX)
    throw new Refusal('rejected', `context is larger than ${CGR_CONTEXT_BYTES_MAX} bytes as JSON`)
  const agent_key = readKey(body.agent_key, ['body', 'agent_key'])
  const words = { ...wordsOf(kernel, keys, body), reason_code: rule?.reason_code ?? null }
  const { agent_handle, dimension } = words
  const proven = await provenBy(body, agent_key, words)
  const record = { ...words, proven }
  const named: NameTexts = { agent_handle, agent_key }
  const receipt = draftReceipt(kernel, started_us, { ...record, context })
  const id = words.decision_id
  const { secret_no, sealed } = await sealPayload(kernel, keys.tenant_id, [
    { place: { column: 'name', id }, content: named },
    { place: { column: 'decision', id }, content: { record, context, receipt } },
  ])
  const [sealed_name = Buffer.alloc(0), sealed_words = Buffer.alloc(0)] = sealed
  return {
    words: record,
    receipt,
    known_by: proven ? 'proven' : agent_key === null ? 'handle' : 'claimed',
    agent_key,
    signed_us: proven ? parseTime(body.signed_at ?? '') : null,
    handle: nameLabel(keys, dimension, agent_handle),
    key: agent_key === null ? null : keyLabel(keys, agent_key),
    referent:
      words.invoice_id === null || rule?.joined === false
        ? null
        : referentLabel(keys, dimension, words.invoice_id),
    secret_no,
    sealed_name,
    sealed: sealed_words,
  }
}

function wordsOf(kernel: Kernel, keys: TenantKeys, body: GovernedDecisionRequest): RecordedTexts {
  const { decision, reason = '', invoice_id } = body
  return {
    decision_id: kernel.ids.hex(DECISION_ID_BYTES),
    tenant_id: keys.tenant_id,
    invoice_id:
      invoice_id === undefined || invoice_id === null ? null : pseudonymOf(keys, invoice_id),
    decision,
    reason,
    reason_code: null,
    // The schema has filled in these defaults.
    agent_handle: body.agent_handle ?? '',
    verifiability_tag: body.verifiability_tag ?? 'judgment',
    agent_tier: body.agent_tier ?? null,
    model_id: body.model_id ?? '',
    raw_output: JSON.stringify({ decision, reason }),
    dimension: body.dimension ?? DIMENSION_DEFAULT,
    proven: false,
    signature: null,
    public_key: null,
  }
}

function provenBy(
  body: GovernedDecisionRequest,
  agent_key: string | null,
  words: RecordedTexts,
): Promise<boolean> {
  const { agent_signature: signature, signed_at } = body
  const loc = ['body', 'agent_signature']
  return proves('cgr_decision', { key: agent_key, signature, signed_at, loc }, (signed_at) => ({
    tenant_id: words.tenant_id,
    agent_key,
    agent_handle: words.agent_handle,
    decision: words.decision,
    verifiability_tag: words.verifiability_tag,
    dimension: words.dimension,
    invoice_id: body.invoice_id ?? null,
    signed_at,
  }))
}
