// For every refusal an operation of billing declares, and every refusal of a plan, a request that
// provokes it.

import assert from 'node:assert/strict'
import type {
  TestOptions,
  TestService,
} from '../../../../../packages/server/src/testing/harness.ts'
import { providerOf } from '../../../../../packages/server/src/testing/loopback-payments.ts'
import { rawSql } from '../../../../../packages/server/src/testing/raw-sql.ts'
import { exampleOf } from '../../examples.ts'
import { paymentEvent, seen, startContractService, subscribe } from '../payments.ts'
import type { Sent } from '../table.ts'
import { send, Tenant } from '../tenant.ts'
import { GHOSTS, type Ids } from '../world.ts'
import type { Provoke } from './provoke.ts'

/** As an operator, about the tenant of the ids. */
const byOperator =
  (id: string, sent: (ids: Ids) => Sent): Provoke =>
  ({ tenant: { service }, ids }) =>
    send(service, id, sent(ids), { key: service.operator_key })

const about = (tenant_id: string): Sent => ({ body: { tenant_id } })

/** At a service with another configuration or provider. */
const elsewhere =
  (id: string, config: TestOptions['config'], stops: boolean): Provoke =>
  async () => {
    const service = await startContractService({ ...(config && { config }) })
    try {
      const { tenant_id, api_key } = await service.createTenant('elsewhere')
      const sent = id === 'billing.webhook' ? paymentEvent() : { params: { tenant_id } }
      if (stops) {
        await subscribe(new Tenant(service, { tenant_id, api_key }))
        await providerOf(service).stop()
      }
      // Without a provider only a row says that there is a subscription.
      else if (id !== 'billing.webhook') await insertSubscription(service, tenant_id)
      const given = id === 'billing.checkout' ? {} : sent
      return await send(service, id, given, { key: api_key })
    } finally {
      await service.stop()
    }
  }

async function insertSubscription(service: TestService, tenant_id: string): Promise<void> {
  await rawSql(
    service,
    `insert into subscriptions (tenant_id, status, plan, customer_id, subscription_id, fetched_us)
      values (?, 'active', 'pro', 'cus_1', 'sub_1', 0)`,
    [tenant_id],
  )
}

const GROWING = [
  ['memory.create_store', 'quota_exceeded'],
  ['memory.write', 'quota_exceeded'],
  ['memory.write_batch', 'quota_exceeded'],
  ['memory.ingest', 'quota_exceeded'],
  ['memory.supersede', 'quota_exceeded'],
  ['memory.import', 'quota_exceeded'],
  ['items.put', 'quota_exceeded'],
  ['items.batch', 'quota_exceeded'],
  ['decisions.log', 'free_ceiling_reached'],
  ['cgr.decide', 'free_ceiling_reached'],
  ['cgr.verify_batch', 'free_ceiling_reached'],
  ['orchestrator.complete_step', 'free_ceiling_reached'],
] as const

/** Under a plan that nothing is left of. */
const usedUp =
  (id: string): Provoke =>
  async ({ tenant, ids }) => {
    const { service, tenant_id } = tenant
    const sent = { params: { tenant_id }, body: { plan: 'enterprise' } }
    const changed = await send(service, 'tenants.update', sent, { key: service.operator_key })
    assert.equal(changed.status, 200, changed.text)
    return tenant.ask(id, exampleOf(id, ids))
  }

const CALLING = ['billing.checkout', 'billing.cancel', 'billing.portal']

/** Cases by `operation code`. */
export const provokingBilling: Readonly<Record<string, Provoke>> = {
  ...Object.fromEntries(GROWING.map(([id, code]) => [`${id} ${code}`, usedUp(id)])),
  ...Object.fromEntries(
    ['tenants.update', 'billing.subscription', 'billing.cancel', 'billing.portal'].map((id) => [
      `${id} tenant_not_found`,
      byOperator(id, () => exampleOf(id, GHOSTS)),
    ]),
  ),
  'billing.checkout tenant_not_found': byOperator('billing.checkout', () =>
    about(GHOSTS.tenant_id),
  ),
  'billing.checkout tenant_destroyed': byOperator('billing.checkout', (ids) =>
    about(ids.destroyed_tenant_id),
  ),
  'tenants.update tenant_destroyed': byOperator('tenants.update', (ids) => ({
    ...exampleOf('tenants.update', ids),
    params: { tenant_id: ids.destroyed_tenant_id },
  })),
  'billing.checkout rejected': ({ tenant }) =>
    tenant.ask('billing.checkout', { body: { success_url: 'https://elsewhere.invalid/' } }),
  'billing.checkout wrong_state': async ({ tenant }) => {
    const { session_id } = await tenant.ok('billing.checkout')
    await providerOf(tenant.service).pay(session_id)
    await seen(tenant, ({ status }) => status === 'active')
    return tenant.ask('billing.checkout')
  },
  ...Object.fromEntries(
    ['billing.cancel', 'billing.portal'].map((id): [string, Provoke] => [
      `${id} subscription_not_found`,
      async ({ tenant: { service } }) => {
        const { tenant_id, api_key } = await service.createTenant('free')
        return send(service, id, { params: { tenant_id } }, { key: api_key })
      },
    ]),
  ),
  'billing.webhook payment_signature_invalid': ({ tenant: { service } }) =>
    send(service, 'billing.webhook', { raw: '{}' }),
  ...Object.fromEntries(
    [...CALLING, 'billing.webhook'].map((id) => [
      `${id} billing_not_configured`,
      elsewhere(id, { billing: null }, false),
    ]),
  ),
  ...Object.fromEntries(
    CALLING.map((id) => [`${id} payment_unavailable`, elsewhere(id, undefined, true)]),
  ),
}
