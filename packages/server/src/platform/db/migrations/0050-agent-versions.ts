// When an agent got the version that it has.

import type { Migration } from './ddl.ts'

export const agentVersions: Migration = {
  name: '0050-agent-versions',
  tables: [],
  columns: [{ table: 'agents', name: 'updated_us', column: 'int?' }],
}
