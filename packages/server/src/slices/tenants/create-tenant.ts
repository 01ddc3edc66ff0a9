// POST /v1/cloud/tenants: a tenant, its first key and the first entry of its log.

import type { tenants as contract } from '@custos/contract'
import type { Static } from 'typebox'
import { findTenant } from '../../platform/db/control.sql.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Call, Handler } from '../../platform/kernel/call.ts'
import { idsOfKey, isRecent } from '../../platform/kernel/idempotency.ts'
import { loadTenant, provisionTenant, showTenant } from './provision.ts'

type Create = typeof contract.create

export const createTenant: Handler<Create> = async (call, { body }) => {
  const { kernel } = call
  const tenant_id = await newTenantId(call)
  // Before the row: a tenant without keys could not seal; keys without a tenant are only unused.
  await kernel.keyring.createTenant(tenant_id)

  const once = {
    async run(tx: Tx) {
      const wanted = { name: body.name, plan: body.plan ?? 'starter' }
      const { tenant, api_key } = await provisionTenant(kernel, tx, wanted)
      return { reply: { ...showTenant(tenant), api_key }, ids: {} }
    },
    // Only its hash is kept, and a second key would be one that nobody asked for.
    replay: async (tx: Tx) => ({ ...showTenant(await loadTenant(tx)), api_key: null }),
  }
  return call.once<Static<Create['reply']>>(once, tenant_id)
}

/** The record of a key is one of its tenant: a retry finds the tenant by the key itself. */
async function newTenantId({ kernel, operation, idempotency_key }: Call<Create>): Promise<string> {
  if (idempotency_key === null) return kernel.ids.hex(16)
  const ids = await idsOfKey(kernel, operation.id, idempotency_key)
  for (const tenant_id of ids) {
    const made = await kernel.db.read(tenant_id, (db) => findTenant(db, tenant_id))
    if (made && isRecent(kernel, made.created_us)) return tenant_id
  }
  return ids[0] ?? kernel.ids.hex(16)
}
