// One process of a test run: takes files from a queue, one after another, until it is empty.

import { appendFileSync, openSync, readFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { ROOT } from './files.ts'

export interface Queue {
  readonly files: readonly string[]
  readonly engine: 'sqlite' | 'postgres'
  /** How many files one process takes: services of many files leave garbage behind. */
  readonly files_max: number
  /** For a file and for each test in it. */
  readonly timeout_ms: number
  /** Whether to note which functions of *.sql.ts were called. */
  readonly covers: boolean
}

export const QUEUE = 'queue.json'

/** Files beside the queue; a line is a query (`path function`), a tab and the test's path. */
export const CALLED = 'called-'

const ROOT_URL = `${pathToFileURL(ROOT).href}/`

/** Whether this process is the first to take item `index`: the file it makes must be new. */
function claim(directory: string, index: number): boolean {
  try {
    openSync(join(directory, `taken-${index}`), 'wx')
    return true
  } catch {
    return false
  }
}

function startCoverage(): Session {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  return session
}

/** Adds what was called since the last time. */
function noteCalled(session: Session, path: string, file: string): void {
  session.post('Profiler.takePreciseCoverage', (error, { result }) => {
    if (error) throw error
    const called = result
      .filter(({ url }) => url.endsWith('.sql.ts'))
      .flatMap(({ url, functions }) =>
        functions
          .filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0)
          .map(({ functionName }) => `${url.slice(ROOT_URL.length)} ${functionName}`),
      )
    appendFileSync(path, called.map((query) => `${query}\t${file}\n`).join(''))
  })
}

/** Each file is one test with the file's tests below it, so its hooks run for it alone. */
export async function runQueue(directory: string): Promise<void> {
  const queue: Queue = JSON.parse(readFileSync(join(directory, QUEUE), 'utf8'))
  process.env['CUSTOS_TEST_ENGINE'] = queue.engine
  const coverage = queue.covers ? startCoverage() : undefined
  // A test may wait for a timer that does not keep the process open.
  const open = setInterval(() => {}, 60_000)
  let taken = 0
  for (const [index, file] of queue.files.entries()) {
    if (taken === queue.files_max) break
    if (!claim(directory, index)) continue
    taken += 1
    await test(file, { timeout: queue.timeout_ms }, async () => {
      await import(`${ROOT_URL}${file}`)
    })
    if (coverage) noteCalled(coverage, join(directory, `${CALLED}${process.pid}`), file)
  }
  clearInterval(open)
}
