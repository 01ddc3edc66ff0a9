// SQL of the control tables of tenants and credentials, which are read before a tenant is known.

import type { CredentialClass } from '@custos/contract'
import { sql } from 'kysely'
import type { Page } from '../page.ts'
import { type Builder, builder } from './builder.ts'
import type { MoveState } from './schema/control-tables.ts'
import type { Tables } from './schema/tables.ts'
import { credentialStatement, statement } from './statement.ts'
import type { TenantDb, Tx } from './tenant-db.ts'

export type TenantRow = Tables['tenants']
export type CredentialInfo = Omit<Tables['credentials'], 'key_hash'>

/** A credential with everything that decides whether and on what it may act. */
export interface PresentedCredential extends CredentialInfo {
  /** The number of its tenant's policy set; null if it never had policies. */
  readonly policy_set: number | null
  /** Null for an operator's credential. */
  readonly plan: string | null
  readonly overrides: string | null
  /** Number of the secret that seals its namespace; null if it is not limited to one. */
  readonly secret_no: number | null
  readonly sealed: Uint8Array | null
  /** The stored key that created it, if it is a token. */
  readonly maker_id: string | null
  /** Null if there is no such key. */
  readonly maker_created_us: number | null
  readonly maker_revoked_us: number | null
  /** Null if its tenant was never moved. */
  readonly move_state: MoveState | null
  readonly move_address: string | null
}

const TENANT = ['tenant_id', 'name', 'plan', 'created_us', 'overrides'] as const
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
  'name_secret_no',
  'sealed_name',
  'user_id',
  'used_us',
] as const

const TOKEN: CredentialClass = 'token'

/** Inserts a tenant; returns 0 and changes nothing if it exists. */
export const insertTenant = (tx: Tx, tenant: TenantRow): Promise<number> =>
  tx.run(
    builder
      .insertInto('tenants')
      .values(tenant)
      .onConflict((conflict) => conflict.column('tenant_id').doNothing()),
  )

/** A tenant with the times of its off-boarding and the state of its move. */
export interface TenantState extends TenantRow {
  /** When its off-boarding was requested, or null. */
  readonly requested_us: number | null
  readonly destroyed_us: number | null
  /** Null if it was never moved. */
  readonly move_state: MoveState | null
  readonly move_address: string | null
}

const tenants = () =>
  builder
    .selectFrom('tenants')
    .leftJoin('destructions', 'destructions.tenant_id', 'tenants.tenant_id')

const tenantStates = () =>
  tenants()
    .select(TENANT.map((column) => `tenants.${column}` as const))
    .select(['destructions.requested_us', 'destructions.destroyed_us'])
    .leftJoin('tenant_moves', 'tenant_moves.tenant_id', 'tenants.tenant_id')
    .select(['tenant_moves.state as move_state', 'tenant_moves.address as move_address'])

export const findTenant = (db: TenantDb, tenant_id: string): Promise<TenantState | undefined> =>
  db.first(tenantStates().where('tenants.tenant_id', '=', tenant_id))

/** All tenants, oldest first, including off-boarded ones. */
export const listTenants = (db: TenantDb): Promise<TenantState[]> =>
  db.all(tenantStates().orderBy('tenants.created_us').orderBy('tenants.tenant_id'))

/** Tenants that are not off-boarded; those have no keys left to work with. */
export async function listTenantIds(db: TenantDb): Promise<string[]> {
  // Selects only columns that every version has: older data are checked before their migration.
  const query = tenants()
    .select('tenants.tenant_id')
    .where('destructions.tenant_id', 'is', null)
    .orderBy('tenants.tenant_id')
  return (await db.all(query)).map(({ tenant_id }) => tenant_id)
}

/** The same without tenants that move to another cluster, whose units of work are refused here. */
export async function listServedIds(db: TenantDb): Promise<string[]> {
  const query = tenants()
    .leftJoin('tenant_moves', 'tenant_moves.tenant_id', 'tenants.tenant_id')
    .select('tenants.tenant_id')
    .where('destructions.tenant_id', 'is', null)
    .where((e) =>
      e.or([
        e('tenant_moves.state', 'is', null),
        e('tenant_moves.state', 'not in', ['leaving', 'left']),
      ]),
    )
    .orderBy('tenants.tenant_id')
  return (await db.all(query)).map(({ tenant_id }) => tenant_id)
}

export const updateTenant = (
  tx: Tx,
  { name, plan, overrides }: Pick<TenantRow, 'name' | 'plan' | 'overrides'>,
): Promise<number> =>
  tx.run(
    builder
      .updateTable('tenants')
      .set({ name, plan, overrides })
      .where('tenant_id', '=', tx.tenant_id),
  )

export const insertCredential = (tx: Tx, credential: Tables['credentials']): Promise<number> =>
  tx.run(builder.insertInto('credentials').values(credential))

const presented = (k: Builder = builder) =>
  k
    .selectFrom('credentials')
    .leftJoin('policy_sets', 'policy_sets.tenant_id', 'credentials.tenant_id')
    .leftJoin('tenants', 'tenants.tenant_id', 'credentials.tenant_id')
    .leftJoin('credential_limits', 'credential_limits.key_id', 'credentials.key_id')
    .leftJoin('credentials as makers', 'makers.key_id', 'credential_limits.maker_id')
    .leftJoin('tenant_moves', 'tenant_moves.tenant_id', 'credentials.tenant_id')
    .select(CREDENTIAL.map((column) => `credentials.${column}` as const))
    .select([
      'policy_sets.policy_set',
      'tenants.plan',
      'tenants.overrides',
      'credential_limits.secret_no',
      'credential_limits.sealed',
      'credential_limits.maker_id',
      'makers.created_us as maker_created_us',
      'makers.revoked_us as maker_revoked_us',
      'tenant_moves.state as move_state',
      'tenant_moves.address as move_address',
    ])
    .limit(1)

const presentedStatement = credentialStatement<{ key_hash: Uint8Array }>()((k, p) =>
  presented(k).where('credentials.key_hash', '=', p.key_hash),
)

export const findCredential = (
  db: TenantDb,
  key_hash: Uint8Array,
): Promise<PresentedCredential | undefined> => db.firstOf(presentedStatement, { key_hash })

/** The same by its id, which is not secret: for use after the key was presented. */
export const findPresented = (
  db: TenantDb,
  key_id: string,
): Promise<PresentedCredential | undefined> =>
  db.first(presented().where('credentials.key_id', '=', key_id))

export const findCredentialById = (
  db: TenantDb,
  owner: string | null,
  key_id: string,
): Promise<CredentialInfo | undefined> =>
  db.first(owned(owner).select(CREDENTIAL).where('key_id', '=', key_id))

/** The credentials of a tenant, or of the platform (`null`), oldest first, without tokens. */
export const listCredentials = (
  db: TenantDb,
  owner: string | null,
  { limit, offset, after }: Pick<Page, 'limit' | 'offset' | 'after'>,
): Promise<CredentialInfo[]> => {
  const query = owned(owner).select(CREDENTIAL).where('class', '<>', TOKEN)
  const paged =
    after === null
      ? query.offset(offset)
      : query
          .where('created_us', '>=', after.at)
          .where((e) => e.or([e('created_us', '>', after.at), e('key_id', '>', after.id)]))
  return db.all(paged.orderBy('created_us').orderBy('key_id').limit(limit))
}

/** Number of live credentials. Tokens expire by themselves and are not counted. */
export async function countLiveCredentials(db: TenantDb, owner: string): Promise<number> {
  const query = owned(owner)
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('revoked_us', 'is', null)
    .where('class', '<>', TOKEN)
  return Number((await db.first(query))?.count ?? 0)
}

/** Whether any tenant or the platform has a credential that is not revoked. */
export async function hasCredential(db: TenantDb): Promise<boolean> {
  const query = builder.selectFrom('credentials').select('key_id').where('revoked_us', 'is', null)
  return (await db.first(query.limit(1))) !== undefined
}

/** Revokes what is not revoked yet; returns the number of changed credentials. */
export const revokeCredential = (
  tx: Tx,
  owner: string | null,
  { key_id, revoked_us }: { key_id: string; revoked_us: number },
): Promise<number> => tx.run(revoke(owner, revoked_us).where('key_id', '=', key_id))

/** Keeps a later use that another process has recorded. */
export const updateKeyUse = (
  tx: Tx,
  { key_id, used_us }: { key_id: string; used_us: number },
): Promise<number> =>
  tx.run(
    builder
      .updateTable('credentials')
      .set({ used_us })
      .where('tenant_id', '=', tx.tenant_id)
      .where('key_id', '=', key_id)
      .where((e) => e.or([e('used_us', 'is', null), e('used_us', '<', used_us)])),
  )

export const revokeCredentialsOfClass = (
  tx: Tx,
  owner: string | null,
  { credential_class, revoked_us }: { credential_class: string; revoked_us: number },
): Promise<number> => tx.run(revoke(owner, revoked_us).where('class', '=', credential_class))

const policySetStatement = statement<object>()((k, p) =>
  k.selectFrom('policy_sets').select('policy_set').where('tenant_id', '=', p.tenant_id),
)

export const findPolicySet = async (db: TenantDb): Promise<number> =>
  (await db.firstOf(policySetStatement, {}))?.policy_set ?? 0

/** Saves the next number after the one the unit has read; units of a tenant run one at a time. */
export const savePolicySet = (tx: Tx, policy_set: number): Promise<number> =>
  tx.run(
    builder
      .insertInto('policy_sets')
      .values({ tenant_id: tx.tenant_id, policy_set })
      .onConflict((conflict) => conflict.column('tenant_id').doUpdateSet({ policy_set })),
  )

/** The id of the keyring that the data belong to; null until it is recorded. */
export async function findInstanceId(db: TenantDb): Promise<string | null> {
  const row = await db.first(builder.selectFrom('instance').select('instance_id'))
  return row?.instance_id ?? null
}

/** The log ends of those of the tenants that have entries. */
export async function listLogEnds(
  db: TenantDb,
  tenant_ids: readonly string[],
): Promise<{ tenant_id: string; generation: number; size: number }[]> {
  // Row-level security shows the heads of many tenants to this reader only; see `readerDdl`.
  const reader = sql<string>`set_config('app.reader', 'log_follower', true)`
  const said = db.first(builder.selectNoFrom(reader.as('reader')))
  const ends = db.all(
    builder
      .selectFrom('chain_heads')
      .select(['tenant_id', 'generation', 'size'])
      .where('tenant_id', 'in', tenant_ids),
  )
  // Awaits both together: an unhandled rejection would end the process.
  const [, rows] = await Promise.all([said, ends])
  return rows
}

export const insertTicket = (tx: Tx, ticket: Tables['stream_tickets']): Promise<number> =>
  tx.run(builder.insertInto('stream_tickets').values(ticket))

/** Returns and deletes the ticket. If several callers race, only one gets it; others get null. */
export async function takeTicket(
  tx: Tx,
  ticket_hash: Uint8Array,
): Promise<Omit<Tables['stream_tickets'], 'ticket_hash'> | null> {
  const found = await tx.first(
    builder
      .selectFrom('stream_tickets')
      .select(['tenant_id', 'key_id', 'path', 'expires_us', 'session_id'])
      .where('ticket_hash', '=', ticket_hash),
  )
  const query = builder.deleteFrom('stream_tickets').where('ticket_hash', '=', ticket_hash)
  return found && (await tx.run(query)) === 1 ? found : null
}

export const deleteExpiredTickets = (tx: Tx, now_us: number): Promise<number> =>
  tx.run(builder.deleteFrom('stream_tickets').where('expires_us', '<', now_us))

/** The names of the migrations that the database has. */
export async function listAppliedMigrations(db: TenantDb): Promise<string[]> {
  const rows = await db.all(
    builder.selectFrom(sql<{ name: string }>`migrations`.as('applied')).select('applied.name'),
  )
  return rows.map(({ name }) => name)
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
