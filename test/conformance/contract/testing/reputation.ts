// What a tenant has of reputation, and a rotation that is signed once for all tenants.

import { linkOf, newKey } from '../../../../packages/server/src/slices/reputation/testing/keys.ts'
import type { Tenant } from './tenant.ts'

/** From a key without a record to another: fits any tenant, once. */
export const LINK = linkOf(newKey(), newKey(), {})

/** An agent with a score and an attestation. */
export async function buildReputation(tenant: Tenant, word: string) {
  const agent_handle = `${word}/agent@example`
  const invoice_id = `${word} invoice`
  const reason = `${word} paid in time`
  const body = { decision: 'certify', agent_handle, invoice_id, reason, context: { who: word } }
  await tenant.ok('cgr.decide', { body })
  const invoice_ref = invoice_id
  await tenant.ok('cgr.review', { body: { invoice_ref, reviewer_handle: word, rating: 0.5 } })
  await tenant.ok('cgr.outcome', { body: { invoice_ref, outcome: 'paid', source: word } })
  await tenant.ok('cgr.attest', { body: { agent_handle } })
  return { agent_handle }
}
