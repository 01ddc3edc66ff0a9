// Rotates a tenant's key: the old one is refused and the new one valid from the same commit.

import type { tenants as contract } from '@custos/contract'
import type { Static } from 'typebox'
import { findCredentialById, findTenant } from '../../platform/db/control.sql.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Call, Handler, Principal } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { KEY_ID_BYTES } from './credential-limit.ts'
import {
  hasNoKey,
  issueKey,
  requireLiveMaker,
  revokeClass,
  revokeKey,
  type SealedName,
} from './credentials.ts'
import { openNames, sealName } from './key-texts.ts'
import { FIRST_KEY_NAME } from './provision.ts'
import { findExcess, rightsOf, TENANT_RIGHTS } from './rights.ts'
import { meter } from './usage/usage.ts'

type Rotate = typeof contract.rotate_key
type RotatedKey = Static<Rotate['reply']>

export const rotateKey: Handler<Rotate> = async (call) => {
  // Before the unit: what an operator wrote in the path and is no tenant gets nowhere near a row,
  // and has no keys that an Idempotency-Key could be kept under.
  const tenant = await call.read((db) => findTenant(db, db.tenant_id))
  if (!tenant) return call.refuse('tenant_not_found')
  if (tenant.requested_us !== null) return call.refuse('tenant_destroyed')
  const own = await sealOwnName(call)
  return call.once<RotatedKey>({
    async run(tx) {
      const reply = await rotate(call, tx, own)
      return { reply, ids: { key_id: reply.key_id, revoked: reply.revoked } }
    },
    // Only its hash is stored: only the first answer contained the key itself.
    replay: async ({ tenant_id }, { key_id, revoked }) => ({
      ...{ tenant_id, key_id: String(key_id), api_key: null, new_api_key: null },
      revoked: Number(revoked),
    }),
  })
}

const replacesAll = (principal: Principal): boolean =>
  findExcess(TENANT_RIGHTS, rightsOf(principal)) === null

/** Sealed for the key that replaces the caller's; undefined: it has none that is sealed. */
async function sealOwnName(call: Call<Rotate>): Promise<SealedName | undefined> {
  const { kernel, tenant_id, principal } = call
  if (replacesAll(principal)) return undefined
  const own = await call.read((db) => findCredentialById(db, tenant_id, principal.key_id))
  if (!own?.sealed_name) return undefined
  const [name = ''] = await openNames(kernel, tenant_id, [own])
  return sealName(kernel, tenant_id, { key_id: kernel.ids.hex(KEY_ID_BYTES), name })
}

async function rotate(
  call: Call<Rotate>,
  tx: Tx,
  own: SealedName | undefined,
): Promise<RotatedKey> {
  const { kernel, principal } = call
  if (!(await findTenant(tx, tx.tenant_id))) return call.refuse('tenant_not_found')
  await requireLiveMaker(tx, principal)

  // A key that may not have all rights of a tenant's key replaces none of those, only itself.
  const rights = rightsOf(principal)
  const { revoked, fresh } = replacesAll(principal)
    ? await replaceTenantKeys(kernel, tx)
    : await replaceOwn(call, tx, own)
  const { key_id, api_key } = await issueKey(kernel, tx, fresh, {
    rights,
    user_id: replacesAll(principal) ? undefined : principal.user_id,
  })

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

async function replaceOwn(
  { kernel, principal }: Call<Rotate>,
  tx: Tx,
  sealed_name: SealedName | undefined,
) {
  const { tenant_id } = tx
  if (hasNoKey(principal))
    throw new Refusal('scope_missing', 'A person without a key has none that could be replaced')
  const own = await findCredentialById(tx, tenant_id, principal.key_id)
  await revokeKey(kernel, tx, { owner: tenant_id, key_id: principal.key_id })
  const name = sealed_name ? '' : (own?.name ?? FIRST_KEY_NAME)
  const fresh = { ...rightsOf(principal), tenant_id, name, sealed_name }
  return { revoked: 1, fresh }
}
