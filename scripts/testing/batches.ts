// Runs test files in a few long-lived processes; reports failures, the slowest files and totals.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { isAbsolute, join, relative } from 'node:path'
import { Transform } from 'node:stream'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { pathToFileURL } from 'node:url'
import { CALLED, QUEUE, type Queue } from './batch.ts'
import { ROOT } from './files.ts'

export interface RunOptions {
  readonly queues: readonly Queue[]
  /** Files that get a process each. */
  readonly alone: readonly string[]
  readonly processes: number
  readonly name_patterns: readonly string[]
  /** How many of the slowest files to list. */
  readonly slowest: number
}

export interface RunResult {
  readonly failed: boolean
  /** By query, the test files of queues with `covers` that called it. */
  readonly called: ReadonlyMap<string, ReadonlySet<string>>
  readonly seconds: ReadonlyMap<string, number>
}

/** The entry points of one queue: as many processes as take all its files. */
function writeEntries(directory: string, queue: Queue, processes: number): string[] {
  if (queue.files.length === 0) return []
  mkdirSync(directory)
  writeFileSync(join(directory, QUEUE), JSON.stringify(queue))
  const [context, runner] = ['test-context.ts', 'batch.ts'].map(
    (name) => pathToFileURL(join(import.meta.dirname, name)).href,
  )
  const length = Math.ceil(queue.files.length / queue.files_max) + processes - 1
  return Array.from({ length }, (_, index) => {
    const path = join(directory, `${queue.engine}-${index}.mjs`)
    const call = `await runQueue(${JSON.stringify(directory)})`
    const load = `import '${context}'\nconst { runQueue } = await import('${runner}')`
    writeFileSync(path, `${load}\n${call}\n`)
    return path
  })
}

/** What a person wants to read of a run: failures, what tests print, totals. */
function failuresOnly(): Transform {
  const kinds = ['test:fail', 'test:stdout', 'test:stderr', 'test:diagnostic', 'test:summary']
  return new Transform({
    objectMode: true,
    transform: (event, _encoding, done) =>
      kinds.includes(event.type) ? done(null, event) : done(),
  })
}

function readCalled(directories: readonly string[]): Map<string, Set<string>> {
  const called = new Map<string, Set<string>>()
  for (const directory of directories)
    for (const name of readdirSync(directory).filter((file) => file.startsWith(CALLED)))
      for (const line of readFileSync(join(directory, name), 'utf8').split('\n')) {
        const [query = '', file = ''] = line.split('\t')
        called.set(query, (called.get(query) ?? new Set()).add(file))
      }
  return called
}

// Other processes keep every core busy: work that V8 does beside a test's thread takes from a test.
// Of 36 files these flags save an eighth of the processor time.
const FLAGS = ['--single-threaded-gc', '--no-turbofan']

const shortened = (path: string) => (isAbsolute(path) ? relative(ROOT, path) : path)

/** Runs everything and prints as it goes. */
export async function runTests(options: RunOptions): Promise<RunResult> {
  const scratch = mkdtempSync(join(tmpdir(), 'custos-run-'))
  const queues = options.queues.filter(({ files }) => files.length > 0)
  const directories = queues.map((_, index) => join(scratch, String(index)))
  const entries = queues.flatMap((queue, index) =>
    writeEntries(directories[index] ?? scratch, queue, options.processes),
  )
  const failures = new Set<string>()
  const durations: { seconds: number; path: string }[] = []
  let failed = false
  const stop = new AbortController()
  process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143))
  const events = run({
    files: [...options.alone.map((path) => join(ROOT, path)), ...entries],
    concurrency: options.processes,
    execArgv: FLAGS,
    signal: stop.signal,
    ...(options.name_patterns.length > 0 && { testNamePatterns: [...options.name_patterns] }),
  })
  events.on('test:fail', ({ name, file, nesting, details }) => {
    failed = true
    if (nesting > 0 && details.type !== 'suite' && file !== undefined)
      failures.add(`npm test -- ${shortened(file)} --test-name-pattern=${JSON.stringify(name)}`)
  })
  events.on('test:complete', ({ name, nesting, details }) => {
    if (nesting === 0 && name.endsWith('.test.ts'))
      durations.push({ seconds: details.duration_ms / 1000, path: shortened(name) })
  })
  for await (const chunk of events.compose(failuresOnly()).compose(new spec()))
    process.stdout.write(chunk)

  durations.sort((a, b) => b.seconds - a.seconds)
  if (durations.length > 1) console.log('slowest files:')
  for (const { seconds, path } of durations.slice(0, options.slowest))
    console.log(`  ${seconds.toFixed(1).padStart(6)} s  ${path}`)
  if (failures.size > 0) console.log('to run what failed:')
  for (const command of failures) console.log(`  ${command}`)
  const called = readCalled(directories)
  rmSync(scratch, { recursive: true, force: true })
  return { failed, called, seconds: new Map(durations.map(({ path, seconds }) => [path, seconds])) }
}
