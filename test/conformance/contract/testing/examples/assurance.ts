// Examples of assurance and compliance, of billing and of plans.

import { paymentEvent } from '../payments.ts'
import type { Sent } from '../table.ts'
import type { Ids } from '../world.ts'

const schedule = ({ schedule_id }: Ids) => ({ params: { schedule_id } })
const tenant = ({ tenant_id }: Ids) => ({ params: { tenant_id } })
const nothing = () => ({})

/** By operation id. */
export const assuranceExamples: Readonly<Record<string, (ids: Ids) => Sent>> = {
  'assurance.create_schedule': () => ({ body: { interval_min: 30, checks: ['chain', 'clock'] } }),
  'assurance.schedules': nothing,
  'assurance.update_schedule': (ids) => ({ ...schedule(ids), body: { enabled: false } }),
  'assurance.delete_schedule': schedule,
  'assurance.run': () => ({ body: { checks: ['clock'] } }),
  'assurance.runs': () => ({ query: { limit: 10, offset: 0 } }),
  'assurance.get_run': ({ run_id }) => ({ params: { run_id } }),
  'assurance.capture_baseline': nothing,
  'assurance.baseline': nothing,
  'assurance.drift': () => ({ query: { limit: 10 } }),
  'assurance.stats': nothing,

  'compliance.history': (ids) => ({ ...tenant(ids), query: { limit: 10 } }),
  'compliance.status': () => ({ query: { limit: 10, offset: 0 } }),
  'compliance.badge_svg': tenant,
  'compliance.badge_json': tenant,
}

/** By operation id. */
export const billingExamples: Readonly<Record<string, (ids: Ids) => Sent>> = {
  'billing.checkout': ({ tenant_id }) => ({ body: { tenant_id } }),
  'billing.webhook': paymentEvent,
  'billing.subscription': tenant,
  'billing.cancel': tenant,
  'billing.portal': tenant,
  'tenants.update': (ids) => ({ ...tenant(ids), body: { name: 'renamed' } }),
}
