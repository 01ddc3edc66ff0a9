// The tables that docs/operating/scale.md distributes or replicates, against the schema.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { migrationsOf } from '../../packages/server/src/platform/db/migrations/migrations.ts'
import { blocksOf, readPage } from './testing/page.ts'

const page = readPage('docs/operating/scale.md')
const [sql = ''] = blocksOf(page).flatMap(({ language, text }) => (language === 'sql' ? text : []))

/** The quoted names of a text, but for the column. */
const namesIn = (text: string): string[] =>
  [...text.matchAll(/'(\w+)'/g)].map(([, name = '']) => name).filter((n) => n !== 'tenant_id')

test('the page for Citus distributes every table of a tenant and replicates every other', () => {
  const tables = migrationsOf('postgres').flatMap((migration) => migration.tables)
  const [distributed = '', replicated = ''] = sql.split('select create_reference_table')
  const own = tables.filter(({ primary_key }) => primary_key[0] === 'tenant_id')
  const control = tables.filter((table) => !own.includes(table) || table.name === 'tenants')
  const names = (some: typeof tables) => some.map(({ name }) => name).sort()
  assert.deepEqual(
    [...new Set(namesIn(distributed))].sort(),
    names(own.filter((table) => !control.includes(table))),
  )
  assert.deepEqual(namesIn(replicated).sort(), ['migrations', ...names(control)].sort())
})
