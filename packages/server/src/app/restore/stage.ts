// Prepares a restore in a folder inside the data directory, which is removed at the end.

import { randomBytes } from 'node:crypto'
import {
  closeSync,
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { databasePath } from '../../platform/db/data-dir.ts'
import { migrations } from '../../platform/db/migrations/migrations.ts'
import { SqliteConnection } from '../../platform/db/sqlite/connection.ts'
import { PRIVATE_DIRECTORY, PRIVATE_FILE, syncFile } from '../../platform/keys/durable-file.ts'
import { OfflineError } from '../../platform/operator-error.ts'
import { destroyFile } from '../admin-master-key.ts'

const PREFIX = 'restore-'

/** On the file system of the data directory, so that files can be moved out of it. */
export function openStage(data_dir: string): string {
  mkdirSync(data_dir, { recursive: true, mode: PRIVATE_DIRECTORY })
  const stage = join(data_dir, `${PREFIX}${randomBytes(6).toString('hex')}`)
  mkdirSync(stage, { mode: PRIVATE_DIRECTORY })
  return stage
}

/** Removes this stage and those of restores that were cut off; their secrets are overwritten. */
export function removeStages(data_dir: string): void {
  const stages = readdirSync(data_dir, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && /^restore-[0-9a-f]{12}$/.test(entry.name),
  )
  for (const { name } of stages) removeStage(join(data_dir, name))
}

export function removeStage(stage: string): void {
  for (const folder of ['keyring', 'replaced'])
    if (existsSync(join(stage, folder, 'secrets.slots')))
      destroyFile(join(stage, folder, 'secrets.slots'))
  rmSync(stage, { recursive: true })
}

/** Copies the data file of a backup into the stage; OfflineError when it is none. */
export async function stageData(
  from: string,
  stage: string,
  progress: (done: number, total: number) => void,
): Promise<string> {
  const to = databasePath(stage)
  const total = statSync(from).size
  closeSync(openSync(to, 'wx', PRIVATE_FILE))
  let done = 0
  const input = createReadStream(from)
  input.on('data', (chunk) => {
    done += chunk.length
    progress(done, total)
  })
  await pipeline(input, createWriteStream(to, { flags: 'r+' }))
  requireDatabase(to, from)
  syncFile(to)
  return to
}

function requireDatabase(path: string, from: string): void {
  const connection = new SqliteConnection(path, 'read')
  try {
    const names = connection.all('select name from migrations', []) as { name: string }[]
    const known = new Set<string>(migrations.map(({ name }) => name))
    if (names.length === 0 || names.some(({ name }) => !known.has(name)))
      throw new OfflineError(`${from} is of another version`)
    const checked = connection.get('pragma quick_check(1)', []) as { quick_check: string }
    if (checked.quick_check !== 'ok') throw new OfflineError(`${from} is damaged`)
  } catch (error) {
    if (error instanceof OfflineError) throw error
    throw new OfflineError(`${from} is not the data file of a backup`)
  } finally {
    connection.close()
  }
}

/** Leaves one file: what is still in the write-ahead log goes into it. */
export function mergeWriteAheadLog(path: string): void {
  const connection = new SqliteConnection(path, 'write')
  try {
    connection.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    connection.exec('PRAGMA journal_mode = DELETE')
  } finally {
    connection.close()
  }
  syncFile(path)
}
