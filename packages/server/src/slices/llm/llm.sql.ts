// SQL of model providers and tools.

import { pageByTime } from '../../platform/db/page-by-time.ts'
import type { Tables } from '../../platform/db/schema/tables.ts'
import {
  deleteFrom,
  from,
  insertInto,
  type TenantDb,
  type Tx,
  update,
} from '../../platform/db/tenant-db.ts'
import type { Page } from '../../platform/page.ts'

export type ProviderRow = Omit<Tables['llm_providers'], 'tenant_id'>

export const insertProvider = (tx: Tx, row: ProviderRow) =>
  tx.run(insertInto(tx, 'llm_providers', row))

export const findProvider = (db: TenantDb, provider_id: string): Promise<ProviderRow | undefined> =>
  db.first(from(db, 'llm_providers').selectAll().where('provider_id', '=', provider_id))

export const findProviderOf = (db: TenantDb, model_key: string): Promise<ProviderRow | undefined> =>
  db.first(from(db, 'llm_providers').selectAll().where('model_key', '=', model_key))

/** Oldest first. */
export const listProviders = (
  db: TenantDb,
  page: Pick<Page, 'limit' | 'offset' | 'after'>,
): Promise<ProviderRow[]> =>
  db.all(
    pageByTime(
      from(db, 'llm_providers').selectAll(),
      { time: 'created_us', order: 'oldest', id: 'provider_id' },
      page,
    ),
  )

export const listProvidersAfter = (
  db: TenantDb,
  after: string,
  limit: number,
): Promise<ProviderRow[]> =>
  db.all(
    from(db, 'llm_providers')
      .selectAll()
      .where('provider_id', '>', after)
      .orderBy('provider_id')
      .limit(limit),
  )

export async function countProviders(db: TenantDb): Promise<number> {
  const counted = from(db, 'llm_providers').select((e) => e.fn.countAll<number>().as('count'))
  return Number((await db.first(counted))?.count ?? 0)
}

export const updateProvider = (tx: Tx, provider_id: string, change: Partial<ProviderRow>) =>
  tx.run(update(tx, 'llm_providers').set(change).where('provider_id', '=', provider_id))

export const deleteProviderRow = (tx: Tx, provider_id: string) =>
  tx.run(deleteFrom(tx, 'llm_providers').where('provider_id', '=', provider_id))

export type ToolRow = Omit<Tables['llm_tools'], 'tenant_id'>

export const insertTool = (tx: Tx, row: ToolRow) => tx.run(insertInto(tx, 'llm_tools', row))

export const findTool = (db: TenantDb, tool_id: string): Promise<ToolRow | undefined> =>
  db.first(from(db, 'llm_tools').selectAll().where('tool_id', '=', tool_id))

export const findToolByName = (db: TenantDb, name_key: string): Promise<ToolRow | undefined> =>
  db.first(from(db, 'llm_tools').selectAll().where('name_key', '=', name_key))

/** Oldest first. */
export const listToolPage = (
  db: TenantDb,
  page: Pick<Page, 'limit' | 'offset' | 'after'>,
): Promise<ToolRow[]> =>
  db.all(
    pageByTime(
      from(db, 'llm_tools').selectAll(),
      { time: 'created_us', order: 'oldest', id: 'tool_id' },
      page,
    ),
  )

export const listToolsAfter = (db: TenantDb, after: string, limit: number): Promise<ToolRow[]> =>
  db.all(
    from(db, 'llm_tools').selectAll().where('tool_id', '>', after).orderBy('tool_id').limit(limit),
  )

export async function countTools(db: TenantDb): Promise<number> {
  const counted = from(db, 'llm_tools').select((e) => e.fn.countAll<number>().as('count'))
  return Number((await db.first(counted))?.count ?? 0)
}

export const updateTool = (tx: Tx, tool_id: string, change: Partial<ToolRow>) =>
  tx.run(update(tx, 'llm_tools').set(change).where('tool_id', '=', tool_id))

export const deleteToolRow = (tx: Tx, tool_id: string) =>
  tx.run(deleteFrom(tx, 'llm_tools').where('tool_id', '=', tool_id))
