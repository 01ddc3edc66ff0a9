// Upgrades: a process goes on beside the schema of the next version, and none starts on it.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { withPostgres } from '../../packages/server/src/platform/db/postgres/connection.ts'
import { custos, fsck } from '../crash/testing/command-line.ts'
import { seeded, seedOfRun } from '../crash/testing/random.ts'
import { ServerProcess } from '../crash/testing/server-process.ts'
import { openFleet } from './testing/fleet.ts'
import { checkEverywhere, startLoad, stopLoads } from './testing/mixed-load.ts'

/** What a migration may do while processes of the version before it serve. */
const NEXT = [
  'alter table facts add column of_the_next_version bigint',
  'alter table breadcrumbs add column of_the_next_version bigint not null default 0',
  'create table tables_of_the_next_version (tenant_id text primary key)',
  "insert into migrations values ('9999-of-the-next-version')",
]
const REFUSED =
  /^custos serve: [^\n]*9999-of-the-next-version[^\n]*newer than this version[^\n]*\n$/

test('processes go on under load beside a newer schema, and no older one starts', async (t) => {
  const random = seeded(seedOfRun())
  t.diagnostic(`CUSTOS_TEST_SEED=${random.seed}`)
  const fleet = await openFleet(t)
  const servers = await fleet.start(2)
  const load = await startLoad(servers, { workers: 4, random })
  await delay(500)
  await withPostgres(fleet.database_url, async (connection) => {
    for (const statement of NEXT) await connection.step(statement)
  })
  const before = load.promises.facts.size
  await delay(1_000)
  const late = fleet.spawn()
  await late.ended()
  assert.equal(late.exitCode, 1)
  assert.match(late.output, REFUSED)
  await assert.rejects(custos(fleet.options, ['migrate']), /newer than this version/)
  await stopLoads([load])
  assert.ok(load.promises.facts.size > before, 'nothing was written beside the newer schema')
  await checkEverywhere(servers, load)
  await fsck(fleet.options)
})

test('a data directory of a newer version is refused and left as it is', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'custos-downgrade-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const options = { data_dir: join(dir, 'data') }
  const first = await ServerProcess.serve(options).listening()
  await first.stop()
  const names = (change?: string) => {
    const database = new DatabaseSync(join(options.data_dir, 'custos.db'))
    if (change !== undefined) database.exec(change)
    const rows = database.prepare('select name from migrations order by name').all()
    database.close()
    return rows
  }
  const written = names("insert into migrations (name) values ('9999-of-the-next-version')")
  const older = ServerProcess.serve(options)
  await older.ended()
  assert.equal(older.exitCode, 1)
  assert.match(older.output, REFUSED)
  assert.deepEqual(names(), written)
})
