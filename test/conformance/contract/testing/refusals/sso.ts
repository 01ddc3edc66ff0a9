// For every refusal an operation of single sign-on declares, a request that provokes it.

import { limits } from '@custos/contract'
import { exampleOf } from '../../examples.ts'
import { runSql } from '../rows.ts'
import { beginLogin, providerFor, publishRecord } from '../single-sign-on.ts'
import { send, type Tenant } from '../tenant.ts'
import { GHOSTS, type World } from '../world.ts'
import { addUsers } from './identity.ts'
import type { Provoke } from './provoke.ts'

const bodyFor = (tenant: Tenant, more: object = {}) => ({
  name: 'Other',
  issuer: providerFor(tenant.service).issuer,
  client_id: 'other',
  ...more,
})

/** The answer to a sign-in through a connection with the settings. */
async function enter(
  { tenant }: World,
  settings: object,
  forged: Parameters<typeof beginLogin>[2] = {},
) {
  const body = bodyFor(tenant, settings)
  const { connection_id } = await tenant.ok('identity.create_connection', { body })
  const login = await beginLogin(tenant.service, { connection_id }, forged)
  return send(tenant.service, 'identity.callback', login)
}

const enforce = ({ tenant, ids }: World) =>
  tenant.ok('identity.update_connection', {
    params: { connection_id: ids.connection_id },
    body: { enforced: true },
  })

const refusedSettings =
  (id: string): Provoke =>
  ({ tenant }) =>
    tenant.ask(id, { body: bodyFor(tenant, { auth_method: 'client_secret_post' }) })

const refusedUrl =
  (id: string): Provoke =>
  ({ tenant }) =>
    tenant.ask(id, { body: bodyFor(tenant, { issuer: 'https://10.0.0.1' }) })

const crowded =
  (id: string): Provoke =>
  async ({ tenant }) => {
    for (let made = 0; made < limits.sso_connections; made += 1)
      await tenant.ask(id, { body: bodyFor(tenant) })
    return tenant.ask(id, { body: bodyFor(tenant) })
  }

const setDomains = (
  { service }: Tenant,
  params: { tenant_id: string; connection_id: string },
  domains: string[],
) =>
  send(
    service,
    'identity.set_domains',
    { params, body: { domains } },
    { key: service.operator_key },
  )

const atOutage = async (world: World, act: () => ReturnType<Provoke>) => {
  const provider = providerFor(world.tenant.service)
  provider.fail(true)
  try {
    return await act()
  } finally {
    provider.fail(false)
  }
}

/** Cases by `operation code`. */
export const provokingSso: Readonly<Record<string, Provoke>> = {
  'identity.sign_in sso_enforced': async (world) => {
    const { tenant, ids } = world
    await enforce(world)
    const { api_key } = await tenant.ok('keys.create', { body: {} })
    const sql = 'update credentials set user_id = ? where tenant_id = ?'
    await runSql(tenant.service, sql, ids.user_id, ids.tenant_id)
    return send(tenant.service, 'identity.sign_in', { body: { api_key } })
  },
  'identity.accept sso_enforced': async (world) => {
    await enforce(world)
    return world.tenant.ask('identity.accept', exampleOf('identity.accept', world.ids))
  },
  'identity.authorize rejected': ({ tenant, ids }) =>
    tenant.ask('identity.authorize', {
      query: { connection_id: ids.connection_id, return_to: '//elsewhere.invalid' },
    }),
  'identity.authorize idp_unavailable': (world) =>
    atOutage(world, async () => {
      const { tenant } = world
      const body = bodyFor(tenant)
      const { connection_id } = await tenant.ok('identity.create_connection', { body })
      return tenant.ask('identity.authorize', { query: { connection_id } })
    }),
  'identity.callback login_refused': (world) => enter(world, {}, { sign: 'none' }),
  'identity.callback not_invited': (world) => enter(world, {}),
  'identity.callback role_unmapped': (world) => enter(world, { create_users: true }),
  'identity.callback idp_unavailable': async (world) => {
    const { tenant, ids } = world
    const login = await beginLogin(tenant.service, { connection_id: ids.connection_id })
    return atOutage(world, () => send(tenant.service, 'identity.callback', login))
  },
  'identity.callback too_many': async (world) => {
    await addUsers(world, limits.users_per_tenant)
    return enter(world, { create_users: true, default_role: 'viewer' }, { claims: { sub: 'new' } })
  },
  'identity.connections rejected': ({ tenant }) =>
    tenant.ask('identity.connections', { query: { cursor: 'not-a-cursor' } }),
  'identity.create_connection url_refused': refusedUrl('identity.create_connection'),
  'identity.create_connection rejected': refusedSettings('identity.create_connection'),
  'identity.create_connection too_many': crowded('identity.create_connection'),
  'identity.configure url_refused': refusedUrl('identity.configure'),
  'identity.configure rejected': refusedSettings('identity.configure'),
  'identity.configure too_many': crowded('identity.configure'),
  'identity.update_connection rejected': ({ tenant, ids }) =>
    tenant.ask('identity.update_connection', {
      params: { connection_id: ids.connection_id },
      body: { default_role: 'owner' },
    }),
  'identity.update_connection wrong_state': async ({ tenant, ids }) => {
    const sql = 'update sso_connections set secret_no = 0 where connection_id = ?'
    await runSql(tenant.service, sql, ids.connection_id)
    return tenant.ask('identity.update_connection', exampleOf('identity.update_connection', ids))
  },
  'identity.set_domains tenant_not_found': ({ tenant }) => setDomains(tenant, GHOSTS, []),
  'identity.set_domains connection_not_found': ({ tenant, ids }) =>
    setDomains(tenant, { ...GHOSTS, tenant_id: ids.tenant_id }, []),
  'identity.set_domains name_taken': async ({ tenant, ids }) => {
    const { tenant_id } = ids
    const body = bodyFor(tenant)
    const { connection_id } = await tenant.ok('identity.create_connection', { body })
    const domains = [`taken-${connection_id}.example`]
    await setDomains(tenant, { tenant_id, connection_id }, domains)
    return setDomains(tenant, ids, domains)
  },
  'identity.verify_domain name_taken': async ({ tenant, ids }) => {
    const body = bodyFor(tenant)
    const { connection_id } = await tenant.ok('identity.create_connection', { body })
    const domain = `proved-${connection_id}.example`
    const { tenant_id } = ids
    await setDomains(tenant, { tenant_id, connection_id: String(connection_id) }, [domain])
    await publishRecord(tenant, ids, domain)
    const params = { connection_id: ids.connection_id }
    return tenant.ask('identity.verify_domain', { params, body: { domain } })
  },
  'identity.verify_domain too_many': async ({ tenant, ids }) => {
    const { connection_id } = ids
    const names = Array.from({ length: limits.sso_domains }, (_, i) => `${i}.${connection_id}.test`)
    await setDomains(tenant, ids, names)
    const domain = `more-${connection_id}.example`
    await publishRecord(tenant, ids, domain)
    return tenant.ask('identity.verify_domain', { params: { connection_id }, body: { domain } })
  },
  'identity.drop_domain domain_not_found': async ({ tenant, ids }) => {
    const { connection_id } = ids
    const body = bodyFor(tenant)
    const other = String((await tenant.ok('identity.create_connection', { body })).connection_id)
    const domain = `other-${other}.example`
    await setDomains(tenant, { tenant_id: ids.tenant_id, connection_id: other }, [domain])
    return tenant.ask('identity.drop_domain', { params: { connection_id, domain } })
  },
}
