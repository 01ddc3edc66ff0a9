// The languages of a store.

import type { Migration } from './ddl.ts'

export const storeLanguages: Migration = {
  name: '0018-store-languages',
  tables: [],
  columns: [{ table: 'stores', name: 'languages', column: 'text?' }],
}
