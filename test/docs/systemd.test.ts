// deploy/systemd/custos.service against the service, and against systemd where it is installed.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { SETTINGS } from '@custos/server'
import { readPage } from './testing/page.ts'

const UNIT = readPage('deploy/systemd/custos.service')

test('the unit names settings of the service, and waits longer than a stop takes', () => {
  const known: readonly string[] = SETTINGS.map(({ name }) => name)
  const named = [...UNIT.matchAll(/\bCUSTOS_[A-Z_]+\b/g)].map(([name]) => name)
  assert.ok(named.length >= 4)
  for (const name of named) assert.ok(known.includes(name), `${name} is no setting`)
  const stop = /const STOP_MS = ([\d_]+)/.exec(readPage('packages/cli/src/commands/serve.ts'))
  const wait = /^TimeoutStopSec=(\d+)$/m.exec(UNIT)
  assert.ok(Number(wait?.[1]) * 1_000 > Number(stop?.[1]?.replaceAll('_', '')))
})

test('systemd finds nothing to say about the unit', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'custos-unit-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const file = join(dir, 'custos.service')
  // The program of the unit is not installed where the test runs.
  writeFileSync(file, UNIT.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`))
  const { status, stderr, error } = spawnSync('systemd-analyze', ['verify', file], {
    encoding: 'utf8',
  })
  if (error) t.diagnostic('NOT CHECKED BY SYSTEMD: there is no systemd-analyze on this machine')
  else assert.deepEqual([status, stderr], [0, ''])
})
