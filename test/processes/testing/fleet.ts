// Several processes of the service on one fresh PostgreSQL database.

import { after, before } from 'node:test'
import { createDatabase } from '../../../packages/server/src/testing/postgres.ts'
import { Client } from '../../crash/testing/client.ts'
import {
  OPERATOR_KEY,
  type ServerOptions,
  ServerProcess,
} from '../../crash/testing/server-process.ts'

/** Of the keyrings of these tests; it opens nothing else. */
export const MASTER_KEY = '6b'.repeat(32)

export interface Fleet {
  /** Settings of every process; what the command line works on too. */
  readonly options: ServerOptions
  readonly database_url: string
  /** Starts further processes at once; resolves when all of them serve. */
  start(count: number, env?: Readonly<Record<string, string>>): Promise<ServerProcess[]>
  /** Starts one and waits for nothing. */
  spawn(env?: Readonly<Record<string, string>>): ServerProcess
  /** The same with named points, and with another lease time or clock. */
  spawnStepped(options: Pick<ServerOptions, 'lease_ms' | 'ahead_ms' | 'env'>): ServerProcess
}

interface TestEnd {
  after(end: () => Promise<void>): void
}

/** Processes are killed, then the database dropped, when the test ends. */
export async function openFleet(
  t: TestEnd,
  settings: Fleet['options']['env'] = {},
): Promise<Fleet> {
  const database = await createDatabase({ migrated: true })
  const fleet = fleetOn(t, database.url, settings)
  t.after(() => database.drop())
  return fleet
}

/** On a database that the test has; processes are killed when the test ends. */
export function fleetOn(
  t: TestEnd,
  database_url: string,
  settings: Fleet['options']['env'] = {},
): Fleet {
  const started: ServerProcess[] = []
  t.after(async () => {
    await Promise.all(started.map((server) => server.killed()))
  })
  const options = optionsOf(database_url, settings)
  const keep = (server: ServerProcess) => {
    started.push(server)
    return server
  }
  const spawn: Fleet['spawn'] = (env) =>
    keep(ServerProcess.serve({ ...options, env: { ...options.env, ...env } }))
  const spawnStepped: Fleet['spawnStepped'] = ({ env, lease_ms = 30_000, ahead_ms = 0 }) =>
    keep(ServerProcess.stepped({ ...options, lease_ms, ahead_ms, env: { ...options.env, ...env } }))
  const start: Fleet['start'] = (count, env) =>
    Promise.all(Array.from({ length: count }, () => spawn(env).listening()))
  return { options, database_url, start, spawn, spawnStepped }
}

export interface SharedFleet {
  readonly fleet: Fleet
  readonly servers: readonly ServerProcess[]
}

interface ShareOptions {
  readonly settings?: Fleet['options']['env']
  /** Of services with named points; without, they are the command's own. */
  readonly lease_ms?: number
}

/** For all tests of a file: one fleet, and processes that serve all of them. */
export function shareFleet(count: number, { settings, lease_ms }: ShareOptions = {}): SharedFleet {
  const endings: (() => Promise<void>)[] = []
  let opened: SharedFleet | undefined
  before(async () => {
    const fleet = await openFleet({ after: (end) => endings.push(end) }, settings)
    const spawn = () => (lease_ms === undefined ? fleet.spawn() : fleet.spawnStepped({ lease_ms }))
    const servers = Array.from({ length: count }, () => spawn().listening())
    opened = { fleet, servers: await Promise.all(servers) }
  })
  after(async () => {
    for (const end of endings) await end()
  })
  const use = (): SharedFleet => {
    if (!opened) throw new Error('no test has begun')
    return opened
  }
  return {
    get fleet() {
      return use().fleet
    },
    get servers() {
      return use().servers
    },
  }
}

export const optionsOf = (
  database_url: string,
  settings: Readonly<Record<string, string>> = {},
): ServerOptions & { readonly env: Readonly<Record<string, string>> } => ({
  // Nothing is kept in it: it need not be there.
  data_dir: '/nonexistent/custos',
  log_level: 'error',
  env: {
    CUSTOS_DATABASE_URL: database_url,
    CUSTOS_MASTER_KEY: MASTER_KEY,
    CUSTOS_DATABASE_POOL: '6',
    ...settings,
  },
})

export const operatorOf = ({ url }: ServerProcess): Client => new Client(url, OPERATOR_KEY)

/** The same tenant at each of the processes. */
export const clientsOf = (servers: readonly ServerProcess[], api_key: string): Client[] =>
  servers.map(({ url }) => new Client(url, api_key))

/** An item of a list that is known to be long enough. */
export function at<T>(items: readonly T[], index: number): T {
  const item = items[index]
  if (item === undefined) throw new Error(`there is no item ${index}`)
  return item
}
