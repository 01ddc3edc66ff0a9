// When a key was last used.

import type { Migration } from './ddl.ts'

export const keyUses: Migration = {
  name: '0027-key-uses',
  tables: [],
  columns: [{ table: 'credentials', name: 'used_us', column: 'int?' }],
  grants: [{ table: 'credentials', rights: 'update (used_us)' }],
}
