// Execution receipts of governed decisions: the parts hashed before the unit of work, the workflow
// position and signature added within it, and the receipt as it is shown.

import assert from 'node:assert/strict'
import {
  type DecisionRecord,
  type ExecutionReceipt,
  type InvoicePolicy,
  invoicePolicyDefaults,
  Referent,
} from '@custos/contract'
import {
  type JsonObject,
  previousReceiptHash,
  pythonJson,
  RECEIPT_PURPOSE,
  receiptId,
  textHash,
  verifyEd25519,
  verifyReceipt,
} from '@custos/proof'
import { Compile } from 'typebox/compile'
import { formatTime } from '../../../platform/clock.ts'
import type { TenantDb, Tx } from '../../../platform/db/tenant-db.ts'
import type { Kernel } from '../../../platform/kernel/kernel.ts'
import { REDACTED_SECRET } from '../../../platform/kernel/sealed-column.ts'
import type { Signer } from '../../../platform/keys/keyring.ts'
import { validationDetail } from '../../../platform/validation.ts'
import { hexOf, hexOrNull, workflowLabel } from '../rows/labels.ts'
import { openPayload } from '../rows/sealed-payload.ts'
import { findLastReceipt, insertReceipt, listWithReceipts } from './receipts.sql.ts'

const STEP_ID_BYTES = 16
/** Governed decisions retrieve no memories and call no tools. */
const NO_MEMORY = textHash('')

/** Sealed with the decision, because the texts of unsalted hashes could be guessed. */
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

/** Decisions about one referent form a workflow; those about none form the tenant's workflow. */
export const workflowOf = ({
  invoice_id,
  tenant_id,
}: Pick<DecisionRecord, 'invoice_id' | 'tenant_id'>): string =>
  `governed:${invoice_id ?? tenant_id}`

/** The signer of receipts. Throws `no_signing_key` if its key was retired without a successor. */
export const receiptSigner = ({ keyring }: Kernel): Signer => keyring.signer(RECEIPT_PURPOSE)

interface NewReceipt {
  readonly signer: Signer
  readonly draft: ReturnType<typeof draftReceipt>
  /** The members of the decision that the receipt repeats. */
  readonly decided: Pick<DecisionRecord, 'decision_id' | 'tenant_id' | 'invoice_id' | 'model_id'>
  /** The label of the workflow. */
  readonly workflow: Uint8Array
  /** The log position of the decision, and its time. */
  readonly seq: number
  readonly recorded_us: number
}

/** Signs the receipt and appends it to its workflow. */
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

function membersOf(
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

/** Returns the receipt as it was signed, after verifying it. */
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

const referent = Compile(Referent)

/** Fills in the defaults of absent members. */
export const effectivePolicy = (given: Partial<InvoicePolicy>): InvoicePolicy => ({
  ...invoicePolicyDefaults,
  ...given,
})

/** Removes the caller's own notes, whose names begin with an underscore. */
const withoutNotes = (invoice: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(invoice).filter(([key]) => !key.startsWith('_')))

/** The id of an invoice as text, or `null` if it has none. */
function invoiceIdOf(invoice: Record<string, unknown>, policy: InvoicePolicy): string | null {
  const id = memberOf(invoice, policy.invoice_id_field)
  if (typeof id === 'number') return String(id)
  return typeof id === 'string' && id !== '' ? id : null
}

const memberOf = (invoice: Record<string, unknown>, field: string): unknown =>
  Object.hasOwn(invoice, field) ? (invoice[field] ?? null) : null

/**
 * Returns the first check that fails, or `clean`.
 * @param certified ids certified earlier in the batch
 */
function decideInvoice(
  invoice: Record<string, unknown>,
  policy: InvoicePolicy,
  certified: ReadonlySet<string>,
): keyof typeof REASONS {
  if (policy.require_amount_within_po) {
    const amount = memberOf(invoice, policy.invoice_amount_field)
    const order = memberOf(invoice, policy.po_amount_field)
    if (typeof amount !== 'number' || typeof order !== 'number') return 'amount_or_po_missing'
    if (amount > order) return 'amount_exceeds_po'
  }
  if (policy.require_approval && memberOf(invoice, policy.approval_field) !== policy.approved_value)
    return 'no_debtor_approval'
  const id = invoiceIdOf(invoice, policy)
  if (policy.reject_duplicates && id !== null && certified.has(id)) return 'duplicate'
  return 'clean'
}

/** Fixed texts, so that a reason repeats nothing of the invoice. */
const REASONS = {
  amount_or_po_missing: 'the amount of the invoice or of its purchase order is missing',
  amount_exceeds_po: 'the amount exceeds that of the purchase order',
  no_debtor_approval: 'the debtor has not approved the invoice',
  duplicate: 'an invoice with the same id was certified earlier in the batch',
  clean: 'every check of the policy passes',
} as const

/** Decides on each invoice, in order. Refuses `validation` for an id that cannot be a referent. */
export function ruleInvoices(invoices: readonly Record<string, unknown>[], policy: InvoicePolicy) {
  const certified = new Set<string>()
  return invoices.map((given, at) => {
    const invoice = withoutNotes(given)
    const invoice_id = invoiceIdOf(invoice, policy)
    if (invoice_id !== null && !referent.Check(invoice_id)) {
      const loc = ['body', 'invoices', at, policy.invoice_id_field]
      throw validationDetail(loc, 'is no id that a referent can have', 'value_error')
    }
    const reason_code = decideInvoice(invoice, policy, certified)
    const clean = reason_code === 'clean'
    if (clean && invoice_id !== null) certified.add(invoice_id)
    const answer = {
      invoice_id: memberOf(invoice, policy.invoice_id_field),
      vendor: memberOf(invoice, policy.vendor_field),
      debtor: memberOf(invoice, policy.debtor_field),
      decision: clean ? ('certify' as const) : ('reject' as const),
      reason: REASONS[reason_code],
      reason_code,
    }
    return { answer, invoice_id, context: invoice }
  })
}

const CHUNK = 200

export async function* checkReceipts(
  kernel: Pick<Kernel, 'keyring'>,
  db: TenantDb,
): AsyncGenerator<{ readonly decision_id: string; readonly fault: string }> {
  for (let after = -1; ; ) {
    const rows = await listWithReceipts(db, after, CHUNK)
    const opened = await openPayloads(kernel, db.tenant_id, rows)
    for (const [i, row] of rows.entries())
      for (const fault of await findFaults(kernel, db.tenant_id, row, opened[i]))
        yield { decision_id: hexOf(row.decision_id), fault }
    after = rows.at(-1)?.seq ?? after
    if (rows.length < CHUNK) return
  }
}

function openPayloads(
  kernel: Pick<Kernel, 'keyring'>,
  tenant_id: string,
  rows: Awaited<ReturnType<typeof listWithReceipts>>,
) {
  const payloads = rows.map(({ decision_id, secret_no, sealed }) => {
    return { place: { column: 'decision', id: hexOf(decision_id) } as const, secret_no, sealed }
  })
  return openPayload<{
    readonly record: Parameters<typeof membersOf>[0]['decided']
    readonly receipt?: ReturnType<typeof draftReceipt>
  }>(kernel, tenant_id, payloads)
}

async function findFaults(
  kernel: Pick<Kernel, 'keyring'>,
  tenant_id: string,
  row: Parameters<typeof openPayloads>[2][number],
  opened: Awaited<ReturnType<typeof openPayloads>>[number] | undefined,
): Promise<string[]> {
  if (!opened) return ['the seal does not open']
  const { receipt_id, workflow, before_id, previous } = row
  const { record, receipt: draft } = opened
  // Decisions of earlier versions have no receipt.
  if (receipt_id === null || workflow === null) return draft ? ['has no receipt'] : []
  const faults: string[] = []
  const step_number = row.step_number ?? 0
  const keys = await kernel.keyring.tenant(tenant_id)
  if (hexOf(workflow) !== hexOf(workflowLabel(keys, workflowOf(record))))
    faults.push('the receipt is of another workflow')
  if (hexOrNull(previous) !== hexOrNull(before_id) || (previous === null) !== (step_number === 0))
    faults.push('the receipt does not follow the one before it')
  // The hashed parts of a redacted decision are destroyed, but the signature covers its id.
  if (draft) {
    const made = { decided: record, draft, recorded_us: row.recorded_us }
    if (receiptId(membersOf(made, { step_number, previous })) !== hexOf(receipt_id))
      faults.push('the receipt is not the one of the decision')
  } else if (row.secret_no !== REDACTED_SECRET) faults.push('what the receipt hashed is missing')
  if (!(await isSigned(kernel, row))) faults.push('the signature of the receipt does not verify')
  return faults
}

async function isSigned(
  { keyring }: Pick<Kernel, 'keyring'>,
  { key_id, signature, receipt_id }: Parameters<typeof findFaults>[2],
): Promise<boolean> {
  const key = keyring
    .publishedKeys()
    .find((one) => one.key_id === key_id && one.purpose === RECEIPT_PURPOSE)
  if (!key || signature === null || receipt_id === null) return false
  return verifyEd25519(Buffer.from(key.public_key, 'hex'), receipt_id, signature)
}
