// Requests of retention, legal holds and off-boarding that succeed for the tenant of the ids.

import type { Sent } from '../table.ts'
import type { Ids } from '../world.ts'

const store = ({ store_id }: Ids) => ({ params: { store_id } })
const tenant = ({ tenant_id }: Ids) => ({ params: { tenant_id } })

/** Examples by operation id. */
export const retentionExamples: Readonly<Record<string, (ids: Ids) => Sent>> = {
  'retention.get': store,
  'retention.set': (ids) => ({ ...store(ids), body: { retain_days: 3_650, basis: 'contract' } }),
  'retention.run': store,
  'retention.place_hold': (ids) => ({
    ...store(ids),
    body: { reason: 'a claim was announced', matter: 'C-118/26', until: '2200-01-01T00:00:00Z' },
  }),
  'retention.holds': (ids) => ({ ...store(ids), query: { standing: true, limit: 10, offset: 0 } }),
  'retention.release_hold': ({ store_id, hold_id }) => ({
    params: { store_id, hold_id },
    body: { reason: 'settled' },
  }),

  'offboarding.destroy_key': (ids) => ({
    ...tenant(ids),
    body: { confirm: `destroy ${ids.tenant_id}`, legal_basis: 'end of the contract' },
  }),
  'offboarding.destruction': ({ destroyed_tenant_id }) => ({
    params: { tenant_id: destroyed_tenant_id },
  }),
}
