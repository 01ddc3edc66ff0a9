// People: sealed names and addresses, roles as lists of scopes, and people as callers.

import { hash } from 'node:crypto'
import { ROLE_SCOPES, ROLES, type Role, type User } from '@custos/contract'
import { formatTime } from '../../platform/clock.ts'
import { findPolicySet, findTenant } from '../../platform/db/control.sql.ts'
import type { Tx } from '../../platform/db/tenant-db.ts'
import type { Principal } from '../../platform/kernel/call.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { jsonPayload, REDACTED_SECRET, sealedColumn } from '../../platform/kernel/sealed-column.ts'
import { REDACTED_TEXT, textSource } from '../../platform/kernel/text-source.ts'
import { type Rights, refuseMoved } from '../tenants/index.ts'
import { deleteIdentities } from './sso.sql.ts'
import { findUser, listUsersAfter, type UserRow, updateUser } from './users.sql.ts'

export const LABEL_BYTES = 32

/** Also has the subjects at providers, under `sub_` and the id of the connection. */
export interface PersonTexts {
  readonly [member: string]: string
  readonly email: string
  readonly name: string
}

export const personColumn = sealedColumn({
  domain: 'user',
  ids: (tenant_id, { user_id }: Pick<UserRow, 'user_id'>) => [tenant_id, user_id],
  payload: jsonPayload<PersonTexts>(),
})

export const hashInvitation = (invitation: string): Buffer => hash('sha256', invitation, 'buffer')

/** The label by which a person is found by their address. */
export async function emailLabel(
  kernel: Kernel,
  tenant_id: string,
  email: string,
): Promise<string> {
  const keys = await kernel.keyring.tenant(tenant_id)
  return keys.label(`user\n${email.normalize('NFC').toLowerCase()}`)
}

// This service wrote both columns as lists.
export const rolesOf = ({ roles }: Pick<UserRow, 'roles'>): Role[] => JSON.parse(roles)
export const storesOf = ({ allowed_stores }: Pick<UserRow, 'allowed_stores'>): string[] =>
  JSON.parse(allowed_stores)

/** The rights of a person with these roles. */
export function rightsOfRoles(
  roles: readonly Role[],
  allowed_stores: readonly string[],
): Omit<Rights, 'namespace'> {
  const scopes = [...new Set(roles.flatMap((role) => ROLE_SCOPES[role]))]
  const grants = roles.includes('owner') || roles.includes('admin')
  const reads = scopes.every((scope) => scope.endsWith(':read'))
  return {
    class: grants ? 'tenant' : reads ? 'read_only' : 'service',
    scopes,
    allowed_stores,
    max_trust_tier: null,
    expires_us: null,
  }
}

/** Sorts roles in the order of the contract and removes repeats. */
export const sortRoles = (roles: readonly Role[]): Role[] =>
  ROLES.filter((role) => roles.includes(role))

export function showUser(row: UserRow, texts: PersonTexts | null): User {
  const stores = storesOf(row)
  return {
    user_id: row.user_id,
    email: texts?.email ?? '',
    name: texts?.name ?? '',
    roles: rolesOf(row),
    stores: stores.length === 0 ? null : stores,
    state: row.state,
    created_at: formatTime(row.created_us),
    invited_until: row.invited_until_us === null ? null : formatTime(row.invited_until_us),
  }
}

/** The person as a caller, with their current roles; `null` if removed or not active yet. */
export async function findPerson(
  kernel: Kernel,
  tenant_id: string,
  user_id: string,
): Promise<Principal | null> {
  const { row, tenant, policy_set } = await kernel.db.read(tenant_id, async (db) => ({
    row: await findUser(db, user_id),
    tenant: await findTenant(db, tenant_id),
    policy_set: kernel.db.shared ? await findPolicySet(db) : null,
  }))
  if (tenant) refuseMoved(tenant)
  if (row?.state !== 'active' || !tenant || tenant.requested_us !== null) return null
  const { class: credentialClass, ...rights } = rightsOfRoles(rolesOf(row), storesOf(row))
  return {
    kind: 'tenant',
    tenant_id,
    key_id: user_id,
    user_id,
    class: credentialClass,
    ...rights,
    ...(policy_set === null ? {} : { policy_set }),
    plan: { plan: tenant.plan, overrides: tenant.overrides },
  }
}

/** Lets subject requests redact people. A person without name and address keeps their identity. */
export const userTextSource = textSource<UserRow, PersonTexts>({
  kind: 'user',
  replaceable: true,
  list: (db, after, limit) => listUsersAfter(db, after?.user_id ?? '', limit),
  find: findUser,
  idOf: ({ user_id }) => user_id,
  createdUs: ({ created_us }) => created_us,
  open: (kernel, tenant_id, rows) => personColumn.openAll(kernel, tenant_id, rows),
  async redact(kernel, tenant_id, { row }) {
    const redacted = { email: REDACTED_TEXT, name: REDACTED_TEXT }
    return [await personColumn.sealRedacted(kernel, tenant_id, row, redacted)]
  },
  async update(tx: Tx, { user_id }, [sealed], kernel) {
    // Also deletes their identities at providers, so they would sign in as a new person.
    await deleteIdentities(tx, user_id)
    await updateUser(tx, user_id, {
      secret_no: REDACTED_SECRET,
      sealed,
      email_label: kernel.ids.hex(LABEL_BYTES),
    })
  },
})
