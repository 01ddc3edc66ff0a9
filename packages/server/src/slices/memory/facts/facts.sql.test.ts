// Facts are found through an index: by ref on PostgreSQL without statistics, and new ones anywhere.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withPostgres } from '../../../platform/db/postgres/connection.ts'
import { SqliteConnection } from '../../../platform/db/sqlite/connection.ts'
import { migrateSqlite } from '../../../platform/db/sqlite/engine.ts'
import { SqliteTenantDb } from '../../../platform/db/sqlite/handle.ts'
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
import { listDigestsAmong, listSessionsOf } from './session-digests.sql.ts'
import { listChainRefs } from './validity.sql.ts'

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

/** How the embedded engine finds the rows of each statement, without sorting and its own tables. */
function recordPlans() {
  const connection = new SqliteConnection(':memory:', 'write')
  migrateSqlite(connection)
  const plans: string[] = []
  const explain = (query: string, values: readonly unknown[]) => {
    for (const row of connection.all(`explain query plan ${query}`, values))
      plans.push(String(Object(row).detail))
    return connection.all(query, values)
  }
  const planned = Object.assign(Object.create(connection), { all: explain, run: explain })
  return { db: new SqliteTenantDb('t1', planned), plans, close: () => connection.close() }
}

test('the embedded engine finds what is new in a store by an index', async () => {
  const { db, plans, close } = recordPlans()
  try {
    await db.allOf(sinceStatement, { store_id: 's', ...placeAfter(7), limit: PAGE })
    const details = plans.join('\n')
    assert.match(details, /SEARCH facts USING INDEX facts_by_store_id_sealed_seq .*sealed_seq>/)
  } finally {
    close()
  }
})

test('the embedded engine finds versions, sessions and sources by their keys', async () => {
  const { db, plans, close } = recordPlans()
  try {
    await listChainRefs(db, 7, PAGE)
    await listSessionsOf(db, [7, 8])
    await listDigestsAmong(db, [7])
    await listDigestsAmong(db, [7, 8])
    const searches = plans.filter((detail) =>
      /^(SEARCH|SCAN) (?!CONSTANT|chain|sides)/.test(detail),
    )
    assert.ok(searches.length > 4, plans.join('\n'))
    for (const detail of searches) assert.match(detail, /\(tenant_id=\? AND /)
  } finally {
    close()
  }
})
