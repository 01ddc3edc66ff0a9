// Facts are found through an index: by ref on PostgreSQL without statistics, and new ones anywhere.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withPostgres } from '../../../platform/db/postgres/connection.ts'
import { SqliteConnection } from '../../../platform/db/sqlite/connection.ts'
import { migrateSqlite } from '../../../platform/db/sqlite/engine.ts'
import { rowsRead } from '../../../platform/db/testing/rows-read.ts'
import { openPostgres } from '../../../testing/postgres.ts'
import {
  findFactHeads,
  findFactStates,
  findFacts,
  findTombstones,
  listFactsSince,
  placeAfter,
  sinceStatement,
} from './facts.sql.ts'

const FACTS = 5_000
/** More than one statement's worth. */
const REFS = Array.from({ length: 40 }, (_, i) => 1 + i * 97)
/** Row versions an index may lead to for one ref in one table. */
const ROWS_A_REF = 2

const TABLES = ['facts', 'validity', 'tombstones']

const FILL = `
  alter table facts set (autovacuum_enabled = off);
  alter table validity set (autovacuum_enabled = off);
  alter table tombstones set (autovacuum_enabled = off);
  insert into facts (tenant_id, ref, store_id, written_seq, sealed_seq, written_us, token_count,
      state, sealed)
    select 't1', n, 's', n, n, n, 1, 0, '' from generate_series(1, ${FACTS}) n;
  insert into validity (tenant_id, store_id, ref, from_seq, valid_from_us)
    select 't1', 's', n, n, n from generate_series(1, ${FACTS}) n;
  insert into tombstones (tenant_id, ref, store_id, erased_seq, erased_us)
    select 't1', n, 's', n, n from generate_series(1, ${FACTS}) n`

const looks = {
  findFacts: { look: findFacts, tables: 2 },
  findFactHeads: { look: findFactHeads, tables: 2 },
  findStates: { look: findFactStates, tables: 1 },
  findTombstones: { look: findTombstones, tables: 1 },
}

test('facts are found by ref without reading others, even without statistics', async () => {
  const { db, url, close } = await openPostgres({ connections: 1 })
  try {
    await withPostgres(url, (connection) => connection.step(FILL))
    for (const [name, { look, tables }] of Object.entries(looks)) {
      // Often enough for PostgreSQL to settle on a plan.
      for (let time = 1; time <= 8; time += 1) {
        const { found, rows } = await db.read('t1', async (r) => {
          const before = await rowsRead(r, TABLES)
          const answer: { ref: number }[] = await look(r, REFS)
          return { found: answer.map(({ ref }) => ref), rows: (await rowsRead(r, TABLES)) - before }
        })
        assert.deepEqual(
          found.sort((a, b) => a - b),
          REFS,
        )
        const most = REFS.length * tables * ROWS_A_REF
        assert.ok(rows > 0 && rows <= most, `${name}, time ${time}: ${rows} rows read`)
      }
    }
  } finally {
    await close()
  }
})

/** Facts of one log entry, and pages that end within one. */
const TOGETHER = 10
const PAGE = 7

test('what is new in a store is found without reading the rest of it, in whole pages', async () => {
  const { db, url, close } = await openPostgres({ connections: 1 })
  try {
    await withPostgres(url, (connection) => connection.step(FILL))
    const batches = `update facts set sealed_seq = ref / ${TOGETHER}`
    await withPostgres(url, (connection) => connection.step(batches))
    const since = FACTS - 3 * TOGETHER
    const { found, rows } = await db.read('t1', async (r) => {
      const before = await rowsRead(r, TABLES)
      const found: number[] = []
      for (let place = placeAfter(since / TOGETHER - 1); ; ) {
        const page = await listFactsSince(r, 's', place, PAGE)
        found.push(...page.map(({ ref }) => ref))
        const last = page.at(-1)
        if (last === undefined || page.length < PAGE) break
        place = last
      }
      return { found, rows: (await rowsRead(r, TABLES)) - before }
    })
    assert.deepEqual(
      found,
      Array.from({ length: FACTS - since + 1 }, (_, at) => since + at),
    )
    assert.ok(rows < FACTS / 10, `${rows} rows read`)
  } finally {
    await close()
  }
})

test('the embedded engine finds what is new in a store by an index', () => {
  const connection = new SqliteConnection(':memory:', 'write')
  try {
    migrateSqlite(connection)
    const page = { store_id: 's', ...placeAfter(7), limit: PAGE }
    const values = sinceStatement.bind('t1', page)
    const plan = connection.all(`explain query plan ${sinceStatement.sql}`, values)
    const details = plan.map((row) => String(Object(row).detail)).join('\n')
    assert.match(details, /SEARCH facts USING INDEX facts_by_store_id_sealed_seq .*sealed_seq>/)
  } finally {
    connection.close()
  }
})
