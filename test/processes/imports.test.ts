// 'memory.import' under an Idempotency-Key, sent again to another process while it runs.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from '../crash/testing/client.ts'
import { shareFleet } from './testing/fleet.ts'
import { openTenant } from './testing/mixed-load.ts'

/** Instead of half a minute: a retry waits for a third of it. */
const LEASE_MS = 3_000
const TYPE = 'application/x-ndjson'
const KEY = { 'idempotency-key': 'import' }

const line = (content: string): string => `${JSON.stringify({ content })}\n`

/** More than is read to its end first: its first memories are kept before the last is sent. */
const LARGE = Array.from({ length: 600 }, (_, i) => line(`${i} ${'x'.repeat(16_000)}`)).join('')
const LAST = line('the last one')
const COUNT = 601

const shared = shareFleet(2, { lease_ms: LEASE_MS })

/** An import that runs at one of two processes and waits for its last line. */
async function openImport() {
  const [here, there] = shared.servers
  assert.ok(here && there)
  const { tenant, store_id } = await openTenant(here)
  const path = `/v1/stores/${store_id}/import`
  let end = () => {}
  const told = new Promise<void>((resolve) => {
    end = resolve
  })
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(LARGE)
    await told
    yield Buffer.from(LAST)
  }
  const first = fetch(`${here.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.api_key}`, 'content-type': TYPE, ...KEY },
    body: ReadableStream.from(body()),
    duplex: 'half',
  })
  first.catch(() => {})
  const client = new Client(there.url, tenant.api_key)
  const kept = async () => (await client.all(`/v1/stores/${store_id}/audit`, 'memories')).length
  while ((await kept()) === 0) await delay(20)
  const retry = () => client.raw('POST', path, { raw: LARGE + LAST, type: TYPE, headers: KEY })
  return { here, first, end, retry, kept }
}

type Running = Awaited<ReturnType<typeof openImport>>

/** Asks again as long as it is told to. */
async function untilAnswered({ retry }: Pick<Running, 'retry'>) {
  for (;;) {
    const answer = await retry()
    if (answer.status !== 503) return answer
    assert.match(String(answer.retry_after), /^[1-9]\d*$/)
    await delay(50)
  }
}

test('a retry elsewhere is told to come again while an import runs, then its answer', async () => {
  const running = await openImport()
  for (let round = 0; round < 5; round += 1) {
    const { status, body, retry_after } = await running.retry()
    assert.deepEqual([status, body.error, retry_after], [503, 'unavailable', '5'])
  }
  running.end()
  const answer = await running.first
  const text = await answer.text()
  const body = JSON.parse(text)
  assert.deepEqual([answer.status, body.imported], [200, COUNT], text)
  const again = await untilAnswered(running)
  assert.deepEqual([again.status, again.body], [200, body])
  assert.equal(await running.kept(), COUNT)
})

// The last test: it kills a process that the tests above share.
test('a retry elsewhere is told that an import broke off once its process is dead', async () => {
  const running = await openImport()
  assert.equal((await running.retry()).status, 503)
  await running.here.killed()
  const { status, body } = await untilAnswered(running)
  assert.deepEqual([status, body.error], [422, 'import_refused'])
  assert.equal(await running.kept(), body.imported)
  assert.ok(body.imported >= 500 && body.imported < COUNT)
})
