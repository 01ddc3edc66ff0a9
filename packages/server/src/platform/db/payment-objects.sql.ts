// SQL of objects of the payment provider: control tables that only these functions use.

import { builder } from './builder.ts'
import type { Tables } from './schema/tables.ts'
import type { TenantDb, Tx } from './tenant-db.ts'

/** The tenant that owns one of the provider's objects. */
export async function findOwner(db: TenantDb, object_ids: readonly string[]) {
  if (object_ids.length === 0) return null
  const query = builder
    .selectFrom('billing_objects')
    .select('tenant_id')
    .where('object_id', 'in', object_ids)
    .limit(1)
  return (await db.first(query))?.tenant_id ?? null
}

/** Binds a provider object to the tenant; returns false if it belongs to another tenant. */
export async function bindObject(tx: Tx, object_id: string): Promise<boolean> {
  const { tenant_id } = tx
  const row = { object_id, tenant_id }
  const query = builder.insertInto('billing_objects').values(row)
  const added = await tx.run(query.onConflict((conflict) => conflict.doNothing()))
  return added > 0 || (await findOwner(tx, [object_id])) === tenant_id
}

/** The provider's ids of subscriptions or checkouts of tenants that were off-boarded. */
export const listLeftObjects = (db: TenantDb, kind: 'sub' | 'cs') =>
  db.all(
    builder
      .selectFrom('billing_objects')
      .innerJoin('destructions', 'destructions.tenant_id', 'billing_objects.tenant_id')
      .select(['billing_objects.object_id', 'billing_objects.tenant_id'])
      .where('billing_objects.object_id', '>=', `${kind}_`)
      // The backtick is the character after the underscore.
      .where('billing_objects.object_id', '<', `${kind}\``),
  )

export const deleteObject = (tx: Tx, object_id: string) =>
  tx.run(builder.deleteFrom('billing_objects').where('object_id', '=', object_id))

/** Returns 0 if the event was processed before. */
export const insertEvent = (tx: Tx, row: Tables['billing_events']): Promise<number> =>
  tx.run(
    builder
      .insertInto('billing_events')
      .values(row)
      .onConflict((conflict) => conflict.doNothing()),
  )

/** Events are kept for this long because the provider retries one for three days. */
export const deleteEventsBefore = (tx: Tx, created_us: number) =>
  tx.run(builder.deleteFrom('billing_events').where('created_us', '<', created_us))
