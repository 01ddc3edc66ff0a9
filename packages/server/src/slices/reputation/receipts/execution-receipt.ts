// Execution receipts of governed decisions: what is hashed before the unit of work, the place in
// the workflow and the signature within it, and the receipt as it is shown.

import assert from 'node:assert/strict'
import type { DecisionRecord, ExecutionReceipt } from '@custos/contract'
import {
  type JsonObject,
  previousReceiptHash,
  pythonJson,
  RECEIPT_PURPOSE,
  receiptId,
  textHash,
  verifyReceipt,
} from '@custos/proof'
import { formatTime } from '../../../platform/clock.ts'
import type { Tx } from '../../../platform/db/tenant-db.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import type { Signer } from '../../../platform/keys/keyring.ts'
import { findLastReceipt, insertReceipt } from './receipts.sql.ts'

const STEP_ID_BYTES = 16
/** Governed decisions retrieve no memories and call no tools. */
const NO_MEMORY = textHash('')

/** Sealed with the decision: unsalted hashes of short texts could be guessed. */
export function draftReceipt(
  kernel: Kernel,
  started_us: number,
  hashed: Pick<DecisionRecord, 'decision' | 'reason' | 'raw_output'> & { context: JsonObject },
) {
  const { context, decision, reason, raw_output } = hashed
  return {
    step_id: kernel.ids.hex(STEP_ID_BYTES),
    started_at: formatTime(started_us),
    input_hash: textHash(pythonJson(context)),
    policy_evaluation_hash: textHash(pythonJson([{ decision, reason }])),
    output_hash: textHash(raw_output),
  }
}

/** Decisions about one referent are one workflow; those about none are the tenant's. */
export const workflowOf = ({
  invoice_id,
  tenant_id,
}: Pick<DecisionRecord, 'invoice_id' | 'tenant_id'>): string =>
  `governed:${invoice_id ?? tenant_id}`

/** The key of receipts. Throws `no_signing_key` where it was retired without successor. */
export const receiptSigner = ({ keyring }: Kernel): Signer => keyring.signer(RECEIPT_PURPOSE)

interface NewReceipt {
  readonly signer: Signer
  readonly draft: ReturnType<typeof draftReceipt>
  /** The members of the decision that its receipt repeats. */
  readonly decided: Pick<DecisionRecord, 'decision_id' | 'tenant_id' | 'invoice_id' | 'model_id'>
  /** The label of the workflow. */
  readonly workflow: Uint8Array
  /** The place of the decision on the log, and its time. */
  readonly seq: number
  readonly recorded_us: number
}

/** Appends the receipt to its workflow, signed. */
export async function placeReceipt(tx: Tx, receipt: NewReceipt): Promise<void> {
  const { signer, workflow, seq } = receipt
  const last = await findLastReceipt(tx, workflow)
  const place = {
    step_number: last ? last.step_number + 1 : 0,
    previous: last?.receipt_id ?? null,
  }
  const receipt_id = Buffer.from(receiptId(membersOf(receipt, place)), 'hex')
  const signature = signer.sign(receipt_id)
  const { key_id } = signer
  tx.needs(insertReceipt(tx, { seq, workflow, ...place, receipt_id, signature, key_id }))
}

export function membersOf(
  { decided, draft, recorded_us }: Pick<NewReceipt, 'decided' | 'draft' | 'recorded_us'>,
  { step_number, previous }: { step_number: number; previous: Uint8Array | null },
) {
  const { step_id, started_at, input_hash, policy_evaluation_hash, output_hash } = draft
  return {
    step_id,
    workflow_id: workflowOf(decided),
    tenant_id: decided.tenant_id,
    step_number,
    previous_receipt_hash: previous === null ? null : previousReceiptHash(hexOf(previous)),
    input_hash,
    memory_snapshot_hash: NO_MEMORY,
    policy_evaluation_hash,
    model_id: decided.model_id,
    model_version: null,
    tool_call_hashes: [],
    output_hash,
    decision_id: decided.decision_id,
    started_at,
    completed_at: formatTime(recorded_us),
  }
}

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** The receipt as it was signed; verified before anybody sees it. */
export async function showReceipt(
  { keyring }: Kernel,
  row: Omit<Parameters<typeof insertReceipt>[1], 'workflow' | 'seq'>,
  made: Parameters<typeof membersOf>[0],
): Promise<ExecutionReceipt> {
  const keys = keyring.publishedKeys()
  const key = keys.find(({ key_id }) => key_id === row.key_id)
  assert(key, 'the key of a receipt is published')
  const receipt = {
    receipt_id: hexOf(row.receipt_id),
    ...membersOf(made, row),
    signature: Buffer.from(row.signature).toString('base64'),
    public_key: Buffer.from(key.public_key, 'hex').toString('base64'),
    key_id: row.key_id,
  }
  const verdict = await verifyReceipt(receipt, keys)
  assert(verdict.valid, `a receipt that does not verify was made: ${verdict.reason}`)
  return receipt
}
