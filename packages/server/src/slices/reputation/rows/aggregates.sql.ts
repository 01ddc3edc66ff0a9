// SQL of the aggregates that scores are read from: agents, live reviews, reviewers.

import { sql } from 'kysely'
import {
  firstItems,
  runInBatches,
  statementPerCount,
} from '../../../platform/db/bulk-statements.ts'
import type { Row } from '../../../platform/db/schema/tables.ts'
import { statement } from '../../../platform/db/statement.ts'
import type { TenantDb, Tx } from '../../../platform/db/tenant-db.ts'

export type AgentRow = Row<'cgr_agents'>
export type ReviewerRow = Row<'cgr_reviewers'>
type LiveRow = Row<'cgr_live_reviews'>

const AT_ONCE = 32

export type AgentChange = Pick<
  AgentRow,
  'agent_no' | 'n_success' | 'n_failure' | 'n_pending' | 'n_unscored'
>

const addToAgentStatement = statement<AgentChange>()((k, p) =>
  k
    .updateTable('cgr_agents')
    .set((e) => ({
      n_success: e('n_success', '+', p.n_success),
      n_failure: e('n_failure', '+', p.n_failure),
      n_pending: e('n_pending', '+', p.n_pending),
      n_unscored: e('n_unscored', '+', p.n_unscored),
    }))
    .where('tenant_id', '=', p.tenant_id)
    .where('agent_no', '=', p.agent_no),
)

export const addToAgent = (tx: Tx, change: AgentChange) => tx.runOf(addToAgentStatement, change)

const addLiveStatement = statement<LiveRow>()((k, p) =>
  k
    .insertInto('cgr_live_reviews')
    .values({
      tenant_id: p.tenant_id,
      agent_no: p.agent_no,
      reviewer_no: p.reviewer_no,
      count: p.count,
      rating_sum_e6: p.rating_sum_e6,
    })
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'agent_no', 'reviewer_no']).doUpdateSet((e) => ({
        count: e('cgr_live_reviews.count', '+', e.ref('excluded.count')),
        rating_sum_e6: e('cgr_live_reviews.rating_sum_e6', '+', e.ref('excluded.rating_sum_e6')),
      })),
    ),
)

export const addToLiveReviews = (tx: Tx, row: LiveRow) => tx.runOf(addLiveStatement, row)

const deleteEmptyStatement = statement<Pick<LiveRow, 'agent_no' | 'reviewer_no'>>()((k, p) =>
  k
    .deleteFrom('cgr_live_reviews')
    .where('tenant_id', '=', p.tenant_id)
    .where('agent_no', '=', p.agent_no)
    .where('reviewer_no', '=', p.reviewer_no)
    .where('count', '=', sql.lit(0)),
)

export const deleteEmptyLiveReviews = (tx: Tx, key: Pick<LiveRow, 'agent_no' | 'reviewer_no'>) =>
  tx.runOf(deleteEmptyStatement, key)

const REVIEWER_COLUMNS = [
  'reviewer_no',
  'name',
  'anchor',
  'observations',
  'error_ones',
  'error_parts',
] as const

const reviewersStatement = statementPerCount((count) =>
  statement<{ numbers: readonly number[] }>()((k, p) =>
    k
      .selectFrom('cgr_reviewers')
      .select(REVIEWER_COLUMNS)
      .where('tenant_id', '=', p.tenant_id)
      .where('reviewer_no', 'in', firstItems(p.numbers, count)),
  ),
)

export async function listReviewers(
  db: TenantDb,
  numbers: readonly number[],
): Promise<ReviewerRow[]> {
  const found = await runInBatches(numbers, AT_ONCE, (some) =>
    db.allOf(reviewersStatement(some.length), { numbers: some }),
  )
  return found.flat()
}

const setRecordStatement = statement<Omit<ReviewerRow, 'name' | 'anchor'>>()((k, p) =>
  k
    .updateTable('cgr_reviewers')
    .set({
      observations: p.observations,
      error_ones: p.error_ones,
      error_parts: p.error_parts,
    })
    .where('tenant_id', '=', p.tenant_id)
    .where('reviewer_no', '=', p.reviewer_no),
)

export const setReviewerRecord = (tx: Tx, record: Omit<ReviewerRow, 'name' | 'anchor'>) =>
  tx.runOf(setRecordStatement, record)

const weighedStatement = statement<{ first: number; last: number }>()((k, p) =>
  k
    .selectFrom('cgr_live_reviews as live')
    .innerJoin('cgr_reviewers as reviewer', (join) =>
      join
        .onRef('reviewer.tenant_id', '=', 'live.tenant_id')
        .onRef('reviewer.reviewer_no', '=', 'live.reviewer_no'),
    )
    .select([
      'live.agent_no',
      'live.reviewer_no',
      'live.count',
      'live.rating_sum_e6',
      'reviewer.observations',
      'reviewer.error_ones',
      'reviewer.error_parts',
    ])
    .where('live.tenant_id', '=', p.tenant_id)
    .where('live.agent_no', '>=', p.first)
    .where('live.agent_no', '<=', p.last),
)

/**
 * Lists the rows of the agents with numbers in [first, last]: live review sums beside the records
 * of their reviewers.
 */
export const listWeighed = (db: TenantDb, first: number, last: number) =>
  db.allOf(weighedStatement, { first, last })
