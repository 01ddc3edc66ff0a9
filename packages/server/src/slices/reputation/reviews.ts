// POST /v1/governed/reviews and its bulk form: parses reviews, applies them together, and replies
// for each.

import {
  CGR_BULK_PAIRS_MAX,
  DIMENSION_DEFAULT,
  REVIEWS_PER_REFERENT_MAX,
  type RecordedReview,
  type ReviewRequest,
  type reputation,
} from '@custos/contract'
import { RATING_UNIT } from '@custos/proof'
import { formatTime, parseDateOrTime } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Call, Handler, IdempotentUnit } from '../../platform/kernel/call.ts'
import type { TenantKeys } from '../../platform/keys/keyring.ts'
import { Refusal } from '../../platform/refusal.ts'
import { mapInChunks, yieldBetweenChunks } from '../../platform/yield-between-chunks.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { meter } from '../tenants/index.ts'
import {
  type BatchIds,
  byReferent,
  collapse,
  fateAt,
  type ItemFate,
  idsOf,
  readIds,
  type WriteContext,
} from './apply-outcomes.ts'
import { Changes } from './changes.ts'
import {
  type Effect,
  effectOf,
  isAbout,
  isOwn,
  isScored,
  type Judgment,
  type Review,
} from './evidence.ts'
import { findSettings } from './rows/agents.sql.ts'
import {
  insertReviewer,
  listDecisionIds,
  listJudgments,
  listNames,
  listOutcomes,
  listReviewersNamed,
  listReviews,
  upsertReview,
} from './rows/events.sql.ts'
import {
  contentLabel,
  hexOf,
  hexOrNull,
  keyInName,
  keyLabel,
  nameLabel,
  pseudonymOf,
  referentLabel,
  sameLabel,
} from './rows/labels.ts'
import { anchorOf, findLinks } from './rows/rotations.sql.ts'

export const review: Handler<typeof reputation.review> = async (call, { body }) => {
  const keys = await call.kernel.keyring.tenant(call.tenant_id)
  const [recorded] = await record(call, [readReview(keys, body)])
  return recorded ?? call.refuse('unavailable')
}

export const reviews: Handler<typeof reputation.reviews> = async (call, { body }) => {
  const keys = await call.kernel.keyring.tenant(call.tenant_id)
  const read = await mapInChunks(body, (item) => readReview(keys, item))
  const items = collapse(read, ({ referent, reviewer }) => hexOf(referent) + hexOf(reviewer))
  const recorded = await record(call, items)
  const collapsed_in_batch = body.length - items.length
  return { count: recorded.length, recorded, collapsed_in_batch }
}

function readReview(keys: TenantKeys, item: ReviewRequest): NewReview {
  const { dimension = DIMENSION_DEFAULT, source = '', reviewer_handle } = item
  const [agent_handle, decision_id] = [item.agent_handle ?? null, item.decision_id ?? null]
  const pseudonym = pseudonymOf(keys, item.invoice_ref)
  const key = keyInName(reviewer_handle)
  return {
    pseudonym,
    reviewer_handle,
    referent: referentLabel(keys, dimension, pseudonym),
    reviewer: nameLabel(keys, dimension, reviewer_handle),
    reviewer_key: key === null ? null : keyLabel(keys, key),
    rating_e6: Math.round(item.rating * RATING_UNIT),
    decision_id,
    handle: agent_handle === null ? null : nameLabel(keys, dimension, agent_handle),
    event_us: item.review_date ? (parseDateOrTime(item.review_date)?.us ?? null) : null,
    content: contentLabel(keys, [agent_handle, decision_id, source]),
  }
}

async function record(
  call: Pick<Call, 'once' | 'principal' | 'operation'>,
  items: readonly NewReview[],
): Promise<RecordedReview[]> {
  const once: IdempotentUnit<BatchIds> = {
    async run(tx) {
      const now_us = tx.now()
      const writing = { now_us, recorded_by: call.principal.key_id, pace: yieldBetweenChunks() }
      const ids = idsOf(now_us, await applyReviews(tx, items, writing))
      for (const _ of items) meter(tx, call.operation.id)
      return { reply: ids, ids }
    },
    // A repeated request has the same items, so only their results are stored.
    replay: async (_tx, ids) => readIds(ids),
  }
  const ids = await call.once(once)
  return mapInChunks(items, ({ pseudonym, reviewer_handle, rating_e6, event_us }, at) => {
    const { fate, event_us: at_us } = fateAt(ids, at, event_us)
    return {
      invoice_ref: pseudonym,
      reviewer_handle,
      rating: rating_e6 / RATING_UNIT,
      recorded_at: formatTime(at_us),
      superseded_prior: fate === 'superseded',
      idempotent: fate === 'idempotent',
    }
  })
}

interface NewReview {
  readonly pseudonym: string
  readonly reviewer_handle: string
  readonly referent: Buffer
  readonly reviewer: Buffer
  /** The key, if the reviewer's handle is one. */
  readonly reviewer_key: Buffer | null
  readonly rating_e6: number
  readonly decision_id: string | null
  readonly handle: Buffer | null
  /** `null` means now. */
  readonly event_us: number | null
  readonly content: Buffer
}

interface Reviewer {
  /** `null` if this is the reviewer's first review. */
  reviewer_no: number | null
  readonly name: Uint8Array
  readonly anchor: Uint8Array | null
  /** The numbers of the agents with the same name. */
  readonly agents: ReadonlySet<number>
}

interface Item {
  readonly given: NewReview
  readonly reviewer: Reviewer
  /** The agent of the decision that the review is limited to. */
  readonly agent_no: number | null
  readonly stored: Awaited<ReturnType<typeof listReviews>>[number] | undefined
  readonly effect: Effect
  readonly judgments: readonly Judgment[]
}

/** Expects at most one item per referent and reviewer. */
async function applyReviews(
  tx: Tx,
  given: readonly NewReview[],
  writing: WriteContext,
): Promise<ItemFate[]> {
  const { pace } = writing
  const items = await lookAround(tx, given, pace)
  const { compare_credentials: compares } = await findSettings(tx)
  const credential = compares ? writing.recorded_by : null
  await mapInChunks(items, (item) => refuseOwn(item, credential), pace)
  const changes = new Changes()
  const changed = items.filter((item) => !isSame(item))
  await mapInChunks(changed, (item) => write(tx, item, { changes, writing }), pace)
  await changes.write(tx, pace)
  return mapInChunks(items, (item) => fateOf(item, writing), pace)
}

async function lookAround(
  tx: Tx,
  given: readonly NewReview[],
  pace: WriteContext['pace'],
): Promise<Item[]> {
  const referents = [...new Map(given.map(({ referent }) => [hexOf(referent), referent])).values()]
  const [outcomes, judgments, reviews, agents, reviewers] = await Promise.all([
    listOutcomes(tx, referents),
    listJudgments(tx, referents),
    listReviews(tx, referents),
    findAgents(tx, given),
    findReviewers(tx, given),
  ])
  const outcomeOf = new Map(outcomes.map((row) => [hexOf(row.referent), row.outcome]))
  const judgmentsOf = byReferent(judgments)
  const reviewsOf = byReferent(reviews)
  const gather = (one: NewReview): Item => {
    const at = hexOf(one.referent)
    const reviewer = reviewers.get(hexOf(one.reviewer))
    if (!reviewer) throw new Error('a reviewer was not looked up')
    const stored = reviewsOf
      .get(at)
      ?.find(({ reviewer_no }) => reviewer_no === reviewer.reviewer_no)
    const effect = effectOf(outcomeOf.get(at))
    const agent_no = agents.get(one) ?? null
    return { given: one, reviewer, agent_no, stored, effect, judgments: judgmentsOf.get(at) ?? [] }
  }
  const items = await mapInChunks(given, gather, pace)
  refuseCrowds(items, reviewsOf)
  return items
}

/** Limits how much one later outcome of the referent has to count. */
function refuseCrowds(items: readonly Item[], reviewsOf: ReadonlyMap<string, unknown[]>): void {
  const more = new Map<string, number>()
  let pairs = 0
  for (const { given, stored, judgments } of items) {
    const at = hexOf(given.referent)
    pairs += judgments.length
    if (pairs > CGR_BULK_PAIRS_MAX)
      throw new Refusal('rejected', 'it touches too many decisions at once: send fewer items')
    if (stored) continue
    more.set(at, (more.get(at) ?? reviewsOf.get(at)?.length ?? 0) + 1)
    if ((more.get(at) ?? 0) > REVIEWS_PER_REFERENT_MAX)
      throw new Refusal('rejected', `a referent takes ${REVIEWS_PER_REFERENT_MAX} reviews`)
  }
}

/** The agent of the decision that each item names. */
async function findAgents(
  tx: Tx,
  given: readonly NewReview[],
): Promise<ReadonlyMap<NewReview, number>> {
  const naming = given.filter(({ decision_id }) => decision_id !== null)
  const wanted = [...new Set(naming.map(({ decision_id }) => decision_id ?? ''))]
  const rows = await listDecisionIds(
    tx,
    wanted.map((id) => Buffer.from(id, 'hex')),
  )
  const byId = new Map(rows.map((row) => [hexOf(row.decision_id), row]))
  return new Map(
    naming.map((one) => {
      const row = byId.get(one.decision_id ?? '')
      if (row && sameLabel(row.referent, one.referent)) return [one, row.agent_no]
      throw new Refusal('rejected', 'decision_id is no decision on the invoice_ref')
    }),
  )
}

async function findReviewers(
  tx: Tx,
  given: readonly NewReview[],
): Promise<ReadonlyMap<string, Reviewer>> {
  const byName = new Map(given.map((one) => [hexOf(one.reviewer), one]))
  const labels = [...byName.values()].map(({ reviewer }) => reviewer)
  const [known, names] = await Promise.all([listReviewersNamed(tx, labels), listNames(tx, labels)])
  const knownOf = new Map(known.map((row) => [hexOf(row.name), row]))
  const namesOf = Map.groupBy(names, ({ name }) => hexOf(name))
  const reviewers = new Map<string, Reviewer>()
  for (const [at, { reviewer, reviewer_key }] of byName) {
    const row = knownOf.get(at)
    const key = row || reviewer_key === null ? null : reviewer_key
    reviewers.set(at, {
      reviewer_no: row?.reviewer_no ?? null,
      name: reviewer,
      anchor: row ? row.anchor : key && anchorOf(key, await findLinks(tx, key)),
      agents: new Set((namesOf.get(at) ?? []).map(({ agent_no }) => agent_no)),
    })
  }
  return reviewers
}

/** @param credential of the request, if the tenant compares credentials */
function refuseOwn(item: Item, credential: string | null): void {
  const { given, reviewer, agent_no, judgments } = item
  const own = judgments
    .filter((judgment) => isAbout({ agent_no, handle: given.handle }, judgment))
    .some(
      (judgment) =>
        isOwn(reviewer, judgment) ||
        reviewer.agents.has(judgment.agent_no) ||
        (isScored(judgment) && judgment.recorded_by === credential),
    )
  if (own) throw new Refusal('self_review')
}

const isSame = ({ given, stored }: Item): boolean =>
  stored !== undefined &&
  stored.rating_e6 === given.rating_e6 &&
  sameLabel(stored.content, given.content)

async function write(
  tx: Tx,
  item: Item,
  { changes, writing }: { readonly changes: Changes; readonly writing: WriteContext },
): Promise<void> {
  const { given, reviewer, stored } = item
  const event_us = given.event_us ?? writing.now_us
  const { seq } = await appendCrumb(tx, {
    event_type: 'cgr.review_recorded',
    subject: hexOf(given.referent),
    payload: {
      reviewer: hexOf(given.reviewer),
      reviewer_key: hexOrNull(reviewer.anchor),
      rating_e6: given.rating_e6,
      decision_id: given.decision_id,
      handle: hexOrNull(given.handle),
      event_at: formatTime(event_us),
      content: hexOf(given.content),
    },
  })
  if (reviewer.reviewer_no === null) {
    reviewer.reviewer_no = seq
    const { name, anchor } = reviewer
    tx.needs(insertReviewer(tx, { reviewer_no: seq, name, anchor }))
  }
  const { reviewer_no, name, anchor } = reviewer
  const { referent, rating_e6, handle, content } = given
  const { agent_no } = item
  const row = { referent, reviewer_no, rating_e6, agent_no, handle, content, event_us, seq }
  tx.needs(upsertReview(tx, { ...row, recorded_by: writing.recorded_by }))
  if (stored) count(changes, stored, item, -1)
  count(changes, { reviewer_no, name, anchor, rating_e6, agent_no, handle }, item, 1)
}

function count(changes: Changes, review: Review, { effect, judgments }: Item, sign: 1 | -1): void {
  for (const judgment of judgments) changes.pair(review, judgment, { effect, sign })
  changes.observation(review, effect, sign)
}

function fateOf(item: Item, { now_us }: WriteContext): ItemFate {
  const { given, stored } = item
  if (stored && isSame(item)) return { fate: 'idempotent', event_us: stored.event_us }
  return { fate: stored ? 'superseded' : 'new', event_us: given.event_us ?? now_us }
}
