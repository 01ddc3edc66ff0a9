// For every refusal an operation of reputation declares, a request that provokes it.

import {
  CGR_BULK_PAIRS_MAX,
  CGR_CONTEXT_BYTES_MAX,
  CGR_ROTATIONS_PER_CHAIN_MAX,
  JUDGMENTS_PER_REFERENT_MAX,
  REVIEWS_PER_REFERENT_MAX,
} from '@custos/contract'
import {
  linkOf,
  newKey,
  nextMoment,
  provenBy,
  reportedBy,
} from '../../../../../packages/server/src/slices/reputation/testing/keys.ts'
import { LINK } from '../reputation.ts'
import type { World } from '../world.ts'
import type { Provoke } from './provoke.ts'

const asking =
  (id: string, body: unknown): Provoke =>
  ({ tenant }) =>
    tenant.ask(id, { body })

const FORGED = '0'.repeat(128)
const CERTIFY = { decision: 'certify', agent_handle: 'agent', invoice_id: 'one' }
const PAID = { invoice_ref: 'one', outcome: 'paid' }
const REVIEW = { invoice_ref: 'one', reviewer_handle: 'agent', rating: 1 }

const forgedDecision: Provoke = (world) => {
  const signed_at = nextMoment()
  const body = { ...CERTIFY, agent_key: newKey().key, agent_signature: FORGED, signed_at }
  return asking('cgr.decide', body)(world)
}

/** By a key that has been followed by another. */
const retiredKey: Provoke = async ({ tenant }) => {
  const [first, second] = [newKey(), newKey()]
  await tenant.ok('cgr.rotate', { body: linkOf(first, second, {}) })
  const proof = provenBy(first, { tenant_id: tenant.tenant_id, ...CERTIFY })
  return tenant.ask('cgr.decide', { body: { ...CERTIFY, ...proof } })
}

const afterwards =
  (id: string, body: object): Provoke =>
  async ({ tenant }) => {
    await tenant.ok('cgr.change_settings', { body: { judgments_final: true } })
    await tenant.ok('cgr.decide', { body: CERTIFY })
    await tenant.ok('cgr.outcome', { body: { ...PAID, outcome: 'default' } })
    return tenant.ask(id, { body })
  }

const outOfDate: Provoke = async ({ tenant }) => {
  const { tenant_id } = tenant
  const agent = newKey()
  const said = (decision: string, signed_at: string) => {
    const body = { ...CERTIFY, decision }
    return { body: { ...body, ...provenBy(agent, { tenant_id, ...body, signed_at }) } }
  }
  const [early, late] = [nextMoment(), nextMoment()]
  await tenant.ok('cgr.decide', said('certify', late))
  return tenant.ask('cgr.decide', said('reject', early))
}

const forgedReport = () => ({
  ...PAID,
  reporter_key: newKey().key,
  reporter_signature: FORGED,
  signed_at: nextMoment(),
})

const overtaken =
  (id: string, bodyOf: (report: object) => unknown): Provoke =>
  async ({ tenant }) => {
    const { tenant_id } = tenant
    const reporter = newKey()
    const [early, late] = [nextMoment(), nextMoment()]
    const said = (outcome: string, signed_at: string) => ({
      ...{ ...PAID, outcome },
      ...reportedBy(reporter, { tenant_id, ...PAID, outcome, signed_at }),
    })
    await tenant.ok('cgr.outcome', { body: said('paid', late) })
    return tenant.ask(id, { body: bodyOf(said('default', early)) })
  }

async function ownReport({ tenant }: World): Promise<object> {
  const { key } = newKey()
  await tenant.ok('cgr.decide', { body: { ...CERTIFY, agent_key: key } })
  return { ...PAID, reporter_key: key }
}

/** More reviewed decisions than a request may touch. */
const crowd: Provoke = async ({ tenant }) => {
  const referents =
    Math.floor(CGR_BULK_PAIRS_MAX / (JUDGMENTS_PER_REFERENT_MAX * REVIEWS_PER_REFERENT_MAX)) + 1
  const names = Array.from({ length: referents }, (_, at) => `crowd ${at}`)
  for (const invoice_id of names) {
    const decide = (_: unknown, at: number) =>
      tenant.ok('cgr.decide', { body: { ...CERTIFY, agent_handle: `agent ${at}`, invoice_id } })
    await Promise.all(Array.from({ length: JUDGMENTS_PER_REFERENT_MAX }, decide))
    const body = Array.from({ length: REVIEWS_PER_REFERENT_MAX }, (_, at) => ({
      ...{ invoice_ref: invoice_id, reviewer_handle: `reviewer ${at}`, rating: 1 },
    }))
    await tenant.ok('cgr.reviews', { body })
  }
  const body = names.map((invoice_ref) => ({ invoice_ref, outcome: 'paid' }))
  return tenant.ask('cgr.outcomes', { body })
}

const ownReview =
  (id: string, bodyOf: (review: object) => unknown): Provoke =>
  async ({ tenant }) => {
    await tenant.ok('cgr.decide', { body: CERTIFY })
    return tenant.ask(id, { body: bodyOf(REVIEW) })
  }

const misplaced = { ...REVIEW, decision_id: 'f'.repeat(32) }

const longChain: Provoke = async ({ tenant }) => {
  let last = newKey()
  for (let seq = 1; seq <= CGR_ROTATIONS_PER_CHAIN_MAX; seq += 1) {
    const next = newKey()
    await tenant.ok('cgr.rotate', { body: linkOf(last, next, { seq }) })
    last = next
  }
  const seq = CGR_ROTATIONS_PER_CHAIN_MAX + 1
  return tenant.ask('cgr.rotate', { body: linkOf(last, newKey(), { seq }) })
}

const unattested: Provoke = async ({ tenant }) => {
  await tenant.ok('cgr.decide', { body: CERTIFY })
  return tenant.ask('cgr.attestation', { params: { agent_handle: 'agent' } })
}

const badCursor =
  (id: string): Provoke =>
  ({ tenant }) =>
    tenant.ask(id, { query: { cursor: 'not-a-cursor' } })

/** Cases by `operation code`. */
export const provokingReputation: Readonly<Record<string, Provoke>> = {
  'cgr.decide rejected': asking('cgr.decide', {
    ...CERTIFY,
    context: { text: 'x'.repeat(CGR_CONTEXT_BYTES_MAX) },
  }),
  'cgr.verify_batch rejected': asking('cgr.verify_batch', {
    invoices: [{ note: 'x'.repeat(CGR_CONTEXT_BYTES_MAX) }],
  }),
  'cgr.verify_batch outcome_known': afterwards('cgr.verify_batch', {
    invoices: [{ invoice_id: CERTIFY.invoice_id }],
    agent_handle: CERTIFY.agent_handle,
  }),
  'cgr.decide possession_unproven': forgedDecision,
  'cgr.decide rotation_refused': retiredKey,
  'cgr.decide outcome_known': afterwards('cgr.decide', { ...CERTIFY, decision: 'reject' }),
  'cgr.decide older_statement': outOfDate,
  'cgr.outcome possession_unproven': (world) => asking('cgr.outcome', forgedReport())(world),
  'cgr.outcomes possession_unproven': (world) => asking('cgr.outcomes', [forgedReport()])(world),
  'cgr.outcome self_report': async (world) => asking('cgr.outcome', await ownReport(world))(world),
  'cgr.outcomes self_report': async (world) =>
    asking('cgr.outcomes', [await ownReport(world)])(world),
  'cgr.outcome older_statement': overtaken('cgr.outcome', (report) => report),
  'cgr.outcomes older_statement': overtaken('cgr.outcomes', (report) => [report]),
  'cgr.outcomes rejected': crowd,
  'cgr.review self_review': ownReview('cgr.review', (review) => review),
  'cgr.reviews self_review': ownReview('cgr.reviews', (review) => [review]),
  'cgr.review rejected': asking('cgr.review', misplaced),
  'cgr.reviews rejected': asking('cgr.reviews', [misplaced]),
  'cgr.attest score_not_found': asking('cgr.attest', { agent_handle: 'nobody' }),
  'cgr.attestation attestation_not_found': unattested,
  'cgr.rotate possession_unproven': asking('cgr.rotate', { ...LINK, sig: FORGED }),
  'cgr.rotate rotation_refused': (world) =>
    asking('cgr.rotate', linkOf(newKey(), newKey(), { seq: 2 }))(world),
  'cgr.rotate rejected': longChain,
  'cgr.scores rejected': badCursor('cgr.scores'),
  'cgr.attestations rejected': badCursor('cgr.attestations'),
  'cgr.rotations rejected': badCursor('cgr.rotations'),
}
