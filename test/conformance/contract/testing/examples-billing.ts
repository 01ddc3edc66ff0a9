// Examples of billing and of plans.

import { paymentEvent } from './payments.ts'
import type { Sent } from './table.ts'
import type { Ids } from './world.ts'

const ofTenant = ({ tenant_id }: Ids): Sent => ({ params: { tenant_id } })

/** By operation id. */
export const billingExamples: Readonly<Record<string, (ids: Ids) => Sent>> = {
  'billing.checkout': ({ tenant_id }) => ({ body: { tenant_id } }),
  'billing.webhook': paymentEvent,
  'billing.subscription': ofTenant,
  'billing.cancel': ofTenant,
  'billing.portal': ofTenant,
  'tenants.update': (ids) => ({ ...ofTenant(ids), body: { name: 'renamed' } }),
}
