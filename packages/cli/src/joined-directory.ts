// A data directory shared by several commands: one of them runs the service, the others call it.

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
/** How long to wait for another process that is starting, which may run migrations. */
const WAIT_MS = 60_000
const UNAUTHENTICATED = 401

export class SharedDirectory {
  readonly #dir: string
  readonly #apiKey: string | undefined
  /** The service, while this process runs it. */
  #service: Service | null = null
  #url = ''
  #asksForKey = false
  #opening: Promise<void> | null = null

  /** @param apiKey used if another process runs the service and requires a credential */
  constructor(dir: string, apiKey: string | undefined) {
    this.#dir = dir
    this.#apiKey = apiKey
  }

  get url(): string {
    return this.#url
  }

  /** Starts the service or joins the running one. Throws OperatorError if neither works. */
  open(): Promise<void> {
    this.#opening ??= this.#runOrJoin().finally(() => {
      this.#opening = null
    })
    return this.#opening
  }

  /** Calls the service at its current address. If nothing listens there, it opens again. */
  readonly fetch: typeof fetch = async (input, init) => {
    const { pathname, search } = new URL(String(input))
    for (;;) {
      const headers = new Headers(init?.headers)
      if (this.#asksForKey && this.#apiKey !== undefined)
        headers.set('authorization', `Bearer ${this.#apiKey}`)
      try {
        return await fetch(`${this.#url}${pathname}${search}`, { ...init, headers })
      } catch (error) {
        // A refused connection sent nothing, so a retry is safe.
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

  /** Starts the service in local mode: without credentials, reachable from this machine only. */
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
      // The service is stopping: its port closes before it releases the lock.
      if (isConnectionRefused(error)) return false
      throw error
    }
    this.#url = url
    return true
  }
}

/** Whether a fetch failed because the connection was refused, by the `cause` of its error. */
function isConnectionRefused(error: unknown): boolean {
  const { cause } = Object(error)
  return Object(cause).code === 'ECONNREFUSED'
}
