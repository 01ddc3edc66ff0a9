// A data directory that several commands use at once: one runs the service, the others call it.

import { setTimeout as sleep } from 'node:timers/promises'
import {
  DataDirHeld,
  OperatorError,
  parseConfig,
  readAddress,
  readEnvironment,
  type Service,
  startService,
} from '@custos/server'

const POLL_MS = 100
/** The longest a start that was seen to begin may take: it may have migrations to run. */
const WAIT_MS = 60_000
const UNAUTHENTICATED = 401

export class SharedDirectory {
  readonly #dir: string
  readonly #apiKey: string | undefined
  /** While this process runs the service. */
  #service: Service | null = null
  #url = ''
  #asksForKey = false
  #opening: Promise<void> | null = null

  /** @param apiKey used where another process runs the service and asks for a credential */
  constructor(dir: string, apiKey: string | undefined) {
    this.#dir = dir
    this.#apiKey = apiKey
  }

  get url(): string {
    return this.#url
  }

  /** Runs the service, or finds the one that runs. Throws OperatorError when neither works. */
  open(): Promise<void> {
    this.#opening ??= this.#runOrJoin().finally(() => {
      this.#opening = null
    })
    return this.#opening
  }

  /** Calls the service wherever it runs now; where none listens any more, opens again. */
  readonly fetch: typeof fetch = async (input, init) => {
    const { pathname, search } = new URL(String(input))
    for (;;) {
      const headers = new Headers(init?.headers)
      if (this.#asksForKey && this.#apiKey !== undefined)
        headers.set('authorization', `Bearer ${this.#apiKey}`)
      try {
        return await fetch(`${this.#url}${pathname}${search}`, { ...init, headers })
      } catch (error) {
        // Nothing was sent, so that nothing happens twice.
        if (!isConnectionRefused(error)) throw error
        await this.open()
      }
    }
  }

  async stop(): Promise<void> {
    await this.#service?.stop()
  }

  async #runOrJoin(): Promise<void> {
    const patience = AbortSignal.timeout(WAIT_MS)
    while (!patience.aborted) {
      if (await this.#run()) return
      if (await this.#join()) return
      await sleep(POLL_MS)
    }
    throw new OperatorError(
      `the data directory ${this.#dir} is in use by a process that serves nobody: end it first`,
    )
  }

  /** In local mode, so that no credential is needed; reachable from this machine only. */
  async #run(): Promise<boolean> {
    const config = parseConfig({
      CUSTOS_LOG_LEVEL: 'warn',
      ...readEnvironment(),
      CUSTOS_DATA_DIR: this.#dir,
      CUSTOS_HOST: '127.0.0.1',
      CUSTOS_PORT: '0',
      CUSTOS_AUTH: 'local',
    })
    try {
      this.#service = await startService(config)
    } catch (error) {
      if (error instanceof DataDirHeld) return false
      throw error
    }
    this.#url = this.#service.url
    this.#asksForKey = false
    return true
  }

  async #join(): Promise<boolean> {
    const url = readAddress(this.#dir)
    if (url === null) return false
    try {
      const { status, body } = await fetch(`${url}/v1/keys/current`)
      await body?.cancel()
      this.#asksForKey = status === UNAUTHENTICATED
    } catch (error) {
      // It stops: the address goes before the lock.
      if (isConnectionRefused(error)) return false
      throw error
    }
    this.#url = url
    return true
  }
}

/** The cause of a failed fetch says why it failed. */
function isConnectionRefused(error: unknown): boolean {
  const { cause } = Object(error)
  return Object(cause).code === 'ECONNREFUSED'
}
