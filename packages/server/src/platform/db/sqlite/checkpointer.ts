// Keeps the write-ahead log short from a worker thread, so that no COMMIT runs a checkpoint.

import { statSync } from 'node:fs'
import { Worker } from 'node:worker_threads'

const PASSIVE_BYTES = 2 * 1024 * 1024

// A passive checkpoint never resets the file under load (measured: 175 MB in 21 s).
const TRUNCATE_BYTES = 32 * 1024 * 1024

const EVERY_MS = 100

/**
 * Keeps the write-ahead log short from a worker thread, so that no COMMIT pays for a checkpoint.
 * The thread is started when the log first grows long: a service at rest does without it.
 */
export function startCheckpointer(path: string) {
  let worker: Worker | undefined
  let dirty = false
  const timer = setInterval(() => {
    if (!dirty) return
    dirty = false
    if (walBytes(path) < PASSIVE_BYTES) return
    if (!worker) {
      worker = startWorker(path)
      // A thread that cannot start must not end the service; the next message starts another one.
      worker.once('error', () => {
        worker = undefined
      })
    }
    worker.postMessage('check')
  }, EVERY_MS)
  timer.unref()
  return {
    /** Reports a commit. Cheap. */
    noteCommit(): void {
      dirty = true
    },
    async stop(): Promise<void> {
      clearInterval(timer)
      if (!worker) return
      // Without a reference the process could end before the worker has closed its connection.
      worker.ref()
      const ended = new Promise((resolve) => worker?.once('exit', resolve))
      worker.postMessage('stop')
      await ended
    },
  }
}

function startWorker(path: string): Worker {
  const worker = new Worker(new URL('./checkpoint-worker.ts', import.meta.url), {
    workerData: { path, passive: PASSIVE_BYTES, truncate: TRUNCATE_BYTES },
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
  worker.unref()
  return worker
}

/** Returns 0 if the size is unknown: readiness reports the fault, and the next commit retries. */
function walBytes(path: string): number {
  try {
    return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  } catch {
    return 0
  }
}
