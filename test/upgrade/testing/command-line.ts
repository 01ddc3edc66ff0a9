// The command line of the tree that this folder lies in: the service, and the other commands.

import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { childEnvironment } from '../../crash/testing/server-process.ts'
import { Client } from './client.ts'

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const CLI = fileURLToPath(new URL('../../../packages/cli/bin/custos.js', import.meta.url))
const SHIFTED = new URL('shifted-clock.ts', import.meta.url).href
/** A busy machine is no fault of the service: a start takes a second or two. */
const START_MS = 180_000

/** Known to the test; they open what is in this folder and nothing else. */
export const MASTER_KEY = '75'.repeat(32)
export const OPERATOR_KEY = 'operator-key-of-the-upgrade-test-0001'

export type Settings = Readonly<Record<string, string>>

/** Where the data is, and by how much the clocks of its processes differ from the machine's. */
export interface Place {
  readonly settings: Settings
  readonly shift_ms?: number
}

/** What a command said, and its exit status. */
export interface Said {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
}

const environmentOf = ({ settings, shift_ms = 0 }: Place): NodeJS.ProcessEnv => ({
  ...childEnvironment(),
  NODE_OPTIONS: `--disable-warning=ExperimentalWarning --import=${SHIFTED}`,
  TEST_CLOCK_SHIFT_MS: String(shift_ms),
  CUSTOS_PORT: '0',
  CUSTOS_AUTH: 'required',
  CUSTOS_OPERATOR_KEY: OPERATOR_KEY,
  CUSTOS_MASTER_KEY: MASTER_KEY,
  // Checkpoints and rewriting are asked for, so that two runs make the same.
  CUSTOS_EPOCH_SECONDS: '0',
  CUSTOS_REWRITE_HOURS: '0',
  CUSTOS_LOG_LEVEL: 'error',
  ...settings,
})

export function custos(place: Place, args: readonly string[]): Promise<Said> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [CLI, ...args],
      { env: environmentOf(place), maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => resolve({ status: error ? 1 : 0, stdout, stderr }),
    )
  })
}

/** What a command that must succeed printed. */
export async function custosOk(place: Place, args: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await custos(place, args)
  assert.equal(status, 0, `custos ${args[0]}: ${stdout.slice(0, 4_000)}${stderr}`)
  return stdout
}

/** Fails with the findings of `custos fsck`, but for a clock that a test has set ahead. */
export async function fsckOk(place: Place): Promise<void> {
  const { status, stdout, stderr } = await custos(place, ['fsck'])
  const findings = stdout.split('\n').filter((line) => /^[0-9a-z]+: /.test(line))
  const clock = findings.filter((line) => line.includes(': log clock: '))
  assert.deepEqual(findings, clock, `${stdout.slice(0, 4_000)}${stderr}`)
  assert.equal(status, clock.length === 0 ? 0 : 1, `${stdout.slice(0, 4_000)}${stderr}`)
}

export class Service {
  readonly url: string
  readonly #child: ChildProcess

  private constructor(url: string, child: ChildProcess) {
    this.url = url
    this.#child = child
  }

  /** Resolves when it serves; fails with what it said when it ended instead. */
  static async start(place: Place): Promise<Service> {
    const child = spawn(process.execPath, [CLI, 'serve'], {
      env: environmentOf(place),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const url = await new Promise<string>((resolve, reject) => {
      let output = ''
      const late = setTimeout(() => child.kill('SIGKILL'), START_MS)
      const hear = (chunk: Buffer) => {
        output += chunk
        const [, address] = /(http:\/\/127\.0\.0\.1:\d+)/.exec(output) ?? []
        if (address === undefined) return
        clearTimeout(late)
        resolve(address)
      }
      child.stdout.on('data', hear)
      child.stderr.on('data', hear)
      child.on('close', () => {
        clearTimeout(late)
        reject(new Error(`the service did not start: ${output}`))
      })
    })
    return new Service(url, child)
  }

  client(api_key: string): Client {
    return new Client(this.url, api_key)
  }

  /** As the operator stops it; the end must be a clean one. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return
    const closed = once(this.#child, 'close')
    this.#child.kill('SIGTERM')
    await closed
    assert.equal(this.#child.exitCode, 0, 'the service did not stop cleanly')
  }
}
