// For every refusal an operation of webhooks declares, a request that provokes it.

import { limits, type RefusalCode } from '@custos/contract'
import { exampleOf } from '../../examples.ts'
import { ofWebhook } from '../examples/webhooks.ts'
import { runSql } from '../rows.ts'
import type { Sent } from '../table.ts'
import { GHOSTS, type Ids } from '../world.ts'
import type { Provoke } from './provoke.ts'

const OF_ONE = [
  'webhooks.get',
  'webhooks.update',
  'webhooks.delete',
  'webhooks.rotate_secret',
  'webhooks.deliveries',
  'webhooks.retry',
  'webhooks.replay',
  'webhooks.test',
]

const ofNone = (id: string, code: RefusalCode): [string, Provoke] => [
  `${id} ${code}`,
  ({ tenant }) => tenant.ask(id, exampleOf(id, GHOSTS)),
]

const asking =
  (id: string, request: (ids: Ids) => Sent): Provoke =>
  ({ tenant, ids }) =>
    tenant.ask(id, request(ids))

/** To an endpoint that is disabled. */
const disabled =
  (id: string): Provoke =>
  async ({ tenant, ids }) => {
    await tenant.ok('webhooks.update', { ...ofWebhook(ids), body: { enabled: false } })
    return tenant.ask(id, exampleOf(id, ids))
  }

const erased =
  (id: string): Provoke =>
  async ({ tenant, ids }) => {
    const redacted = `update webhooks set secret_no = 0, disabled_reason = 'redacted'`
    await runSql(tenant.service, `${redacted} where tenant_id = ?`, tenant.tenant_id)
    return tenant.ask(id, exampleOf(id, ids))
  }

const endpoint = { url: 'https://hooks.invalid/', events: ['memory.erased'] }
const INNER = 'https://10.0.0.1:8443/'

/** Cases by `operation code`. */
export const provokingWebhooks: Readonly<Record<string, Provoke>> = {
  ...Object.fromEntries(OF_ONE.map((id) => ofNone(id, 'webhook_not_found'))),
  'webhooks.create url_refused': asking('webhooks.create', () => ({
    body: { ...endpoint, url: INNER },
  })),
  'webhooks.create rejected': asking('webhooks.create', () => ({
    body: { ...endpoint, events: ['memory.forgotten'] },
  })),
  'webhooks.create too_many': async ({ tenant }) => {
    const { webhooks } = await tenant.ok('webhooks.list')
    for (let count = webhooks.length; count < limits.webhooks_per_tenant; count += 1)
      await tenant.ok('webhooks.create', { body: endpoint })
    return tenant.ask('webhooks.create', { body: endpoint })
  },
  'webhooks.list rejected': asking('webhooks.list', () => ({ query: { cursor: 'none' } })),
  'webhooks.deliveries rejected': asking('webhooks.deliveries', (ids) => ({
    ...ofWebhook(ids),
    query: { cursor: 'none' },
  })),
  'webhooks.update url_refused': asking('webhooks.update', (ids) => ({
    ...ofWebhook(ids),
    body: { url: INNER },
  })),
  'webhooks.update rejected': asking('webhooks.update', (ids) => ({
    ...ofWebhook(ids),
    body: { events: ['memory.forgotten'] },
  })),
  'webhooks.update wrong_state': erased('webhooks.update'),
  'webhooks.rotate_secret wrong_state': erased('webhooks.rotate_secret'),
  'webhooks.retry delivery_not_found': asking('webhooks.retry', ({ webhook_id }) => ({
    params: { webhook_id, delivery_id: GHOSTS.delivery_id },
  })),
  'webhooks.retry wrong_state': disabled('webhooks.retry'),
  'webhooks.replay rejected': asking('webhooks.replay', (ids) => ({ ...ofWebhook(ids), body: {} })),
  'webhooks.replay wrong_state': disabled('webhooks.replay'),
  'webhooks.test wrong_state': erased('webhooks.test'),
  'webhooks.test rate_limited': async ({ tenant, ids }) => {
    for (let count = 0; count < limits.webhook_tests_per_minute; count += 1)
      await tenant.ok('webhooks.test', ofWebhook(ids))
    return tenant.ask('webhooks.test', ofWebhook(ids))
  },
}
