// Tools of managed runs, and when each call of one was sent.

import type { Migration } from './ddl.ts'

export const tools: Migration = {
  name: '0035-tools',
  tables: [
    {
      name: 'llm_tools',
      columns: {
        tenant_id: 'text',
        tool_id: 'text',
        name_key: 'text',
        version: 'int',
        kind: 'text',
        effect: 'text',
        enabled: 'int',
        definition_label: 'text',
        secret_no: 'int',
        sealed: 'blob',
        created_us: 'int',
      },
      primary_key: ['tenant_id', 'tool_id'],
      clustered: true,
      unique: [{ columns: ['tenant_id', 'name_key'] }],
      indexes: [{ columns: ['tenant_id', 'secret_no'] }],
    },
  ],
  columns: [
    { table: 'run_calls', name: 'tool_id', column: 'text?' },
    { table: 'run_calls', name: 'sent_us', column: 'int?' },
  ],
}
