// What is undone when a run ends other than completed.

import type { Migration } from './ddl.ts'

export const compensation: Migration = {
  name: '0061-compensation',
  tables: [],
  columns: [
    { table: 'runs', name: 'on_failure', column: 'text?' },
    { table: 'runs', name: 'ends_as', column: 'text?' },
    { table: 'runs', name: 'compensation', column: 'text?' },
    { table: 'run_calls', name: 'compensates', column: 'text?' },
  ],
}
