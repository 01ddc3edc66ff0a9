// Backs up a running or stopped service into two files, data and keyring, neither useful alone.

import { createHash, randomBytes } from 'node:crypto'
import { closeSync, createReadStream, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { Worker } from 'node:worker_threads'
import type { Config } from '../config/config.ts'
import { formatTime } from '../platform/clock.ts'
import { databasePath, makeDirectory } from '../platform/db/data-dir.ts'
import { PRIVATE_FILE, syncDirectory, syncFile } from '../platform/keys/durable-file.ts'
import { OfflineError } from '../platform/operator-error.ts'
import { openReadOnly } from './open/open-read-only.ts'

export interface BackupFile {
  readonly path: string
  readonly bytes: number
  /** Lower hex. */
  readonly sha256: string
}

interface BackupOptions {
  readonly dir: string
  progress?(text: string, done: number, total: number): void
}

const POLL_MS = 250

/**
 * Copies the data first and the keyring second: a record erased in between is a row whose secret
 * the keyring has already destroyed, and whose erasure its ledger replays. The opposite order could
 * revive it.
 */
export async function runBackup(
  config: Config,
  options: BackupOptions,
): Promise<{ readonly data: BackupFile; readonly keyring: BackupFile }> {
  if (config.postgres !== null)
    throw new OfflineError('PostgreSQL has its own backups: see docs/operating/backup.md')
  const open = await openReadOnly(config)
  try {
    const dir = resolve(options.dir)
    makeDirectory(dir)
    const stem = join(dir, `custos-${stamp(open.kernel.clock.now())}`)
    await copyDatabase(databasePath(config.data_dir), `${stem}.data`, options)
    await open.kernel.keyring.backupTo(`${stem}.keyring`)
    return { data: await describe(`${stem}.data`), keyring: await describe(`${stem}.keyring`) }
  } finally {
    await open.close()
  }
}

/** `20260102T030405.678901Z`: sorts by time and is a valid file name everywhere. */
const stamp = (us: number): string => formatTime(us).replaceAll(/[-:]/g, '')

async function copyDatabase(from: string, to: string, options: BackupOptions): Promise<void> {
  const draft = `${to}.${randomBytes(6).toString('hex')}`
  try {
    closeSync(openSync(draft, 'wx', PRIVATE_FILE))
    await vacuumInto({ from, to: draft }, options)
    syncFile(draft)
    renameSync(draft, to)
    syncDirectory(options.dir)
  } finally {
    rmSync(draft, { force: true })
  }
}

async function vacuumInto(
  task: { readonly from: string; readonly to: string },
  options: BackupOptions,
): Promise<void> {
  const total = statSync(task.from).size
  const timer = setInterval(() => {
    options.progress?.('data', statSync(task.to).size, total)
  }, POLL_MS)
  try {
    await new Promise<void>((done, fail) => {
      const worker = new Worker(new URL('./backup-worker.ts', import.meta.url), {
        workerData: task,
        execArgv: ['--disable-warning=ExperimentalWarning'],
      })
      worker.once('message', () => done())
      worker.once('error', fail)
      worker.once('exit', () => fail(new Error('the copying thread stopped')))
    })
  } finally {
    clearInterval(timer)
  }
}

async function describe(path: string): Promise<BackupFile> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return { path, bytes: statSync(path).size, sha256: hash.digest('hex') }
}
