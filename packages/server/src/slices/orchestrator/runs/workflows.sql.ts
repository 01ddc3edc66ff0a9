// SQL of workflows.

import { pageByTime } from '../../../platform/db/page-by-time.ts'
import type { Tables } from '../../../platform/db/schema/tables.ts'
import {
  deleteFrom,
  from,
  insertInto,
  type TenantDb,
  type Tx,
  update,
} from '../../../platform/db/tenant-db.ts'
import type { Page } from '../../../platform/page.ts'
export type WorkflowRow = Omit<Tables['workflows'], 'tenant_id'>

/** The workflow's agents without duplicates, the supervisor first. */
export function agentsOf({
  agent_ids,
  supervisor_agent_id,
}: Pick<WorkflowRow, 'agent_ids' | 'supervisor_agent_id'>): string[] {
  const ids = listedAgents({ agent_ids })
  return [...new Set(supervisor_agent_id === null ? ids : [supervisor_agent_id, ...ids])]
}

/** In the workflow's order. Written as JSON by `createWorkflow`. */
export const listedAgents = ({ agent_ids }: Pick<WorkflowRow, 'agent_ids'>): string[] =>
  JSON.parse(agent_ids)

export const insertWorkflow = (tx: Tx, row: WorkflowRow) => tx.run(insertInto(tx, 'workflows', row))

export const findWorkflow = (db: TenantDb, workflow_id: string): Promise<WorkflowRow | undefined> =>
  db.first(from(db, 'workflows').selectAll().where('workflow_id', '=', workflow_id))

/** Newest first. `status` selects workflows whose newest run has that state. */
export function listWorkflowPage(
  db: TenantDb,
  status: Tables['runs']['state'] | 'created' | null,
  page: Pick<Page, 'limit' | 'offset' | 'after'>,
): Promise<WorkflowRow[]> {
  const all = from(db, 'workflows').selectAll()
  const some =
    status === null
      ? all
      : status === 'created'
        ? all.where('run_id', 'is', null)
        : all.where('run_id', 'in', from(db, 'runs').select('run_id').where('state', '=', status))
  return db.all(pageByTime(some, { time: 'created_us', order: 'newest', id: 'workflow_id' }, page))
}

export const listWorkflowsAfter = (db: TenantDb, after: string, limit: number) =>
  db.all(
    from(db, 'workflows')
      .selectAll()
      .where('workflow_id', '>', after)
      .orderBy('workflow_id')
      .limit(limit),
  )

export const updateWorkflow = (tx: Tx, workflow_id: string, change: Partial<WorkflowRow>) =>
  tx.run(update(tx, 'workflows').set(change).where('workflow_id', '=', workflow_id))

export const deleteWorkflowRow = (tx: Tx, workflow_id: string) =>
  tx.run(deleteFrom(tx, 'workflows').where('workflow_id', '=', workflow_id))

/** Counts the runs of the workflow that have not ended. */
export async function countLiveRunsOfWorkflow(db: TenantDb, workflow_id: string): Promise<number> {
  const row = await db.first(
    from(db, 'runs')
      .select((e) => e.fn.countAll<number>().as('count'))
      .where('check_us', 'is not', null)
      .where('workflow_id', '=', workflow_id),
  )
  return Number(row?.count ?? 0)
}

/** During its deletion, a workflow's `run_id` is its own id. */
export const isBeingDeleted = (row: Pick<WorkflowRow, 'workflow_id' | 'run_id'>): boolean =>
  row.run_id === row.workflow_id

export async function countWorkflows(db: TenantDb): Promise<number> {
  const counted = from(db, 'workflows').select((e) => e.fn.countAll<number>().as('count'))
  return Number((await db.first(counted))?.count ?? 0)
}
