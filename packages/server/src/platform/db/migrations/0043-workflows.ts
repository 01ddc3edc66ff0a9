// Workflows: agents that take turns in a run.

import type { Migration } from './ddl.ts'

export const workflows: Migration = {
  name: '0043-workflows',
  tables: [
    {
      name: 'workflows',
      columns: {
        tenant_id: 'text',
        workflow_id: 'text',
        mode: 'text',
        agent_ids: 'text',
        supervisor_agent_id: 'text?',
        max_rounds: 'int',
        max_total_steps: 'int',
        one_at_a_time: 'int',
        definition_label: 'text',
        secret_no: 'int',
        sealed: 'blob',
        run_id: 'text?',
        created_us: 'int',
      },
      primary_key: ['tenant_id', 'workflow_id'],
      clustered: true,
      indexes: [{ columns: ['tenant_id', 'secret_no'] }],
    },
  ],
  columns: [
    { table: 'runs', name: 'workflow_id', column: 'text?' },
    { table: 'run_steps', name: 'turn_no', column: 'int?' },
  ],
}
