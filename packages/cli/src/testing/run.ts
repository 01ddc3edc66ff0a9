// Runs the command as a user does: a process of its own, its output and its status.

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const BIN = fileURLToPath(new URL('../../bin/custos.js', import.meta.url))
const TIMEOUT_MS = 60_000

/** What a test gives its helpers to end what they began. */
export interface Ending {
  after(end: () => void | Promise<void>): void
}

export interface Ran {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
  readonly cwd?: string
}

/** Nothing of the test's own settings reaches the command but the search path. */
export function runCustos(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [BIN, ...args], {
      env: { PATH: process.env['PATH'], TMPDIR: tmpdir(), ...options.env },
      timeout: TIMEOUT_MS,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
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

/** Removed when the test process ends, so after everything that still has a file open in it. */
export function tempDirectory(): string {
  const dir = mkdtempSync(join(tmpdir(), 'custos-cli-test-'))
  directories.push(dir)
  return dir
}
