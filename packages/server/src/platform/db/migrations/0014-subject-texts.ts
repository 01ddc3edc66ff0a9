// Requests of data subjects reach every record: how many were found; holds and the basis of
// retention have record secrets of their own.

import type { Migration } from './ddl.ts'

export const subjectTexts: Migration = {
  name: '0014-subject-texts',
  tables: [],
  columns: [
    { table: 'subject_requests', name: 'texts', column: 'int?' },
    { table: 'store_holds', name: 'secret_no', column: 'int?' },
    { table: 'store_retention', name: 'secret_no', column: 'int?' },
  ],
  indexes: [
    { table: 'store_holds', columns: ['tenant_id', 'secret_no'] },
    { table: 'store_retention', columns: ['tenant_id', 'secret_no'] },
  ],
}
