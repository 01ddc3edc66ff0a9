// Rotates a tenant's key: the old one is refused and the new one valid from the same commit.

import type { tenants as contract } from '@custos/contract'
import type { Static } from 'typebox'
import { findCredentialById, findTenant } from '../../platform/db/control.sql.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Call, Handler, Principal } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { issueKey, requireLiveMaker, revokeClass, revokeKey } from './credentials.ts'
import { FIRST_KEY_NAME } from './provision.ts'
import { findExcess, rightsOf, TENANT_RIGHTS } from './rights.ts'
import { meter } from './usage.ts'

type Rotate = typeof contract.rotate_key
type RotatedKey = Static<Rotate['reply']>

export const rotateKey: Handler<Rotate> = async (call) => {
  // Before the unit: what an operator wrote in the path and is no tenant gets nowhere near a row,
  // and has no keys that an Idempotency-Key could be kept under.
  const tenant = await call.read((db) => findTenant(db, db.tenant_id))
  if (!tenant) return call.refuse('tenant_not_found')
  if (tenant.requested_us !== null) return call.refuse('tenant_destroyed')
  return call.once<RotatedKey>({
    async run(tx) {
      const reply = await rotate(call, tx)
      return { reply, ids: { key_id: reply.key_id, revoked: reply.revoked } }
    },
    // Only its hash is stored: only the first answer contained the key itself.
    replay: async ({ tenant_id }, { key_id, revoked }) => ({
      ...{ tenant_id, key_id: String(key_id), api_key: null, new_api_key: null },
      revoked: Number(revoked),
    }),
  })
}

async function rotate(call: Call<Rotate>, tx: Tx): Promise<RotatedKey> {
  const { kernel, principal } = call
  if (!(await findTenant(tx, tx.tenant_id))) return call.refuse('tenant_not_found')
  await requireLiveMaker(tx, principal)

  // A key that may not have all rights of a tenant's key replaces none of those, only itself.
  const rights = rightsOf(principal)
  const { revoked, fresh } =
    findExcess(TENANT_RIGHTS, rights) === null
      ? await replaceTenantKeys(kernel, tx)
      : await replaceOwn(kernel, tx, principal)
  const { key_id, api_key } = await issueKey(kernel, tx, fresh, { rights })

  meter(tx, call.operation.id)
  await appendCrumb(tx, {
    event_type: 'tenant.key_rotated',
    subject: key_id,
    payload: { key_id, revoked },
  })
  return { tenant_id: tx.tenant_id, key_id, api_key, new_api_key: api_key, revoked }
}

async function replaceTenantKeys(kernel: Kernel, tx: Tx) {
  const revoked = await revokeClass(kernel, tx, {
    owner: tx.tenant_id,
    credential_class: 'tenant',
  })
  const fresh = { ...TENANT_RIGHTS, tenant_id: tx.tenant_id, name: FIRST_KEY_NAME }
  return { revoked, fresh }
}

async function replaceOwn(kernel: Kernel, tx: Tx, principal: Principal) {
  const own = await findCredentialById(tx, tx.tenant_id, principal.key_id)
  const { tenant_id } = tx
  await revokeKey(kernel, tx, { owner: tenant_id, key_id: principal.key_id })
  const fresh = { ...rightsOf(principal), tenant_id, name: own?.name ?? FIRST_KEY_NAME }
  return { revoked: 1, fresh }
}
