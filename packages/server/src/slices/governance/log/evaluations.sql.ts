// SQL of evaluations: one row each, and counts by policy.

import type { Tables } from '../../../platform/db/schema/tables.ts'
import { statement } from '../../../platform/db/statement.ts'
import { from, type TenantDb, type Tx } from '../../../platform/db/tenant-db.ts'

export type EvaluationRow = Omit<Tables['evaluations'], 'tenant_id'>
export type CountRow = Omit<Tables['policy_counts'], 'tenant_id'>

const insertStatement = statement<EvaluationRow>()((k, p) =>
  k
    .insertInto('evaluations')
    .values({
      tenant_id: p.tenant_id,
      created_us: p.created_us,
      evaluation_id: p.evaluation_id,
      policy_set: p.policy_set,
      operation: p.operation,
      verdicts: p.verdicts,
      details: p.details,
      request: p.request,
      members: p.members,
      denied: p.denied,
      escalated: p.escalated,
      logged: p.logged,
    })
    // The insert runs again if the acknowledgement of its commit was lost.
    .onConflict((conflict) => conflict.doNothing()),
)

/** Returns 0 if the row already exists. */
export const insertEvaluation = (tx: Tx, row: EvaluationRow) => tx.runOf(insertStatement, row)

const COLUMNS = [
  'created_us',
  'evaluation_id',
  'policy_set',
  'operation',
  'verdicts',
  'details',
  'request',
  'members',
  'denied',
  'escalated',
  'logged',
] as const

export const findEvaluation = (
  db: TenantDb,
  { created_us, evaluation_id }: { created_us: number; evaluation_id: string },
): Promise<EvaluationRow | undefined> =>
  db.first(
    from(db, 'evaluations')
      .select(COLUMNS)
      .where('created_us', '=', created_us)
      .where('evaluation_id', '=', evaluation_id),
  )

export interface EvaluationPage {
  /** Only rows before this time or, at this time, with smaller ids. */
  readonly before: { readonly created_us: number; readonly evaluation_id: string } | null
  /** Only rows that contain this result. */
  readonly result: 'denied' | 'escalated' | 'logged' | null
  readonly policy_sets: { readonly first: number; readonly last: number } | null
  readonly limit: number
}

/** Newest first. */
export function listEvaluations(db: TenantDb, page: EvaluationPage): Promise<EvaluationRow[]> {
  const { before, result, policy_sets, limit } = page
  let query = from(db, 'evaluations').select(COLUMNS)
  if (result !== null) query = query.where(result, '>', 0)
  if (policy_sets !== null)
    query = query
      .where('policy_set', '>=', policy_sets.first)
      .where('policy_set', '<=', policy_sets.last)
  if (before !== null)
    query = query
      .where('created_us', '<=', before.created_us)
      .where((e) =>
        e.or([
          e('created_us', '<', before.created_us),
          e('evaluation_id', '<', before.evaluation_id),
        ]),
      )
  return db.all(query.orderBy('created_us', 'desc').orderBy('evaluation_id', 'desc').limit(limit))
}

const countStatement = statement<CountRow>()((k, p) =>
  k
    .insertInto('policy_counts')
    .values({
      tenant_id: p.tenant_id,
      policy_id: p.policy_id,
      result: p.result,
      count: p.count,
    })
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'policy_id', 'result']).doUpdateSet((e) => ({
        count: e('policy_counts.count', '+', p.count),
      })),
    ),
)

/** Adds to a count; a missing one starts at zero. */
export const addCount = (tx: Tx, row: CountRow) => tx.runOf(countStatement, row)

export const listCounts = (db: TenantDb): Promise<CountRow[]> =>
  db.all(
    from(db, 'policy_counts')
      .select(['policy_id', 'result', 'count'])
      .orderBy('policy_id')
      .orderBy('result'),
  )
