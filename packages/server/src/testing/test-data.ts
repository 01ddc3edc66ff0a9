// Where a test's service keeps its data: a fresh directory, or a fresh database as well.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Environment } from '../config/env.ts'
import { databasePath } from '../platform/db/data-dir.ts'
import { SqliteConnection } from '../platform/db/sqlite/connection.ts'
import { migrateSqlite } from '../platform/db/sqlite/engine.ts'
import { createDatabase, type TestDatabase } from './postgres.ts'

/** Of the keyrings of tests; it opens nothing else. */
const MASTER_KEY = '5a'.repeat(32)

/** Which engine services of tests run on; `npm test` runs them on both. */
export const testEngine = (): 'sqlite' | 'postgres' =>
  process.env['CUSTOS_TEST_ENGINE'] === 'postgres' ? 'postgres' : 'sqlite'

/** For tests that copy the files of a directory: they are made where the data is in files. */
export const embeddedTest: (name: string, run: (t: TestContext) => Promise<void>) => void =
  testEngine() === 'sqlite' ? test : () => {}

/** What a certificate says of a secret that is no more; see `keyGone` of the erasure slice. */
export const keyGoneHere = (): string =>
  testEngine() === 'postgres' ? 'key_deleted' : 'key_destroyed'

export interface TestData {
  readonly data_dir: string
  /** Settings that make a service use it. */
  readonly env: Environment
  remove(): Promise<void>
}

// A service that is started again on its directory gets the database it had.
const databases = new Map<string, TestDatabase>()

export async function openTestData(prefix: string, known_dir?: string): Promise<TestData> {
  const data_dir = known_dir ?? mkdtempSync(join(tmpdir(), prefix))
  const remove = async () => {
    await databases.get(data_dir)?.drop()
    databases.delete(data_dir)
    rmSync(data_dir, { recursive: true, force: true })
  }
  const env: Environment = { CUSTOS_DATA_DIR: data_dir }
  if (testEngine() === 'sqlite') {
    if (known_dir === undefined) writeFileSync(databasePath(data_dir), migratedFile())
    return { data_dir, env, remove }
  }
  const database = databases.get(data_dir) ?? (await createDatabase({ migrated: true }))
  databases.set(data_dir, database)
  const shared = { CUSTOS_DATABASE_URL: database.url, CUSTOS_MASTER_KEY: MASTER_KEY }
  return { data_dir, env: { ...env, ...shared, CUSTOS_DATABASE_POOL: '4' }, remove }
}

let migrated: Buffer | null = null

/** A database without rows: to make its tables takes a third of the start of a service. */
function migratedFile(): Buffer {
  if (migrated) return migrated
  const dir = mkdtempSync(join(tmpdir(), 'custos-migrated-'))
  const path = databasePath(dir)
  const connection = new SqliteConnection(path, 'write')
  migrateSqlite(connection)
  connection.close()
  migrated = readFileSync(path)
  rmSync(dir, { recursive: true })
  return migrated
}
