// Runs `custos` command lines for tests: in this process, or as a user does in their own process.

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { format } from 'node:util'
import { runCli } from '../commands/main.ts'

export const BIN = fileURLToPath(new URL('../../bin/custos.js', import.meta.url))
const TIMEOUT_MS = 60_000

/** Registers what must be ended after a test, as a test context does. */
export interface TestCleanup {
  after(end: () => void | Promise<void>): void
}

export interface CommandResult {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
  /** Kills the process at once, as a power failure would. */
  readonly signal?: AbortSignal
}

let last: Promise<unknown> = Promise.resolve()

/**
 * Runs a command line in this process, with only `env` as settings. Starting a process costs half
 * a second of processor time and tests nothing more; use `spawnCustos` for locks between
 * processes, signals and standard input. Command lines run one after another.
 */
export function runCustos(
  args: readonly string[],
  { env = {} }: Omit<RunOptions, 'input'> = {},
): Promise<CommandResult> {
  const result = last.then(() => runCaptured(args, env))
  last = result.catch(() => {})
  return result
}

async function runCaptured(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<CommandResult> {
  const output = { stdout: '', stderr: '' }
  const restore = [
    replaceEnvironment(env),
    captureConsoleLog((text) => {
      output.stdout += text
    }),
    captureStderr((text) => {
      output.stderr += text
    }),
  ]
  try {
    return { status: await runCli(args), ...output }
  } finally {
    for (const undo of restore) undo()
  }
}

/** Sets `env` and removes every other setting of Custos; returns what puts them back. */
function replaceEnvironment(env: Readonly<Record<string, string>>): () => void {
  const saved = { ...process.env }
  for (const name of Object.keys(saved)) if (name.startsWith('CUSTOS_')) delete process.env[name]
  Object.assign(process.env, env)
  return () => {
    for (const name of Object.keys(env)) delete process.env[name]
    Object.assign(process.env, saved)
  }
}

/** Redirects console.log; returns what puts it back. Test runners report on process.stdout. */
function captureConsoleLog(write: (text: string) => void): () => void {
  const original = console.log
  console.log = (...values: unknown[]) => write(`${format(...values)}\n`)
  return () => {
    console.log = original
  }
}

/** Redirects process.stderr; returns what puts it back. */
function captureStderr(write: (text: string) => void): () => void {
  const original = process.stderr.write
  process.stderr.write = (chunk: string | Uint8Array) => {
    write(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString())
    return true
  }
  return () => {
    process.stderr.write = original
  }
}

/** Without NODE_COMPILE_CACHE a start compiles some 800 modules. */
const INHERITED = {
  PATH: process.env['PATH'],
  TMPDIR: tmpdir(),
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
}

/** Runs a command line in its own process, with no setting of the test's environment. */
export function spawnCustos(
  args: readonly string[],
  options: RunOptions = {},
): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [BIN, ...args], {
      env: { ...INHERITED, ...options.env },
      timeout: TIMEOUT_MS,
      ...(options.signal ? { signal: options.signal, killSignal: 'SIGKILL' as const } : {}),
    })
    let [stdout, stderr] = ['', '']
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString()
    })
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString()
    })
    child.once('error', reject)
    child.once('close', (status) => resolve({ status, stdout, stderr }))
    child.stdin.end(options.input ?? '')
  })
}

const directories: string[] = []

process.once('exit', () => {
  for (const dir of directories) rmSync(dir, { recursive: true, force: true })
})

/** Removed when the test process ends, after everything that still has a file open in it. */
export function tempDirectory(): string {
  const dir = mkdtempSync(join(tmpdir(), 'custos-cli-test-'))
  directories.push(dir)
  return dir
}
