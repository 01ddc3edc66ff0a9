// SQL of agents, runs, steps and calls, and of the statistics of runs.

import type { Database } from '../../../platform/db/database.ts'
import { listTenantsWith } from '../../../platform/db/engines/first-of-each.ts'
import { pageByTime } from '../../../platform/db/page-by-time.ts'
import type { Tables } from '../../../platform/db/schema/tables.ts'
import { statement } from '../../../platform/db/statement.ts'
import {
  deleteFrom,
  from,
  insertInto,
  type TenantDb,
  type Tx,
  update,
} from '../../../platform/db/tenant-db.ts'
import type { Page } from '../../../platform/page.ts'

export type AgentRow = Omit<Tables['agents'], 'tenant_id'>
export type RunRow = Omit<Tables['runs'], 'tenant_id'>
export type StepRow = Omit<Tables['run_steps'], 'tenant_id'>
export type CallRow = Omit<Tables['run_calls'], 'tenant_id'>

const AGENT = [
  'agent_id',
  'version',
  'name_key',
  'definition_label',
  'enabled',
  'max_steps',
  'max_tokens_per_step',
  'secret_no',
  'sealed',
  'created_us',
  'updated_us',
] as const

export const insertAgent = (tx: Tx, row: AgentRow) => tx.run(insertInto(tx, 'agents', row))

export const findAgent = (db: TenantDb, agent_id: string) =>
  db.first(from(db, 'agents').select(AGENT).where('agent_id', '=', agent_id))

export const findAgentByName = (db: TenantDb, name_key: string) =>
  db.first(from(db, 'agents').select('agent_id').where('name_key', '=', name_key))

/** Oldest first. */
export function listAgents(
  db: TenantDb,
  {
    enabled_only,
    ...page
  }: Pick<Page, 'limit' | 'offset' | 'after'> & { readonly enabled_only: boolean },
) {
  const all = from(db, 'agents').select(AGENT)
  const some = enabled_only ? all.where('enabled', '=', 1) : all
  return db.all(pageByTime(some, { time: 'created_us', order: 'oldest', id: 'agent_id' }, page))
}

export const listAgentsAfter = (db: TenantDb, after: string, limit: number) =>
  db.all(
    from(db, 'agents').select(AGENT).where('agent_id', '>', after).orderBy('agent_id').limit(limit),
  )

export const updateAgent = (tx: Tx, agent_id: string, change: Partial<AgentRow>) =>
  tx.run(update(tx, 'agents').set(change).where('agent_id', '=', agent_id))

export async function countAgents(db: TenantDb): Promise<number> {
  const row = await db.first(from(db, 'agents').select((e) => e.fn.countAll<number>().as('count')))
  return Number(row?.count ?? 0)
}

export const insertRun = (tx: Tx, row: RunRow) => tx.run(insertInto(tx, 'runs', row))

export const findRun = (db: TenantDb, run_id: string): Promise<RunRow | undefined> =>
  db.first(from(db, 'runs').selectAll().where('run_id', '=', run_id))

/** Newest first. */
export function listRuns(
  db: TenantDb,
  state: RunRow['state'] | null,
  page: Pick<Page, 'limit' | 'offset' | 'after'>,
) {
  const all = from(db, 'runs').selectAll()
  const some = state === null ? all : all.where('state', '=', state)
  return db.all(pageByTime(some, { time: 'created_us', order: 'newest', id: 'run_id' }, page))
}

export const updateRun = (tx: Tx, run_id: string, change: Partial<RunRow>) =>
  tx.run(update(tx, 'runs').set(change).where('run_id', '=', run_id))

/** Makes the run's next check due now. An ended run has no check. */
export const hastenCheck = (tx: Tx, run_id: string) =>
  tx.run(
    update(tx, 'runs')
      .set({ check_us: tx.now() })
      .where('run_id', '=', run_id)
      .where('check_us', 'is not', null),
  )

export const listRunsById = (db: TenantDb, run_ids: readonly string[]): Promise<RunRow[]> =>
  run_ids.length === 0
    ? Promise.resolve([])
    : db.all(from(db, 'runs').selectAll().where('run_id', 'in', run_ids))

/** Counts the runs that have not ended. */
export async function countLiveRuns(db: TenantDb): Promise<number> {
  const row = await db.first(
    from(db, 'runs')
      .select((e) => e.fn.countAll<number>().as('count'))
      .where('check_us', 'is not', null),
  )
  return Number(row?.count ?? 0)
}

/** Sums the tokens used or reserved by the managed runs that began since `since_us`. */
export async function sumManagedTokens(db: TenantDb, since_us: number): Promise<number> {
  const row = await db.first(
    from(db, 'runs')
      .select((e) => [
        e.fn.sum<number>('spent_tokens').as('spent'),
        e.fn.sum<number>('reserved_tokens').as('reserved'),
      ])
      .where('created_us', '>=', since_us)
      .where('executor', '=', 'managed'),
  )
  return Number(row?.spent ?? 0) + Number(row?.reserved ?? 0)
}

export const listRunsToCheck = (db: TenantDb, now_us: number, limit: number) =>
  db.all(
    from(db, 'runs')
      .select('run_id')
      .where('check_us', '<=', now_us)
      .orderBy('check_us')
      .limit(limit),
  )

const dueStatement = statement<{ now_us: number }>()((k, p) =>
  k
    .selectFrom('runs')
    .select('run_id')
    .where('tenant_id', '=', p.tenant_id)
    .where('check_us', '<=', p.now_us)
    .limit((e) => e.lit(1)),
)

/** Returns those of `tenants` that have a run due for a check. */
export const tenantsWithDueRuns = (
  db: Database,
  tenants: readonly string[],
  now_us: number,
): Promise<string[]> =>
  listTenantsWith(db, tenants, { statement: dueStatement, params: { now_us } })

export const insertStep = (tx: Tx, row: StepRow) => tx.run(insertInto(tx, 'run_steps', row))

export const findStep = (
  db: TenantDb,
  run_id: string,
  step_id: string,
): Promise<StepRow | undefined> =>
  db.first(
    from(db, 'run_steps').selectAll().where('step_id', '=', step_id).where('run_id', '=', run_id),
  )

export const findStepById = (db: TenantDb, step_id: string): Promise<StepRow | undefined> =>
  db.first(from(db, 'run_steps').selectAll().where('step_id', '=', step_id))

/** Finds the step that logged the decision. */
export const findStepOfDecision = (
  db: TenantDb,
  decision_id: string,
): Promise<StepRow | undefined> =>
  db.first(from(db, 'run_steps').selectAll().where('decision_id', '=', decision_id))

export const listSteps = (db: TenantDb, run_id: string): Promise<StepRow[]> =>
  db.all(from(db, 'run_steps').selectAll().where('run_id', '=', run_id).orderBy('step_no'))

export const updateStep = (tx: Tx, step_id: string, change: Partial<StepRow>) =>
  tx.run(update(tx, 'run_steps').set(change).where('step_id', '=', step_id))

export const insertCall = (tx: Tx, row: CallRow) => tx.run(insertInto(tx, 'run_calls', row))

export const findCall = (db: TenantDb, call_id: string): Promise<CallRow | undefined> =>
  db.first(from(db, 'run_calls').selectAll().where('call_id', '=', call_id))

/** Ordered by step, then by call. */
export const listCalls = (db: TenantDb, run_id: string): Promise<CallRow[]> =>
  db.all(
    from(db, 'run_calls')
      .selectAll()
      .where('run_id', '=', run_id)
      .orderBy('step_no')
      .orderBy('call_no'),
  )

export const updateCall = (tx: Tx, call_id: string, change: Partial<CallRow>) =>
  tx.run(update(tx, 'run_calls').set(change).where('call_id', '=', call_id))

/** Counts the live runs of the agent and of all workflows that name it. */
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
