// Applies outcomes in a unit of work: compares them with stored ones, logs them, and updates the
// agents' counts.

import {
  CGR_BULK_PAIRS_MAX,
  DIMENSION_DEFAULT,
  type Outcome,
  type OutcomeRequest,
  type RecordedOutcome,
  type reputation,
} from '@custos/contract'
import { formatTime, parseDateOrTime, parseTime } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Call, Handler, IdempotentUnit, ReplayIds } from '../../platform/kernel/call.ts'
import type { TenantKeys } from '../../platform/keys/keyring.ts'
import { Refusal } from '../../platform/refusal.ts'
import type { Loc } from '../../platform/validation.ts'
import { mapInChunks, yieldBetweenChunks } from '../../platform/yield-between-chunks.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { meter } from '../tenants/index.ts'
import { Changes } from './changes.ts'
import { effectOf, isScored, type Judgment, type Review, resolves } from './evidence.ts'
import { findSettings } from './rows/agents.sql.ts'
import { listJudgments, listOutcomes, listReviews, upsertOutcome } from './rows/events.sql.ts'
import {
  contentLabel,
  hexOf,
  hexOrNull,
  keyLabel,
  proves,
  pseudonymOf,
  readKey,
  referentLabel,
  sameLabel,
} from './rows/labels.ts'
import { anchorOf, findLinks } from './rows/rotations.sql.ts'

export const outcome: Handler<typeof reputation.outcome> = async (call, { body }) => {
  const keys = await call.kernel.keyring.tenant(call.tenant_id)
  const [recorded] = await record(call, [await readOutcome(keys, body, ['body'])])
  return recorded ?? call.refuse('unavailable')
}

export const outcomes: Handler<typeof reputation.outcomes> = async (call, { body }) => {
  const keys = await call.kernel.keyring.tenant(call.tenant_id)
  const read = await mapInChunks(body, (item, at) => readOutcome(keys, item, ['body', at]))
  const items = collapse(read, ({ referent }) => hexOf(referent))
  const recorded = await record(call, items)
  const collapsed_in_batch = body.length - items.length
  return { count: recorded.length, recorded, collapsed_in_batch }
}

async function readOutcome(keys: TenantKeys, item: OutcomeRequest, loc: Loc): Promise<NewOutcome> {
  const { dimension = DIMENSION_DEFAULT, amount_recovered = null, source = '' } = item
  const pseudonym = pseudonymOf(keys, item.invoice_ref)
  const reporter_key = readKey(item.reporter_key, [...loc, 'reporter_key'])
  const signed = {
    key: reporter_key,
    signature: item.reporter_signature,
    signed_at: item.signed_at,
    loc: [...loc, 'reporter_signature'],
  }
  const proven = await proves('cgr_outcome', signed, (signed_at) => ({
    tenant_id: keys.tenant_id,
    reporter_key,
    invoice_ref: item.invoice_ref,
    dimension,
    outcome: item.outcome,
    outcome_date: item.outcome_date ?? null,
    amount_recovered,
    source,
    signed_at,
  }))
  return {
    pseudonym,
    referent: referentLabel(keys, dimension, pseudonym),
    outcome: item.outcome,
    event_us: item.outcome_date ? (parseDateOrTime(item.outcome_date)?.us ?? null) : null,
    amount: amount_recovered,
    content: contentLabel(keys, [amount_recovered, source]),
    reporter_key: reporter_key === null ? null : keyLabel(keys, reporter_key),
    signed_us: proven ? parseTime(item.signed_at ?? '') : null,
  }
}

async function record(
  call: Pick<Call, 'once' | 'principal' | 'operation'>,
  items: readonly NewOutcome[],
): Promise<RecordedOutcome[]> {
  const once: IdempotentUnit<BatchIds> = {
    async run(tx) {
      const now_us = tx.now()
      const writing = { now_us, recorded_by: call.principal.key_id, pace: yieldBetweenChunks() }
      const ids = idsOf(now_us, await applyOutcomes(tx, items, writing))
      for (const _ of items) meter(tx, call.operation.id)
      return { reply: ids, ids }
    },
    // A repeated request has the same items, so only their results are stored.
    replay: async (_tx, ids) => readIds(ids),
  }
  const ids = await call.once(once)
  return mapInChunks(items, ({ pseudonym, outcome, event_us }, at) => {
    const { fate, event_us: at_us } = fateAt(ids, at, event_us)
    return {
      invoice_ref: pseudonym,
      outcome,
      recorded_at: formatTime(at_us),
      superseded_prior: fate === 'superseded',
      idempotent: fate === 'idempotent',
    }
  })
}

interface NewOutcome {
  readonly pseudonym: string
  readonly referent: Buffer
  readonly outcome: Outcome
  /** `null` means now. */
  readonly event_us: number | null
  readonly amount: number | null
  readonly content: Buffer
  /** The label of the key that the reporter names. */
  readonly reporter_key: Buffer | null
  /** When the reporter signed. `null` if it did not. */
  readonly signed_us: number | null
}

export interface WriteContext {
  readonly now_us: number
  /** The id of the credential that sent the request. */
  readonly recorded_by: string
  /** Yields to other requests, because a unit of work may write thousands of rows. */
  readonly pace: ReturnType<typeof yieldBetweenChunks>
}

interface Item {
  readonly given: NewOutcome
  readonly stored: Awaited<ReturnType<typeof listOutcomes>>[number] | undefined
  readonly judgments: readonly Judgment[]
  readonly reviews: readonly Review[]
}

/** Expects at most one item per referent. */
async function applyOutcomes(
  tx: Tx,
  given: readonly NewOutcome[],
  writing: WriteContext,
): Promise<ItemFate[]> {
  const { pace } = writing
  const items = await lookAround(tx, given, pace)
  await refuseOwn(tx, items, writing)
  const changed = items.filter((item) => !isSame(item))
  for (const item of changed) refuseOlder(item)
  const changes = new Changes()
  await mapInChunks(changed, (item) => count(changes, item), pace)
  await mapInChunks(changed, ({ given }) => write(tx, given, writing), pace)
  await changes.write(tx, pace)
  return mapInChunks(items, (item) => fateOf(item, writing), pace)
}

async function lookAround(
  tx: Tx,
  given: readonly NewOutcome[],
  pace: WriteContext['pace'],
): Promise<Item[]> {
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
  const gather = (one: NewOutcome) => {
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
  }
  return mapInChunks(given, gather, pace)
}

/** Groups rows by their referent. */
export const byReferent = <T extends { referent: Uint8Array | null }>(
  rows: readonly T[],
): Map<string, T[]> => Map.groupBy(rows, ({ referent }) => hexOrNull(referent) ?? '')

async function refuseOwn(
  tx: Tx,
  items: readonly Item[],
  { recorded_by, pace }: WriteContext,
): Promise<void> {
  const { compare_credentials: compares } = await findSettings(tx)
  for (const { given, judgments } of items) {
    await pace()
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

// Refuses replays: anybody could resend a reporter's statement that a later one has replaced.
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

/** Keeps the last item of each key, in the order in which the keys first appear. */
export function collapse<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  const last = new Map<string, T>()
  for (const item of items) last.set(keyOf(item), item)
  return [...last.values()]
}

/** The stored result of each item, for retries. Contains numbers and letters, no caller's text. */
export interface BatchIds extends ReplayIds {
  /** The time of items without their own date. */
  readonly now_us: number
  /** One letter per item. */
  readonly fates: string
  /** The effective times of idempotent items, by position. */
  readonly kept_us: Readonly<Record<string, number>>
}

const LETTERS: Readonly<Record<ItemFate['fate'], string>> = {
  new: 'n',
  superseded: 's',
  idempotent: 'i',
}

export interface ItemFate {
  readonly fate: 'new' | 'superseded' | 'idempotent'
  readonly event_us: number
}

export function idsOf(now_us: number, items: readonly ItemFate[]): BatchIds {
  const kept = items.flatMap(({ fate, event_us }, at) =>
    fate === 'idempotent' ? [[at, event_us]] : [],
  )
  return {
    now_us,
    fates: items.map(({ fate }) => LETTERS[fate]).join(''),
    kept_us: Object.fromEntries(kept),
  }
}

export const readIds = (ids: ReplayIds): BatchIds => ({
  now_us: Number(ids['now_us']),
  fates: String(ids['fates']),
  kept_us: Object(ids['kept_us']),
})

/** @param given_us the item's own date, or `null` */
export function fateAt(ids: BatchIds, at: number, given_us: number | null): ItemFate {
  const letter = ids.fates.charAt(at)
  if (letter === LETTERS.idempotent)
    return { fate: 'idempotent', event_us: ids.kept_us[at] ?? ids.now_us }
  const fate = letter === LETTERS.superseded ? 'superseded' : 'new'
  return { fate, event_us: given_us ?? ids.now_us }
}
