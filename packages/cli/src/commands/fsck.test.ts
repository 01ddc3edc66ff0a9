// custos fsck: it finds rows changed outside the service, and does not disturb a running service.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  closeSync,
  cpSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { runFsck } from '@custos/server'
import { runCustos, spawnCustos, type TestCleanup, tempDirectory } from '../testing/run.ts'
import {
  type LocalService,
  type SampleData,
  serveLocally,
  writeSampleData,
} from '../testing/serve-locally.ts'

const BIN = fileURLToPath(new URL('../../bin/custos.js', import.meta.url))

let local: LocalService
let written: SampleData

/** A copy of the stopped service's data, changed by `change`, and what is found in it. */
async function findIn(change: (db: DatabaseSync, dir: string) => void): Promise<string[]> {
  const data_dir = join(tempDirectory(), 'copy')
  cpSync(local.data_dir, data_dir, { recursive: true })
  const db = new DatabaseSync(join(data_dir, 'custos.db'))
  change(db, data_dir)
  db.close()
  const reports = await runFsck({ ...local.config, data_dir })
  return reports.flatMap(({ findings }) => findings.map((f) => `${f.kind} ${f.id}: ${f.what}`))
}

/** Its page says that it has no cells; no table is touched. */
function emptyIndex(path: string, index: string): void {
  const db = new DatabaseSync(path)
  const row = db
    .prepare(
      'select (rootpage - 1) * page_size as at from sqlite_schema, pragma_page_size where name = ?',
    )
    .get(index)
  db.close()
  const fd = openSync(path, 'r+')
  // The number of cells is at byte 3 of a page.
  writeSync(fd, Buffer.alloc(2), 0, 2, Number(row?.['at']) + 3)
  closeSync(fd)
}

const FLIP = 'CAST(substr(sealed, 1, length(sealed) - 20) || zeroblob(20) AS BLOB)'

interface Tampering {
  readonly name: string
  readonly sql: () => string
  readonly finds: () => RegExp
}

const tamperings: readonly Tampering[] = [
  {
    name: 'an entry of the log is altered',
    sql: () => `UPDATE breadcrumbs SET record = replace(record, '"count":1', '"count":2')`,
    finds: () => /^log entry \d+: breadcrumb id mismatch/m,
  },
  {
    name: 'an entry of the log is missing',
    sql: () => 'DELETE FROM breadcrumbs WHERE seq = 3',
    finds: () => /^log entry 3: breadcrumb missing/m,
  },
  {
    name: 'the end of the log is cut off',
    sql: () => `DELETE FROM breadcrumbs WHERE seq = (SELECT max(seq) FROM breadcrumbs);
      DELETE FROM epochs WHERE epoch_number = 2`,
    finds: () => /^log entry \d+: breadcrumb missing/m,
  },
  {
    name: 'a signed root is replaced',
    sql: () => 'UPDATE epochs SET root_hash = zeroblob(32) WHERE epoch_number = 1',
    finds: () => /^log epoch 1: epoch root mismatch/m,
  },
  {
    name: 'the newest checkpoint is gone',
    sql: () => 'DELETE FROM epochs WHERE epoch_number = 2',
    finds: () => /^log epoch 2: is not the one signed/m,
  },
  {
    name: 'the head of the log is replaced',
    sql: () => 'UPDATE chain_heads SET last_id = zeroblob(32)',
    finds: () => /^log entry \d+: head mismatch/m,
  },
  {
    name: 'the bytes of a fact are changed',
    sql: () => `UPDATE facts SET sealed = ${FLIP} WHERE ref = ${written.refs[0]}`,
    finds: () => new RegExp(`^fact ${written.refs[0]}: the seal does not open`, 'm'),
  },
  {
    name: 'the sealed content of a fact is replaced by another fact',
    sql: () => `UPDATE facts SET sealed =
        (SELECT sealed FROM facts f WHERE f.ref = ${written.refs[2]})
      WHERE ref = ${written.refs[0]}`,
    finds: () => new RegExp(`^fact ${written.refs[0]}: the seal does not open`, 'm'),
  },
  {
    name: 'a fact is moved to another namespace',
    sql: () => `UPDATE facts SET namespace = 'x' WHERE ref = ${written.refs[0]}`,
    finds: () => new RegExp(`^fact ${written.refs[0]}: its id does not follow`, 'm'),
  },
  {
    name: 'a fact is dated before the key that signed it',
    sql: () => `UPDATE facts SET written_us = 1 WHERE ref = ${written.refs[0]}`,
    finds: () => new RegExp(`^fact ${written.refs[0]}: its key was not valid`, 'm'),
  },
  {
    name: 'the token count of a fact is changed',
    sql: () => `UPDATE facts SET token_count = 1 WHERE ref = ${written.refs[0]}`,
    finds: () => new RegExp(`^fact ${written.refs[0]}: its tokens are miscounted`, 'm'),
  },
  {
    name: 'a fact has vanished',
    sql: () => `DELETE FROM facts WHERE ref = ${written.refs[0]};
      DELETE FROM validity WHERE ref = ${written.refs[0]}`,
    finds: () => /^log entry \d+: speaks of 1 facts, 0 are here/m,
  },
  {
    name: 'a fact names a log entry that did not write it',
    sql: () => `UPDATE facts SET written_seq = 0 WHERE ref = ${written.refs[0]}`,
    finds: () => new RegExp(`^fact ${written.refs[0]}: the log has no entry`, 'm'),
  },
  {
    name: 'a fact has no open version',
    sql: () => `UPDATE validity SET until_seq = 99 WHERE ref = ${written.refs[0]}`,
    finds: () => new RegExp(`^validity ${written.refs[0]}: 0 open versions`, 'm'),
  },
  {
    name: 'a fact has two open versions',
    sql: () => `UPDATE validity SET until_seq = NULL WHERE ref = ${written.refs[2]}`,
    finds: () => new RegExp(`^validity ${written.refs[2]}: 2 open versions`, 'm'),
  },
  {
    name: 'versions overlap',
    sql: () => `UPDATE validity SET until_seq = until_seq + 1 WHERE until_seq IS NOT NULL
      AND ref = ${written.refs[2]}`,
    finds: () => new RegExp(`^validity ${written.refs[2]}: versions that leave a gap`, 'm'),
  },
  {
    name: 'a version ends before it begins',
    sql: () => `UPDATE validity SET valid_until_us = 1 WHERE ref = ${written.refs[0]}`,
    finds: () => new RegExp(`^validity ${written.refs[0]}: it ends before it begins`, 'm'),
  },
  {
    name: 'a version is superseded by nothing',
    sql: () => `UPDATE validity SET superseded_by = 987654 WHERE ref = ${written.refs[0]}`,
    finds: () => new RegExp(`^validity ${written.refs[0]}: superseded by 987654, unknown`, 'm'),
  },
  {
    name: 'versions belong to no fact',
    sql: () => `INSERT INTO validity (tenant_id, store_id, ref, from_seq, valid_from_us)
      VALUES ('local', 'default', 777777, 1, 1)`,
    finds: () => /^validity 777777: versions of no fact/m,
  },
  {
    name: 'a tombstone is missing',
    sql: () => 'DELETE FROM tombstones',
    finds: () =>
      new RegExp(`^tombstone ${written.erased}: erased by entry \\d+, no tombstone`, 'm'),
  },
  {
    name: 'a tombstone points to another entry',
    sql: () => 'UPDATE tombstones SET erased_seq = 1',
    finds: () => new RegExp(`^tombstone ${written.erased}: entry 1 of the log does not say`, 'm'),
  },
  {
    name: 'a tombstone has lost its certificate',
    sql: () => 'UPDATE tombstones SET certificate_id = NULL',
    finds: () => new RegExp(`^tombstone ${written.erased}: no certificate stands for it`, 'm'),
  },
  {
    name: 'a tombstone for a fact that was never erased',
    sql: () => `INSERT INTO tombstones (tenant_id, ref, erased_seq, erased_us)
      VALUES ('local', 888888, 1, 1)`,
    finds: () => /^tombstone 888888: the ledger knows nothing of it/m,
  },
  {
    name: 'a decision is altered under its seal',
    sql: () => `UPDATE decisions SET sealed = ${FLIP}`,
    finds: () => new RegExp(`^decision ${written.decision_id}: the seal does not open`, 'm'),
  },
  {
    name: 'a decision is no sealed document at all',
    sql: () => `UPDATE decisions SET sealed = x'ff'`,
    finds: () => /^decision - *: the check failed/m,
  },
  {
    name: 'a decision names another model',
    sql: () => `UPDATE decisions SET model_id = 'other'`,
    finds: () => new RegExp(`^decision ${written.decision_id}: `, 'm'),
  },
  {
    name: 'a decision has vanished',
    sql: () => 'DELETE FROM decisions',
    finds: () => /^log decisions: the log has 1 decisions, the table has 0/m,
  },
  {
    name: 'a certificate is altered',
    sql: () => `UPDATE certificates SET record = replace(record, 'data_subject', 'nobody')`,
    finds: () => new RegExp(`^certificate ${'[0-9a-f]+'}: does not verify: signature`, 'm'),
  },
  {
    name: 'a certificate has vanished',
    sql: () => 'DELETE FROM certificates',
    finds: () => /^certificate fact \d+: completed in the ledger, no certificate is here/m,
  },
  {
    name: 'a certificate stands for another fact',
    sql: () => `UPDATE certificates SET subject = '4'`,
    finds: () => /^certificate [0-9a-f]+: stands for another subject/m,
  },
  {
    name: 'the description of a store is altered',
    sql: () => `UPDATE stores SET sealed = ${FLIP}`,
    finds: () => /^store default: the seal does not open/m,
  },
]

describe('fsck', () => {
  before(async () => {
    const ends: (() => void | Promise<void>)[] = []
    const t: TestCleanup = { after: (end) => void ends.push(end) }
    local = await serveLocally(t)
    written = await writeSampleData(local)
    for (const end of ends) await end()
  })

  test('a sound data directory has no findings and is not changed', async () => {
    const before = listing(local.data_dir)
    const ran = await runCustos(['fsck', '--data-dir', local.data_dir])
    assert.equal(ran.status, 0, ran.stdout + ran.stderr)
    assert.match(ran.stdout, /local +\d+ +2 +0 +1 +3 +1 +1 +1 +0\nnothing found\n$/)
    assert.deepEqual(listing(local.data_dir), before)
    assert.deepEqual(await findIn(() => {}), [])
  })

  for (const { name, sql, finds } of tamperings)
    test(`${name}: found`, async () => {
      const found = await findIn((db) => db.exec(sql()))
      assert.match(found.join('\n'), finds())
    })

  test('a log that is dated later than the machine: found, with what to do', async () => {
    const found = await findIn((db) =>
      db.exec('UPDATE chain_heads SET last_us = last_us + 7200000000'),
    )
    assert.match(found.join('\n'), /^log clock: the newest entry is 7\d{3} s ahead .*NTP/m)
  })

  for (const [at, index] of [
    ['custos.db', 'facts_by_store_id_ref'],
    ['keyring/keyring.db', 'ledger_kind'],
  ] as const)
    test(`${at} whose index ${index} has lost its rows: found`, async () => {
      const found = await findIn((_, dir) => emptyIndex(join(dir, at), index))
      const file = at.replace('keyring/', '')
      assert.match(found.join('\n'), new RegExp(`^file ${file}: .*: restore a backup$`, 'm'))
    })

  const unreadable: [name: string, change: (file: string) => void][] = [
    ['garbage', (file) => writeFileSync(file, 'no database at all '.repeat(1_000))],
    ['an empty file', (file) => writeFileSync(file, '')],
    ['a directory', (file) => mkdirSync(file)],
    ['half of itself', (file) => truncateSync(file, 4_096)],
    ['cut off within a page', (file) => truncateSync(file, 10_000)],
    [
      'garbage in the middle',
      (file) => {
        const { size } = statSync(file)
        const third = Math.floor(size / 3)
        writeSync(openSync(file, 'r+'), Buffer.alloc(third, 0xa7), 0, third, third)
      },
    ],
  ]
  for (const [name, change] of unreadable)
    for (const at of ['custos.db', join('keyring', 'keyring.db')])
      test(`${at} that is ${name} is reported without a stack`, async () => {
        const data_dir = join(tempDirectory(), 'copy')
        cpSync(local.data_dir, data_dir, { recursive: true })
        const file = join(data_dir, at)
        if (name === 'a directory') rmSync(file)
        change(file)
        const ran = await spawnCustos(['fsck', '--data-dir', data_dir])
        assert.equal(ran.status, 1, ran.stdout + ran.stderr)
        const told = ran.stderr === '' ? ran.stdout : ran.stderr
        assert.match(told, /^custos fsck: [^\n]+\n$|: log files: cannot be read|the check failed/)
        assert.doesNotMatch(ran.stdout + ran.stderr, / {4}at |node:internal/)
      })

  test('files that the account may not read are reported without a stack', () => {
    if (process.getuid?.() !== 0) return
    const data_dir = join(tempDirectory(), 'copy')
    cpSync(local.data_dir, data_dir, { recursive: true })
    // Root reads every file: the command runs as somebody else.
    const ran = spawnSync(process.execPath, [BIN, 'fsck', '--data-dir', data_dir], {
      uid: 65_534,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'] },
    })
    assert.equal(ran.status, 1)
    assert.match(ran.stderr, /^custos fsck: [^\n]+ cannot be read \(EACCES\): [^\n]+\n$/)
  })

  test('a read-only mount is named as the reason, in one line', () => {
    const data_dir = join(tempDirectory(), 'copy')
    cpSync(local.data_dir, data_dir, { recursive: true })
    // Where another process has left them, SQLite reads without writing.
    for (const end of ['-shm', '-wal']) rmSync(join(data_dir, `custos.db${end}`), { force: true })
    const dir = `'${data_dir}'`
    const mount = `mount --bind ${dir} ${dir} && mount -o remount,ro,bind ${dir}`
    const apart = (command: string) =>
      spawnSync('unshare', ['-Urm', 'sh', '-c', `${mount} && ${command}`], { encoding: 'utf8' })
    if (apart('true').status !== 0) return
    const ran = apart(`'${process.execPath}' '${BIN}' fsck --data-dir ${dir}`)
    assert.equal(ran.status, 1)
    assert.match(ran.stderr, /^custos fsck: [^\n]+cannot be written to \(EROFS\)[^\n]+\n$/)
    assert.match(ran.stderr, /make it writable .*, restore a backup\n$/)
  })

  test('a restored secret of an erased fact: found', async () => {
    const found = await findIn((_, dir) => {
      const keyring = new DatabaseSync(join(dir, 'keyring', 'keyring.db'))
      const row = keyring
        .prepare(
          `SELECT slot - first + ? AS slot FROM secret_blocks
           WHERE kind = 'fact' AND first <= ? AND first + count > ?`,
        )
        .get(written.erased, written.erased, written.erased)
      keyring.close()
      const fd = openSync(join(dir, 'keyring', 'secrets.slots'), 'r+')
      writeSync(fd, Buffer.alloc(32, 7), 0, 32, Number(row?.['slot']) * 32)
    })
    assert.match(found.join('\n'), /^tombstone \d+: its secret is alive/m)
  })

  test('findings show no content and give status 1', async () => {
    const data_dir = join(tempDirectory(), 'copy')
    cpSync(local.data_dir, data_dir, { recursive: true })
    const db = new DatabaseSync(join(data_dir, 'custos.db'))
    db.exec(`UPDATE facts SET namespace = 'x'`)
    db.close()
    const ran = await runCustos(['fsck', '--data-dir', data_dir, '--tenant', 'local'])
    assert.equal(ran.status, 1)
    assert.match(ran.stdout, /\n\d+ findings\n$/)
    assert.doesNotMatch(ran.stdout, /harbour|ferry|bees/)
  })

  test('while a service writes and erases, there are no findings', async (t) => {
    const live = await serveLocally(t)
    let running = true
    const load = async () => {
      while (running) {
        const { ref } = await live.call('POST', '/v1/stores/default/write', { content: 'a word' })
        await live.call('POST', '/v1/erasure/issue', { fact_ref: ref })
        await live.call('POST', '/v1/gcrumbs/roll', {})
      }
    }
    const loads = [load(), load()]
    try {
      for (let round = 0; round < 3; round += 1) {
        const ran = await spawnCustos(['fsck', '--data-dir', live.data_dir])
        assert.equal(ran.status, 0, ran.stdout + ran.stderr)
      }
    } finally {
      running = false
      await Promise.all(loads)
    }
  })

  test('missing data, an unknown tenant and a wrong master key are one-line errors', async () => {
    const empty = await runCustos(['fsck', '--data-dir', tempDirectory()])
    assert.equal(empty.status, 1)
    assert.match(empty.stderr, /^custos fsck: [^\n]* holds no data: [^\n]*\n$/)
    const args = ['fsck', '--data-dir', local.data_dir]
    const unknown = await runCustos([...args, '--tenant', 'nobody'])
    assert.deepEqual(
      [unknown.status, unknown.stderr],
      [1, 'custos fsck: there is no tenant nobody here\n'],
    )
    const env = { CUSTOS_MASTER_KEY: 'ab'.repeat(32) }
    const wrong = await runCustos(args, { env })
    assert.equal(wrong.status, 1)
    assert.match(wrong.stderr, /^custos fsck: the master key is not the one of this keyring\n$/)
  })
})

/** Names and sizes, without the empty log files that every reader of SQLite leaves. */
function listing(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((name) => !/-(wal|shm)$/.test(name) && statSync(join(dir, name)).isFile())
    .map((name) => `${name} ${statSync(join(dir, name)).size}`)
    .sort()
}
