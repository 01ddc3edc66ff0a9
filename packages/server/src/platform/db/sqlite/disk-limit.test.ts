// What a caller is told when the disk takes no more, and what is left afterwards.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../clock.ts'
import { from } from '../tenant-db.ts'
import { SqliteEngine } from './engine.ts'

const moduleUrl = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href)

// Fills the database until a batch of two units fails, then prints what both were told.
const fill = (path: string): string => `
  const { migrateSqlite } = await import(${moduleUrl('./engine.ts')})
  const { SqliteConnection } = await import(${moduleUrl('./connection.ts')})
  const { SqliteEngine } = await import(${moduleUrl('./engine.ts')})
  const { insertInto } = await import(${moduleUrl('../tenant-db.ts')})
  const { systemClock } = await import(${moduleUrl('../../clock.ts')})
  process.on('SIGXFSZ', () => {})
  const path = ${JSON.stringify(path)}
  const connection = new SqliteConnection(path, 'write')
  migrateSqlite(connection)
  connection.close()
  const db = new SqliteEngine(path, systemClock())
  const row = (operation) => ({ period: 'x'.repeat(100_000), operation, count: 1, bytes: 1 })
  const put = (name) => db.transact('t1', (tx) => tx.run(insertInto(tx, 'usage', row(name))))
  for (let i = 0; i < 100; i++) {
    const results = await Promise.allSettled([put(i + '-a'), put(i + '-b')])
    const codes = results.map((result) => result.reason?.code ?? 'kept')
    if (codes.includes('kept')) continue
    console.log(JSON.stringify({ kept: i * 2, codes }))
    break
  }`

test('a disk that takes no more fails the batch with 503 and loses nothing kept', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'custos-full-'))
  const path = join(dir, 'custos.db')
  const { stdout, stderr } = spawnSync(
    'bash',
    ['-c', 'ulimit -f 1500; exec "$0" --input-type=module -e "$1"', process.execPath, fill(path)],
    { encoding: 'utf8' },
  )
  assert.notEqual(stdout, '', stderr)
  const { kept, codes } = JSON.parse(stdout)
  for (const code of codes) assert(['storage_full', 'unavailable'].includes(code), code)

  const db = new SqliteEngine(path, systemClock())
  const rows = await db.read('t1', (r) => r.all(from(r, 'usage').select('operation')))
  assert.equal(rows.length, kept)
  await db.close()
  rmSync(dir, { recursive: true })
})
