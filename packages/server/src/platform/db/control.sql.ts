// SQL of the control tables, which belong to no tenant: tenants and credentials.

import { sql } from 'kysely'
import { builder } from './builder.ts'
import type { Tables } from './schema/tables.ts'
import type { TenantDb, Tx } from './tenant-db.ts'

export type TenantRow = Tables['tenants']
type CredentialRow = Tables['credentials']
export type CredentialInfo = Omit<CredentialRow, 'key_hash'>

/** A credential with the number of its tenant's policies; null: there never were any. */
export type CredentialWithPolicies = CredentialInfo & { policy_set: number | null }

const TENANT = ['tenant_id', 'name', 'plan', 'created_us'] as const
const CREDENTIAL = [
  'key_id',
  'tenant_id',
  'class',
  'name',
  'prefix',
  'scopes',
  'allowed_stores',
  'max_trust_tier',
  'created_us',
  'expires_us',
  'revoked_us',
] as const

/** Names of the migrations that the database has run. */
export async function listAppliedMigrations(db: TenantDb): Promise<string[]> {
  const applied = sql<{ name: string }>`migrations`.as('applied')
  const rows = await db.all(builder.selectFrom(applied).select('applied.name'))
  return rows.map(({ name }) => name)
}

/** A tenant is made once; a second attempt changes nothing and returns 0. */
export const insertTenant = (tx: Tx, tenant: TenantRow): Promise<number> =>
  tx.run(
    builder
      .insertInto('tenants')
      .values(tenant)
      .onConflict((conflict) => conflict.column('tenant_id').doNothing()),
  )

/** A tenant with the times of its off-boarding. */
export interface TenantState extends TenantRow {
  /** When its off-boarding began; null: it was not. */
  readonly requested_us: number | null
  readonly destroyed_us: number | null
}

const tenants = () =>
  builder
    .selectFrom('tenants')
    .leftJoin('destructions', 'destructions.tenant_id', 'tenants.tenant_id')
    .select(TENANT.map((column) => `tenants.${column}` as const))
    .select(['destructions.requested_us', 'destructions.destroyed_us'])

export const findTenant = (db: TenantDb, tenant_id: string): Promise<TenantState | undefined> =>
  db.first(tenants().where('tenants.tenant_id', '=', tenant_id))

/** Oldest first, those that were off-boarded included. */
export const listTenants = (db: TenantDb): Promise<TenantState[]> =>
  db.all(tenants().orderBy('tenants.created_us').orderBy('tenants.tenant_id'))

/** Without those that were off-boarded: they have no keys to do anything with. */
export async function listTenantIds(db: TenantDb): Promise<string[]> {
  const query = tenants().where('destructions.tenant_id', 'is', null).orderBy('tenants.tenant_id')
  return (await db.all(query)).map(({ tenant_id }) => tenant_id)
}

export const insertCredential = (tx: Tx, credential: CredentialRow): Promise<number> =>
  tx.run(builder.insertInto('credentials').values(credential))

export const findCredential = (
  db: TenantDb,
  key_hash: Uint8Array,
): Promise<CredentialWithPolicies | undefined> =>
  db.first(
    builder
      .selectFrom('credentials')
      .leftJoin('policy_sets', 'policy_sets.tenant_id', 'credentials.tenant_id')
      .select(CREDENTIAL.map((column) => `credentials.${column}` as const))
      .select('policy_sets.policy_set')
      .where('key_hash', '=', key_hash)
      .limit(1),
  )

export const findCredentialById = (
  db: TenantDb,
  owner: string | null,
  key_id: string,
): Promise<CredentialInfo | undefined> =>
  db.first(owned(owner).select(CREDENTIAL).where('key_id', '=', key_id))

/** The credentials of a tenant, or of the platform (`null`), oldest first. */
export const listCredentials = (
  db: TenantDb,
  owner: string | null,
  { limit, offset }: { limit: number; offset: number },
): Promise<CredentialInfo[]> =>
  db.all(
    owned(owner)
      .select(CREDENTIAL)
      .orderBy('created_us')
      .orderBy('key_id')
      .limit(limit)
      .offset(offset),
  )

export async function countLiveCredentials(db: TenantDb, owner: string): Promise<number> {
  const query = owned(owner)
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('revoked_us', 'is', null)
  return Number((await db.first(query))?.count ?? 0)
}

/** Revokes what is not revoked yet; the number of credentials it changed. */
export const revokeCredential = (
  tx: Tx,
  owner: string | null,
  { key_id, revoked_us }: { key_id: string; revoked_us: number },
): Promise<number> => tx.run(revoke(owner, revoked_us).where('key_id', '=', key_id))

export const revokeCredentialsOfClass = (
  tx: Tx,
  owner: string | null,
  { credential_class, revoked_us }: { credential_class: string; revoked_us: number },
): Promise<number> => tx.run(revoke(owner, revoked_us).where('class', '=', credential_class))

export async function findPolicySet(db: TenantDb): Promise<number> {
  const query = builder
    .selectFrom('policy_sets')
    .select('policy_set')
    .where('tenant_id', '=', db.tenant_id)
  return (await db.first(query))?.policy_set ?? 0
}

/** The number after the one a unit of work found; units of a tenant take turns. */
export const savePolicySet = (tx: Tx, policy_set: number): Promise<number> =>
  tx.run(
    builder
      .insertInto('policy_sets')
      .values({ tenant_id: tx.tenant_id, policy_set })
      .onConflict((conflict) => conflict.column('tenant_id').doUpdateSet({ policy_set })),
  )

/** The id of the keyring the data belong to; null before it was recorded. */
export async function findInstanceId(db: TenantDb): Promise<string | null> {
  const row = await db.first(builder.selectFrom('instance').select('instance_id'))
  return row?.instance_id ?? null
}

const owned = (owner: string | null) =>
  owner === null
    ? builder.selectFrom('credentials').where('tenant_id', 'is', null)
    : builder.selectFrom('credentials').where('tenant_id', '=', owner)

const revoke = (owner: string | null, revoked_us: number) => {
  const query = builder
    .updateTable('credentials')
    .set({ revoked_us })
    .where('revoked_us', 'is', null)
  return owner === null
    ? query.where('tenant_id', 'is', null)
    : query.where('tenant_id', '=', owner)
}
