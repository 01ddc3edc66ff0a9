// The checkpointer's thread: reads the size of the WAL and copies it into the database.

import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

// Set by startCheckpointer only.
const task: { readonly path: string; readonly passive: number; readonly truncate: number } =
  workerData
const db = new DatabaseSync(task.path, { timeout: 2_000 })
db.exec('PRAGMA synchronous = FULL')
db.exec('PRAGMA secure_delete = ON')
db.exec('PRAGMA wal_autocheckpoint = 0')
// A truncating checkpoint blocks writers for as long as it waits for readers.
db.exec('PRAGMA busy_timeout = 10')

/** Frames that arrive while a checkpoint runs; if more are left, a reader holds an old snapshot. */
const FRAMES_LEFT_MAX = 2_000

function walBytes(): number {
  return statSync(`${task.path}-wal`, { throwIfNoEntry: false })?.size ?? 0
}

function check(): void {
  const bytes = walBytes()
  if (bytes < task.passive) return
  try {
    const [done] = db.prepare('PRAGMA wal_checkpoint(PASSIVE)').all()
    const left = Number(done?.['log'] ?? 0) - Number(done?.['checkpointed'] ?? 0)
    if (bytes >= task.truncate && left <= FRAMES_LEFT_MAX)
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch {
    // Readers are busy or the disk is full; the next message tries again.
  }
}

parentPort?.on('message', (message: 'check' | 'stop') => {
  if (message === 'check') return check()
  db.close()
  parentPort?.close()
})
