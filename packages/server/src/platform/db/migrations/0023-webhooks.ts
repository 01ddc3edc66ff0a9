// Endpoints that log entries are sent to, and what is on its way to them.

import type { Migration } from './ddl.ts'

export const webhooks: Migration = {
  name: '0023-webhooks',
  tables: [
    {
      name: 'webhooks',
      columns: {
        tenant_id: 'text',
        webhook_id: 'text',
        state: 'text',
        disabled_reason: 'text?',
        signature: 'text',
        compatibility: 'int',
        events: 'text',
        cursor_seq: 'int',
        previous_seq: 'int?',
        generation: 'int',
        failures: 'int',
        failing_since_us: 'int?',
        next_probe_us: 'int',
        last_success_us: 'int?',
        job_id: 'text',
        secret_no: 'int',
        sealed: 'blob?',
        created_us: 'int',
      },
      primary_key: ['tenant_id', 'webhook_id'],
      clustered: true,
    },
    {
      name: 'webhook_deliveries',
      columns: {
        tenant_id: 'text',
        webhook_id: 'text',
        delivery_id: 'text',
        kind: 'text',
        event_type: 'text',
        seq: 'int?',
        previous_seq: 'int?',
        generation: 'int',
        status: 'text',
        attempts: 'int',
        next_us: 'int?',
        response_code: 'int?',
        error: 'text?',
        job_id: 'text?',
        created_us: 'int',
        completed_us: 'int?',
      },
      primary_key: ['tenant_id', 'webhook_id', 'delivery_id'],
      clustered: true,
      indexes: [
        // What is due, and what is open.
        { columns: ['tenant_id', 'webhook_id', 'next_us'], where: 'next_us is not null' },
        { columns: ['tenant_id', 'webhook_id', 'created_us'] },
      ],
    },
  ],
}
