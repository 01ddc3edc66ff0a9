// Starts, stops and observes processes: their memory and processor time.

import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '..')

/** Unit of processor time in /proc on Linux, independent of the kernel's own tick. */
const TICKS_A_SECOND = 100

// Kills all started processes when this process ends.
const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

/** @param root the checkout whose code is run */
export function start(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  root: string = ROOT,
): ChildProcess {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

/** Starts the service with the normal command, on a free port. */
export const startCustos = (env: NodeJS.ProcessEnv, root: string = ROOT): ChildProcess => {
  const settings = { ...env, CUSTOS_LOG_LEVEL: 'error' }
  return start(['packages/cli/bin/custos.js', 'serve', '--port', '0'], settings, root)
}

/** Stops a process. Throws if its exit status, now or before, reports a failure. */
export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGTERM')
    await ended
  }
  if (child.exitCode) throw new Error(`${child.spawnargs.join(' ')} ended with ${child.exitCode}`)
}

/** The first URL that the child prints. Later output is read and dropped. */
export function urlOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let seen = ''
    child.stdout?.on('data', (chunk: Buffer) => {
      seen += chunk
      const match = /http:\/\/127\.0\.0\.1:\d+/.exec(seen)
      if (match) resolve(match[0])
    })
    child.once('exit', () => reject(new Error('the server ended before it listened')))
  })
}

export function rssMb({ pid }: ChildProcess): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024)
}

interface Times {
  readonly parent: number
  /** Processor seconds of all threads. */
  readonly own_s: number
  /** Processor seconds of children that have ended. */
  readonly children_s: number
}

/** Times from `/proc/pid/stat` (proc(5)); undefined if the process has ended. */
function timesOf(pid: number | string): Times | undefined {
  let stat: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return undefined
  }
  // The second field is the name in parentheses, which may contain any characters.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const seconds = (...at: readonly number[]) =>
    at.reduce((sum, index) => sum + Number(fields[index]), 0) / TICKS_A_SECOND
  return { parent: Number(fields[1]), own_s: seconds(11, 12), children_s: seconds(13, 14) }
}

export const parentOf = (pid: number): number | undefined => timesOf(pid)?.parent

/** Processor seconds of a process so far. */
export const cpuSeconds = ({ pid = 0 }: { pid?: number | undefined }): number =>
  timesOf(pid)?.own_s ?? 0

/** Processor seconds of its main thread so far. */
export const mainThreadSeconds = ({ pid = 0 }: { pid?: number | undefined }): number =>
  timesOf(`${pid}/task/${pid}`)?.own_s ?? 0

/** Processor seconds of a process and its children, including those that have ended. */
export function familyCpuSeconds(pid: number): number {
  const head = timesOf(pid)
  let sum = head ? head.own_s + head.children_s : 0
  for (const entry of readdirSync('/proc')) {
    const times = /^\d+$/.test(entry) ? timesOf(entry) : undefined
    if (times?.parent === pid) sum += times.own_s
  }
  return sum
}
