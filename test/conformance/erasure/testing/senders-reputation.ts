// Canaries through reputation: decisions of agents, what became of them, and what is said of both.

import assert from 'node:assert/strict'
import {
  linkOf,
  newKey,
  nextMoment,
  provenBy,
  reportedBy,
} from '../../../../packages/server/src/slices/reputation/testing/keys.ts'
import { answered, marks, refused, type SendParts, twice } from './send-parts.ts'

const DECISIONS = '/v1/governed/decisions'
const OUTCOMES = '/v1/governed/outcomes'
const REVIEWS = '/v1/governed/reviews'

export async function sendReputation(parts: SendParts): Promise<void> {
  const agent = newKey()
  const tenant_id = await decide(parts)
  await decideProven(parts, tenant_id, agent)
  await verifyBatch(parts)
  await report(parts, tenant_id)
  await reportMany(parts)
  await review(parts)
  await reviewMany(parts)
  await attest(parts)
  await rotate(parts, tenant_id, agent)
}

/** A decision with canaries of its own. */
function newDecision(parts: SendParts) {
  const { text, word, json } = marks(parts, 'cgr.decide')
  return {
    decision: 'certify',
    reason: text('body.reason'),
    invoice_id: text('body.invoice_id'),
    context: json('body.context'),
    model_id: word('body.model_id'),
    agent_handle: text('body.agent_handle'),
  }
}

/** The decision stands, another judgment takes its place; the tenant it says it is of. */
async function decide(parts: SendParts): Promise<string> {
  const { headers } = marks(parts, 'cgr.decide')
  const body = newDecision(parts)
  const sent = { body, headers: headers() }
  const { decision_record } = await twice(parts, { status: 200, path: DECISIONS }, sent)
  parts.made.kept.push({ agent_handle: body.agent_handle })
  // The rest is as it was: only the reason is another.
  const { agent_handle, invoice_id } = body
  const changed = { ...newDecision(parts), agent_handle, invoice_id, decision: 'reject' }
  const again = await answered(parts, { status: 200, path: DECISIONS }, { body: changed })
  assert.equal(again.superseded_prior, true)
  return decision_record.tenant_id
}

type Key = ReturnType<typeof newKey>

async function decideProven(parts: SendParts, tenant_id: string, agent: Key): Promise<void> {
  const body = newDecision(parts)
  const { decision, agent_handle, invoice_id } = body
  const proof = provenBy(agent, { tenant_id, decision, agent_handle, invoice_id })
  const proven = { ...body, ...proof }
  const { decision_record } = await answered(
    parts,
    { status: 200, path: DECISIONS },
    { body: proven },
  )
  assert.equal(decision_record.proven, true)
  parts.made.kept.push({ agent_handle })
  const others = { ...newDecision(parts), ...proof }
  await refused(parts, DECISIONS, { body: others, headers: marks(parts, 'cgr.decide').headers() })
  const key = newKey().key
  const unsigned = { ...newDecision(parts), agent_key: key }
  await answered(parts, { status: 200, path: DECISIONS }, { body: unsigned })
}

/** Invoices whose every word is a canary; names of fields are the caller's as well. */
async function verifyBatch(parts: SendParts): Promise<void> {
  const { text, word, json, headers } = marks(parts, 'cgr.verify_batch')
  const path = '/v1/governed/verify-batch'
  const names = ['invoice_amount', 'po_amount', 'approval', 'invoice_id', 'vendor', 'debtor']
  const policy: Record<string, string> = {}
  for (const name of names) policy[`${name}_field`] = word(`body.policy.${name}_field`)
  const approved_value = text('body.policy.approved_value')
  const field = (name: string) => String(policy[`${name}_field`])
  const invoice = (amount: number) => ({
    ...json('body.invoices[]'),
    [field('invoice_amount')]: amount,
    [field('po_amount')]: 2,
    [field('approval')]: approved_value,
    [field('invoice_id')]: text('body.invoices[]{}'),
    [field('vendor')]: text('body.invoices[]{}'),
    [field('debtor')]: { name: text('body.invoices[]{}') },
  })
  const agent_handle = text('body.agent_handle')
  const body = {
    invoices: [invoice(1), invoice(3)],
    policy: { ...policy, approved_value },
    model_id: word('body.model_id'),
    agent_handle,
  }
  const { summary } = await twice(parts, { status: 200, path }, { body, headers: headers() })
  assert.deepEqual(summary, { total: 2, certified: 1, rejected: 1 })
  parts.made.kept.push({ agent_handle })
}

/** A referent that an agent of its own has certified. */
async function certify(parts: SendParts, invoice_id: string, agent_handle: string) {
  const body = { decision: 'certify', invoice_id, agent_handle }
  await answered(parts, { status: 200, path: DECISIONS }, { body })
  parts.made.kept.push({ agent_handle })
}

async function report(parts: SendParts, tenant_id: string): Promise<void> {
  const { text, word, headers } = marks(parts, 'cgr.outcome')
  const reporter = newKey()
  const body = () => {
    const [invoice_ref, source] = [text('body.invoice_ref'), word('body.source')]
    return { outcome: 'paid', invoice_ref, source }
  }
  const first = body()
  await certify(parts, first.invoice_ref, marks(parts, 'cgr.decide').text('body.agent_handle'))
  await twice(parts, { status: 200, path: OUTCOMES }, { body: first, headers: headers() })
  const later = { ...first, outcome: 'default', source: word('body.source') }
  const replaced = await answered(parts, { status: 200, path: OUTCOMES }, { body: later })
  assert.equal(replaced.superseded_prior, true)
  const signed = body()
  const proof = reportedBy(reporter, { tenant_id, ...signed })
  await answered(parts, { status: 200, path: OUTCOMES }, { body: { ...signed, ...proof } })
  await refused(parts, OUTCOMES, { body: { ...body(), ...proof } })
}

async function reportMany(parts: SendParts): Promise<void> {
  const { text, word, headers } = marks(parts, 'cgr.outcomes')
  const path = `${OUTCOMES}/bulk`
  const item = (outcome: string) => ({
    outcome,
    invoice_ref: text('body[].invoice_ref'),
    source: word('body[].source'),
  })
  const body = ['paid', 'default', 'disputed', 'late', 'written_off'].map(item)
  await twice(parts, { status: 200, path }, { body, headers: headers() })
  const unsigned = { ...item('paid'), reporter_signature: '0'.repeat(128) }
  const refusedWith = { ...unsigned, reporter_key: newKey().key, signed_at: nextMoment() }
  await refused(parts, path, { body: [item('late'), refusedWith] })
}

/** A review of an agent's decision, with canaries of its own; the decision is there. */
async function newReview(parts: SendParts, operation: string, at: string) {
  const { text, word } = marks(parts, operation)
  const invoice_ref = text(`${at}.invoice_ref`)
  const agent_handle = text(`${at}.agent_handle`)
  await certify(parts, invoice_ref, agent_handle)
  const reviewer_handle = text(`${at}.reviewer_handle`)
  return { invoice_ref, agent_handle, reviewer_handle, source: word(`${at}.source`), rating: 0.75 }
}

async function review(parts: SendParts): Promise<void> {
  const { headers } = marks(parts, 'cgr.review')
  const body = await newReview(parts, 'cgr.review', 'body')
  await twice(parts, { status: 200, path: REVIEWS }, { body, headers: headers() })
  const later = { ...body, rating: 0.5 }
  const replaced = await answered(parts, { status: 200, path: REVIEWS }, { body: later })
  assert.equal(replaced.superseded_prior, true)
  await refused(parts, REVIEWS, { body: { ...body, reviewer_handle: body.agent_handle } })
}

async function reviewMany(parts: SendParts): Promise<void> {
  const { headers } = marks(parts, 'cgr.reviews')
  const path = `${REVIEWS}/bulk`
  const make = () => newReview(parts, 'cgr.reviews', 'body[]')
  const body = [await make(), await make()]
  await twice(parts, { status: 200, path }, { body, headers: headers() })
  const own = await make()
  await refused(parts, path, { body: [{ ...own, reviewer_handle: own.agent_handle }] })
}

async function attest(parts: SendParts): Promise<void> {
  const { text, headers } = marks(parts, 'cgr.attest')
  const path = '/v1/cgr/attestations'
  const agent_handle = text('body.agent_handle')
  await certify(parts, marks(parts, 'cgr.decide').text('body.invoice_id'), agent_handle)
  await twice(parts, { status: 200, path }, { body: { agent_handle }, headers: headers() })
  const nobody = { agent_handle: text('body.agent_handle') }
  await refused(parts, path, { body: nobody, headers: headers() })
}

async function rotate(parts: SendParts, tenant_id: string, agent: Key): Promise<void> {
  const { word, headers } = marks(parts, 'cgr.rotate')
  const path = '/v1/cgr/rotation'
  const next = newKey()
  const body = { ...linkOf(agent, next, {}), source: word('body.source') }
  await twice(parts, { status: 200, path }, { body, headers: headers() })
  const elsewhere = { ...linkOf(agent, newKey(), {}), source: word('body.source') }
  await refused(parts, path, { body: elsewhere, headers: headers() })
  const { decision, agent_handle, invoice_id, ...more } = newDecision(parts)
  const decided = { decision, agent_handle, invoice_id }
  const proven = { ...more, ...decided, ...provenBy(next, { tenant_id, ...decided }) }
  await answered(parts, { status: 200, path: DECISIONS }, { body: proven })
  parts.made.kept.push({ agent_handle })
}
