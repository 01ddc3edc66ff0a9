// SQL of providers of models.

import type { Tables } from '../../platform/db/schema/tables.ts'
import {
  deleteFrom,
  from,
  insertInto,
  type TenantDb,
  type Tx,
  update,
} from '../../platform/db/tenant-db.ts'

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
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<ProviderRow[]> =>
  db.all(
    from(db, 'llm_providers')
      .selectAll()
      .orderBy('created_us')
      .orderBy('provider_id')
      .limit(limit)
      .offset(offset),
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
