// The engine's ceiling: rows of a decision's size inserted with one durable commit per 32.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** Durable inserts per second of `bytes`-sized rows at `batch` rows a commit. */
export function commitCeiling(seconds: number, { batch = 32, bytes = 1_200 } = {}): number {
  const dir = mkdtempSync(join(tmpdir(), 'custos-bench-'))
  const db = new DatabaseSync(join(dir, 'raw.db'))
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON')
  db.exec(
    'create table rows (tenant_id text, seq integer, body blob, ' +
      'primary key (tenant_id, seq)) strict',
  )
  const insert = db.prepare('insert into rows values (?, ?, ?)')
  const body = Buffer.alloc(bytes, 7)
  const end = performance.now() + seconds * 1_000
  let rows = 0
  const began = performance.now()
  while (performance.now() < end) {
    db.exec('BEGIN IMMEDIATE')
    for (let i = 0; i < batch; i++) insert.run('t', rows++, body)
    db.exec('COMMIT')
  }
  const rate = rows / ((performance.now() - began) / 1_000)
  db.close()
  rmSync(dir, { recursive: true })
  return rate
}
