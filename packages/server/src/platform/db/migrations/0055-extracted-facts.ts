// Facts that a model found in conversations: which turns each is from.

import type { Migration } from './ddl.ts'

export const extractedFacts: Migration = {
  name: '0055-extracted-facts',
  tables: [],
  columns: [{ table: 'digest_sources', name: 'extracted', column: 'int?' }],
}
