// LangChain: the history of a conversation beside the in-memory one, and the retriever.

import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { CustosChatHistory, CustosRetriever } from '@custos/adapters/langchain'
import { Custos, isRefusal } from '@custos/client'
import { verify } from '@custos/client/verify'
import { InMemoryChatMessageHistory } from '@langchain/core/chat_history'
import { AIMessage, type BaseMessage, HumanMessage, SystemMessage } from '@langchain/core/messages'
import fc from 'fast-check'
import { startTestService, type TestService } from '../../packages/server/src/testing/harness.ts'
import { roundsOf } from '../../packages/server/src/testing/sweep.ts'

let service: TestService
let client: Custos

before(async () => {
  service = await startTestService()
})
after(() => service?.stop())
beforeEach(async () => {
  const { api_key } = await service.createTenant('chains')
  client = new Custos({ url: service.url, apiKey: api_key })
})

const fields = fc
  .record({ content: fc.string({ maxLength: 12 }), name: fc.option(fc.constantFrom('ana', 'ben')) })
  .map(({ content, name }) => (name === null ? { content } : { content, name }))
const message = fc.oneof(
  fields.map((one) => new HumanMessage(one)),
  fields.map((one) => new AIMessage(one)),
  fields.map((one) => new SystemMessage(one)),
)
const step = fc.oneof(
  { weight: 4, arbitrary: fc.array(message, { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.constant('clear' as const) },
)
const shown = (messages: readonly BaseMessage[]) =>
  messages.map(({ type, content, name }) => ({ type, content, name }))

test('a history answers as the in-memory one does', async () => {
  let sessions = 0
  const property = fc.asyncProperty(fc.array(step, { maxLength: 6 }), async (steps) => {
    sessions += 1
    const ours = new CustosChatHistory({ client, sessionId: `s${sessions}` })
    const oracle = new InMemoryChatMessageHistory()
    for (const taken of steps) {
      for (const history of [ours, oracle])
        await (taken === 'clear' ? history.clear() : history.addMessages(taken))
      assert.deepEqual(shown(await ours.getMessages()), shown(await oracle.getMessages()))
    }
  })
  await fc.assert(property, { numRuns: roundsOf(40, 300) })
})

test('a retriever returns memories as documents, and keeps users apart', async () => {
  const { ref } = await client.memory.write('default', {
    content: 'Ana likes tea',
    namespace: 'ana',
  })
  const retriever = new CustosRetriever({ client, namespace: 'ana', budgetTokens: 64 })
  const [document] = await retriever.invoke('who likes tea')
  assert.equal(document?.pageContent, 'Ana likes tea')
  assert.equal(document?.metadata['ref'], ref)
  assert.equal(typeof document?.metadata['score'], 'number')
  assert.deepEqual(await new CustosRetriever({ client, namespace: 'ben' }).invoke('tea'), [])
})

test('what a policy denies is not kept; what is cleared has certificates that verify', async () => {
  const history = new CustosChatHistory({ client, sessionId: 'ana' })
  await history.addUserMessage('I live in Porto')
  await client.governance.createPolicy({
    name: 'no secrets',
    policy_type: 'content_filter',
    action: 'deny',
    config: { patterns: ['password'] },
  })
  const denied = history.addUserMessage('my password is 1234')
  await assert.rejects(denied, (error) => isRefusal(error, 'policy_denied'))
  assert.equal((await history.getMessages()).length, 1)
  await history.clear()
  assert.deepEqual(await history.getMessages(), [])
  const { keys } = await client.gcrumbs.publicKey()
  const { certificates } = await client.erasure.list()
  assert.ok(certificates.length > 0)
  for (const certificate of certificates)
    assert.equal((await verify(certificate, { keys })).valid, true)
})

test('without a client one sentence says what to pass', () => {
  assert.throws(() => Reflect.construct(CustosChatHistory, [{ sessionId: 's' }]), /new Custos/)
  assert.throws(() => Reflect.construct(CustosRetriever, [{}]), /new Custos/)
})

test('searches of the memory rank messages of a history behind its memories', async () => {
  const history = new CustosChatHistory({ client, sessionId: 'ana' })
  await history.addUserMessage('the wombat is grey, the wombat is grey')
  await client.memory.write('default', { content: 'A wombat eats grass' })
  const { memories } = await client.memory.retrieve('default', { query: 'wombat' })
  assert.equal(memories[0]?.content, 'A wombat eats grass')
})
