// The programs of docs/webhooks.md, on deliveries of a real service and on altered ones.

import assert from 'node:assert/strict'
import { cpSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import {
  ALLOW_LOOPBACK,
  bodyOf,
  poll,
  type ReceivedDelivery,
  startReceiver,
  startScene,
} from '../../packages/server/src/slices/webhooks/testing/scene.ts'
import { startTestService } from '../../packages/server/src/testing/harness.ts'
import { movedClock } from '../../packages/server/src/testing/skewed-clock.ts'
import { tempDirectory } from '../crash/testing/temp-directory.ts'
import { ROOT, readPage } from './testing/page.ts'

type Verify = (
  secret: string,
  headers: Readonly<Record<string, string>>,
  body: string,
) => { readonly seq: number }

interface LogChecker {
  add(delivery: unknown): string[]
  missing(): number[]
}

/** A module of the page, by the name in its first line. */
async function moduleOf(t: TestContext, name: string): Promise<Record<string, unknown>> {
  const [, code = ''] = new RegExp(`\`\`\`js\\n(// ${name}[^]*?)\`\`\``).exec(page) ?? []
  assert.ok(code !== '', name)
  const dir = tempDirectory(t)
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'))
  writeFileSync(join(dir, name), code)
  return import(pathToFileURL(join(dir, name)).href)
}

const page = readPage('docs/webhooks.md')

const linesOf = (name: string): number =>
  (new RegExp(`\`\`\`js\\n// ${name}[^]*?\`\`\``).exec(page)?.[0].split('\n').length ?? 0) - 2

const verifierOf = async (t: TestContext, name: string): Promise<Verify> =>
  // Exported by the module of the page.
  (await moduleOf(t, name))['verify'] as Verify

const aged = ({ headers }: ReceivedDelivery, by_s: number) => ({
  ...headers,
  'webhook-timestamp': String(Number(headers['webhook-timestamp']) - by_s),
})

test('both verifiers take what the service sends, by each secret, and nothing else', async (t) => {
  const clock = movedClock()
  const scene = await startScene(t, { clock })
  const receiver = await startReceiver(t)
  const { webhook_id, secret } = await scene.create(receiver, { events: ['store.created'] })
  const rotate = `/v1/webhooks/${webhook_id}/rotate-secret`
  const { secret: next } = await scene.ok('POST', rotate, { overlap_hours: 1 })
  await scene.append()
  await receiver.until(1)
  const [delivery] = receiver.received
  assert.ok(delivery)
  const { headers, body } = delivery
  const library = await verifierOf(t, 'verify-library.mjs')
  const plain = await verifierOf(t, 'verify-plain.mjs')
  for (const verify of [library, plain]) {
    for (const valid of [secret, next])
      assert.equal(verify(valid, headers, body).seq, bodyOf(delivery).seq)
    assert.throws(() => verify(`whsec_${Buffer.alloc(32).toString('base64')}`, headers, body))
    assert.throws(() => verify(secret, headers, body.replace('"seq":', '"seq": ')))
    assert.throws(() => verify(secret, { ...headers, 'webhook-id': 'evt_0' }, body))
    assert.throws(() => verify(secret, aged(delivery, 1), body))
  }
  // Signed with the right secret, 301 seconds ago.
  clock.forward(-301 * 1_000_000)
  await scene.append()
  await receiver.until(2)
  const [, old] = receiver.received
  assert.ok(old)
  for (const verify of [library, plain])
    assert.throws(() => verify(secret, old.headers, old.body), /old/)
  assert.ok(linesOf('verify-library.mjs') <= 10 && linesOf('verify-plain.mjs') <= 14)
})

test('the verifier of v1a takes what the service signs, and nothing else', async (t) => {
  const scene = await startScene(t)
  const receiver = await startReceiver(t)
  const { public_key } = await scene.create(receiver, {
    signature: 'v1a',
    events: ['store.created'],
  })
  await scene.append()
  await receiver.until(1)
  const [delivery] = receiver.received
  assert.ok(delivery)
  const { headers, body } = delivery
  const verify = await verifierOf(t, 'verify-public-key.mjs')
  assert.equal(verify(public_key, headers, body).seq, bodyOf(delivery).seq)
  assert.throws(() => verify(public_key, headers, body.replace('store', 'stare')))
  assert.throws(() => verify(public_key, aged(delivery, 1), body))
  assert.throws(() => verify(`whpk_${Buffer.alloc(32, 1).toString('base64')}`, headers, body))
})

async function checkerOf(t: TestContext): Promise<LogChecker> {
  const { LogCheck } = await moduleOf(t, 'log-check.mjs')
  assert.ok(linesOf('log-check.mjs') <= 40, `${linesOf('log-check.mjs')} lines`)
  // Exported by the module of the page.
  return new (LogCheck as new () => LogChecker)()
}

/** A service with an endpoint of `*`, which may be stopped, put back and started again. */
async function startLoggedService(t: TestContext) {
  const dir = tempDirectory(t)
  const data_dir = join(dir, 'data')
  const receiver = await startReceiver(t)
  let service = await startTestService({ data_dir, config: ALLOW_LOOPBACK })
  t.after(() => service.stop({ keep: true }).catch(() => {}))
  const { api_key: key } = await service.createTenant()
  const post = async (path: string, body: unknown) => {
    const { status, text } = await service.request('POST', path, { key, body })
    assert.ok(status < 300, text)
  }
  await post('/v1/webhooks', { url: receiver.url, events: ['*'] })
  const lag = async () => {
    const { body } = await service.request('GET', '/v1/webhooks', { key })
    const [{ lag: behind, webhook_id }] = body.webhooks
    const open = await service.request('GET', `/v1/webhooks/${webhook_id}/deliveries`, { key })
    return (
      behind === 0 &&
      open.body.deliveries.every((one: { status: string }) => one.status === 'delivered')
    )
  }
  return {
    receiver,
    async append(count: number) {
      for (let i = 0; i < count; i += 1) await post('/v1/stores', {})
      await poll(lag)
    },
    roll: () => post('/v1/gcrumbs/roll', {}),
    /** Keeps a copy of all data, or of the database alone. */
    async stopped(act: (paths: { data: string; backup: string }) => void) {
      await service.stop({ keep: true })
      act({ data: data_dir, backup: join(dir, 'backup') })
      service = await startTestService({ data_dir, config: ALLOW_LOOPBACK })
    },
  }
}

const copyOut = ({ data, backup }: { data: string; backup: string }) =>
  cpSync(data, backup, { recursive: true })

/** Puts back a part of the copy; `.`: all of it. */
const putBack =
  (part: string) =>
  ({ data, backup }: { data: string; backup: string }) => {
    for (const suffix of part === '.' ? [''] : ['', '-wal', '-shm'])
      rmSync(`${join(data, part)}${suffix}`, { recursive: true, force: true })
    cpSync(join(backup, part), join(data, part), { recursive: true })
  }

test('a receiver of * finds nothing wrong with a log that only grew', async (t) => {
  const { receiver, append } = await startLoggedService(t)
  await append(5)
  const checker = await checkerOf(t)
  const bodies = receiver.received.map(bodyOf)
  // In any order, and twice.
  for (const body of [...bodies.toReversed(), ...bodies]) assert.deepEqual(checker.add(body), [])
  const test_event = { breadcrumb_id: null, entry: null, seq: null, generation: null }
  assert.deepEqual(checker.add(test_event), [])
  assert.deepEqual(checker.missing(), [])
  const without = await checkerOf(t)
  for (const body of bodies.filter(({ seq }) => seq !== bodies[2].seq)) without.add(body)
  assert.deepEqual(without.missing(), [bodies[2].seq])
  const [first] = bodies
  const forged = { ...first, entry: first.entry.replace('"seq":', '"sex":') }
  assert.match((await checkerOf(t)).add(forged).join(), /FORGED/)
})

test('a receiver of * finds that a log was truncated', async (t) => {
  const { receiver, append, roll, stopped } = await startLoggedService(t)
  await append(2)
  await stopped(copyOut)
  await append(3)
  await roll()
  await stopped(putBack('custos.db'))
  await append(1)
  const checker = await checkerOf(t)
  const faults = receiver.received.flatMap((one) => checker.add(bodyOf(one)))
  assert.equal(faults.length, 1, faults.join('\n'))
  assert.match(faults.join(), /TRUNCATED.* 3 entries are gone/)
})

test('a receiver of * finds that a log was forked', async (t) => {
  const { receiver, append, stopped } = await startLoggedService(t)
  await append(2)
  await stopped(copyOut)
  await append(2)
  // Database and keyring together: the service itself cannot know.
  await stopped(putBack('.'))
  await append(3)
  const checker = await checkerOf(t)
  const faults = receiver.received.flatMap((one) => checker.add(bodyOf(one)))
  assert.match(faults.join('\n'), /FORKED, two entries at one position/)
})
