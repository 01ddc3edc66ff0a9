// For every refusal an operation of people and sessions declares, a request that provokes it.

import { limits } from '@custos/contract'
import { exampleOf } from '../../examples.ts'
import { runSql } from '../rows.ts'
import { send, type Tenant } from '../tenant.ts'
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
  'identity.invite too_many': async ({ tenant, ids }) => {
    const columns = 'state, roles, allowed_stores, secret_no, created_us'
    const copy =
      `insert into users (tenant_id, user_id, email_label, ${columns}) ` +
      `select tenant_id, ?, ?, ${columns} from users where user_id = ?`
    for (let count = 1; count < limits.users_per_tenant; count += 1)
      await runSql(tenant.service, copy, `u${count}`, `l${count}`, ids.user_id)
    return invite(tenant, { email: 'more@example.com', roles: ['viewer'] })
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
