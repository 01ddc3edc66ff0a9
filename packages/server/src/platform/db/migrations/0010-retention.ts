// How long a store keeps its memories, and the legal holds that keep them from being erased.

import type { Migration } from './ddl.ts'

export const retention: Migration = {
  name: '0010-retention',
  // What is due is found by its age, however large the store.
  indexes: [{ table: 'facts', columns: ['tenant_id', 'store_id', 'written_us'] }],
  tables: [
    {
      name: 'store_retention',
      columns: {
        tenant_id: 'text',
        store_id: 'text',
        retain_days: 'int?',
        set_us: 'int',
        set_by: 'text',
        sealed: 'blob?',
        job_id: 'text?',
        run_days: 'int?',
        run_cutoff_us: 'int?',
        run_started_us: 'int?',
        run_erased: 'int',
        run_batch: 'text?',
        last_us: 'int?',
        last_erased: 'int',
      },
      primary_key: ['tenant_id', 'store_id'],
    },
    {
      name: 'store_holds',
      columns: {
        tenant_id: 'text',
        hold_id: 'text',
        store_id: 'text',
        placed_seq: 'int',
        placed_us: 'int',
        placed_by: 'text',
        until_us: 'int?',
        released_us: 'int?',
        released_by: 'text?',
        sealed: 'blob',
        sealed_release: 'blob?',
      },
      primary_key: ['tenant_id', 'hold_id'],
      indexes: [{ columns: ['tenant_id', 'store_id', 'placed_seq'] }],
    },
  ],
}
