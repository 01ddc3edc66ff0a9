// A data directory moved to PostgreSQL: the same answers, one log, and nothing half done served.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import { verifyConsistency } from '@custos/proof'
import type { Config } from '../../config/config.ts'
import { withPostgres } from '../../platform/db/postgres/connection.ts'
import { migratePostgres } from '../../platform/db/postgres/migrate.ts'
import { startTestService, type TestService } from '../../testing/harness.ts'
import { createDatabase } from '../../testing/postgres.ts'
import { casesOf } from '../../testing/sweep.ts'
import { runMigrate, runMigrateEngine } from '../admin.ts'
import { runFsck } from '../checks/fsck.ts'
import { openKernel } from '../open/open-kernel.ts'
import { runRestore } from '../restore/restore.ts'
import {
  type Agent,
  answersOf,
  EMBEDDED,
  type Filled,
  fillDirectory,
  ONCE,
  store,
  tell,
} from './testing/filled-directory.ts'
import { configOf, inPlace, startOn } from './testing/place.ts'

let filled: Filled

before(async () => {
  filled = await fillDirectory()
})

after(() => filled?.remove())

/** Asking for the answers uses a key. */
const withoutUse = (text: string): string =>
  text.replaceAll(/"last_used_at":(null|"[^"]*")/g, '"last_used_at":null')

/** A service on the database answers what the one on the directory did. */
async function assertAnswers(
  config: Config,
  then: (service: TestService) => Promise<void> = async () => {},
): Promise<void> {
  const service = await startOn(config)
  try {
    const answers = await answersOf(service, filled.agents)
    for (const [path, text] of filled.answers)
      assert.equal(withoutUse(answers.get(path) ?? ''), withoutUse(text), path)
    await then(service)
  } finally {
    await service.stop()
  }
}

const startEmbedded = (data_dir: string) => startTestService({ data_dir, config: EMBEDDED })

const select = (url: string, sql: string) =>
  withPostgres(url, async (c) => (await c.query({ sql }, [])).rows)

/** Everything below the directory but what readers of SQLite leave. */
function filesOf(dir: string): Map<string, string> {
  const names = readdirSync(dir, { recursive: true, encoding: 'utf8' }).sort()
  const files = names.filter((name) => statSync(join(dir, name)).isFile())
  const own = files.filter((name) => !/-(wal|shm)$|\.lock/.test(name))
  return new Map(own.map((name) => [name, readFileSync(join(dir, name), 'base64')]))
}

test('a directory with an off-boarded tenant is moved, and its certificate with it', () =>
  inPlace(filled, async ({ data_dir, config }) => {
    const service = await startEmbedded(data_dir)
    const gone = filled.agents[0]?.tenant_id ?? ''
    const path = `/v1/admin/tenants/${gone}`
    const operator = { key: service.operator_key }
    const body = { confirm: `destroy ${gone}` }
    const asked = await service.request('POST', `${path}/destroy-key`, { ...operator, body })
    assert.ok(asked.status < 300, asked.text)
    await service.kernel.jobs.idle()
    const { text } = await service.request('GET', `${path}/destruction`, operator)
    await service.stop({ keep: true })

    const moved = await runMigrateEngine(config, { force: false })
    const proof = moved.tenants.find(({ tenant_id }) => tenant_id === gone)
    assert.deepEqual([proof?.facts, proof?.decisions, proof?.stores], [0, 0, 0])
    const other = await startOn(config)
    try {
      const { status, text: after } = await other.request('GET', `${path}/destruction`, operator)
      assert.deepEqual([status, after], [200, text])
    } finally {
      await other.stop()
    }
  }))

test('a moved directory answers as before, its log goes on as an extension, and it stays put', () =>
  inPlace(filled, async ({ data_dir, config }) => {
    const before = filesOf(data_dir)
    const moved = await runMigrateEngine(config, { force: false })
    assert.deepEqual(
      moved.tables.find(({ name }) => name === 'decisions')?.rows,
      filled.agents.length * 3,
    )
    assert.equal(moved.tables.find(({ name }) => name === 'jobs')?.rows, filled.agents.length)
    assert.deepEqual(
      moved.tenants.map(({ decisions, stores, facts }) => [facts, decisions, stores]),
      filled.agents.map(() => [5, 3, 1]),
    )
    assert.equal(moved.keyring.signing_keys, filled.signing_keys)
    assert.ok(moved.keyring.destroyed > 0)

    const files = filesOf(data_dir)
    files.delete('moved-to-postgresql')
    assert.deepEqual(files, before)

    await assertAnswers(config, goOn)
    const reports = await runFsck(config)
    assert.deepEqual(
      reports.flatMap(({ findings }) => findings),
      [],
    )
  }))

/** Writes, a repeated request, an erasure and a checkpoint after the move. */
async function goOn(service: TestService): Promise<void> {
  for (const [i, agent] of filled.agents.entries()) {
    const repeated = { content: `${i === 0 ? 'Ada' : 'Grace'} lives in Porto` }
    const again = await tell(service, agent, 'POST', store(agent, '/write'), repeated, ONCE)
    assert.equal(again.ref, agent.refs[0])
    const fresh = { content: 'Written on PostgreSQL' }
    const { ref } = await tell(service, agent, 'POST', store(agent, '/write'), fresh)
    assert.ok(ref > Math.max(...agent.refs))
    await tell(service, agent, 'POST', '/v1/erasure/issue', { fact_ref: agent.refs[3] })
    const { epoch_number } = await tell(service, agent, 'POST', '/v1/gcrumbs/roll', {})
    await assertExtends(service, agent, { from: 2, to: epoch_number })
    const verdict = await tell(service, agent, 'GET', '/v1/gcrumbs/verify?full=true')
    assert.equal(verdict.status, 'intact')
  }
}

/** The checkpoint that the directory signed last is a prefix of one that PostgreSQL signed. */
async function assertExtends(
  service: TestService,
  agent: Agent,
  { from, to }: { from: number; to: number },
): Promise<void> {
  const proof = await tell(
    service,
    agent,
    'GET',
    `/v1/gcrumbs/epochs/${to}/consistency?from=${from}`,
  )
  const epochs = filled.answers.get(`${agent.tenant_id} /v1/gcrumbs/epochs`) ?? ''
  assert.ok(epochs.includes(JSON.stringify(proof.from_checkpoint)), epochs)
  const bytes = (hex: string) => Buffer.from(hex, 'hex')
  const holds = verifyConsistency({
    from: proof.from_size,
    fromRoot: bytes(proof.from_root),
    to: proof.to_size,
    toRoot: bytes(proof.to_root),
    path: proof.path.map(bytes),
  })
  assert.ok(proof.to_size > proof.from_size && holds)
}

test('a destroyed secret is not brought, and the keyring lies apart under the key given', () =>
  inPlace(filled, async ({ url, data_dir }) => {
    const keys = await createDatabase()
    try {
      const config = configOf(data_dir, url, { CUSTOS_KEYRING_URL: keys.url })
      const { keyring } = await runMigrateEngine(config, { force: false })
      const [{ count }] = await select(keys.url, 'select count(*) from custos_keyring.secrets')
      assert.equal(count, keyring.secrets + 1, 'and the key of a day')
      for (const { tenant_id, erased } of filled.agents) {
        const sql = `select 1 from custos_keyring.secrets where tenant_id = '${tenant_id}'
          and kind = 'fact' and number = ${erased}`
        assert.deepEqual(await select(keys.url, sql), [])
      }
      const there = `select to_regnamespace('custos_keyring') as there`
      assert.deepEqual(await select(url, there), [{ there: null }])
      const wrong = openKernel({ ...config, master_key: '5b'.repeat(32) })
      await assert.rejects(wrong, { code: 'wrong_master_key' })
      await assertAnswers(config)
    } finally {
      await keys.drop()
    }
  }))

test('a directory that was moved is not served until its mark is removed, nor moved twice', () =>
  inPlace(filled, async ({ data_dir, config }) => {
    const { mark } = await runMigrateEngine(config, { force: false })
    await assert.rejects(startEmbedded(data_dir), /^Error: the data of .* was moved to Post/)
    const other = await createDatabase()
    try {
      const elsewhere = configOf(data_dir, other.url)
      for (const force of [false, true])
        await assert.rejects(runMigrateEngine(elsewhere, { force }), /was moved to PostgreSQL/)
    } finally {
      await other.drop()
    }
    const restored = runRestore({ ...config, postgres: null }, { data: mark, force: true })
    await assert.rejects(restored, /was moved to PostgreSQL/)
    rmSync(mark)
    const service = await startEmbedded(data_dir)
    await service.stop({ keep: true })
  }))

test('a database with rows of any kind is refused, with --force too, and left as it was', () =>
  inPlace(filled, async ({ data_dir, url, config }) => {
    const refused = async (pattern: RegExp) => {
      for (const force of [false, true])
        await assert.rejects(runMigrateEngine(config, { force }), pattern)
      assert.equal(existsSync(join(data_dir, 'moved-to-postgresql')), false)
    }
    await withPostgres(url, migratePostgres)
    await withPostgres(url, (c) => c.step(`insert into usage values ('t', '2026-01', 'x', 1, 0)`))
    await refused(/not empty \(rows in usage\): nothing was changed/)
    assert.deepEqual(await select(url, 'select operation from usage'), [{ operation: 'x' }])
    assert.deepEqual(await select(url, `select to_regnamespace('custos_keyring') as there`), [
      { there: null },
    ])
    await withPostgres(url, (c) => c.step('truncate usage'))
    await (await openKernel(config)).close()
    await refused(/not empty \(rows in instance\)/)
    await withPostgres(url, (c) => c.step('truncate instance'))
    await refused(/already has a keyring: nothing was changed/)
  }))

test('a directory that is not sound is refused before anything is made', () =>
  inPlace(filled, async ({ url, data_dir, config }) => {
    const db = new DatabaseSync(join(data_dir, 'custos.db'))
    db.exec(`update facts set sealed = zeroblob(length(sealed)) where ref = (
      select min(ref) from facts)`)
    db.close()
    await assert.rejects(
      runMigrateEngine(config, { force: false }),
      /is not sound, custos fsck lists \d+ findings; the first: .*: fact \d+: the seal does not/,
    )
    assert.deepEqual(await select(url, `select to_regclass('instance') as there`), [
      { there: null },
    ])
  }))

test('an erasure that is not finished in the directory is finished there first', () =>
  inPlace(filled, async ({ data_dir, config }) => {
    const keyring = new DatabaseSync(join(data_dir, 'keyring', 'keyring.db'))
    keyring.exec(`update ledger set state = 'requested' where subject_kind = 'fact'`)
    keyring.close()
    await assert.rejects(
      runMigrateEngine(config, { force: false }),
      /an erasure in .* is not finished: start the service on it once more/,
    )
  }))

test('a keyring older than its ledger copy is refused, a level one goes on with the copy', () =>
  inPlace(filled, async ({ url, data_dir }) => {
    const ledger_copy = join(data_dir, 'copy.ndjson')
    const old = filled.copy()
    const service = await startTestService({ data_dir, config: { ...EMBEDDED, ledger_copy } })
    const [agent] = filled.agents
    assert.ok(agent)
    await tell(service, agent, 'POST', '/v1/erasure/issue', { fact_ref: agent.refs[2] })
    await service.stop({ keep: true })
    const more = { CUSTOS_LEDGER_COPY: ledger_copy }
    const behind = runMigrateEngine(configOf(old, url, more), { force: false })
    await assert.rejects(behind, /an erasure in .* is not finished/)
    const { keyring } = await runMigrateEngine(configOf(data_dir, url, more), { force: false })
    const moved = await openKernel(configOf(data_dir, url, more))
    assert.equal(moved.kernel.keyring.merged_from_copy, 0)
    await moved.close()
    assert.ok(keyring.entries > 0)
  }))

test('a directory in use is refused', async () =>
  inPlace(filled, async ({ data_dir, config }) => {
    const service = await startEmbedded(data_dir)
    await assert.rejects(runMigrateEngine(config, { force: false }), /in use by another process/)
    await service.stop({ keep: true })
  }))

const POINTS = ['begun', 'keyring', 'copied', 'proved', 'marked']

for (const point of casesOf(POINTS, 2))
  test(`cut off when ${point}: not served, not gone on with, and started over with --force`, () =>
    inPlace(filled, async ({ config }) => {
      const step = (name: string) => {
        if (name === point) throw new Error('cut off')
      }
      await assert.rejects(runMigrateEngine(config, { force: false, step }), /cut off/)
      await assert.rejects(startOn(config), /did not finish; run it again with --force/)
      await assert.rejects(runMigrate(config), /did not finish; run it again with --force/)
      await assert.rejects(runMigrateEngine(config, { force: false }), /did not finish/)
      await runMigrateEngine(config, { force: true })
      await assertAnswers(config)
    }))

test('of many memories at least a thousand are opened on both sides, and all rows brought', () =>
  inPlace(filled, async ({ data_dir, config }) => {
    const service = await startEmbedded(data_dir)
    const [agent] = filled.agents
    assert.ok(agent)
    for (let at = 0; at < 3; at += 1) {
      const items = Array.from({ length: 700 }, (_, i) => ({ content: `Memory ${at} ${i}` }))
      await tell(service, agent, 'POST', store(agent, '/write_batch'), { items })
    }
    await service.stop({ keep: true })
    const { tables, tenants } = await runMigrateEngine(config, { force: false })
    assert.equal(tables.find(({ name }) => name === 'facts')?.rows, 2_100 + 10)
    const proof = tenants.find(({ tenant_id }) => tenant_id === agent.tenant_id)
    assert.equal(proof?.facts, Math.ceil(2_105 / 2))
  }))

test('rows that reach PostgreSQL as others are told, and the copy is not served', () =>
  inPlace(filled, async ({ url, config }) => {
    const sql = `create function alter_row() returns trigger language plpgsql as
        $$ begin new.token_count := new.token_count + 1; return new; end $$;
      create trigger alter_row before insert on facts for each row execute function alter_row()`
    const step = async (name: string) => {
      if (name === 'begun') await withPostgres(url, (c) => c.step(sql))
    }
    const run = runMigrateEngine(config, { force: false, step })
    await assert.rejects(run, /facts reads back as other rows: 10 were sent, 10 are there/)
    await assert.rejects(startOn(config), /did not finish/)
  }))

test('a role that owns the tables and is held to the row policies can move the data', () =>
  inPlace(filled, async ({ url, config }) => {
    const role = `mover_${randomBytes(6).toString('hex')}`
    const password = randomBytes(12).toString('hex')
    const scratch = await createDatabase()
    await withPostgres(scratch.url, migratePostgres)
    await scratch.drop()
    const name = new URL(url).pathname.slice(1)
    await withPostgres(url, (c) =>
      c.step(`create role ${role} login password '${password}'; grant custos_app to ${role};
        alter database ${name} owner to ${role}`),
    )
    const own = new URL(url)
    own.username = role
    own.password = password
    const mine = configOf(config.data_dir, own.href)
    try {
      await runMigrateEngine(mine, { force: false, step: failAt('copied') }).catch(() => {})
      await runMigrateEngine(mine, { force: true })
      await assertAnswers(mine)
      await assert.rejects(
        runMigrateEngine(mine, { force: true }),
        /not empty \(rows in instance\)/,
      )
      await withPostgres(own.href, (c) => c.step('truncate instance'))
      rmSync(join(config.data_dir, 'moved-to-postgresql'))
      await assert.rejects(
        runMigrateEngine(mine, { force: false }),
        /not empty \(rows in tenants\)/,
      )
    } finally {
      await withPostgres(url, (c) =>
        c.step(`reassign owned by ${role} to current_user; drop owned by ${role};
          drop role ${role}`),
      )
    }
  }))

const failAt = (point: string) => (name: string) => {
  if (name === point) throw new Error('cut off')
}
