// Copies the database in a worker thread, so that the command can report its progress.

import { parentPort, workerData } from 'node:worker_threads'
import { SqliteConnection } from '../platform/db/sqlite/connection.ts'

// Posted by backup.ts only; `to` is an empty file, already private.
const { from, to }: { readonly from: string; readonly to: string } = workerData
const connection = new SqliteConnection(from, 'read')
try {
  // Copies one snapshot, without the free pages that may still hold deleted data.
  connection.run('VACUUM INTO ?', [to])
  parentPort?.postMessage('done')
} finally {
  connection.close()
}
