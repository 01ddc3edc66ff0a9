// Outcomes in a unit of work: compared with what is there, put on the log, counted for the agents.

import { CGR_BULK_PAIRS_MAX, type Outcome } from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import { Refusal } from '../../platform/refusal.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import type { ItemFate } from './batch.ts'
import { Changes } from './changes.ts'
import { effectOf, isScored, type Judgment, type Review, resolves } from './evidence.ts'
import { findSettings } from './rows/agents.sql.ts'
import { listJudgments, listOutcomes, listReviews, upsertOutcome } from './rows/events.sql.ts'
import { hexOf, hexOrNull, sameLabel } from './rows/labels.ts'
import { anchorOf, findLinks } from './rows/rotations.sql.ts'

export interface NewOutcome {
  readonly pseudonym: string
  readonly referent: Buffer
  readonly outcome: Outcome
  /** Null: now. */
  readonly event_us: number | null
  readonly amount: number | null
  readonly content: Buffer
  /** The label of the key that the reporter names. */
  readonly reporter_key: Buffer | null
  /** When it signed; null: it did not. */
  readonly signed_us: number | null
}

export interface WriteContext {
  readonly now_us: number
  /** Id of the key of the request. */
  readonly recorded_by: string
}

interface Item {
  readonly given: NewOutcome
  readonly stored: Awaited<ReturnType<typeof listOutcomes>>[number] | undefined
  readonly judgments: readonly Judgment[]
  readonly reviews: readonly Review[]
}

/** One item for each referent. */
export async function applyOutcomes(
  tx: Tx,
  given: readonly NewOutcome[],
  writing: WriteContext,
): Promise<ItemFate[]> {
  const items = await lookAround(tx, given)
  await refuseOwn(tx, items, writing)
  const changed = items.filter((item) => !isSame(item))
  for (const item of changed) refuseOlder(item)
  const changes = new Changes()
  for (const item of changed) count(changes, item)
  for (const { given } of changed) await write(tx, given, writing)
  await changes.write(tx)
  return items.map((item) => fateOf(item, writing))
}

async function lookAround(tx: Tx, given: readonly NewOutcome[]): Promise<Item[]> {
  const referents = given.map(({ referent }) => referent)
  const [outcomes, judgments, reviews] = await Promise.all([
    listOutcomes(tx, referents),
    listJudgments(tx, referents),
    listReviews(tx, referents),
  ])
  const storedOf = new Map(outcomes.map((row) => [hexOf(row.referent), row]))
  const judgmentsOf = byReferent(judgments)
  const reviewsOf = byReferent(reviews)
  let pairs = 0
  return given.map((one) => {
    const at = hexOf(one.referent)
    const item = {
      given: one,
      stored: storedOf.get(at),
      judgments: judgmentsOf.get(at) ?? [],
      reviews: reviewsOf.get(at) ?? [],
    }
    pairs += item.judgments.length * item.reviews.length
    if (pairs > CGR_BULK_PAIRS_MAX)
      throw new Refusal('rejected', 'it touches too many reviews at once: send fewer items')
    return item
  })
}

/** Rows by the referent they are about. */
export const byReferent = <T extends { referent: Uint8Array | null }>(
  rows: readonly T[],
): Map<string, T[]> => Map.groupBy(rows, ({ referent }) => hexOrNull(referent) ?? '')

async function refuseOwn(
  tx: Tx,
  items: readonly Item[],
  { recorded_by }: WriteContext,
): Promise<void> {
  const { compare_credentials: compares } = await findSettings(tx)
  for (const { given, judgments } of items) {
    const { reporter_key } = given
    const reporter =
      reporter_key === null ? null : anchorOf(reporter_key, await findLinks(tx, reporter_key))
    const own = judgments.some(
      (judgment) =>
        sameLabel(judgment.anchor, reporter) ||
        (compares && isScored(judgment) && judgment.recorded_by === recorded_by),
    )
    if (own) throw new Refusal('self_report')
  }
}

// A statement of a reporter that was overtaken by a later one may be sent again by anybody.
function refuseOlder({ given, stored }: Item): void {
  const [before, now] = [stored?.signed_us ?? null, given.signed_us]
  if (before === null || now === null || now > before) return
  if (sameLabel(stored?.reporter ?? null, given.reporter_key)) throw new Refusal('older_statement')
}

const isSame = ({ given, stored }: Item): boolean =>
  stored !== undefined &&
  stored.outcome === given.outcome &&
  sameLabel(stored.content, given.content)

function count(changes: Changes, { given, stored, judgments, reviews }: Item): void {
  const before = effectOf(stored?.outcome)
  const after = effectOf(given.outcome)
  if (before === after) return
  for (const judgment of judgments) {
    changes.judgment(judgment, before, -1)
    changes.judgment(judgment, after, 1)
    if (resolves(before) === resolves(after)) continue
    for (const review of reviews) {
      changes.pair(review, judgment, { effect: before, sign: -1 })
      changes.pair(review, judgment, { effect: after, sign: 1 })
    }
  }
  for (const review of reviews) {
    changes.observation(review, before, -1)
    changes.observation(review, after, 1)
  }
}

async function write(
  tx: Tx,
  given: NewOutcome,
  { now_us, recorded_by }: WriteContext,
): Promise<void> {
  const { referent, outcome, amount, content } = given
  const event_us = given.event_us ?? now_us
  const { signed_us } = given
  const reporter = signed_us === null ? null : given.reporter_key
  const { seq } = await appendCrumb(tx, {
    event_type: 'cgr.outcome_recorded',
    subject: hexOf(referent),
    payload: {
      outcome,
      event_at: formatTime(event_us),
      reporter: hexOrNull(reporter),
      content: hexOf(content),
    },
  })
  const row = { referent, outcome, amount, content, reporter, signed_us, event_us, seq }
  tx.needs(upsertOutcome(tx, { ...row, recorded_by }))
}

function fateOf(item: Item, { now_us }: WriteContext): ItemFate {
  const { given, stored } = item
  if (stored && isSame(item)) return { fate: 'idempotent', event_us: stored.event_us }
  return { fate: stored ? 'superseded' : 'new', event_us: given.event_us ?? now_us }
}
