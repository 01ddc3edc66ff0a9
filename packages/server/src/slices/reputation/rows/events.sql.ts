// SQL of decisions, outcomes and reviews, each found by its referent.

import { sql } from 'kysely'
import type { Builder } from '../../../platform/db/builder.ts'
import {
  firstItems,
  lateralByLabel,
  runInBatches,
  statementPerCount,
} from '../../../platform/db/bulk-statements.ts'
import type { Row } from '../../../platform/db/schema/tables.ts'
import { statement } from '../../../platform/db/statement.ts'
import { from, type TenantDb, type Tx, update } from '../../../platform/db/tenant-db.ts'
import { REDACTED_SECRET } from '../../../platform/kernel/sealed-column.ts'
import type { ReviewerRow } from './aggregates.sql.ts'

type DecisionRow = Row<'cgr_decisions'>

/** The largest number of referents per statement. Each number has its own prepared statement. */
const AT_ONCE = 32

interface LabelFilter {
  readonly labels: readonly Uint8Array[]
}

async function forEach<O>(
  labels: readonly Uint8Array[],
  list: (some: readonly Uint8Array[]) => Promise<O[]>,
): Promise<O[]> {
  return (await runInBatches(labels, AT_ONCE, list)).flat()
}

const judgments = (k: Builder, tenant_id: string) =>
  k
    .selectFrom('cgr_decisions')
    .select(['seq', 'agent_no', 'referent', 'decision', 'tag', 'handle', 'anchor', 'recorded_by'])
    .where('tenant_id', '=', tenant_id)
    // A literal, because a partial index does not apply to a parameter.
    .where('current', '=', sql.lit(1))

const judgmentsStatement = statementPerCount((count) =>
  statement<LabelFilter>()(
    (k, p) => judgments(k, p.tenant_id).where('referent', 'in', firstItems(p.labels, count)),
    (k, p) =>
      lateralByLabel(k, p.labels, (label) =>
        judgments(k, p.tenant_id).where('referent', '=', label),
      ),
  ),
)

/** The judgments that count for these referents. */
export const listJudgments = (db: TenantDb, referents: readonly Uint8Array[]) =>
  forEach(referents, (labels) => db.allOf(judgmentsStatement(labels.length), { labels }))

const OUTCOME_COLUMNS = [
  'referent',
  'outcome',
  'content',
  'reporter',
  'signed_us',
  'event_us',
] as const

const outcomes = (k: Builder, tenant_id: string) =>
  k.selectFrom('cgr_outcomes').select(OUTCOME_COLUMNS).where('tenant_id', '=', tenant_id)

const outcomesStatement = statementPerCount((count) =>
  statement<LabelFilter>()(
    (k, p) => outcomes(k, p.tenant_id).where('referent', 'in', firstItems(p.labels, count)),
    (k, p) =>
      lateralByLabel(k, p.labels, (label) =>
        outcomes(k, p.tenant_id).where('referent', '=', label),
      ),
  ),
)

export const listOutcomes = (db: TenantDb, referents: readonly Uint8Array[]) =>
  forEach(referents, (labels) => db.allOf(outcomesStatement(labels.length), { labels }))

const reviews = (k: Builder, tenant_id: string) =>
  k
    .selectFrom('cgr_reviews as review')
    .innerJoin('cgr_reviewers as reviewer', (join) =>
      join
        .onRef('reviewer.tenant_id', '=', 'review.tenant_id')
        .onRef('reviewer.reviewer_no', '=', 'review.reviewer_no'),
    )
    .select([
      'review.referent',
      'review.reviewer_no',
      'review.rating_e6',
      'review.agent_no',
      'review.handle',
      'review.content',
      'review.event_us',
      'reviewer.name',
      'reviewer.anchor',
    ])
    .where('review.tenant_id', '=', tenant_id)

const reviewsStatement = statementPerCount((count) =>
  statement<LabelFilter>()(
    (k, p) => reviews(k, p.tenant_id).where('review.referent', 'in', firstItems(p.labels, count)),
    (k, p) =>
      lateralByLabel(k, p.labels, (label) =>
        reviews(k, p.tenant_id).where('review.referent', '=', label),
      ),
  ),
)

/** Reviews of these referents, each with its reviewer. */
export const listReviews = (db: TenantDb, referents: readonly Uint8Array[]) =>
  forEach(referents, (labels) => db.allOf(reviewsStatement(labels.length), { labels }))

const REVIEWER_COLUMNS = ['reviewer_no', 'name', 'anchor'] as const

const reviewers = (k: Builder, tenant_id: string) =>
  k.selectFrom('cgr_reviewers').select(REVIEWER_COLUMNS).where('tenant_id', '=', tenant_id)

const reviewersStatement = statementPerCount((count) =>
  statement<LabelFilter>()(
    (k, p) => reviewers(k, p.tenant_id).where('name', 'in', firstItems(p.labels, count)),
    (k, p) =>
      lateralByLabel(k, p.labels, (label) => reviewers(k, p.tenant_id).where('name', '=', label)),
  ),
)

export const listReviewersNamed = (db: TenantDb, names: readonly Uint8Array[]) =>
  forEach(names, (labels) => db.allOf(reviewersStatement(labels.length), { labels }))

const names = (k: Builder, tenant_id: string) =>
  k.selectFrom('cgr_names').select(['name', 'agent_no']).where('tenant_id', '=', tenant_id)

const namesStatement = statementPerCount((count) =>
  statement<LabelFilter>()(
    (k, p) => names(k, p.tenant_id).where('name', 'in', firstItems(p.labels, count)),
    (k, p) =>
      lateralByLabel(k, p.labels, (label) => names(k, p.tenant_id).where('name', '=', label)),
  ),
)

/** The agents with these names. */
export const listNames = (db: TenantDb, labels: readonly Uint8Array[]) =>
  forEach(labels, (some) => db.allOf(namesStatement(some.length), { labels: some }))

const ids = (k: Builder, tenant_id: string) =>
  k
    .selectFrom('cgr_decisions')
    .select(['decision_id', 'seq', 'agent_no', 'referent'])
    .where('tenant_id', '=', tenant_id)

const idsStatement = statementPerCount((count) =>
  statement<LabelFilter>()(
    (k, p) => ids(k, p.tenant_id).where('decision_id', 'in', firstItems(p.labels, count)),
    (k, p) =>
      lateralByLabel(k, p.labels, (label) => ids(k, p.tenant_id).where('decision_id', '=', label)),
  ),
)

export const listDecisionIds = (db: TenantDb, decision_ids: readonly Uint8Array[]) =>
  forEach(decision_ids, (labels) => db.allOf(idsStatement(labels.length), { labels }))

const currentStatement = statement<{ agent_no: number; referent: Uint8Array }>()((k, p) =>
  k
    .selectFrom('cgr_decisions')
    .select(['seq', 'agent_no', 'decision', 'tag', 'handle', 'anchor', 'signed_us', 'recorded_by'])
    .where('tenant_id', '=', p.tenant_id)
    .where('agent_no', '=', p.agent_no)
    .where('referent', '=', p.referent)
    .where('current', '=', sql.lit(1)),
)

/** The agent's latest decision on the referent. */
export const findCurrent = (db: TenantDb, agent_no: number, referent: Uint8Array) =>
  db.firstOf(currentStatement, { agent_no, referent })

const replaceStatement = statement<{ seq: number }>()((k, p) =>
  k
    .updateTable('cgr_decisions')
    .set({ current: 0 })
    .where('tenant_id', '=', p.tenant_id)
    .where('seq', '=', p.seq),
)

/** Marks the decision as replaced, so that it no longer counts. */
export const replaceDecision = (tx: Tx, seq: number) => tx.runOf(replaceStatement, { seq })

const insertDecisionStatement = statement<DecisionRow>()((k, p) =>
  k.insertInto('cgr_decisions').values({
    tenant_id: p.tenant_id,
    seq: p.seq,
    decision_id: p.decision_id,
    agent_no: p.agent_no,
    referent: p.referent,
    decision: p.decision,
    tag: p.tag,
    current: p.current,
    handle: p.handle,
    anchor: p.anchor,
    signed_us: p.signed_us,
    recorded_by: p.recorded_by,
    recorded_us: p.recorded_us,
    secret_no: p.secret_no,
    sealed_name: p.sealed_name,
    sealed: p.sealed,
  }),
)

export const insertDecision = (tx: Tx, row: DecisionRow) => tx.runOf(insertDecisionStatement, row)

const upsertOutcomeStatement = statement<Row<'cgr_outcomes'>>()((k, p) => {
  const row = {
    outcome: p.outcome,
    amount: p.amount,
    content: p.content,
    reporter: p.reporter,
    signed_us: p.signed_us,
    event_us: p.event_us,
    seq: p.seq,
    recorded_by: p.recorded_by,
  }
  return k
    .insertInto('cgr_outcomes')
    .values({ tenant_id: p.tenant_id, referent: p.referent, ...row })
    .onConflict((conflict) => conflict.columns(['tenant_id', 'referent']).doUpdateSet(row))
})

export const upsertOutcome = (tx: Tx, row: Row<'cgr_outcomes'>) =>
  tx.runOf(upsertOutcomeStatement, row)

const upsertReviewStatement = statement<Row<'cgr_reviews'>>()((k, p) => {
  const row = {
    rating_e6: p.rating_e6,
    agent_no: p.agent_no,
    handle: p.handle,
    content: p.content,
    event_us: p.event_us,
    seq: p.seq,
    recorded_by: p.recorded_by,
  }
  return k
    .insertInto('cgr_reviews')
    .values({
      tenant_id: p.tenant_id,
      referent: p.referent,
      reviewer_no: p.reviewer_no,
      ...row,
    })
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'referent', 'reviewer_no']).doUpdateSet(row),
    )
})

export const upsertReview = (tx: Tx, row: Row<'cgr_reviews'>) =>
  tx.runOf(upsertReviewStatement, row)

const insertReviewerStatement = statement<Pick<ReviewerRow, 'reviewer_no' | 'name' | 'anchor'>>()(
  (k, p) =>
    k.insertInto('cgr_reviewers').values({
      tenant_id: p.tenant_id,
      reviewer_no: p.reviewer_no,
      name: p.name,
      anchor: p.anchor,
      observations: sql.lit(0),
      error_ones: sql.lit(0),
      error_parts: sql.lit(0),
    }),
)

export const insertReviewer = (tx: Tx, row: Pick<ReviewerRow, 'reviewer_no' | 'name' | 'anchor'>) =>
  tx.runOf(insertReviewerStatement, row)

const shownStatement = statementPerCount((count) =>
  statement<{ seqs: readonly number[] }>()((k, p) =>
    k
      .selectFrom('cgr_decisions')
      .select(['seq', 'decision_id', 'secret_no', 'sealed_name'])
      .where('tenant_id', '=', p.tenant_id)
      .where('seq', 'in', firstItems(p.seqs, count)),
  ),
)

/** The sealed names of agents, by the log positions of their newest decisions. */
export const listSealedNames = async (db: TenantDb, seqs: readonly number[]) =>
  (
    await runInBatches(seqs, AT_ONCE, (some) =>
      db.allOf(shownStatement(some.length), { seqs: some }),
    )
  ).flat()

/** The sealed columns of a decision. */
export type SealedDecisionRow = Pick<
  DecisionRow,
  'seq' | 'decision_id' | 'recorded_us' | 'secret_no' | 'sealed_name' | 'sealed'
>

const SEALED = ['seq', 'decision_id', 'recorded_us', 'secret_no', 'sealed_name', 'sealed'] as const

/** A batch of all decisions in log order. */
export const listDecisionsAfter = (
  db: TenantDb,
  seq: number,
  limit: number,
): Promise<SealedDecisionRow[]> =>
  db.all(
    from(db, 'cgr_decisions').select(SEALED).where('seq', '>', seq).orderBy('seq').limit(limit),
  )

export const findDecisionById = (
  db: TenantDb,
  decision_id: Uint8Array,
): Promise<SealedDecisionRow | undefined> =>
  db.first(from(db, 'cgr_decisions').select(SEALED).where('decision_id', '=', decision_id))

export const updateRedactedDecision = (
  tx: Tx,
  seq: number,
  left: Pick<DecisionRow, 'sealed_name' | 'sealed'>,
) =>
  tx.run(
    update(tx, 'cgr_decisions')
      .set({ ...left, secret_no: REDACTED_SECRET })
      .where('seq', '=', seq),
  )

const decisionStatement = statement<{ seq: number }>()((k, p) =>
  k
    .selectFrom('cgr_decisions as decision')
    .leftJoin('cgr_receipts as receipt', (join) =>
      join
        .onRef('receipt.tenant_id', '=', 'decision.tenant_id')
        .onRef('receipt.seq', '=', 'decision.seq'),
    )
    .select([
      'decision.decision_id',
      'decision.recorded_us',
      'decision.secret_no',
      'decision.sealed',
      'receipt.step_number',
      'receipt.previous',
      'receipt.receipt_id',
      'receipt.signature',
      'receipt.key_id',
    ])
    .where('decision.tenant_id', '=', p.tenant_id)
    .where('decision.seq', '=', p.seq),
)

/** A decision with its receipt, if it has one. */
export const findDecision = (db: TenantDb, seq: number) => db.firstOf(decisionStatement, { seq })
