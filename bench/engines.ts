// The engines to measure: the embedded engine, or a PostgreSQL with durable commits.

import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Client } from 'pg'
import { familyCpuSeconds, parentOf, ROOT } from './processes.ts'

/** The data of one service or of several that share them. */
export interface Place {
  /** The settings that point the service to the data. */
  readonly env: NodeJS.ProcessEnv
  /** Copies the data. No service may be running on them. */
  copy(): Promise<Place>
  remove(): Promise<void>
}

export interface Engine {
  readonly name: 'sqlite' | 'postgres'
  /** Creates an empty place. */
  create(): Promise<Place>
  stop(): Promise<void>
}

export interface PostgresServer extends Engine {
  readonly name: 'postgres'
  /** URL with a role that may create databases. */
  readonly url: string
  /** Version and durability settings that the server reports. */
  readonly about: string
  /** Processor seconds so far; null if the server's processes are not visible here. */
  cpuSeconds(): number | null
}

export const sqlite: Engine = {
  name: 'sqlite',
  create: async () => directory(mkdtempSync(PREFIX)),
  stop: async () => {},
}

const PREFIX = join(tmpdir(), 'custos-bench-')

const directories = new Set<string>()
process.once('exit', () => {
  for (const dir of directories) rmSync(dir, { recursive: true, force: true })
})

function directory(dir: string): Place {
  directories.add(dir)
  return {
    env: { CUSTOS_DATA_DIR: dir, CUSTOS_DATABASE_URL: '', CUSTOS_KEYRING_URL: '' },
    async copy() {
      const other = mkdtempSync(PREFIX)
      cpSync(dir, other, { recursive: true })
      return directory(other)
    },
    async remove() {
      directories.delete(dir)
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** The server of CUSTOS_DATABASE_URL, whose role may create databases and roles, or a new one. */
export async function openPostgresServer(): Promise<PostgresServer> {
  const given = process.env['CUSTOS_DATABASE_URL']
  const { url, stop } = given ? { url: given, stop: async () => {} } : await startKeeper()
  const { about, postmaster } = await lookAt(url)
  return {
    name: 'postgres',
    url,
    about,
    async create() {
      const [data, keyring] = [await newDatabase(url), await newDatabase(url)]
      return databases(url, { data, keyring }, randomBytes(32).toString('hex'))
    },
    cpuSeconds: () => (postmaster === null ? null : familyCpuSeconds(postmaster)),
    stop,
  }
}

interface DatabaseNames {
  readonly data: string
  readonly keyring: string
}

function databases(server: string, { data, keyring }: DatabaseNames, master_key: string): Place {
  const urlOf = (name: string) => Object.assign(new URL(server), { pathname: `/${name}` }).href
  return {
    env: {
      CUSTOS_DATABASE_URL: urlOf(data),
      CUSTOS_KEYRING_URL: urlOf(keyring),
      CUSTOS_MASTER_KEY: master_key,
    },
    async copy() {
      const names = {
        data: await newDatabase(server, data),
        keyring: await newDatabase(server, keyring),
      }
      return databases(server, names, master_key)
    },
    async remove() {
      for (const name of [data, keyring])
        await withClient(server, (client) => client.query(`drop database ${name} with (force)`))
    },
  }
}

async function startKeeper(): Promise<{ url: string; stop(): Promise<void> }> {
  const script = 'packages/server/src/testing/postgres-keeper.ts'
  const keeper = spawn(process.execPath, [script, '--durable'], {
    cwd: ROOT,
    // Detached, so that Ctrl-C stops only the bench; the keeper ends after it.
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = once(keeper, 'exit')
  const line = once(createInterface(keeper.stdout), 'line')
  const [url] = await Promise.race([line, exited.then(() => [])])
  if (url === undefined) throw new Error('PostgreSQL could not be started')
  const stop = async () => {
    keeper.stdin.end()
    await exited
  }
  return { url: String(url), stop }
}

async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

const lookAt = (url: string): Promise<{ about: string; postmaster: number | null }> =>
  withClient(url, async (client) => {
    const { rows } = await client.query(
      `select current_setting('server_version') as version, current_setting('fsync') as fsync,
         current_setting('synchronous_commit') as commits, pg_backend_pid() as backend`,
    )
    const { version, fsync, commits, backend } = rows[0]
    const about = `PostgreSQL ${version}, fsync ${fsync}, synchronous_commit ${commits}`
    const local = ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname)
    return { about, postmaster: (local && parentOf(backend)) || null }
  })

/** @param template the database to copy */
async function newDatabase(server: string, template = 'template1'): Promise<string> {
  const name = `custos_bench_${randomBytes(6).toString('hex')}`
  await withClient(server, (client) => client.query(`create database ${name} template ${template}`))
  return name
}

/** Returns the rows of a query. */
export const queryServer = (
  url: string,
  sql: string,
): Promise<readonly Readonly<Record<string, unknown>>[]> =>
  withClient(url, async (client) => (await client.query(sql)).rows)
