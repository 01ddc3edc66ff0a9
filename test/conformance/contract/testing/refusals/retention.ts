// For every refusal of retention, legal holds and off-boarding, a request that provokes it.

import { exampleOf } from '../../examples.ts'
import { send, type Tenant } from '../tenant.ts'
import { GHOSTS, type Ids } from '../world.ts'
import type { Provoke } from './provoke.ts'

const ofStore = ({ store_id }: Ids) => ({ store_id })

const hold = (tenant: Tenant, ids: Ids) =>
  tenant.ok('retention.place_hold', { params: ofStore(ids), body: { reason: 'C-118/26' } })

/** An example of the operation while a hold stands on its store. */
const held = (id: string): [string, Provoke] => [
  `${id} legal_hold`,
  async ({ tenant, ids }) => {
    await hold(tenant, ids)
    const key = id.startsWith('offboarding.') ? tenant.service.operator_key : tenant.api_key
    return send(tenant.service, id, exampleOf(id, ids), { key })
  },
]

const HELD = [
  'memory.delete',
  'memory.delete_store',
  'erasure.issue',
  'decisions.scrub',
  'decisions.redact',
  'retention.run',
  'offboarding.destroy_key',
]

const noStore = (id: string): [string, Provoke] => [
  `${id} store_not_found`,
  ({ tenant }) => tenant.ask(id, exampleOf(id, GHOSTS)),
]

const OF_STORE = ['get', 'set', 'run', 'place_hold', 'holds', 'release_hold']

const byOperator =
  (id: string, ids: (own: Ids) => Ids, body?: object): Provoke =>
  ({ tenant, ids: own }) => {
    const sent = exampleOf(id, ids(own))
    const key = tenant.service.operator_key
    return send(tenant.service, id, body ? { ...sent, body } : sent, { key })
  }

/** Cases by `operation code`. */
export const provokingRetention: Readonly<Record<string, Provoke>> = {
  ...Object.fromEntries(HELD.map(held)),
  ...Object.fromEntries(OF_STORE.map((verb) => noStore(`retention.${verb}`))),
  'retention.run retention_not_set': async ({ tenant, ids }) => {
    await tenant.ok('retention.set', { params: ofStore(ids), body: { retain_days: null } })
    return tenant.ask('retention.run', { params: ofStore(ids) })
  },
  'retention.place_hold rejected': ({ tenant, ids }) =>
    tenant.ask('retention.place_hold', {
      params: ofStore(ids),
      body: { reason: 'late', until: '2001-01-01T00:00:00Z' },
    }),
  'retention.holds rejected': ({ tenant, ids }) =>
    tenant.ask('retention.holds', { params: ofStore(ids), query: { cursor: 'not-a-cursor' } }),
  'retention.release_hold hold_not_found': ({ tenant, ids }) =>
    tenant.ask('retention.release_hold', {
      params: { store_id: ids.store_id, hold_id: GHOSTS.hold_id },
    }),
  'offboarding.destroy_key tenant_not_found': byOperator('offboarding.destroy_key', () => GHOSTS),
  'offboarding.destroy_key rejected': byOperator('offboarding.destroy_key', (ids) => ids, {
    confirm: 'yes',
  }),
  'offboarding.destruction tenant_not_found': byOperator('offboarding.destruction', () => GHOSTS),
  'offboarding.destruction certificate_not_found': byOperator('offboarding.destruction', (ids) => ({
    ...ids,
    destroyed_tenant_id: ids.tenant_id,
  })),
  'tenants.rotate_key tenant_destroyed': async (world) => {
    await byOperator('offboarding.destroy_key', (ids) => ids)(world)
    return byOperator('tenants.rotate_key', (ids) => ids)(world)
  },
}
