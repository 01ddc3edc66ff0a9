// The service in a process of its own, which crash tests kill and start again on the same data.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export const OPERATOR_KEY = 'operator-key-of-the-crash-tests-0001'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const CLI = join(ROOT, 'packages/cli/bin/custos.js')
/** `npm test` builds it, because it then starts in half the time. */
const SERVED =
  process.env['CUSTOS_TEST_SERVED'] ?? fileURLToPath(new URL('./served.ts', import.meta.url))
/** A busy machine is no fault of the service: a start takes a second or two. */
const START_MS = 180_000

/** What the process says about itself. */
export type Told =
  | { readonly kind: 'listening'; readonly url: string }
  | { readonly kind: 'step'; readonly name: string }
  | { readonly kind: 'armed' }

/** A named point of the service, and what is to happen there. */
export interface Point {
  readonly name: string
  /** `stop` holds all of the process until it is told to go on, as a suspended machine does. */
  readonly how: 'kill' | 'fail' | 'stop'
}

export interface ServerOptions {
  readonly data_dir: string
  readonly ledger_copy?: string
  readonly log_level?: 'error' | 'warn' | 'info'
  /** A named point at which the process kills itself, also while it is still starting. */
  readonly fatal?: string
  /** How long a process that was killed holds what it was at; of stepped services. */
  readonly lease_ms?: number
  /** How far its clock is ahead of the system's; of stepped services. */
  readonly ahead_ms?: number
  /** Further settings. */
  readonly env?: Readonly<Record<string, string>>
}

const INHERITED = ['PATH', 'TMPDIR', 'NODE_COMPILE_CACHE']

/**
 * What a process that a test starts has of the test's environment: no setting of the service.
 * Without NODE_COMPILE_CACHE a start compiles some 800 modules.
 */
export const childEnvironment = (): Record<string, string | undefined> =>
  Object.fromEntries(INHERITED.map((name) => [name, process.env[name]]))

export function environmentOf({ data_dir, ledger_copy, log_level, env }: ServerOptions) {
  return {
    ...childEnvironment(),
    NODE_OPTIONS: '--disable-warning=ExperimentalWarning',
    CUSTOS_DATA_DIR: data_dir,
    CUSTOS_PORT: '0',
    CUSTOS_AUTH: 'required',
    CUSTOS_OPERATOR_KEY: OPERATOR_KEY,
    CUSTOS_EPOCH_SECONDS: '0',
    CUSTOS_LOG_LEVEL: log_level ?? 'warn',
    ...(ledger_copy === undefined ? {} : { CUSTOS_LEDGER_COPY: ledger_copy }),
    ...env,
  }
}

const argumentsOf = ({ fatal, lease_ms, ahead_ms }: ServerOptions): string[] =>
  [fatal ?? '', lease_ms ?? '', ahead_ms ?? 0].map(String)

export class ServerProcess {
  readonly #child: ChildProcess
  readonly #ended: Promise<unknown>
  #listening: (url: string) => void = () => {}
  /** Whether it wrote where it listens: nothing is searched for after that. */
  #heard = false
  /** Resolves when it serves; stays open when it ends before that. */
  readonly #serving: Promise<string>
  /** Names of the points passed, in order. */
  readonly steps: string[] = []
  #armed: () => void = () => {}
  /** Everything the process wrote on its standard streams. */
  output = ''
  url = ''

  private constructor(child: ChildProcess) {
    this.#child = child
    this.#ended = once(child, 'close')
    this.#serving = new Promise((resolve) => {
      this.#listening = resolve
    })
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => this.#hear(chunk.toString()))
    // Sent by served.ts only.
    child.on('message', (told) => this.#learn(told as Told))
  }

  /** The command line's own service. */
  static serve(options: ServerOptions): ServerProcess {
    return new ServerProcess(
      spawn(process.execPath, [CLI, 'serve'], {
        env: environmentOf(options),
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    )
  }

  /** The service with named points. */
  static stepped(options: ServerOptions): ServerProcess {
    return new ServerProcess(
      spawn(process.execPath, [SERVED, ...argumentsOf(options)], {
        env: environmentOf(options),
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      }),
    )
  }

  /** Resolves when it serves; fails with what it said when it ended instead. */
  async listening(): Promise<this> {
    const url = await Promise.race([
      this.#serving,
      this.#ended.then(() => null),
      delay(START_MS, null, { ref: false }),
    ])
    if (url === null) this.kill()
    assert.ok(url !== null, `the service did not start: ${this.output.slice(-2_000)}`)
    this.url = url
    return this
  }

  /** From now on it fails or ends with SIGKILL when it reaches one of the points. */
  async arm(points: readonly Point[]): Promise<void> {
    const armed = new Promise<void>((resolve) => {
      this.#armed = resolve
    })
    this.#child.send(points)
    await armed
  }

  /** Resolves when it has passed the point, or stands still there. */
  async reached(name: string): Promise<void> {
    while (!this.steps.includes(name)) await delay(10)
  }

  /** From where it stood still. */
  goOn(): void {
    this.#child.kill('SIGCONT')
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  /** Kills it and waits until it is gone. */
  async killed(): Promise<void> {
    this.kill()
    await this.ended()
  }

  ended(): Promise<unknown> {
    return this.#ended
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get exitCode(): number | null {
    return this.#child.exitCode
  }

  get signal(): NodeJS.Signals | null {
    return this.#child.signalCode
  }

  /** Asks it to stop and waits for its end, whatever that is. */
  async terminated(): Promise<void> {
    this.#child.kill('SIGTERM')
    await this.#ended
  }

  /** The same, and the end is a clean one. */
  async stop(): Promise<void> {
    await this.terminated()
    assert.equal(this.#child.exitCode, 0, this.output.slice(-2_000))
  }

  #hear(text: string): void {
    this.output += text
    if (this.#heard) return
    const [, url] = /custos listens on (\S+)/.exec(this.output) ?? []
    if (url === undefined) return
    this.#heard = true
    this.#listening(url)
  }

  #learn(told: Told): void {
    if (told.kind === 'listening') this.#listening(told.url)
    if (told.kind === 'step') this.steps.push(told.name)
    if (told.kind === 'armed') this.#armed()
  }
}
