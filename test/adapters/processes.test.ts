// Two processes of an adapter put a thousand times at once: nothing is lost, on either engine.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { CustosStore } from '@custos/adapters/langgraph'
import { Custos } from '@custos/client'
import { roundsOf } from '../../packages/server/src/testing/sweep.ts'
import { createTenant } from '../crash/testing/client.ts'
import { childEnvironment, ServerProcess } from '../crash/testing/server-process.ts'
import { at, openFleet } from '../processes/testing/fleet.ts'

const WRITER = join(import.meta.dirname, 'testing/writer.ts')
const PUTS_EACH = roundsOf(100, 500)
const execute = promisify(execFile)

/** Runs a writer at each address and returns how many conditional puts were refused. */
async function writeTogether(urls: readonly string[], apiKey: string): Promise<number> {
  const outputs = await Promise.all(
    urls.map((url, i) => {
      const args = ['--disable-warning=ExperimentalWarning', WRITER, url, apiKey]
      const env = childEnvironment()
      return execute(process.execPath, [...args, `writer ${i}`, String(PUTS_EACH)], { env })
    }),
  )
  return outputs.reduce((sum, { stdout }) => sum + Number(JSON.parse(stdout).conflicts), 0)
}

async function assertNothingLost(t: TestContext, servers: readonly ServerProcess[]): Promise<void> {
  const { api_key } = await createTenant(at(servers, 0))
  const urls = [at(servers, 0).url, (servers[1] ?? at(servers, 0)).url]
  const clients = urls.map((url) => new Custos({ url, apiKey: api_key }))
  const client = at(clients, 0)
  const count = { namespace: ['counts'], key: 'all' }
  await client.items.put('default', { ...count, value: { n: 0 } })
  const conflicts = await writeTogether(urls, api_key)
  t.diagnostic(`${conflicts} conditional puts were refused and repeated`)
  assert.ok(conflicts > 0)

  const puts = urls.flatMap((_, i) =>
    Array.from({ length: PUTS_EACH }, (_put, n) => ({ name: `writer ${i}`, n })),
  )
  for (const reader of clients) {
    const store = new CustosStore({ client: reader })
    const counted = await store.get(count.namespace, count.key)
    assert.equal(counted?.value['n'], (PUTS_EACH / 5) * urls.length)
    const each = await store.search(['each'], { limit: 1_000 })
    assert.deepEqual(
      each.map(({ key, value }) => [key, value]).sort(),
      puts.map((put) => [`${put.name} ${put.n}`, put]).sort(),
    )
    assert.equal((await store.search(['shared'], { limit: 10 })).length, 1)
  }

  // One chain: every put is a version, each superseded by the next, and the last one is current.
  const { item } = await client.items.get('default', { namespace: ['shared'], key: 'one' })
  assert.ok(item)
  const versions = []
  for await (const version of client.memory.history.all('default', item.ref)) versions.push(version)
  assert.equal(versions.length, puts.length)
  assert.deepEqual(
    versions.map(({ superseded_by }) => superseded_by),
    [...versions.slice(1).map(({ ref }) => ref), null],
  )
  assert.equal(versions.at(-1)?.ref, item.ref)
  const said = versions.map(({ memory }) => JSON.parse(memory?.content ?? 'null'))
  const named = (values: readonly { name: string; n: number }[]) =>
    values.map(({ name, n }) => `${name} ${n}`).sort()
  assert.deepEqual(named(said), named(puts))
}

test('two processes of the service on one PostgreSQL keep every item and version', async (t) => {
  const fleet = await openFleet(t)
  await assertNothingLost(t, await fleet.start(2))
})

test('one process with an embedded database keeps every item and version', async (t) => {
  const data_dir = mkdtempSync(join(tmpdir(), 'custos-items-'))
  const server = ServerProcess.serve({ data_dir })
  t.after(async () => {
    await server.killed()
    rmSync(data_dir, { recursive: true })
  })
  await assertNothingLost(t, [await server.listening()])
})
