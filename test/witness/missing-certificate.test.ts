// A monitor follows erasures to their certificates, and notices what is served otherwise.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runCustos } from '../../packages/cli/src/testing/run.ts'
import { openWitnessScene, type WitnessScene } from './testing/scene.ts'

type Change = (path: string, bytes: Uint8Array) => Uint8Array | null

/** The service as somebody between shows it: each answer may be changed, or taken away. */
async function startLiar(t: TestContext, scene: WitnessScene) {
  const own: { change: Change } = { change: (_, bytes) => bytes }
  const server = createServer(async (request, response) => {
    const path = request.url ?? ''
    const answer = await fetch(`${scene.url}${path}`)
    const bytes = own.change(path, new Uint8Array(await answer.arrayBuffer()))
    response.writeHead(bytes === null ? 404 : answer.status).end(bytes ?? '')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  assert.ok(typeof address === 'object' && address)
  const { public_key } = await scene.ok('GET', '/v1/gcrumbs/public_key')
  const url = `http://127.0.0.1:${address.port}`
  let states = 0
  return {
    own,
    /** With a state of its own, unless one is named. */
    monitor(state = `liar-${++states}`, ...more: readonly string[]) {
      const args = ['monitor', '--url', url, '--key', public_key, '--once']
      return runCustos([...args, '--state', join(scene.dir, state), ...more])
    },
  }
}

async function eraseOne(scene: WitnessScene) {
  await scene.write('Elsa keeps bees', 'The ferry is blue')
  const certificate = await scene.ok('POST', '/v1/erasure/issue', { fact_ref: 1 })
  const decision = { store_id: 'default', model_id: 'm', query: 'Who?', output: 'Elsa' }
  const { decision_id } = await scene.ok('POST', '/v1/decisions/log', decision)
  await scene.ok('POST', `/v1/decisions/${decision_id}/redact`, {})
  await scene.roll()
  return certificate
}

test('an erasure with its certificate is followed; without it, it is a finding', async (t) => {
  const scene = await openWitnessScene(t)
  const { certificate_id } = await eraseOne(scene)
  const liar = await startLiar(t, scene)
  const good = await liar.monitor('state', '--grace', '0')
  assert.equal(good.status, 0, good.stdout + good.stderr)

  liar.own.change = (path, bytes) => (path === `/v1/erasure/${certificate_id}` ? null : bytes)
  const hidden = await liar.monitor()
  assert.equal(hidden.status, 1, hidden.stdout)
  assert.match(
    hidden.stdout,
    /^certificate_missing: certificate [0-9a-f]+ of entry \d+ is missing\n$/,
  )

  const other = { signed_bytes: Buffer.from('another certificate').toString('base64') }
  liar.own.change = (path, bytes) =>
    path.startsWith('/v1/erasure/') ? Buffer.from(JSON.stringify(other)) : bytes
  assert.match((await liar.monitor()).stdout, /differs from the digest on the log\n$/)
})

test('an erasure whose certificate does not come is a finding once it is due', async (t) => {
  const reached = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  // Also after a failure: the service stops only when the erasure has ended.
  t.after(() => goOn.resolve())
  const scene = await openWitnessScene(t, {
    step: (name) => {
      if (name !== 'erasure:applied') return
      reached.resolve()
      return goOn.promise
    },
  })
  await scene.write('Elsa keeps bees')
  const erasing = scene.ok('POST', '/v1/erasure/issue', { fact_ref: 1 })
  await reached.promise
  await scene.roll()
  const early = await scene.monitor()
  assert.match(early.stdout, /, 1 erasures wait for their certificate\n$/)
  assert.equal(early.status, 0)
  const late = await scene.monitor('--grace', '0')
  assert.match(
    late.stdout,
    /^certificate_missing: entry \d+ of \S+ erases memory 1, but the log has no/,
  )
  assert.equal(late.status, 1)
  goOn.resolve()
  await erasing
  await scene.roll()
  const done = await scene.monitor('--grace', '0')
  assert.equal(done.status, 0, done.stdout)
  assert.doesNotMatch(done.stdout, /wait/)
})

test('parts that are missing, cut or of another tree are findings; the state stays', async (t) => {
  const scene = await openWitnessScene(t)
  await eraseOne(scene)
  const liar = await startLiar(t, scene)
  const flipped = (bytes: Uint8Array) => bytes.map((byte, i) => (i === 40 ? byte ^ 1 : byte))
  const cases: readonly (readonly [string, Change, RegExp])[] = [
    ['no bundle', (path, bytes) => (path.includes('/entries/') ? null : bytes), /^gap: /],
    [
      'a cut bundle',
      (path, bytes) => (path.includes('/entries/') ? bytes.slice(0, -1) : bytes),
      /^gap: /,
    ],
    [
      'a changed entry',
      (path, bytes) => (path.includes('/entries/') ? flipped(bytes) : bytes),
      /^(?:fork|gap): /,
    ],
    ['no tile', (path, bytes) => (path.includes('/tile/0/') ? null : bytes), /^gap: /],
    [
      'a changed tile',
      (path, bytes) => (path.includes('/tile/0/') ? flipped(bytes) : bytes),
      /^fork: a tile of level 0/,
    ],
    [
      'no checkpoint',
      (path, bytes) => (path.endsWith('/checkpoint') ? null : bytes),
      /^no checkpoint yet/,
    ],
    [
      'a changed checkpoint',
      (path, bytes) => (path.endsWith('/checkpoint') ? flipped(bytes) : bytes),
      /^not_signed: /,
    ],
  ]
  for (const [what, change, expected] of cases) {
    liar.own.change = change
    const { stdout, status } = await liar.monitor()
    assert.match(stdout, expected, what)
    assert.equal(status, what === 'no checkpoint' ? 0 : 1, what)
  }
  liar.own.change = (_, bytes) => bytes
  assert.equal((await liar.monitor('kept')).status, 0)
  liar.own.change = (path, bytes) => (path.endsWith('/checkpoint') ? null : bytes)
  assert.match(
    (await liar.monitor('kept')).stdout,
    /^truncated: the log no longer has a checkpoint/,
  )
  liar.own.change = (_, bytes) => bytes
  assert.equal((await liar.monitor('kept')).status, 0)
})
