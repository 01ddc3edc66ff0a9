// PgBouncer in transaction mode before a test's database, where the machine has it.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { findFreePort, give, isReady, unprivileged } from './postgres-cluster.ts'

interface Pooler {
  /** The database through the pooler. */
  readonly url: string
  stop(): Promise<void>
}

/** The program's path, if it is installed. */
export function findPgbouncer(): string | undefined {
  const dirs = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  return dirs.map((dir) => join(dir, 'pgbouncer')).find((path) => existsSync(path))
}

/** Fewer server connections than an engine has, so that sessions change hands. */
const SERVER_CONNECTIONS = 3

export async function startPgbouncer(program: string, url: string): Promise<Pooler> {
  const { hostname, port, username, password } = new URL(url)
  const dir = mkdtempSync(join(tmpdir(), 'custos-pgbouncer-'))
  const owner = unprivileged()
  const listen = await findFreePort()
  const config = join(dir, 'pgbouncer.ini')
  writeFileSync(
    config,
    `[databases]
* = host=${hostname} port=${port} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listen}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${SERVER_CONNECTIONS}
`,
  )
  for (const path of [dir, config]) give(path, owner)
  const child = spawn(program, [config], { ...owner, stdio: ['ignore', 'ignore', 'pipe'] })
  const said: string[] = []
  if (!(await isReady(child, said, 'process up'))) throw new Error(said.join(''))
  const pooled = new URL(url)
  pooled.port = String(listen)
  pooled.searchParams.set('pgbouncer', 'true')
  const stop = async () => {
    const exited = once(child, 'exit')
    if (child.exitCode === null && child.kill('SIGTERM')) await exited
    rmSync(dir, { recursive: true, force: true })
  }
  return { url: pooled.href, stop }
}
