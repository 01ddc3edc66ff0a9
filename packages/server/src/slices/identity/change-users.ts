// Invites, lists, changes and removes people. Nobody may grant a role with more rights than their
// own.

import { type identity as contract, limits } from '@custos/contract'
import { findTenant } from '../../platform/db/control.sql.ts'
import { deleteSession, listKeysOf, listSessionsOf } from '../../platform/db/sessions.sql.ts'
import { deleteUnderWay } from '../../platform/db/sso.sql.ts'
import type { TenantDb, Tx } from '../../platform/db/tenant-db.ts'
import { actorOf, type Call, type Handler } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { REDACTED_SECRET } from '../../platform/kernel/sealed-column.ts'
import { pageOf } from '../../platform/page.ts'
import { Refusal } from '../../platform/refusal.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import {
  findExcessRight,
  forgetCredentials,
  meter,
  type Rights,
  requireNoExcess,
  requireStores,
  revokeKey,
  rightsOf,
} from '../tenants/index.ts'
import {
  emailLabel,
  hashInvitation,
  personColumn,
  rightsOfRoles,
  rolesOf,
  showUser,
  sortRoles,
  storesOf,
} from './people.ts'
import { deleteIdentities } from './sso.sql.ts'
import {
  countUsers,
  deleteUser,
  findUser,
  findUserByEmail,
  insertUser,
  listActiveRoles,
  listUsers,
  type UserRow,
  updateUser,
} from './users.sql.ts'

export const USER_ID_BYTES = 12
const INVITATION_CHARS = 43
const INVITED_US = 7 * 86_400_000_000

export const inviteUser: Handler<typeof contract.invite> = async (call, { body }) => {
  const { kernel, principal, tenant_id } = call
  const tenant = await call.read((db) => findTenant(db, tenant_id))
  if (!tenant) return call.refuse('tenant_not_found')
  if (tenant.requested_us !== null) return call.refuse('tenant_destroyed')
  const roles = sortRoles(body.roles)
  const stores = [...new Set(body.stores ?? principal.allowed_stores)]
  requireNoExcess(rightsOfRoles(roles, stores), rightsOf(principal))
  const user_id = kernel.ids.hex(USER_ID_BYTES)
  const email_label = await emailLabel(kernel, tenant_id, body.email)
  // Contains the tenant, because an invitation is looked up before the tenant is known.
  const invitation = `${tenant_id}.${kernel.ids.base62(INVITATION_CHARS)}`
  const texts = { email: body.email, name: body.name ?? '' }
  const sealed = await personColumn.sealNew(kernel, tenant_id, { user_id }, texts)
  let made = false
  try {
    const row = await call.transact(async (tx) => {
      await requireStores(tx, stores)
      if (await findUserByEmail(tx, email_label)) return call.refuse('name_taken')
      if ((await countUsers(tx)) >= limits.users_per_tenant)
        return call.refuse('too_many', `a tenant has at most ${limits.users_per_tenant} people`)
      const created_us = tx.now()
      const fresh: UserRow = {
        user_id,
        state: 'invited',
        roles: JSON.stringify(roles),
        allowed_stores: JSON.stringify(stores),
        email_label,
        invitation_hash: hashInvitation(invitation),
        invited_until_us: created_us + INVITED_US,
        created_us,
        break_glass: principal.kind === 'operator' ? 1 : null,
        ...sealed,
      }
      await insertUser(tx, fresh)
      meter(tx, call.operation.id)
      await appendCrumb(tx, {
        event_type: 'user.created',
        subject: user_id,
        payload: { roles, created_by: actorOf(principal) },
      })
      return fresh
    })
    made = true
    return { user: showUser(row, texts), invitation }
  } finally {
    if (!made) await kernel.keyring.destroySecrets(tenant_id, 'decision', [sealed.secret_no])
  }
}

export const listPeople: Handler<typeof contract.users> = (call, { query }) =>
  call.read(async (db) => {
    refuseLimited(call)
    const page = pageOf(query, limits.page.default, call.operation.id)
    const rows = await listUsers(db, page)
    const last = rows.at(-1)
    const texts = await personColumn.openAll(call.kernel, call.tenant_id, rows)
    return page.envelope(
      'users',
      rows.map((row, i) => showUser(row, texts[i] ?? null)),
      last ? { at: last.created_us, id: last.user_id } : null,
    )
  })

/** Refuses callers limited to some stores, as people belong to the whole tenant. */
export function refuseLimited({ principal }: Pick<Call, 'principal'>): void {
  if (principal.allowed_stores.length > 0)
    throw new Refusal('scope_missing', 'people are of all stores; the caller is limited to some')
}

async function loadUser(
  call: Call<(typeof contract)['update_user' | 'remove_user']>,
  db: TenantDb,
  user_id: string,
): Promise<UserRow> {
  refuseLimited(call)
  const row = (await findUser(db, user_id)) ?? call.refuse('user_not_found')
  // A caller with fewer rights than a person may not change that person.
  requireNoExcess(rightsOfRoles(rolesOf(row), storesOf(row)), rightsOf(call.principal))
  return row
}

/** Refuses to leave the tenant without an active owner. */
async function requireOwner(
  call: Call<(typeof contract)['update_user' | 'remove_user']>,
  db: TenantDb,
  { user_id, state, roles }: UserRow,
): Promise<void> {
  const isOwner = (row: { roles: string }) => rolesOf(row).includes('owner')
  if (state !== 'active' || !isOwner({ roles })) return
  const others = (await listActiveRoles(db)).filter((row) => row.user_id !== user_id)
  if (!others.some(isOwner)) call.refuse('last_owner')
}

export const updatePerson: Handler<typeof contract.update_user> = async (
  call,
  { params, body },
) => {
  const { kernel, tenant_id, principal } = call
  return call.transact(async (tx) => {
    const row = await loadUser(call, tx, params.user_id)
    const [texts = null] = await personColumn.openAll(kernel, tenant_id, [row])
    const roles = body.roles ? sortRoles(body.roles) : rolesOf(row)
    const change: Partial<UserRow> = {}
    let shown = texts
    if (body.name !== undefined) {
      if (row.secret_no === REDACTED_SECRET || !texts)
        return call.refuse('wrong_state', 'name and address of the person were erased')
      shown = { ...texts, name: body.name }
      change.sealed = await personColumn.sealAgain(kernel, tenant_id, row, shown)
    }
    if (JSON.stringify(roles) !== row.roles) {
      const rights = rightsOfRoles(roles, storesOf(row))
      requireNoExcess(rights, rightsOf(principal))
      if (!roles.includes('owner')) await requireOwner(call, tx, row)
      change.roles = JSON.stringify(roles)
      await endSessionsOf(kernel, tx, row.user_id)
      await revokeKeys(kernel, tx, row.user_id, rights)
    }
    if (Object.keys(change).length > 0) {
      await updateUser(tx, row.user_id, change)
      meter(tx, call.operation.id)
      await appendCrumb(tx, {
        event_type: 'user.updated',
        subject: row.user_id,
        payload: { roles, changed_by: actorOf(principal) },
      })
    }
    return showUser({ ...row, ...change }, shown)
  })
}

export async function endSessionsOf(kernel: Kernel, tx: Tx, user_id: string): Promise<void> {
  for (const { session_id } of await listSessionsOf(tx, user_id))
    await deleteSession(tx, session_id)
  await deleteUnderWay(tx, { user_id })
  forgetCredentials(kernel, tx)
}

/** Revokes the keys of a person with more rights than `rights`; all of them if `null`. */
export async function revokeKeys(
  kernel: Kernel,
  tx: Tx,
  user_id: string,
  rights: Rights | null,
): Promise<number> {
  let revoked = 0
  for (const row of await listKeysOf(tx, user_id)) {
    // The values were validated before the row was written.
    const made = {
      ...row,
      scopes: JSON.parse(row.scopes),
      allowed_stores: JSON.parse(row.allowed_stores),
    } as Rights
    if (rights && findExcessRight(made, rights) === null) continue
    const { key_id } = row
    if (await revokeKey(kernel, tx, { owner: tx.tenant_id, key_id })) {
      revoked += 1
      await appendCrumb(tx, {
        event_type: 'tenant.key_revoked',
        subject: key_id,
        payload: { key_id },
      })
    }
  }
  return revoked
}

/**
 * Decides first, so that a refusal changes nothing. Then destroys the secret, then deletes the row:
 * a crash leaves a person who may do nothing and can be removed again.
 */
export const removeUser: Handler<typeof contract.remove_user> = async (call, { params, query }) => {
  const { kernel, tenant_id, principal } = call
  const { user_id } = params
  const { secret_no, revoked_keys } = await call.transact(async (tx) => {
    const row = await loadUser(call, tx, user_id)
    await requireOwner(call, tx, row)
    await endSessionsOf(kernel, tx, user_id)
    const revoked_keys = query.keep_keys ? 0 : await revokeKeys(kernel, tx, user_id, null)
    await deleteIdentities(tx, user_id)
    const barred = { state: 'invited', invitation_hash: null, invited_until_us: null } as const
    await updateUser(tx, user_id, barred)
    return { secret_no: row.secret_no, revoked_keys }
  })
  if (secret_no !== REDACTED_SECRET)
    await kernel.keyring.destroySecrets(tenant_id, 'decision', [secret_no])
  return call.transact(async (tx) => {
    if (!(await findUser(tx, user_id))) return call.refuse('user_not_found')
    await deleteUser(tx, user_id)
    meter(tx, call.operation.id)
    await appendCrumb(tx, {
      event_type: 'user.removed',
      subject: user_id,
      payload: { revoked_keys, removed_by: actorOf(principal) },
    })
    return { user_id, removed: true as const, revoked_keys }
  })
}
