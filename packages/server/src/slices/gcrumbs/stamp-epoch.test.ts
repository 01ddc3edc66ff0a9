// Checkpoints get the timestamp of an authority, and nothing that it does stops a roll or is stored
// in its place.

import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../../platform/telemetry/logger.ts'
import {
  openOpensslAuthority,
  serveAuthority,
} from '../../platform/timestamps/testing/openssl-authority.ts'
import {
  readCertificates,
  timestampRequest,
  verifyTimestampToken,
} from '../../platform/timestamps/timestamp-token.ts'
import { startTestService } from '../../testing/harness.ts'

async function openScene(t: TestContext) {
  const authority = openOpensslAuthority(t, { key: 'ec' })
  const served = await serveAuthority(t, authority)
  const reasons: string[] = []
  const silent = () => {}
  const warn: Logger['warn'] = (event, fields) => {
    if (event === 'epoch.not_stamped') reasons.push(String(fields?.['reason']))
  }
  const service = await startTestService({
    config: { auth: 'local', timestamps: served.settings },
    logger: { debug: silent, info: silent, error: silent, flush: silent, warn },
  })
  t.after(() => service.stop())
  const ok = async (method: string, path: string, body?: unknown) => {
    const answer = await service.request(method, path, body === undefined ? {} : { body })
    assert.ok(answer.status < 300, answer.text)
    return answer.body
  }
  const last = async () => (await ok('GET', '/v1/gcrumbs/stats')).last_epoch
  return {
    authority,
    served,
    reasons,
    ok,
    last,
    async roll() {
      await ok('POST', '/v1/stores/default/write', { content: 'a note' })
      return ok('POST', '/v1/gcrumbs/roll', {})
    },
    async stamped() {
      for (let waits = 0; waits < 300; waits += 1) {
        const epoch = await last()
        if (epoch.timestamp !== null) return epoch
        await delay(50)
      }
      return assert.fail('no timestamp came')
    },
  }
}

async function until(condition: () => boolean): Promise<void> {
  for (let waits = 0; waits < 300 && !condition(); waits += 1) await delay(50)
  assert.ok(condition())
}

test('gcrumbs.epoch shows the timestamp of each new checkpoint once it has come', async (t) => {
  const { authority, served, roll, stamped, ok } = await openScene(t)
  const trusted = readCertificates(authority.root)
  for (let n = 1; n <= 2; n += 1) {
    const rolled = await roll()
    // It is asked for outside the request that rolls.
    assert.equal(rolled.timestamp, null)
    const epoch = await stamped()
    assert.equal(epoch.checkpoint, rolled.checkpoint)
    const token = Buffer.from(epoch.timestamp.token, 'base64')
    const verdict = verifyTimestampToken(token, { message: Buffer.from(epoch.checkpoint), trusted })
    assert.ok(verdict.ok)
    assert.equal(Date.parse(epoch.timestamp.stamped_at), Math.floor(verdict.stamped_us / 1_000))
    assert.deepEqual(await ok('GET', `/v1/gcrumbs/epochs/${epoch.epoch_number}`), epoch)
    const { epochs } = await ok('GET', '/v1/gcrumbs/epochs')
    assert.deepEqual(epochs.at(-1), epoch)
    // An epoch that has its timestamp is not asked about again.
    assert.equal(served.received.length, n)
  }
})

const NONCE = Buffer.alloc(8, 0x11)

test('an authority that lies, fails or is slow stops no roll and leaves nothing', async (t) => {
  const { authority, served, reasons, roll, last, stamped } = await openScene(t)
  const other = openOpensslAuthority(t, { key: 'ec' })
  const checkpointOf = async () => Buffer.from((await last()).checkpoint)
  const lies: readonly (readonly [string, typeof served.own.answer])[] = [
    ['untrusted_certificate', (request, r) => r.end(other.reply(request))],
    ['wrong_imprint', (_, r) => r.end(authority.reply(timestampRequest(Buffer.from('x'), NONCE)))],
    [
      'wrong_nonce',
      async (_, r) => r.end(authority.reply(timestampRequest(await checkpointOf(), NONCE))),
    ],
    ['malformed', (_, r) => r.end('fine!')],
    ['malformed', (_, r) => r.end()],
    ['too_large', (_, r) => r.end(Buffer.alloc(40 * 1024, 0x30))],
    ['status_500', (_, r) => r.writeHead(500).end()],
    ['redirect', (_, r) => r.writeHead(302, { location: 'http://127.0.0.1/' }).end()],
    ['connect', (_, r) => r.destroy()],
  ]
  for (const [reason, answer] of lies) {
    served.own.answer = answer
    reasons.length = 0
    const epoch = await roll()
    await until(() => reasons.includes(reason))
    const { epoch_number, timestamp } = await last()
    assert.deepEqual([epoch_number, timestamp], [epoch.epoch_number, null], reason)
  }
  // One that never answers: rolls go on meanwhile.
  const waiting: ServerResponse[] = []
  served.own.answer = (_, response) => waiting.push(response)
  await roll()
  await until(() => waiting.length > 0)
  const started = performance.now()
  for (let n = 0; n < 5; n += 1) await roll()
  assert.ok(performance.now() - started < 5_000)
  assert.equal(waiting.length, 1)
  // Once it is reachable, the newest checkpoint gets its timestamp.
  served.own.answer = (request, response) => response.end(authority.reply(request))
  waiting[0]?.destroy()
  const { epoch_number } = await stamped()
  assert.equal(epoch_number, lies.length + 6)
})
