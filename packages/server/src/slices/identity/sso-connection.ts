// Connections to providers: their settings are sealed; they are found by id or confirmed domain.

import type { Role, SsoConnection } from '@custos/contract'
import { jsonBytes } from '../../platform/bytes.ts'
import { formatTime } from '../../platform/clock.ts'
import { findTenant } from '../../platform/db/control.sql.ts'
import { PLATFORM } from '../../platform/db/database.ts'
import { findRoute, listRoutes } from '../../platform/db/sso.sql.ts'
import type { TenantDb, Tx } from '../../platform/db/tenant-db.ts'
import { type Kernel, perKernel } from '../../platform/kernel/kernel.ts'
import { jsonPayload, REDACTED_SECRET, sealedColumn } from '../../platform/kernel/sealed-column.ts'
import { REDACTED_TEXT, textSource } from '../../platform/kernel/text-source.ts'
import { appendCrumb } from '../gcrumbs/index.ts'
import { endSessionsThrough } from './sessions.ts'
import {
  type ConnectionRow,
  findConnection,
  listConnectionsAfter,
  updateConnection,
} from './sso.sql.ts'

/** The sealed settings of a connection. */
export interface ConnectionSettings {
  readonly [member: string]: unknown
  readonly name: string
  readonly issuer: string
  readonly client_id: string
  readonly auth_method: SsoConnection['auth_method']
  readonly client_secret: string | null
  /** PKCS #8 in base64, for a client that signs; `null` if it does not. */
  readonly private_key: string | null
  readonly public_jwk: SsoConnection['public_jwk']
  readonly scopes: string[]
  readonly algorithms: SsoConnection['algorithms']
  readonly role_claim: string[] | null
  readonly role_map: { value: string; role: Role }[]
  readonly default_role: Role | null
  readonly allow_owner: boolean
  readonly create_users: boolean
  /** Absent if the issuer is that of a single organisation. */
  readonly directories?: string[]
}

/** Issuers for which Microsoft documents that `{tenantid}` stands for the person's directory. */
export const TEMPLATED_ISSUER = /^(https?:\/\/[^/]+\/)(?:common|organizations)(\/v2\.0)$/

export const hasDirectories = ({ directories = [] }: ConnectionSettings): boolean =>
  directories.length > 0

/** An enabled connection with its opened settings. */
export interface OpenConnection {
  readonly tenant_id: string
  readonly row: ConnectionRow
  readonly settings: ConnectionSettings
}

export const connectionColumn = sealedColumn({
  domain: 'sso_connection',
  ids: (tenant_id, { connection_id }: Pick<ConnectionRow, 'connection_id'>) => [
    tenant_id,
    connection_id,
  ],
  payload: jsonPayload<ConnectionSettings>(),
})

/** The address that this process listens on, used if no other is configured. */
export const ownAddress = perKernel(() => ({ url: '' }))

const CALLBACK = '/v1/portal/sso/callback'
const LOGOUT = '/v1/portal/sso/backchannel-logout'

const publicUrl = (kernel: Kernel): string => kernel.settings.public_url ?? ownAddress(kernel).url

export const redirectUri = (kernel: Kernel): string => `${publicUrl(kernel)}${CALLBACK}`

/** Opens an enabled connection of an existing tenant; `null` if nobody can sign in through it. */
export async function openRoute(kernel: Kernel, route: string): Promise<OpenConnection | null> {
  const found = await kernel.db.read(PLATFORM, (db) => findRoute(db, route))
  return found ? openConnection(kernel, found.tenant_id, found.connection_id) : null
}

export async function openConnection(
  kernel: Kernel,
  tenant_id: string,
  connection_id: string,
): Promise<OpenConnection | null> {
  const { row, tenant } = await kernel.db.read(tenant_id, async (db) => ({
    row: await findConnection(db, connection_id),
    tenant: await findTenant(db, tenant_id),
  }))
  if (row?.enabled !== 1 || !tenant || tenant.requested_us !== null) return null
  const [settings = null] = await connectionColumn.openAll(kernel, tenant_id, [row])
  return settings && { tenant_id, row, settings }
}

/** Domains that an operator confirmed, or an owner proved, to belong to the connection. */
export const domainsOf = async (db: TenantDb, connection_id: string): Promise<string[]> =>
  (await listRoutes(db, connection_id))
    .map(({ route }) => route)
    .filter((route) => route.includes('.'))

const NO_SETTINGS: ConnectionSettings = {
  name: '',
  issuer: '',
  client_id: '',
  auth_method: 'none',
  client_secret: null,
  private_key: null,
  public_jwk: null,
  scopes: [],
  algorithms: ['RS256'],
  role_claim: null,
  role_map: [],
  default_role: null,
  allow_owner: false,
  create_users: false,
}

export function showConnection(
  kernel: Kernel,
  row: ConnectionRow,
  settings: ConnectionSettings | null,
  domains: string[],
): SsoConnection {
  const { client_secret: _, private_key: __, ...shown } = settings ?? NO_SETTINGS
  const { connection_id } = row
  return {
    connection_id,
    name: shown.name,
    issuer: shown.issuer,
    client_id: shown.client_id,
    auth_method: shown.auth_method,
    public_jwk: shown.public_jwk,
    scopes: shown.scopes,
    algorithms: shown.algorithms,
    role_claim: shown.role_claim,
    role_map: shown.role_map,
    default_role: shown.default_role,
    allow_owner: shown.allow_owner,
    create_users: shown.create_users,
    directories: shown.directories ?? [],
    enforced: row.enforced === 1,
    enabled: row.enabled === 1,
    domains,
    redirect_uri: redirectUri(kernel),
    backchannel_logout_uri: `${publicUrl(kernel)}${LOGOUT}?connection_id=${connection_id}`,
    created_at: formatTime(row.created_us),
    changed_at: formatTime(row.changed_us),
  }
}

export const appendConnectionChange = (
  tx: Tx,
  { connection_id, enabled, enforced }: ConnectionRow,
  change: {
    readonly change: 'created' | 'updated' | 'deleted' | 'domains' | 'redacted'
    readonly digest: string
    readonly changed_by: string
  },
) =>
  appendCrumb(tx, {
    event_type: 'sso.connection_changed',
    subject: connection_id,
    payload: { ...change, enabled: enabled === 1, enforced: enforced === 1 },
  })

/** An HMAC of the settings without secrets; equal settings have equal digests. */
export async function digestOf(
  kernel: Kernel,
  tenant_id: string,
  { client_secret: _, private_key: __, ...settings }: ConnectionSettings,
): Promise<string> {
  const keys = await kernel.keyring.tenant(tenant_id)
  return keys.label(`sso_connection\n${jsonBytes(settings)}`)
}

/** Lets subject requests redact connections: one that names a person is disabled. */
export const connectionTextSource = textSource<
  ConnectionRow,
  Record<'name' | 'issuer' | 'client_id' | 'roles', string>
>({
  kind: 'sso_connection',
  replaceable: true,
  list: (db, after, limit) => listConnectionsAfter(db, after?.connection_id ?? '', limit),
  find: findConnection,
  idOf: ({ connection_id }) => connection_id,
  createdUs: ({ created_us }) => created_us,
  async open(kernel, tenant_id, rows) {
    const opened = await connectionColumn.openAll(kernel, tenant_id, rows)
    return opened.map(
      (settings) =>
        settings && {
          name: settings.name,
          issuer: settings.issuer,
          client_id: settings.client_id,
          roles: [...(settings.role_claim ?? []), ...settings.role_map.map(({ value }) => value)]
            .concat(settings.scopes)
            .join('\n'),
        },
    )
  },
  async redact(kernel, tenant_id, { row }) {
    const redacted = { ...NO_SETTINGS, name: REDACTED_TEXT }
    return [await connectionColumn.sealRedacted(kernel, tenant_id, row, redacted)]
  },
  async update(tx, row, [sealed], kernel) {
    await endSessionsThrough(kernel, tx, row.connection_id, 'system')
    const off = { enabled: 0, enforced: 0 }
    await updateConnection(tx, row.connection_id, {
      ...off,
      secret_no: REDACTED_SECRET,
      sealed,
    })
    const digest = kernel.ids.hex(32)
    await appendConnectionChange(
      tx,
      { ...row, ...off },
      {
        change: 'redacted',
        digest,
        changed_by: 'system',
      },
    )
  },
})
