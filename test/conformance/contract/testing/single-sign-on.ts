// A provider on loopback that every sign-in of the sweeps goes through.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import {
  startTxtServer,
  type TxtServer,
} from '../../../../packages/server/src/platform/egress/testing/dns-server.ts'
import {
  type ForgingProvider,
  startForgingProvider,
} from '../../../../packages/server/src/slices/identity/testing/forging-provider.ts'
import { nextAddress } from '../../../../packages/server/src/slices/identity/testing/sso-scene.ts'
import type { Answer, TestService } from '../../../../packages/server/src/testing/harness.ts'
import type { Sent } from './table.ts'
import { send, type Tenant } from './tenant.ts'

const VERIFIER = 'v'.repeat(43)
export const CONSOLE = 'https://console.invalid'

const providers = new WeakMap<TestService, ForgingProvider>()

const nameServers = new WeakMap<TestService, TxtServer>()

/** A service with a provider and a name server that stop with it. */
export async function startWithProvider(
  start: (config: { dns_servers: readonly string[] }) => Promise<TestService>,
): Promise<TestService> {
  const closers: (() => unknown)[] = []
  const after = (close: unknown) => {
    if (typeof close === 'function') closers.push(() => close())
  }
  const nameServer = await startTxtServer({ after })
  const service = await start({ dns_servers: [nameServer.address] })
  const provider = await startForgingProvider({ after })
  const stop: TestService['stop'] = async (options) => {
    await service.stop(options)
    for (const close of closers) close()
  }
  const served = { ...service, stop }
  providers.set(served, provider)
  nameServers.set(served, nameServer)
  return served
}

export function providerFor(service: TestService): ForgingProvider {
  const provider = providers.get(service)
  assert.ok(provider, 'the service has no provider')
  return provider
}

/** Publishes the record that proves a domain. */
export async function publishRecord(
  tenant: Tenant,
  params: { connection_id: string },
  domain: string,
): Promise<void> {
  const { record } = await tenant.ok('identity.verify_domain', { params, body: { domain } })
  nameServers.get(tenant.service)?.texts.set(domain, [Object(record).value])
}

/** The cookie that an answer sets. */
const cookieOf = ({ headers }: Answer): string =>
  headers.getSetCookie().map((line) => line.split(';', 1)[0] ?? '')[0] ?? ''

/** A sign-in that was begun, and the answer of the provider. */
export async function beginLogin(
  service: TestService,
  query: Record<string, string>,
  forged: Parameters<ForgingProvider['answer']>[1] = {},
): Promise<Sent> {
  const sent = { query, headers: nextAddress() }
  const led = await send(service, 'identity.authorize', sent)
  assert.equal(led.status, 302, led.text)
  const location = led.headers.get('location') ?? ''
  const answer = providerFor(service).answer(location, forged)
  return { query: answer, headers: { cookie: cookieOf(led) } }
}

/** A connection, a sign-in at each of its stages, and a token that ends sessions. */
export async function buildConnection(tenant: Tenant): Promise<LoginIds> {
  const { service } = tenant
  const provider = providers.get(service)
  if (!provider) return NOBODY
  const { connection_id } = await tenant.ok('identity.create_connection', {
    body: {
      name: 'Provider',
      issuer: provider.issuer,
      client_id: 'client',
      create_users: true,
      default_role: 'viewer',
    },
  })
  const ids = { tenant_id: tenant.tenant_id, connection_id: String(connection_id) }
  await send(
    service,
    'identity.set_domains',
    { params: ids, body: { domains: [domainOf(ids)] } },
    { key: service.operator_key },
  )
  const { query: answer = {}, headers = {} } = await beginLogin(service, { connection_id })
  const challenge = hash('sha256', VERIFIER, 'base64url')
  const elsewhere = { connection_id, return_to: `${CONSOLE}/`, challenge }
  const other = await send(service, 'identity.callback', await beginLogin(service, elsewhere))
  assert.equal(other.status, 302, other.text)
  const iat = Math.floor(Date.now() / 1_000)
  const logout_token = await provider.signLogout({
    iss: provider.issuer,
    aud: 'client',
    sub: 'ana',
    iat,
    exp: iat + 300,
    jti: connection_id,
    events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
  })
  return {
    connection_id: String(connection_id),
    login: { query: answer, cookie: headers['cookie'] ?? '' },
    login_code: new URL(other.headers.get('location') ?? '').searchParams.get('code') ?? '',
    logout_token,
  }
}

/** What signing in needs at each stage. */
export interface LoginIds {
  readonly connection_id: string
  readonly login: { readonly query: NonNullable<Sent['query']>; readonly cookie: string }
  readonly login_code: string
  readonly logout_token: string
}

export const NOBODY: LoginIds = {
  connection_id: 'f'.repeat(24),
  login: { query: { state: 'f'.repeat(43), code: 'x' }, cookie: `custos_login=${'f'.repeat(43)}` },
  login_code: 'f'.repeat(43),
  logout_token: 'f',
}

/** A domain of the connection. */
const domainOf = ({ connection_id }: Pick<LoginIds, 'connection_id'>): string =>
  `d${connection_id}.example`

const named = ({ connection_id }: LoginIds) => ({ params: { connection_id } })

export const ssoExamples: Readonly<
  Record<string, (ids: LoginIds & { tenant_id: string }) => Sent>
> = {
  'identity.providers': ({ tenant_id }) => ({ query: { tenant: tenant_id } }),
  'identity.authorize': ({ connection_id }) => ({
    query: { connection_id },
    headers: nextAddress(),
  }),
  'identity.callback': ({ login }) => ({ query: login.query, headers: { cookie: login.cookie } }),
  'identity.exchange': ({ login_code }) => ({ body: { code: login_code, verifier: VERIFIER } }),
  'identity.connections': () => ({ query: { limit: 10, offset: 0 } }),
  'identity.create_connection': () => ({}),
  'identity.configure': () => ({}),
  'identity.connection': named,
  'identity.update_connection': named,
  'identity.delete_connection': named,
  'identity.test': named,
  'identity.verify_domain': named,
  'identity.drop_domain': ({ connection_id }) => ({
    params: { connection_id, domain: domainOf({ connection_id }) },
  }),
  'identity.set_domains': ({ tenant_id, connection_id }) => ({
    params: { tenant_id, connection_id },
    body: { domains: [domainOf({ connection_id })] },
  }),
  'identity.backchannel': ({ connection_id, logout_token }) => ({
    query: { connection_id },
    raw: new URLSearchParams({ logout_token }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  }),
}
