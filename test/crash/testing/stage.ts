// A data directory with one tenant, on which servers are started, killed and started again.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Client, createTenant, type TenantKey } from './client.ts'
import { type ServerOptions, ServerProcess } from './server-process.ts'
import { tempDirectory } from './temp-directory.ts'

export interface StageOptions {
  readonly ledger_copy?: boolean
  readonly log_level?: 'warn' | 'info'
  /** Further settings. */
  readonly env?: Readonly<Record<string, string>>
}

export class Stage {
  readonly options: ServerOptions
  /** Beside the data directory, for backups. */
  readonly dir: string
  readonly #t: TestContext
  #tenant: TenantKey | null = null
  #server: ServerProcess | null = null

  constructor(
    t: TestContext,
    { ledger_copy = true, log_level = 'warn', env = {} }: StageOptions = {},
  ) {
    this.#t = t
    this.dir = tempDirectory(t)
    const copy = ledger_copy ? { ledger_copy: join(this.dir, 'ledger.ndjson') } : {}
    this.options = { data_dir: join(this.dir, 'data'), log_level, env, ...copy }
  }

  get server(): ServerProcess {
    assert.ok(this.#server, 'no server was started')
    return this.#server
  }

  get client(): Client {
    assert.ok(this.#tenant, 'no tenant was made')
    return new Client(this.server.url, this.#tenant.api_key)
  }

  /** A server that may not serve yet; `fatal` is a point at which it kills itself at once. */
  spawn(fatal?: string): ServerProcess {
    const given = fatal === undefined ? {} : { fatal }
    const server = ServerProcess.stepped({ ...this.options, ...given })
    this.#t.after(() => server.kill())
    this.#server = server
    return server
  }

  async start(): Promise<Client> {
    const server = await this.spawn().listening()
    this.#tenant ??= await createTenant(server)
    return this.client
  }

  /** Waits for the end it was armed for. */
  async died(): Promise<void> {
    await this.server.ended()
    assert.equal(this.server.signal, 'SIGKILL', this.server.output.slice(-2_000))
  }
}
