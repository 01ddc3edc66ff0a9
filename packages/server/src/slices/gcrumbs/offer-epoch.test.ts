// Checkpoints reach witnesses, and nothing that a witness does stops a roll or counts as witnessed.

import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import {
  assembleNote,
  COSIGNATURE_TYPE,
  cosignCheckpoint,
  parseAddCheckpoint,
  parseCheckpoint,
  parseTlogProof,
  verifierKey,
  verifyConsistency,
  verifyEnvelope,
} from '@custos/proof'
import { seededKey } from '../../../../proof/src/testing/fixtures.ts'
import { startTestService } from '../../testing/harness.ts'

const NAMES = ['witness.example/w1', 'witness.example/w2'] as const
const KEYS = [seededKey(0x71), seededKey(0x72)] as const

interface ReceivedRequest {
  readonly oldSize: number
  readonly size: number
  readonly body: string
}

type Answer = (request: ReceivedRequest, response: ServerResponse) => void

const vkey = (n: 0 | 1) => verifierKey(NAMES[n], KEYS[n].publicKey, COSIGNATURE_TYPE)
const seconds = () => Math.floor(Date.now() / 1_000)

function lineOf(n: 0 | 1, body: string, timestamp = seconds()): string {
  const { publicKey, sign } = KEYS[n]
  const line = cosignCheckpoint(body, { name: NAMES[n], publicKey, timestamp, sign })
  return assembleNote('-\n', [line]).slice(3)
}

/** A witness that answers as a test says, and by default cosigns whatever it is shown. */
async function startWitness(t: TestContext, n: 0 | 1) {
  const received: ReceivedRequest[] = []
  const own: { answer: Answer } = {
    answer: ({ body }, response) => response.end(lineOf(n, body)),
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { oldSize, checkpoint } = parseAddCheckpoint(Buffer.concat(chunks).toString())
      const { size, body } = parseCheckpoint(checkpoint)
      received.push({ oldSize, size, body })
      own.answer({ oldSize, size, body }, response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  assert.ok(typeof address === 'object' && address)
  return { received, own, key: vkey(n), url: `http://127.0.0.1:${address.port}/custos` }
}

type Witness = Awaited<ReturnType<typeof startWitness>>

async function openScene(t: TestContext, witnesses: readonly Witness[], required: number) {
  const policy = { required, witnesses: witnesses.map(({ key, url }) => ({ key, url })) }
  const service = await startTestService({ config: { auth: 'local', witnesses: policy } })
  t.after(() => service.stop())
  const ok = async (method: string, path: string, body?: unknown) => {
    const answer = await service.request(method, path, body === undefined ? {} : { body })
    assert.ok(answer.status < 300, answer.text)
    return answer.body
  }
  const last = async () => (await ok('GET', '/v1/gcrumbs/stats')).last_epoch
  return {
    service,
    async roll() {
      await ok('POST', '/v1/stores/default/write', { content: 'a note' })
      return ok('POST', '/v1/gcrumbs/roll', {})
    },
    last,
    until: (holds: (epoch: Awaited<ReturnType<typeof last>>) => boolean) => become(last, holds),
  }
}

async function become<T>(read: () => Promise<T>, holds: (state: T) => boolean): Promise<T> {
  for (let waits = 0; waits < 300; waits += 1) {
    const state = await read()
    if (holds(state)) return state
    await delay(50)
  }
  return assert.fail('it did not come to that')
}

async function until(condition: () => boolean): Promise<void> {
  for (let waits = 0; waits < 300 && !condition(); waits += 1) await delay(50)
  assert.ok(condition())
}

test('gcrumbs.epoch is witnessed once enough witnesses of the policy cosigned it', async (t) => {
  const [one, two] = [await startWitness(t, 0), await startWitness(t, 1)]
  two.own.answer = (_, response) => response.writeHead(503).end()
  const { roll, until: wait } = await openScene(t, [one, two], 2)
  const rolled = await roll()
  const half = await wait(({ cosignatures }) => cosignatures.length === 1)
  assert.equal(half.witnessed, false)
  assert.equal(half.cosignatures[0].witness, one.key)
  two.own.answer = ({ body }, response) => response.end(lineOf(1, body))
  const whole = await wait(({ witnessed }) => witnessed)
  assert.equal(whole.checkpoint, rolled.checkpoint, 'the signed note itself does not change')
  // A witness that has cosigned is not asked again.
  assert.equal(one.received.length, 1)
  // The next epoch is offered with the size that this witness cosigned, and with its proof.
  const next = await roll()
  await wait(({ witnessed, epoch_number }) => witnessed && epoch_number === next.epoch_number)
  assert.equal(one.received.at(-1)?.oldSize, rolled.tree_size)
})

test('the last checkpoint of a destroyed tenant is offered until it is cosigned', async (t) => {
  const one = await startWitness(t, 0)
  one.own.answer = (_, response) => response.writeHead(503).end()
  const witnesses = { required: 1, witnesses: [{ key: one.key, url: one.url }] }
  const service = await startTestService({ config: { auth: 'local', witnesses } })
  t.after(() => service.stop())
  const { tenant_id } = await service.createTenant('closes')
  const asked = async (method: string, what: string, body?: object) => {
    const path = `/v1/admin/tenants/${tenant_id}/${what}`
    const options = { key: service.operator_key, ...(body && { body }) }
    const answer = await service.request(method, path, options)
    assert.equal(answer.status, 200, answer.text)
    return answer.body
  }
  await asked('POST', 'destroy-key', { confirm: `destroy ${tenant_id}` })
  const read = () => asked('GET', 'destruction')
  const removed = await become(read, ({ removal }) => removal.state === 'removed')
  assert.equal(removed.last_checkpoint.witnessed, false)
  one.own.answer = ({ body }, response) => response.end(lineOf(0, body))
  await become(read, ({ last_checkpoint }) => last_checkpoint.witnessed)
})

test("'gcrumbs.proof' and gcrumbs.consistency show who cosigned and dated the epoch", async (t) => {
  const one = await startWitness(t, 0)
  const { service, roll, until: wait } = await openScene(t, [one], 1)
  await roll()
  const first = await wait(({ witnessed }) => witnessed)
  one.own.answer = (_, response) => response.writeHead(503).end()
  const second = await roll()
  const get = async (path: string) => (await service.request('GET', `/v1/gcrumbs/${path}`)).body
  const proof = await get(`epochs/${first.epoch_number}/proof?seq=0`)
  const beyond = await get(`epochs/${first.epoch_number}/proof?seq=${first.tree_size}`)
  const later = await get(`epochs/${second.epoch_number}/proof?seq=0`)
  const both = await get(`epochs/${second.epoch_number}/consistency?from=${first.epoch_number}`)
  const members = ['cosignatures', 'witnessed', 'timestamp'] as const
  const shown = (answer: typeof first, side = '') => members.map((name) => answer[side + name])
  assert.deepEqual(shown(first), [first.cosignatures, true, null])
  for (const answer of [proof, beyond]) assert.deepEqual(shown(answer), shown(first))
  assert.deepEqual(shown(later), [[], false, null])
  assert.deepEqual(shown(both, 'from_'), shown(first))
  assert.deepEqual(shown(both, 'to_'), [[], false, null])

  // The proof as text has the checkpoint with its cosignatures, and nothing else after it.
  const { checkpoint } = parseTlogProof(proof.tlog_proof)
  assert.equal(checkpoint, `${first.checkpoint}${first.cosignatures[0].line}\n`)
  const { keys } = await get('public_key')
  const judge = (saved: unknown) => verifyEnvelope({ type: 'proof', proof: saved }, { keys })
  assert.equal((await judge(proof)).reason, undefined)
  const longer = { ...proof, tlog_proof: `${proof.tlog_proof}and more\n` }
  assert.match((await judge(longer)).reason ?? '', /^tlog_proof/)
})

test('a witness that names another size is sent the proof from there', async (t) => {
  const one = await startWitness(t, 0)
  const { service, roll, until: wait } = await openScene(t, [one], 1)
  const first = await roll()
  await wait(({ witnessed }) => witnessed)
  await roll()
  await wait(({ witnessed }) => witnessed)
  let asked = 0
  one.own.answer = ({ oldSize, size, body }, response) => {
    asked += 1
    if (oldSize === first.tree_size) return void response.end(lineOf(0, body))
    assert.ok(oldSize < size)
    response.writeHead(409, { 'content-type': 'text/x.tlog.size' }).end(`${first.tree_size}\n`)
  }
  const third = await roll()
  await wait(({ witnessed, epoch_number }) => witnessed && epoch_number === third.epoch_number)
  assert.equal(asked, 2)
  const { body } = await service.request(
    'GET',
    `/v1/gcrumbs/epochs/${third.epoch_number}/consistency?from=1`,
  )
  const bytes = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'))
  const claim = {
    from: body.from_size,
    fromRoot: bytes(body.from_root),
    path: body.path.map(bytes),
  }
  assert.ok(verifyConsistency({ ...claim, to: body.to_size, toRoot: bytes(body.to_root) }))
})

const LIES: readonly (readonly [string, Answer])[] = [
  ['signs another checkpoint', ({ body }, r) => r.end(lineOf(0, body.replace(/\n\d+\n/, '\n1\n')))],
  ['signs with another key', ({ body }, r) => r.end(lineOf(1, body))],
  ['signs in the far future', ({ body }, r) => r.end(lineOf(0, body, seconds() + 86_400))],
  ['answers nothing', (_, r) => r.end()],
  ['answers a text', (_, r) => r.end('fine!\n')],
  ['answers a note of its own', (_, r) => r.end(`\nx\n1\nAAAA\n\n${lineOf(0, 'x\n1\nAAAA\n')}`)],
  ['answers without end', (_, r) => r.end('— a b\n'.repeat(100_000))],
  ['names the size it was asked for', ({ oldSize }, r) => r.writeHead(409).end(`${oldSize}\n`)],
  ['names a larger size', ({ size }, r) => r.writeHead(409).end(`${size + 9}\n`)],
  ['names no size', (_, r) => r.writeHead(409).end('-1\n')],
  [
    'names another size each time',
    ({ oldSize }, r) => r.writeHead(409).end(`${(oldSize + 1) % 2}\n`),
  ],
  ['does not know the log', (_, r) => r.writeHead(404).end()],
  ['redirects', (_, r) => r.writeHead(302, { location: 'http://127.0.0.1/' }).end()],
  ['cuts the connection', (_, r) => r.destroy()],
]

test('a witness that lies, fails or is away changes nothing and stops no roll', async (t) => {
  const one = await startWitness(t, 0)
  const { service, roll, last } = await openScene(t, [one], 1)
  for (const [what, answer] of LIES) {
    one.own.answer = answer
    const before = one.received.length
    const epoch = await roll()
    await until(() => one.received.length > before)
    await delay(30)
    const { epoch_number, witnessed, cosignatures } = await last()
    assert.equal(epoch_number, epoch.epoch_number)
    assert.deepEqual([witnessed, cosignatures], [false, []], what)
  }
  // One that never answers: rolls go on, and a stop does not wait for it.
  one.own.answer = () => {}
  const before = one.received.length
  await roll()
  await until(() => one.received.length > before)
  const started = performance.now()
  for (let n = 0; n < 5; n += 1) await roll()
  assert.ok(performance.now() - started < 5_000)
  const { status } = await service.request('GET', '/v1/gcrumbs/verify?full=true')
  assert.equal(status, 200)
})
