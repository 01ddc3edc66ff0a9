// Until when a run undoes what it did, and who or what ended that before.

import type { Migration } from './ddl.ts'

export const compensationEnd: Migration = {
  name: '0070-compensation-end',
  tables: [],
  columns: [
    { table: 'runs', name: 'compensation_until_us', column: 'int?' },
    { table: 'runs', name: 'compensation_stopped', column: 'text?' },
  ],
}
