// Several writers of Mastra's storage at once: no update is lost, and nothing outlives its thread.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { CustosMemoryStorage } from '@custos/adapters/mastra'
import { Custos } from '@custos/client'
import { startTestService, type TestService } from '../../packages/server/src/testing/harness.ts'

let service: TestService

before(async () => {
  service = await startTestService()
})
after(() => service?.stop())

const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 0, minute))
const base = { resourceId: 'ana', createdAt: at(0), updatedAt: at(0) }
const say = (id: string, text: string, minute = 1) => ({
  id,
  threadId: 't1',
  resourceId: 'ana',
  role: 'user' as const,
  createdAt: at(minute),
  content: { format: 2 as const, parts: [{ type: 'text' as const, text }] },
})

test('a message that is saved while its thread is deleted does not outlive it', async () => {
  const { api_key } = await service.createTenant('mastra')
  const own = new Custos({ url: service.url, apiKey: api_key })
  const writer = new CustosMemoryStorage({ client: own })
  let saves = 0
  const racing = new Custos({
    url: service.url,
    apiKey: api_key,
    fetch: async (input, init) => {
      // Just before the thread itself is deleted, and after its messages were.
      if (/"op":"delete","namespace":\["mastra","threads"\]/.test(`${init?.body}`)) {
        saves += 1
        await writer.saveMessages({ messages: [say('m2', 'late'), say('m3', 'later')] })
      }
      return fetch(input, init)
    },
  })
  const storage = new CustosMemoryStorage({ client: racing })
  await storage.saveThread({ thread: { id: 't1', ...base } })
  await storage.saveMessages({ messages: [say('m1', 'early')] })
  await storage.deleteThread({ threadId: 't1' })
  assert.equal(saves, 1)
  assert.equal(await writer.getThreadById({ threadId: 't1' }), null)
  assert.deepEqual((await writer.listMessages({ threadId: 't1' })).messages, [])
  assert.equal((await own.memory.memories('default', {})).memories.length, 0)
  assert.ok(storage.certificates('t1').length >= 7)
})

test('a message whose saving a deletion of its thread overtakes is deleted with it', async () => {
  const { api_key } = await service.createTenant('mastra')
  const own = new Custos({ url: service.url, apiKey: api_key })
  const other = new CustosMemoryStorage({ client: own })
  let deletions = 0
  const racing = new Custos({
    url: service.url,
    apiKey: api_key,
    fetch: async (input, init) => {
      // The saving has read the thread; all of the deletion happens before it writes.
      if (deletions === 0 && /"op":"put","namespace":\["mastra","messages"/.test(`${init?.body}`)) {
        deletions += 1
        await other.deleteThread({ threadId: 't1' })
      }
      return fetch(input, init)
    },
  })
  await other.saveThread({ thread: { id: 't1', ...base } })
  const storage = new CustosMemoryStorage({ client: racing })
  await storage.saveMessages({ messages: [say('m1', 'late'), say('m2', 'later')] })
  assert.equal(deletions, 1)
  assert.deepEqual((await other.listMessages({ threadId: 't1' })).messages, [])
  assert.equal((await own.memory.memories('default', {})).memories.length, 0)
  // To a thread that was never there, as in memory, messages are saved.
  await storage.saveMessages({ messages: [say('m1', 'early')] })
  assert.equal((await other.listMessages({ threadId: 't1' })).messages.length, 1)
})

test('two writers of one thread lose no update', async () => {
  const { api_key } = await service.createTenant('mastra')
  const client = new Custos({ url: service.url, apiKey: api_key })
  const storages = [1, 2].map(() => new CustosMemoryStorage({ client }))
  await storages[0]?.saveThread({ thread: { id: 't1', ...base } })
  const rounds = Array.from({ length: 10 }, (_, i) => i)
  await Promise.all(
    storages.flatMap((storage, writer) =>
      rounds.map((i) => storage.updateThread({ id: 't1', metadata: { [`w${writer}_${i}`]: i } })),
    ),
  )
  const kept = await storages[1]?.getThreadById({ threadId: 't1' })
  assert.equal(Object.keys(kept?.metadata ?? {}).length, 20)
})
