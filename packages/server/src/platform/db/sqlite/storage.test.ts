// The embedded engine keeps what every engine promises.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { storageSuite } from '../../../testing/storage-suite.ts'
import { systemClock } from '../../clock.ts'
import { SqliteConnection } from './connection.ts'
import { migrateSqlite, SqliteEngine } from './engine.ts'

storageSuite('sqlite', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'custos-storage-'))
  const path = join(dir, 'custos.db')
  const connection = new SqliteConnection(path, 'write')
  migrateSqlite(connection)
  connection.close()
  const db = new SqliteEngine(path, systemClock())
  const close = async () => {
    await db.close()
    rmSync(dir, { recursive: true })
  }
  return { db, second: db, close }
})
