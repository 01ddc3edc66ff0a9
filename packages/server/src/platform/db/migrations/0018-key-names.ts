// Names of keys are sealed, and requests of data subjects reach them and the namespaces of keys.

import type { Migration } from './ddl.ts'

export const keyNames: Migration = {
  name: '0018-key-names',
  tables: [],
  columns: [
    { table: 'credentials', name: 'name_secret_no', column: 'int?' },
    { table: 'credentials', name: 'sealed_name', column: 'blob?' },
  ],
  indexes: [{ table: 'credentials', columns: ['tenant_id', 'name_secret_no'] }],
  grants: [
    { table: 'credentials', rights: 'update (name_secret_no, sealed_name)' },
    { table: 'credential_limits', rights: 'update (secret_no, sealed)' },
  ],
}
