// Which files the command runs: what was built, or the sources.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const BIN = fileURLToPath(new URL('../bin/custos.js', import.meta.url))

test('the built command runs unless a source of any package has changed since', (t) => {
  const root = mkdtempSync(join(tmpdir(), 'custos-built-'))
  t.after(() => rmSync(root, { recursive: true }))
  const bin = join(root, 'packages/cli/bin/custos.js')
  const now_s = Date.now() / 1000
  const write = (file: string, age_s: number, text = '') => {
    const path = join(root, 'packages', file)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    utimesSync(path, now_s - age_s, now_s - age_s)
  }
  const says = (word: string) => `export const runCli = () => console.log('${word}')`
  const run = () => execFileSync(process.execPath, [bin], { encoding: 'utf8' }).trim()
  cpSync(BIN, bin)
  write('../package.json', 0, '{"type":"module"}')
  write('cli/src/commands/main.ts', 100, says('sources'))
  assert.equal(run(), 'sources')
  // Later than the folders, which have the time of the last file made in them.
  write('server/src/memory.ts', 100)
  write('cli/dist/main.js', -100, says('built'))
  assert.equal(run(), 'built')
  write('server/src/memory.ts', -200)
  assert.equal(run(), 'sources')
})
