// What the claims of a provider say of a person, and who that is: known by subject, invited, or
// new.

import { limits, ROLES, type Role } from '@custos/contract'
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

export type Claims = Readonly<Record<string, unknown>>

/**
 * The roles that the claims give. `kept`: the provider decides no roles. `unknown` differs from "no
 * groups": the claim is missing, too large for the token (Entra), or of another shape.
 */
function decideRoles(
  { role_claim, role_map, default_role, allow_owner }: OpenConnection['settings'],
  claims: Claims,
): readonly Role[] | 'kept' | 'unknown' | 'unmapped' {
  if (role_claim === null) return 'kept'
  const values = valuesAt(claims, role_claim)
  if (values === null) return 'unknown'
  const stated = new Set(values)
  const mapped = role_map.filter(({ value }) => stated.has(value)).map(({ role }) => role)
  const given = ROLES.filter((role) => mapped.includes(role) && (role !== 'owner' || allow_owner))
  if (given.length > 0) return given
  return default_role === null || (default_role === 'owner' && !allow_owner)
    ? 'unmapped'
    : [default_role]
}

function valuesAt(claims: Claims, path: readonly string[]): readonly string[] | null {
  if (isOverage(claims, path)) return null
  let value: unknown = claims
  for (const name of path) {
    if (!isMembers(value) || !Object.hasOwn(value, name)) return null
    value = value[name]
  }
  if (typeof value === 'string') return [value]
  return isTextList(value) ? value : null
}

const isTextList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')

/** Whether the claim was left out: Entra omits long lists of groups and says so instead. */
function isOverage(claims: Claims, [name = '']: readonly string[]): boolean {
  const elsewhere = claims['_claim_names']
  if (isMembers(elsewhere) && Object.hasOwn(elsewhere, name)) return true
  return name === 'groups' && claims['hasgroups'] !== undefined
}

const isMembers = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The domain is in lower case. Null: the provider names no address, or none that is one. */
function emailOf(claims: Claims, charsMax: number) {
  const { email, email_verified } = claims
  if (typeof email !== 'string' || email.length > charsMax) return null
  const domain = /^[^\s@]+@([^\s@]+)$/.exec(email)?.[1]
  if (domain === undefined) return null
  return { address: email, verified: email_verified === true, domain: domain.toLowerCase() }
}

/** The shortened name without control characters; empty if the provider states none. */
function nameOf({ name, preferred_username: short }: Claims, charsMax: number): string {
  const named = typeof name === 'string' ? name : typeof short === 'string' ? short : ''
  return named.replaceAll(/\p{C}/gu, '').trim().slice(0, charsMax)
}

/** Whether the token was issued to this client, in this sign-in. */
export function isOfThisLogin(
  { azp, iat }: Claims,
  { client_id, begun_s, now_s }: { client_id: string; begun_s: number; now_s: number },
): boolean {
  if (azp !== undefined && azp !== client_id) return false
  return typeof iat === 'number' && iat >= begun_s - SKEW_S && iat <= now_s + SKEW_S
}

/** Tolerated difference between clocks of providers and of the service. */
export const SKEW_S = 60

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
