// For every refusal an operation of people and sessions declares, a request that provokes it.

import { limits } from '@custos/contract'
import { exampleOf } from '../../examples.ts'
import { runSql } from '../rows.ts'
import { send, type Tenant } from '../tenant.ts'
import type { World } from '../world.ts'
import type { Provoke } from './provoke.ts'

const invite = (tenant: Tenant, body: object) =>
  tenant.ask('identity.invite', { params: { tenant_id: tenant.tenant_id }, body })

/** The only owner, asked to be one no longer. */
const ofOwner =
  (id: string, body?: object): Provoke =>
  async ({ tenant }) => {
    const made = await invite(tenant, { email: 'owner@example.com', roles: ['owner'] })
    const { user, invitation } = made.body
    await tenant.ok('identity.accept', { body: { invitation } })
    return tenant.ask(id, { params: { user_id: user.user_id }, ...(body ? { body } : {}) })
  }

const badCursor =
  (id: string): Provoke =>
  ({ tenant }) =>
    tenant.ask(id, { query: { cursor: 'not-a-cursor' } })

/** Further people of the tenant, copies of the one who is invited. */
export async function addUsers({ tenant, ids }: World, count: number): Promise<void> {
  const columns = 'state, roles, allowed_stores, secret_no, created_us'
  const sql =
    `insert into users (tenant_id, user_id, email_label, ${columns}) ` +
    'with recursive numbers (n) as ' +
    `(select 1 union all select n + 1 from numbers where n < ${count}) ` +
    `select tenant_id, 'u' || n, 'l' || n, ${columns} from users, numbers where user_id = ?`
  await runSql(tenant.service, sql, ids.user_id)
}

/** Cases by `operation code`. */
export const provokingIdentity: Readonly<Record<string, Provoke>> = {
  'identity.sessions rejected': badCursor('identity.sessions'),
  'identity.users rejected': badCursor('identity.users'),
  'identity.invite store_not_found': ({ tenant }) =>
    invite(tenant, { email: 'a@example.com', roles: ['viewer'], stores: ['none'] }),
  'identity.invite name_taken': async ({ tenant }) => {
    const body = { email: 'twice@example.com', roles: ['viewer'] }
    await invite(tenant, body)
    return invite(tenant, body)
  },
  'identity.invite too_many': async (world) => {
    await addUsers(world, limits.users_per_tenant - 1)
    return invite(world.tenant, { email: 'more@example.com', roles: ['viewer'] })
  },
  'identity.invite tenant_destroyed': ({ tenant: { service }, ids }) =>
    send(
      service,
      'identity.invite',
      { ...exampleOf('identity.invite', ids), params: { tenant_id: ids.destroyed_tenant_id } },
      { key: service.operator_key },
    ),
  'identity.update_user last_owner': ofOwner('identity.update_user', { roles: ['viewer'] }),
  'identity.remove_user last_owner': ofOwner('identity.remove_user'),
  'identity.update_user wrong_state': async ({ tenant, ids }) => {
    await runSql(tenant.service, 'update users set secret_no = 0 where user_id = ?', ids.user_id)
    return tenant.ask('identity.update_user', exampleOf('identity.update_user', ids))
  },
}
