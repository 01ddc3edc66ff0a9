// custos witness: what it cosigns, what it refuses, and what it still knows after a crash.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import {
  appendLines,
  COSIGNATURE_TYPE,
  emptyRoot,
  formatAddCheckpoint,
  toHex,
  verifierKey,
  verifyCosignatures,
} from '@custos/proof'
import { seededKey } from '../../../../proof/src/testing/fixtures.ts'
import { runCustos, tempDirectory } from '../../testing/run.ts'
import { LOG_KEY, SignedLog } from './testing/signed-log.ts'
import { serveWitness } from './witness.ts'
import { WitnessJournal } from './witness-journal.ts'
import { Witness, type WitnessReply } from './witness-log.ts'

const BIN = fileURLToPath(new URL('../../../bin/custos.js', import.meta.url))
const NAME = 'witness.example/w1'
const ORIGIN = 'custos/example/t-1'
const KEY = seededKey(0x52)
const VKEY = verifierKey(NAME, KEY.publicKey, COSIGNATURE_TYPE)

const UNUSED = { key: VKEY, unused: true }
const openJournal = (state: string) => new WitnessJournal(state, UNUSED)

interface Reply {
  readonly status: number
  readonly type: string | null
  readonly text: string
}

async function startWitness(t: TestContext, state = join(tempDirectory(), 'state')) {
  const journal = openJournal(state)
  const logs = [
    { origin: ORIGIN, keys: [LOG_KEY.publicKey] },
    { origin_prefix: 'custos/many/', keys: [LOG_KEY.publicKey] },
  ]
  const { publicKey: public_key, sign } = KEY
  const parts = { name: NAME, public_key, sign, logs, journal, now_s: () => 1_790_000_000 }
  const found: WitnessReply['contradiction'][] = []
  const running = await serveWitness(new Witness(parts), {
    host: '127.0.0.1',
    port: 0,
    onContradiction: (one) => void found.push(one),
  })
  let stopped = false
  const stop = async () => {
    if (stopped) return
    stopped = true
    await running.close()
    journal.close()
  }
  t.after(stop)
  return {
    send: (body: string) => post(running.url, body),
    url: running.url,
    state,
    stop,
    found,
  }
}

async function post(url: string, body: string): Promise<Reply> {
  const response = await fetch(`${url}/add-checkpoint`, { method: 'POST', body })
  const type = response.headers.get('content-type')
  return { status: response.status, type, text: await response.text() }
}

async function assertCosigned(log: SignedLog, size: number, reply: Reply): Promise<void> {
  assert.equal(reply.status, 200, reply.text)
  const note = appendLines(await log.checkpoint(size), reply.text)
  const [verdict] = await verifyCosignatures(note, [VKEY])
  assert.ok(verdict?.ok, verdict?.reason)
}

test('a witness cosigns a log that grows, and names its size to one that forgot it', async (t) => {
  const { send } = await startWitness(t)
  const log = new SignedLog(ORIGIN)
  await assertCosigned(log, 3, await send(await log.request(0, 3)))
  await assertCosigned(log, 10, await send(await log.request(3, 10)))
  // The same checkpoint again: a fresh time on the same statement.
  await assertCosigned(log, 10, await send(await log.request(10, 10)))
  const { status, type, text } = await send(await log.request(0, 12))
  assert.deepEqual([status, type, text], [409, 'text/x.tlog.size', '10\n'])
  await assertCosigned(log, 300, await send(await log.request(10, 300)))
  // Logs by a prefix of their origin each have a state of their own.
  const other = new SignedLog('custos/many/t-2')
  await assertCosigned(other, 7, await send(await other.request(0, 7)))
  assert.equal((await send(await other.request(300, 301))).text, '7\n')
})

test('a fork, a smaller tree and a false proof are refused, also after a restart', async (t) => {
  const first = await startWitness(t)
  const log = new SignedLog(ORIGIN)
  await assertCosigned(log, 20, await first.send(await log.request(0, 20)))
  await first.stop()
  const { send, found } = await startWitness(t, first.state)
  const fork = new SignedLog(ORIGIN, { fork_at: 15, name: 'other' })
  const flipped = (await log.request(20, 25)).replace(/^(old 20\n)./, '$1/')
  const refused = [
    ['another tree of the same size', await fork.request(20, 20), 409],
    ['a larger fork', await fork.request(20, 30), 422],
    ['a larger fork that names no size', await fork.request(0, 30), 409],
    ['a smaller tree', await log.request(10, 12), 409],
    ['a smaller tree that names the size', `old 20\n\n${await log.checkpoint(12)}`, 400],
    ['a proof with one digit changed', flipped, 422],
    ['no proof', `old 20\n\n${await log.checkpoint(25)}`, 422],
  ] as const
  for (const [what, body, status] of refused) assert.equal((await send(body)).status, status, what)
  // Both checkpoints of a size, as the log signed them; nothing else proves a fork.
  const [first_found, ...others] = found
  const both = [await fork.checkpoint(20), await log.checkpoint(20)]
  assert.deepEqual(first_found, { kind: 'evidence', checkpoints: both.join('') })
  assert.deepEqual(
    others.map((one) => one?.kind),
    ['unproven', 'unproven', 'unproven'],
  )
  await assertCosigned(log, 25, await send(await log.request(20, 25)))
})

test('requests in another form, of unknown logs and by other keys are refused', async (t) => {
  const { send, url } = await startWitness(t)
  const log = new SignedLog(ORIGIN)
  const stranger = new SignedLog('custos/example/t-2')
  const forged = formatAddCheckpoint({
    oldSize: 0,
    path: [],
    checkpoint: await log.checkpoint(3, seededKey(0x53)),
  })
  const whole = await log.request(0, 3)
  const empty = await log.checkpoint(0)
  const wrongEmpty = empty.replace(Buffer.from(emptyRoot()).toString('base64'), 'A'.repeat(43))
  const refused = [
    ['nothing', '', 400],
    ['no checkpoint', 'old 0\n\n', 400],
    ['extension lines', whole.replace('\n\n—', '\nmore\n\n—'), 400],
    ['an old size beyond the checkpoint', `old 4\n\n${await log.checkpoint(3)}`, 400],
    ['an unknown log', await stranger.request(0, 3), 404],
    ['a prefix is no origin', await new SignedLog('custos/many').request(0, 3), 404],
    ['the signature of another key', forged, 403],
    ['a flipped signature', whole.replace(/.(?=.{10}\n$)/, (c) => (c === 'A' ? 'B' : 'A')), 403],
    ['a proof from nothing', whole.replace('old 0\n', `old 0\n${'A'.repeat(43)}=\n`), 422],
    ['a malformed root', `old 0\n\n${wrongEmpty}`, 400],
    ['too long', `old 0\n${'A'.repeat(100_000)}`, 413],
  ] as const
  for (const [what, body, status] of refused) assert.equal((await send(body)).status, status, what)
  assert.equal((await fetch(`${url}/add-checkpoint`)).status, 405)
  assert.equal((await fetch(`${url}/`, { method: 'POST', body: whole })).status, 404)
  await assertCosigned(log, 0, await send(`old 0\n\n${empty}`))
  await assertCosigned(log, 3, await send(whole))
})

test('of requests at the same time one size wins, and none goes back', async (t) => {
  const { send } = await startWitness(t)
  const log = new SignedLog(ORIGIN)
  await send(await log.request(0, 5))
  const sizes = Array.from({ length: 20 }, (_, i) => 6 + i)
  const bodies = await Promise.all(sizes.map((size) => log.request(5, size)))
  const replies = await Promise.all(bodies.map(send))
  assert.equal(replies.filter(({ status }) => status === 200).length, 1)
  const won = sizes[replies.findIndex(({ status }) => status === 200)]
  for (const { status, text } of replies) if (status === 409) assert.equal(text, `${won}\n`)
})

test('a line that was cut off is dropped, a damaged one stops the witness', async (t) => {
  const { send, stop, state } = await startWitness(t)
  const log = new SignedLog(ORIGIN)
  await send(await log.request(0, 5))
  assert.throws(() => openJournal(state), /another process uses the state/)
  await stop()
  appendFileSync(state, '0123456789abcdef "custos/exam')
  const again = await startWitness(t, state)
  await assertCosigned(log, 9, await again.send(await log.request(5, 9)))
  await again.stop()
  const text = readFileSync(state, 'utf8')
  writeFileSync(state, text.replace('\\n5\\n', '\\n4\\n'))
  assert.throws(() => openJournal(state), /damaged in line 2/)
  writeFileSync(state, text)
  const last = await startWitness(t, state)
  await assertCosigned(log, 9, await last.send(await log.request(9, 9)))
})

test('a witness does not start from less than it knew', async (t) => {
  const { send, stop, state } = await startWitness(t)
  const log = new SignedLog(ORIGIN)
  for (const size of [5, 9]) await send(await log.request(size === 5 ? 0 : 5, size))
  await stop()
  const text = readFileSync(state, 'utf8')
  const [head = '', first = '', second = ''] = text.split('\n')
  const used = { key: VKEY, unused: false }
  const open = (content: string, options = used) => {
    writeFileSync(state, content)
    new WitnessJournal(state, options).close()
  }
  assert.throws(() => open(`${head}\n${second}\n${first}\n`), /damaged in line 3/)
  assert.throws(() => open(''), /missing or empty.*--new-state/)
  assert.throws(() => open(head), /missing or empty/)
  const other = verifierKey(NAME, seededKey(0x53).publicKey, COSIGNATURE_TYPE)
  assert.throws(() => open(text, { ...used, key: other }), /of another key: witness.example/)
  open(text)
  // A file without the line of its key gets one.
  open(`${first}\n${second}\n`)
  assert.equal(readFileSync(state, 'utf8'), `${head}\n${second}\n`)
})

test('a state is locked while its process lives, whatever the lock file says', async () => {
  const state = join(tempDirectory(), 'state')
  openJournal(state).close()
  const source = new URL('./witness-journal.ts', import.meta.url).href
  const holding = `
    const { WitnessJournal } = await import(${JSON.stringify(source)})
    new WitnessJournal(${JSON.stringify(state)}, ${JSON.stringify(UNUSED)})
    console.log('held')
    setInterval(() => {}, 1_000)`
  const other = spawn(process.execPath, ['--input-type=module', '-e', holding], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(other, 'exit')
  try {
    await Promise.race([once(other.stdout, 'data'), ended])
    assert.throws(() => openJournal(state), /another process uses the state/)
    // Refused once, and not more willing the second time.
    assert.throws(() => openJournal(state), /another process uses the state/)
  } finally {
    other.kill('SIGKILL')
    await ended
  }
  openJournal(state).close()
})

test('a long state file is written again with its last lines only', async () => {
  const state = join(tempDirectory(), 'state')
  const log = new SignedLog(ORIGIN)
  const journal = openJournal(state)
  for (let size = 1; size <= 1_001; size += 1) journal.append(await log.checkpoint(size))
  journal.close()
  const again = openJournal(state)
  assert.equal(again.find(ORIGIN)?.size, 1_001)
  again.append(await log.checkpoint(1_002))
  again.close()
  assert.equal(readFileSync(state, 'utf8').split('\n').length, 4)
  const last = openJournal(state)
  assert.equal(last.find(ORIGIN)?.size, 1_002)
  last.close()
})

/** A witness in a process of its own; `kill` ends it as a power failure would. */
async function spawnWitness(args: readonly string[]) {
  const child = spawn(process.execPath, [BIN, 'witness', ...args, '--port', '0'], {
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /^listens on (.*)$/.exec(line)?.[1]
    if (url === undefined) continue
    const kill = async () => {
      child.kill('SIGKILL')
      await ended
    }
    return { url, kill }
  }
  throw new Error('the witness did not start')
}

test('after kill -9 a witness knows every checkpoint that it cosigned', async () => {
  const dir = tempDirectory()
  const files = { config: join(dir, 'config'), state: join(dir, 'state'), key: join(dir, 'key') }
  const keys = [toHex(LOG_KEY.publicKey)]
  writeFileSync(files.config, JSON.stringify({ name: NAME, logs: [{ origin: ORIGIN, keys }] }))
  const args = ['--config', files.config, '--state', files.state, '--signing-key', files.key]
  const log = new SignedLog(ORIGIN)
  let cosigned = 0
  for (let round = 0; round < 3; round += 1) {
    const running = await spawnWitness(args)
    const told = await post(running.url, await log.request(cosigned, cosigned + 1))
    // What was cosigned in the last moment may be one more than what was heard of.
    const known = told.status === 409 ? Number(told.text) : cosigned + 1
    assert.ok([cosigned + 1, cosigned + 2].includes(known), `${told.status} ${known} ${cosigned}`)
    cosigned = known
    const killed = delay(20 + 35 * round).then(running.kill)
    try {
      for (;;) {
        const { status } = await post(running.url, await log.request(cosigned, cosigned + 1))
        assert.equal(status, 200)
        cosigned += 1
      }
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error
    }
    await killed
  }
  assert.ok(cosigned >= 3)
})

test('a configuration that says nothing clear is refused in one line', async () => {
  const dir = tempDirectory()
  const run = async (config: unknown) => {
    writeFileSync(join(dir, 'config'), typeof config === 'string' ? config : JSON.stringify(config))
    const files = ['--state', join(dir, 'state'), '--signing-key', join(dir, 'key')]
    return runCustos(['witness', '--config', join(dir, 'config'), ...files])
  }
  const keys = ['00'.repeat(32)]
  for (const config of [
    'x',
    [],
    { name: 'a b', logs: [{ origin: ORIGIN, keys }] },
    { name: NAME, logs: [] },
    { name: NAME, logs: [{ origin: ORIGIN, keys: [] }] },
    { name: NAME, logs: [{ origin: ORIGIN, origin_prefix: 'a', keys }] },
    { name: NAME, logs: [{ origin: ORIGIN, keys: ['zz'] }] },
    { name: NAME, logs: [{ origin: ORIGIN, keys, more: 1 }] },
  ]) {
    const { status, stderr } = await run(config)
    assert.equal(status, 1, stderr)
    assert.match(stderr, /^custos witness: [^\n]+\n$/)
  }
  assert.equal((await runCustos(['witness'])).status, 2)
})
