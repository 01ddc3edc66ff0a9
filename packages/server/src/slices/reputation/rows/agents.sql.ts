// SQL of agents, their names, and the settings of the tenant.

import type { Row } from '../../../platform/db/schema/tables.ts'
import { statement } from '../../../platform/db/statement.ts'
import { from, insertInto, type TenantDb, type Tx, update } from '../../../platform/db/tenant-db.ts'
import type { AgentRow } from './aggregates.sql.ts'

const AGENT_COLUMNS = [
  'agent_no',
  'dimension',
  'identity',
  'kind',
  'anchor',
  'newest_seq',
  'n_success',
  'n_failure',
  'n_pending',
  'n_unscored',
] as const

const byIdentityStatement = statement<{ identity: Uint8Array }>()((k, p) =>
  k
    .selectFrom('cgr_agents')
    .select(AGENT_COLUMNS)
    .where('tenant_id', '=', p.tenant_id)
    .where('identity', '=', p.identity),
)

export const findAgent = (db: TenantDb, identity: Uint8Array): Promise<AgentRow | undefined> =>
  db.firstOf(byIdentityStatement, { identity })

export const insertAgent = (tx: Tx, row: AgentRow) => tx.run(insertInto(tx, 'cgr_agents', row))

const setNewestStatement = statement<{ agent_no: number; newest_seq: number }>()((k, p) =>
  k
    .updateTable('cgr_agents')
    .set({ newest_seq: p.newest_seq })
    .where('tenant_id', '=', p.tenant_id)
    .where('agent_no', '=', p.agent_no),
)

export const setNewest = (tx: Tx, agent_no: number, newest_seq: number) =>
  tx.runOf(setNewestStatement, { agent_no, newest_seq })

const insertNameStatement = statement<{ name: Uint8Array; agent_no: number }>()((k, p) =>
  k
    .insertInto('cgr_names')
    .values({ tenant_id: p.tenant_id, name: p.name, agent_no: p.agent_no })
    .onConflict((conflict) => conflict.doNothing()),
)

/** Adds a name to the agent, unless it already has it. */
export const insertName = (tx: Tx, name: Uint8Array, agent_no: number) =>
  tx.runOf(insertNameStatement, { name, agent_no })

const byNameStatement = statement<{ name: Uint8Array }>()((k, p) =>
  k
    .selectFrom('cgr_names')
    .innerJoin('cgr_agents', (join) =>
      join
        .onRef('cgr_agents.tenant_id', '=', 'cgr_names.tenant_id')
        .onRef('cgr_agents.agent_no', '=', 'cgr_names.agent_no'),
    )
    .select([
      'cgr_agents.agent_no',
      'cgr_agents.dimension',
      'cgr_agents.identity',
      'cgr_agents.kind',
      'cgr_agents.anchor',
      'cgr_agents.newest_seq',
      'cgr_agents.n_success',
      'cgr_agents.n_failure',
      'cgr_agents.n_pending',
      'cgr_agents.n_unscored',
    ])
    .where('cgr_names.tenant_id', '=', p.tenant_id)
    .where('cgr_names.name', '=', p.name)
    .orderBy('cgr_names.agent_no'),
)

/** All agents with the name, in the order in which they first used it. */
export const listNamed = (db: TenantDb, name: Uint8Array): Promise<AgentRow[]> =>
  db.allOf(byNameStatement, { name })

const ofDimensionStatement = statement<{ dimension: Uint8Array; after: number; limit: number }>()(
  (k, p) =>
    k
      .selectFrom('cgr_agents')
      .select(AGENT_COLUMNS)
      .where('tenant_id', '=', p.tenant_id)
      .where('dimension', '=', p.dimension)
      .where('agent_no', '>', p.after)
      .orderBy('agent_no')
      .limit(p.limit),
)

/** Ordered by agent number. */
export const listAgents = (
  db: TenantDb,
  dimension: Uint8Array,
  page: { after: number; limit: number },
): Promise<AgentRow[]> => db.allOf(ofDimensionStatement, { dimension, ...page })

/** Whether the key, as the first of its chain, has decisions that it signed. */
export async function hasRecord(db: TenantDb, anchor: Uint8Array): Promise<boolean> {
  const row = await db.first(
    from(db, 'cgr_agents')
      .select('agent_no')
      .where('anchor', '=', anchor)
      .where('kind', '=', 'proven')
      .limit(1),
  )
  return row !== undefined
}

const settingsStatement = statement<object>()((k, p) =>
  k
    .selectFrom('cgr_settings')
    .select(['compare_credentials', 'judgments_final'])
    .where('tenant_id', '=', p.tenant_id),
)

export async function findSettings(
  db: TenantDb,
): Promise<{ readonly compare_credentials: boolean; readonly judgments_final: boolean }> {
  const row = await db.firstOf(settingsStatement, {})
  return {
    compare_credentials: row?.compare_credentials === 1,
    judgments_final: row?.judgments_final === 1,
  }
}

export async function saveSettings(tx: Tx, row: Row<'cgr_settings'>): Promise<void> {
  if ((await tx.run(update(tx, 'cgr_settings').set(row))) === 0)
    await tx.run(insertInto(tx, 'cgr_settings', row))
}

/** A batch of all agents, for recomputing. */
export const listAllAgents = (db: TenantDb, after: number, limit: number) =>
  db.all(
    from(db, 'cgr_agents')
      .select(AGENT_COLUMNS)
      .where('agent_no', '>', after)
      .orderBy('agent_no')
      .limit(limit),
  )
