// custos mcp: memory as a Model Context Protocol server on standard input and output.

import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ClientOptions, ConnectionError, Custos, CustosError, isRefusal } from '@custos/client'
import {
  importMemoryFile,
  MemoryFileError,
  type SessionOptions,
  serveOverStdio,
  TOOL_SETS,
  type ToolSet,
} from '@custos/mcp'
import {
  DataDirHeld,
  MCP_SETTINGS,
  OperatorError,
  parseConfig,
  readAddress,
  readEnvironment,
  readMcpEnvironment,
  type Service,
  settingsHelp,
  startService,
} from '@custos/server'
import { loadTokenizer } from '@custos/server/tokenizer'
import { commandError } from '../client-calls.ts'
import { type Command, readArguments, requirePositionals, UsageError } from '../command.ts'

/** The configuration file of each MCP client. */
const CLIENTS: Readonly<Record<string, string>> = {
  claude: 'claude_desktop_config.json of Claude Desktop or .mcp.json of Claude Code',
  cursor: '~/.cursor/mcp.json',
  vscode: '.vscode/mcp.json',
  codex: '~/.codex/config.toml',
}

export const mcp: Command = {
  usage: '[--url URL | --data-dir DIR] [options]',
  help: `Speaks MCP on standard input and output; an MCP client starts it.

  --url URL            a running service (credential in CUSTOS_API_KEY)
  --data-dir DIR       runs the service in this process, with its data in DIR, on a free loopback
                       port, or uses the process that already does
  --store NAME         the memory store; default: default
  --namespace NAME     limits every tool to this namespace
  --tools SET          core (default), governed (with core), graph (the tools of the official
                       memory server of MCP) or all
  --budget N           maximum tokens of a search result; default: 1024
  --graph-budget N     maximum tokens of read_graph and search_nodes; default: no limit
  --read-only          lists only tools that change nothing
  --print-config NAME  prints the entry for claude, cursor, vscode or codex

${settingsHelp(MCP_SETTINGS)}`,
  run: runMcp,
}

const OPTIONS = {
  url: { type: 'string' },
  'data-dir': { type: 'string' },
  store: { type: 'string', default: 'default' },
  namespace: { type: 'string' },
  tools: { type: 'string', default: 'core' },
  budget: { type: 'string' },
  'graph-budget': { type: 'string' },
  'read-only': { type: 'boolean', default: false },
  'print-config': { type: 'string' },
} as const

async function runMcp(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, OPTIONS)
  requirePositionals(positionals)
  if (values.url !== undefined && values['data-dir'] !== undefined)
    throw new UsageError('give --url or --data-dir, not both')
  const choice = {
    store: values.store,
    tools: toolSetOf(values.tools),
    namespace: values.namespace,
    budget: tokensOf('--budget', values.budget),
    graph_budget: await graphBudgetOf(values['graph-budget']),
    read_only: values['read-only'],
  }
  const client = values['print-config']
  if (client !== undefined) {
    const dir = values['data-dir']
    console.log(formatConfig(client, { ...values, 'data-dir': dir && resolve(dir) }))
    return 0
  }
  const { CUSTOS_URL, CUSTOS_API_KEY: apiKey, MEMORY_FILE_PATH } = readMcpEnvironment()
  const dir = values['data-dir']
  const directory = dir === undefined ? null : new SharedDirectory(dir, apiKey)
  try {
    await directory?.open()
    const url = values.url ?? CUSTOS_URL ?? 'http://127.0.0.1:8420'
    const options = await openSession(directory ?? { url, apiKey }, choice)
    await importOnce(options, MEMORY_FILE_PATH)
    const handle = serveOverStdio(options)
    await endOfInput()
    await handle.close()
    return 0
  } finally {
    await directory?.stop()
  }
}

function toolSetOf(text: string): ToolSet {
  const found = TOOL_SETS.find((set) => set === text)
  if (found === undefined) throw new UsageError(`--tools must be one of ${TOOL_SETS.join(', ')}`)
  return found
}

function tokensOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError(`${option} must be a number of tokens`)
  return Number(text)
}

async function graphBudgetOf(text: string | undefined): Promise<SessionOptions['graph_budget']> {
  const tokens = tokensOf('--graph-budget', text)
  if (tokens === undefined) return undefined
  const { count } = await loadTokenizer('o200k_base')
  return { tokens, count }
}

/** Imports the memory file if the graph is empty. Throws UsageError for an invalid file. */
async function importOnce(options: SessionOptions, path: string | undefined): Promise<void> {
  if (path === undefined || (options.tools !== 'graph' && options.tools !== 'all')) return
  try {
    const imported = await importMemoryFile(options, path)
    if (imported > 0) console.error(`custos mcp: ${imported} memories imported from ${path}`)
  } catch (error) {
    if (error instanceof MemoryFileError || error instanceof CustosError)
      throw new UsageError(`MEMORY_FILE_PATH: ${error.message}`)
    throw error
  }
}

/**
 * Connects to the service. Throws UsageError with one sentence if the address, the key or the store
 * is wrong, and CommandError if nothing answers.
 */
async function openSession(
  service: Pick<ClientOptions, 'url' | 'apiKey' | 'fetch'>,
  choice: Omit<SessionOptions, 'custos' | 'scopes' | 'tenant_id' | 'secret'>,
): Promise<SessionOptions> {
  try {
    const { url, apiKey, fetch } = service
    const custos = new Custos({ url, apiKey, fetch })
    const { scopes, tenant_id, namespace } = await custos.keys.current()
    if (scopes.includes('*') || scopes.includes('memory:read'))
      await custos.memory.capabilities(choice.store)
    // Signs confirmations, which are valid only in this process.
    const secret = randomBytes(32).toString('hex')
    const limitedTo = choice.namespace ?? namespace ?? undefined
    return { ...choice, namespace: limitedTo, custos, scopes, tenant_id, secret }
  } catch (error) {
    if (isRefusal(error, 'unauthenticated'))
      throw new UsageError('set CUSTOS_API_KEY to a key of a tenant of this service')
    if (isRefusal(error, 'store_not_found'))
      throw new UsageError(`there is no store ${choice.store}, or the key may not use it`)
    if (error instanceof ConnectionError)
      throw commandError(error, { url: service.url, role: 'tenant' })
    if (error instanceof CustosError) throw new UsageError(error.message)
    throw error
  }
}

/** Resolves when the client closes standard input or output, or at SIGTERM or SIGINT. */
function endOfInput(): Promise<void> {
  return new Promise((resolve) => {
    process.stdin.once('end', resolve)
    process.stdin.once('close', resolve)
    // The client died: it no longer reads output, and its end of standard input may not be noticed.
    process.stdout.once('error', () => resolve())
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve())
  })
}

/**
 * The configuration entry with which a client starts this command with the same options. Paths are
 * absolute, because the client chooses the working directory. Prints the file's name to stderr.
 */
function formatConfig(
  client: string,
  options: Readonly<Record<string, string | boolean | undefined>>,
): string {
  const file = Object.hasOwn(CLIENTS, client) ? CLIENTS[client] : undefined
  if (file === undefined)
    throw new UsageError(`--print-config must be one of ${Object.keys(CLIENTS).join(', ')}`)
  console.error(`custos mcp: add this to ${file}`)
  const args = [process.argv[1] ?? 'custos', 'mcp']
  for (const [name, value] of Object.entries(options)) {
    if (name === 'print-config' || value === false || value === undefined) continue
    args.push(`--${name}`, ...(value === true ? [] : [value]))
  }
  const command = process.execPath
  if (client === 'codex')
    return `[mcp_servers.custos]\ncommand = ${quoted(command)}\nargs = ${quoted(args)}`
  const entry = { command, args }
  const body =
    client === 'vscode'
      ? { servers: { custos: { type: 'stdio', ...entry } } }
      : { mcpServers: { custos: entry } }
  return JSON.stringify(body, null, 2)
}

const quoted = (value: unknown): string => JSON.stringify(value)

const POLL_MS = 100
/** How long to wait for another process that is starting, which may run migrations. */
const WAIT_MS = 60_000
const UNAUTHENTICATED = 401

/** A data directory that several commands use at once: one runs the service, the others call it. */
class SharedDirectory {
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
