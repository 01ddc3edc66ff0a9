// Who acts on a call of a run, and the record that one waits for.

import type { Migration } from './ddl.ts'

export const toolKinds: Migration = {
  name: '0060-tool-kinds',
  tables: [],
  columns: [
    { table: 'run_calls', name: 'kind', column: 'text?' },
    { table: 'run_calls', name: 'record_id', column: 'text?' },
  ],
}
