// Providers of models, and runs that this service executes itself.

import type { Migration } from './ddl.ts'

export const managedRuns: Migration = {
  name: '0034-managed-runs',
  tables: [
    {
      name: 'llm_providers',
      columns: {
        tenant_id: 'text',
        provider_id: 'text',
        model_key: 'text',
        kind: 'text',
        enabled: 'int',
        price_in_micro: 'int',
        price_out_micro: 'int',
        definition_label: 'text',
        secret_no: 'int',
        sealed: 'blob',
        created_us: 'int',
      },
      primary_key: ['tenant_id', 'provider_id'],
      clustered: true,
      unique: [{ columns: ['tenant_id', 'model_key'] }],
      indexes: [{ columns: ['tenant_id', 'secret_no'] }],
    },
  ],
  columns: [
    { table: 'runs', name: 'executor', column: 'text?' },
    { table: 'runs', name: 'job_id', column: 'text?' },
    { table: 'run_steps', name: 'provider_id', column: 'text?' },
    { table: 'run_steps', name: 'asked_us', column: 'int?' },
  ],
}
