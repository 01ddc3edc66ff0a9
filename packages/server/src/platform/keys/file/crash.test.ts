// A keyring killed at any moment keeps what it has acknowledged.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { countNeedles, openKeyring, tempDirectory } from '../testing/temp-keyring.ts'

const WRITER = fileURLToPath(new URL('../testing/crash-writer.ts', import.meta.url))
const ROUNDS = 10

interface Promised {
  readonly secrets: Map<number, Buffer>
  readonly requested: Set<number>
  readonly destroyed: Set<number>
}

/** Kills the writer `ms` milliseconds after it has destroyed `destroyed` secrets. */
async function killAfter(
  child: ChildProcess,
  { destroyed, ms }: { destroyed: number; ms: number },
): Promise<string> {
  let told = ''
  const far = new Promise<void>((resolve) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      told += chunk.toString()
      if (told.includes('opened') && told.split('destroyed').length > destroyed) resolve()
    })
  })
  const closed = once(child, 'close')
  await Promise.race([far, closed])
  await wait(ms)
  child.kill('SIGKILL')
  await closed
  return told.slice(0, told.lastIndexOf('\n') + 1)
}

function record(told: string, promised: Promised): void {
  for (const line of told.split('\n')) {
    const [verb = '', ...words] = line.split(' ')
    if (verb === 'requested') promised.requested.add(Number(words[0]))
    if (verb === 'destroyed') promised.destroyed.add(Number(words[0]))
    if (verb !== 'reserved') continue
    for (const word of words) {
      const [number = '', secret = ''] = word.split(':')
      assert.ok(!promised.secrets.has(Number(number)), `${number} was handed out twice`)
      promised.secrets.set(Number(number), Buffer.from(secret, 'hex'))
    }
  }
}

async function checkPromises(t: TestContext, dir: string, promised: Promised): Promise<void> {
  const killed = [...promised.destroyed].map((number) => promised.secrets.get(number))
  const needles = killed.filter((needle) => needle !== undefined)
  assert.equal(
    countNeedles(dir, needles),
    0,
    'destroyed before the kill, gone before any reopening',
  )
  const keyring = await openKeyring(t, { dir, ledger_copy: `${dir}.ndjson` })
  const named = new Set((await keyring.ledger.listRequested()).map((row) => Number(row.subject)))
  for (const number of promised.requested) assert.ok(named.has(number), `${number} was forgotten`)
  const read = await keyring.secrets('acme', 'fact', [...promised.secrets.keys()])
  for (const [number, secret] of promised.secrets)
    assert.deepEqual(read.get(number), named.has(number) ? null : secret, `number ${number}`)
  keyring.close()
}

test('kill -9 under load loses no secret, repeats no number and revives nothing', async (t) => {
  const dir = join(tempDirectory(t), 'keyring')
  const promised = {
    secrets: new Map(),
    requested: new Set<number>(),
    destroyed: new Set<number>(),
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    const child = spawn(process.execPath, [WRITER, dir, `${dir}.ndjson`], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.after(() => child.kill('SIGKILL'))
    // In every second round as soon as it is open, otherwise in the middle of its work.
    const destroyed = round % 2 === 0 ? 0 : 4
    record(await killAfter(child, { destroyed, ms: 5 + 7 * round }), promised)
    await checkPromises(t, dir, promised)
  }
  assert.ok(promised.destroyed.size > ROUNDS)
  t.diagnostic(`${promised.secrets.size} secrets, ${promised.destroyed.size} destroyed`)
})
