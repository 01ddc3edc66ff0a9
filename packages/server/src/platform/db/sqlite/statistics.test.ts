// The planner uses the index that was made for a search, not the first column of another.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SqliteConnection } from './connection.ts'
import { migrateSqlite } from './engine.ts'

const SECOND_COLUMNS = `
  select t.name as "table", c.name as "column"
    from pragma_table_list t, pragma_index_list(t.name) i, pragma_index_info(i.name) a,
      pragma_index_info(i.name) c
    where t.schema = 'main' and i.partial = 0 and a.seqno = 0 and a.name = 'tenant_id'
      and c.seqno = 1
    group by 1, 2`

const COARSE = /^(store_id|kind|state|subject_kind|dimension)$/

test('a row of a tenant is searched by the second column of an index', () => {
  const connection = new SqliteConnection(':memory:', 'write')
  try {
    migrateSqlite(connection)
    const searches = connection.all(SECOND_COLUMNS, []).map((row) => {
      const { table, column } = Object(row)
      const where = `tenant_id = ? and "${column}" = ?`
      const query = `explain query plan select * from "${table}" where ${where}`
      return { column, plan: String(Object(connection.all(query, ['t', 1])[0]).detail) }
    })
    const fine = searches.filter(({ column }) => !COARSE.test(column))
    assert.ok(fine.length > 100, `${fine.length} searches`)
    for (const { column, plan } of fine)
      assert.match(plan, new RegExp(`\\((tenant_id=\\? AND )?${column}=\\?`))
  } finally {
    connection.close()
  }
})

test('the statistics are written once', () => {
  const connection = new SqliteConnection(':memory:', 'write')
  try {
    migrateSqlite(connection)
    const changes = () => Object(connection.get('select total_changes() as n', [])).n
    const before = changes()
    migrateSqlite(connection)
    assert.equal(changes(), before)
    connection.run('delete from sqlite_stat1 where tbl = ?', ['facts'])
    migrateSqlite(connection)
    const count = connection.get("select count(*) as n from sqlite_stat1 where tbl = 'facts'", [])
    assert.ok(Object(count).n > 3)
  } finally {
    connection.close()
  }
})
