// Decides who an identified person is: known by subject, invited, or new.

import { limits, type Role } from '@custos/contract'
import { Conflict } from '../../platform/concurrency.ts'
import { findRoute } from '../../platform/db/sso.sql.ts'
import type { TenantDb, Tx } from '../../platform/db/tenant-db.ts'
import type { Kernel } from '../../platform/kernel/kernel.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { endSessionsOf, revokeKeys, USER_ID_BYTES } from './change-users.ts'
import {
  emailLabel,
  LABEL_BYTES,
  type PersonTexts,
  personColumn,
  rightsOfRoles,
  rolesOf,
  sortRoles,
  storesOf,
} from './people.ts'
import { findIdentity, insertIdentity } from './sso.sql.ts'
import { type Claims, decideRoles, emailOf, nameOf } from './sso-claims.ts'
import type { OpenConnection } from './sso-connection.ts'
import {
  countUsers,
  findUser,
  findUserByEmail,
  insertUser,
  listActiveRoles,
  type UserRow,
  updateUser,
} from './users.sql.ts'

/** The provider knows the person, but the tenant does not admit them. */
export class NotAdmitted extends Error {
  override readonly name = 'NotAdmitted'
  readonly reason:
    | 'roles_unknown'
    | 'role_unmapped'
    | 'not_invited'
    | 'email_unverified'
    | 'domain_foreign'
    | 'email_taken'
    | 'too_many'

  constructor(reason: NotAdmitted['reason']) {
    super(reason)
    this.reason = reason
  }
}

/** What a unit of work needs to admit a person: labels and sealed texts. */
interface PreparedPerson {
  readonly connection_id: string
  readonly sub_label: string
  readonly roles: readonly Role[] | 'kept'
  readonly default_role: Role | null
  /** Whether the person is new; `user_id` and `texts` are then theirs. */
  readonly fresh: boolean
  readonly user_id: string
  readonly email_label: string
  readonly texts: { readonly secret_no: number; readonly sealed: Buffer } | null
}

/** Prepares admission from the verified claims. Throws NotAdmitted. */
export async function preparePerson(
  kernel: Kernel,
  connection: OpenConnection,
  claims: Claims & { readonly sub: string },
): Promise<PreparedPerson> {
  const { tenant_id, settings } = connection
  const { connection_id } = connection.row
  const keys = await kernel.keyring.tenant(tenant_id)
  const sub_label = keys.label(`identity\n${connection_id}\n${claims.sub}`)
  const roles = decideRoles(settings, claims)
  if (roles === 'unknown') throw new NotAdmitted('roles_unknown')
  if (roles === 'unmapped') throw new NotAdmitted('role_unmapped')
  const common = { connection_id, sub_label, roles, default_role: settings.default_role }
  const known = await kernel.db.read(tenant_id, (db) =>
    findIdentity(db, { connection_id, sub_label }),
  )
  if (known)
    return { ...common, fresh: false, user_id: known.user_id, email_label: '', texts: null }

  const email = emailOf(claims, limits.email_chars)
  const label = email ? await emailLabel(kernel, tenant_id, email.address) : null
  const { namesake, owned } = await kernel.db.read(tenant_id, async (db) => ({
    namesake: label === null ? undefined : await findUserByEmail(db, label),
    owned: email !== null && (await owns(db, connection_id, email.domain)),
  }))
  const subject = { [`sub_${connection_id}`]: claims.sub }
  if (namesake) {
    // An address is only a label: it links a person only to an open invitation, and only if its
    // domain belongs to the provider.
    const isOpen = (namesake.invited_until_us ?? 0) > kernel.clock.now()
    if (namesake.state !== 'invited' || !isOpen) throw new NotAdmitted('email_taken')
    if (email?.verified !== true) throw new NotAdmitted('email_unverified')
    if (!owned) throw new NotAdmitted('domain_foreign')
    const [texts = null] = await personColumn.openAll(kernel, tenant_id, [namesake])
    const name = texts?.name || nameOf(claims, limits.name_chars)
    const sealed = await personColumn.sealAgain(kernel, tenant_id, namesake, {
      email: email.address,
      ...texts,
      name,
      ...subject,
    })
    if (!sealed) throw new NotAdmitted('email_taken')
    const { user_id, email_label, secret_no } = namesake
    return { ...common, fresh: false, user_id, email_label, texts: { secret_no, sealed } }
  }
  if (!settings.create_users) throw new NotAdmitted('not_invited')
  if (roles === 'kept' && settings.default_role === null) throw new NotAdmitted('role_unmapped')
  const user_id = kernel.ids.hex(USER_ID_BYTES)
  const texts: PersonTexts = {
    email: email?.address ?? '',
    name: nameOf(claims, limits.name_chars),
    ...subject,
  }
  return {
    ...common,
    fresh: true,
    user_id,
    // An unverified address must not take the place of an invitation to it.
    email_label: label !== null && email?.verified && owned ? label : kernel.ids.hex(LABEL_BYTES),
    texts: await personColumn.sealNew(kernel, tenant_id, { user_id }, texts),
  }
}

async function owns(db: TenantDb, connection_id: string, domain: string): Promise<boolean> {
  const route = await findRoute(db, domain)
  return route?.tenant_id === db.tenant_id && route.connection_id === connection_id
}

/** Admits the person in the caller's unit. Throws NotAdmitted, or Conflict after a change. */
export async function admitPerson(
  kernel: Kernel,
  tx: Tx,
  prepared: PreparedPerson,
): Promise<UserRow> {
  const { connection_id, sub_label, user_id, fresh, texts } = prepared
  const identity = await findIdentity(tx, { connection_id, sub_label })
  if ((identity?.user_id ?? user_id) !== user_id || Boolean(identity) !== (texts === null))
    throw new Conflict('record')
  const row = fresh ? await insertPerson(tx, prepared) : await findUser(tx, user_id)
  if (!row) throw new Conflict('record')
  const change: Partial<UserRow> = {}
  if (!fresh && texts) {
    // A person who is being removed has no open invitation.
    const isOpen = row.state === 'invited' && row.invited_until_us !== null
    if (!isOpen || row.secret_no !== texts.secret_no) throw new Conflict('record')
    Object.assign(change, {
      state: 'active',
      invitation_hash: null,
      invited_until_us: null,
      sealed: texts.sealed,
    })
  }
  if (!identity) await insertIdentity(tx, { connection_id, sub_label, user_id })
  const roles = await rolesAfter(tx, row, prepared)
  if (JSON.stringify(roles) !== row.roles) {
    change.roles = JSON.stringify(roles)
    await endSessionsOf(kernel, tx, user_id)
    await revokeKeys(kernel, tx, user_id, rightsOfRoles(roles, storesOf(row)))
    await appendCrumb(tx, {
      event_type: 'user.updated',
      subject: user_id,
      payload: { roles, changed_by: connection_id },
    })
  }
  if (Object.keys(change).length > 0) await updateUser(tx, user_id, change)
  return { ...row, ...change }
}

/** The only owner stays owner whatever the provider says, as the tenant must keep one. */
async function rolesAfter(
  tx: Tx,
  row: UserRow,
  { roles }: Pick<PreparedPerson, 'roles'>,
): Promise<Role[]> {
  const had = rolesOf(row)
  if (roles === 'kept') return had
  const given = sortRoles(roles)
  if (!had.includes('owner') || given.includes('owner') || row.state !== 'active') return given
  const others = (await listActiveRoles(tx)).filter(({ user_id }) => user_id !== row.user_id)
  const isOnly = !others.some((other) => rolesOf(other).includes('owner'))
  return isOnly ? sortRoles([...given, 'owner']) : given
}

async function insertPerson(
  tx: Tx,
  { user_id, email_label, roles, default_role, texts, connection_id }: PreparedPerson,
): Promise<UserRow> {
  if ((await countUsers(tx)) >= limits.users_per_tenant) throw new NotAdmitted('too_many')
  if (await findUserByEmail(tx, email_label)) throw new Conflict('record')
  const given = roles === 'kept' ? (default_role === null ? [] : [default_role]) : roles
  const sorted = sortRoles(given)
  const row: UserRow = {
    user_id,
    state: 'active',
    roles: JSON.stringify(sorted),
    allowed_stores: '[]',
    email_label,
    invitation_hash: null,
    invited_until_us: null,
    secret_no: texts?.secret_no ?? 0,
    sealed: texts?.sealed ?? null,
    created_us: tx.now(),
    break_glass: null,
  }
  await insertUser(tx, row)
  await appendCrumb(tx, {
    event_type: 'user.created',
    subject: user_id,
    payload: { roles: sorted, created_by: connection_id },
  })
  return row
}
