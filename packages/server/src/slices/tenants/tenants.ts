// The tenant operations (interface 4.2).

import type { tenants as contract } from '@custos/contract'
import type { Static } from 'typebox'
import { findTenant, listTenants } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Call, Handler, HandlersOf } from '../../platform/kernel/call.ts'
import { idsOfKey, isRecent } from '../../platform/kernel/idempotency.ts'
import { loadTenant, provisionTenant, showTenant } from './provision.ts'
import { rotateKey } from './rotate-key.ts'
import { updateTenant } from './update-tenant.ts'
import { showCurrentUsage, showUsage } from './usage-reports.ts'

type Create = typeof contract.create

const createTenant: Handler<Create> = async (call, { body }) => {
  const { kernel } = call
  const tenant_id = await newTenantId(call)
  // Before the row: a tenant without keys could not seal; keys without a tenant are only unused.
  await kernel.keyring.createTenant(tenant_id)

  const once = {
    async run(tx: Tx) {
      const wanted = { name: body.name, plan: body.plan ?? 'starter' }
      const { tenant, api_key } = await provisionTenant(kernel, tx, wanted)
      return { reply: { ...showTenant(kernel, tenant), api_key }, ids: {} }
    },
    // Only its hash is kept, and a second key would be one that nobody asked for.
    replay: async (tx: Tx) => ({ ...showTenant(kernel, await loadTenant(tx)), api_key: null }),
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

export const tenantsHandlers: HandlersOf<typeof contract> = {
  create: createTenant,

  async list(call) {
    return (await call.kernel.db.read(PLATFORM, listTenants)).map((row) =>
      showTenant(call.kernel, row),
    )
  },

  get: (call) => call.read(async (db) => showTenant(call.kernel, await loadTenant(db))),

  rotate_key: rotateKey,

  update: updateTenant,
  usage: showUsage,
  current_usage: showCurrentUsage,
}
