// The languages of a store.

import type { Migration } from './ddl.ts'

export const storeLanguages: Migration = {
  name: '0020-store-languages',
  tables: [],
  columns: [{ table: 'stores', name: 'languages', column: 'text?' }],
}
