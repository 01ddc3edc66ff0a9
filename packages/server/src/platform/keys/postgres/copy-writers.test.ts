// Several processes append to one ledger copy, and some fail in the middle of a line.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { LedgerCopy } from '../ledger/ledger-copy.ts'
import { postgresLocation } from '../testing/locations.ts'
import { tempDirectory } from '../testing/temp-keyring.ts'

const WRITER = fileURLToPath(new URL('../testing/copy-writer.ts', import.meta.url))
const ROUNDS = 4
const NUMBERS = 10_000
const BLOCK_BYTES = 1_024
/** Of a line, in blocks; twice what the other process can append while this one starts. */
const LARGE = 4_096

interface Writer {
  readonly child: ChildProcess
  readonly closed: Promise<unknown>
  /** What it says of each subject it asked for: its number, or that it failed. */
  readonly told: () => readonly string[]
}

/** @param blocks what a file of the process can grow to, as on a disk that is full then */
function spawnWriter(
  t: TestContext,
  args: readonly (string | number)[],
  blocks: number | 'unlimited',
): Writer {
  const script = `ulimit -f ${blocks}; exec "$0" "$@"`
  const child = spawn('bash', ['-c', script, process.execPath, WRITER, ...args.map(String)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  const told = () => output.split('\n').slice(1, -1)
  return { child, closed: once(child, 'close'), told }
}

async function waitForMore({ child, told }: Writer): Promise<void> {
  for (const known = told().length; told().length < known + 3; await wait(5))
    assert.equal(child.exitCode, null, 'the writer ended by itself')
}

test('a process that fails in the middle of a line harms no line of another', async (t) => {
  const location = await postgresLocation(t)
  const ledger_copy = join(tempDirectory(t), 'ledger.ndjson')
  const steady = spawnWriter(t, [location.url, ledger_copy, 0, 100], 'unlimited')
  await waitForMore(steady)
  for (let round = 1; round <= ROUNDS; round += 1) {
    const blocks = Math.ceil(statSync(ledger_copy).size / BLOCK_BYTES) + LARGE / 2
    const args = [location.url, ledger_copy, round * NUMBERS, LARGE * BLOCK_BYTES]
    const failing = spawnWriter(t, args, blocks)
    await failing.closed
    assert.deepEqual(failing.told(), ['failed'])
    await waitForMore(steady)
  }
  steady.child.kill('SIGKILL')
  await steady.closed

  const lines = readFileSync(ledger_copy, 'latin1').split('\n')
  assert.equal(lines.filter((line) => /.#torn [0-9a-f]{64}$/.test(line)).length, ROUNDS)
  const { instance_id } = await location.open()
  const copy = LedgerCopy.open(ledger_copy, instance_id)
  t.after(() => copy.close())
  const found = new Set([...copy.read()].map((entry) => 'subject' in entry && entry.subject))
  for (const subject of steady.told()) assert.ok(found.has(subject), `${subject} was lost`)
  const late = await location.open({ ledger_copy })
  const asked = new Set((await late.ledger.listRequested()).map(({ subject }) => subject))
  for (const subject of steady.told()) assert.ok(asked.has(subject))
  assert.ok(!asked.has(String(NUMBERS)))
})
