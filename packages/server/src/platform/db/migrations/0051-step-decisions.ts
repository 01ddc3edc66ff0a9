// The step that a decision was logged by.

import type { Migration } from './ddl.ts'

export const stepDecisions: Migration = {
  name: '0051-step-decisions',
  tables: [],
  indexes: [
    {
      table: 'run_steps',
      columns: ['tenant_id', 'decision_id'],
      where: 'decision_id is not null',
    },
  ],
}
