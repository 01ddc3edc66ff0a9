// SQL of changed agents, and of the numbers of all runs.

import { deleteFrom, from, type TenantDb, type Tx } from '../../../platform/db/tenant-db.ts'

/** How many runs that have not ended are of the agent, or of a workflow that names it. */
export async function countLiveRunsOf(db: TenantDb, agent_id: string): Promise<number> {
  const naming = from(db, 'workflows')
    .select('workflow_id')
    .where((e) =>
      e.or([e('supervisor_agent_id', '=', agent_id), e('agent_ids', 'like', `%"${agent_id}"%`)]),
    )
  const row = await db.first(
    from(db, 'runs')
      .select((e) => e.fn.countAll<number>().as('count'))
      .where('check_us', 'is not', null)
      .where((e) => e.or([e('agent_id', '=', agent_id), e('workflow_id', 'in', naming)])),
  )
  return Number(row?.count ?? 0)
}

export const deleteAgentRow = (tx: Tx, agent_id: string) =>
  tx.run(deleteFrom(tx, 'agents').where('agent_id', '=', agent_id))

export const countAgentsByEnabled = (db: TenantDb) =>
  from(db, 'agents')
    .select('enabled')
    .select((e) => e.fn.countAll<number>().as('count'))
    .groupBy('enabled')

export const sumRunsByState = (db: TenantDb) =>
  from(db, 'runs')
    .select('state')
    .select((e) => [
      e.fn.countAll<number>().as('count'),
      e.fn.count<number>('check_us').as('live'),
      e.fn.sum<number>('receipts').as('receipts'),
      e.fn.sum<number>('spent_tokens').as('tokens'),
      e.fn.sum<number>('spent_cost_micro').as('cost_micro'),
    ])
    .groupBy('state')

const countByState = (db: TenantDb, table: 'run_steps' | 'run_calls') =>
  from(db, table)
    .select('state')
    .select((e) => [
      e.fn.countAll<number>().as('count'),
      e.fn.count<number>('action_id').as('escalated'),
    ])
    .groupBy('state')

export const countStepsByState = (db: TenantDb) => countByState(db, 'run_steps')
export const countCallsByState = (db: TenantDb) => countByState(db, 'run_calls')
