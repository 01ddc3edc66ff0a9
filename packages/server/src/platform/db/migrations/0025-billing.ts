// Subscriptions of tenants at the payment provider, its events, and the usage reported to it.

import type { Migration } from './ddl.ts'

export const billing: Migration = {
  name: '0025-billing',
  tables: [
    {
      name: 'subscriptions',
      columns: {
        tenant_id: 'text',
        status: 'text',
        plan: 'text',
        session_id: 'text?',
        customer_id: 'text?',
        subscription_id: 'text?',
        period_start_us: 'int?',
        period_end_us: 'int?',
        past_due_us: 'int?',
        fetched_us: 'int',
      },
      primary_key: ['tenant_id'],
    },
    {
      name: 'billing_objects',
      columns: { object_id: 'text', tenant_id: 'text' },
      primary_key: ['object_id'],
      clustered: true,
    },
    {
      name: 'billing_events',
      columns: {
        event_id: 'text',
        type: 'text',
        object_id: 'text',
        tenant_id: 'text?',
        created_us: 'int',
      },
      primary_key: ['event_id'],
      clustered: true,
    },
    {
      name: 'meter_marks',
      columns: { tenant_id: 'text', meter: 'text', period_start_us: 'int', total: 'int' },
      primary_key: ['tenant_id', 'meter', 'period_start_us'],
      clustered: true,
    },
    {
      name: 'meter_reports',
      columns: {
        tenant_id: 'text',
        meter: 'text',
        to_total: 'int',
        from_total: 'int',
        at_us: 'int',
        prepared_us: 'int',
        identifier: 'text',
        state: 'text',
      },
      primary_key: ['tenant_id', 'meter', 'to_total'],
    },
  ],
}
