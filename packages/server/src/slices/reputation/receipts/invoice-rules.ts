// The rules of POST /v1/governed/verify-batch: what an invoice has to show, checked in order.

import {
  type InvoicePolicy,
  invoicePolicyDefaults,
  type JsonObject,
  Referent,
} from '@custos/contract'
import { Compile } from 'typebox/compile'
import { validationDetail } from '../../../platform/validation.ts'

const referent = Compile(Referent)

/** Every member set. */
export const effectivePolicy = (given: Partial<InvoicePolicy>): InvoicePolicy => ({
  ...invoicePolicyDefaults,
  ...given,
})

/** Without the caller's own notes, whose names begin with an underscore. */
const withoutNotes = (invoice: JsonObject): Record<string, unknown> =>
  Object.fromEntries(Object.entries(invoice).filter(([key]) => !key.startsWith('_')))

/** The id of an invoice as text; null: it has none. */
function invoiceIdOf(invoice: JsonObject, policy: InvoicePolicy): string | null {
  const id = memberOf(invoice, policy.invoice_id_field)
  if (typeof id === 'number') return String(id)
  return typeof id === 'string' && id !== '' ? id : null
}

const memberOf = (invoice: JsonObject, field: string): unknown =>
  Object.hasOwn(invoice, field) ? (invoice[field] ?? null) : null

/**
 * The first check that fails, or `clean`.
 * @param certified the ids that were certified earlier in the batch
 */
function decideInvoice(
  invoice: JsonObject,
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

/** Fixed texts: a reason repeats nothing of the invoice. */
const REASONS = {
  amount_or_po_missing: 'the amount of the invoice or of its purchase order is missing',
  amount_exceeds_po: 'the amount exceeds that of the purchase order',
  no_debtor_approval: 'the debtor has not approved the invoice',
  duplicate: 'an invoice with the same id was certified earlier in the batch',
  clean: 'every check of the policy passes',
} as const

/**
 * A decision on each invoice, in order. Refuses `validation` for an id that no referent can have.
 */
export function ruleInvoices(invoices: readonly JsonObject[], policy: InvoicePolicy) {
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
