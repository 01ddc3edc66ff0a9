// The session of OpenAI Agents beside the framework's in-memory session, and a run that uses it.

import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { CustosSession } from '@custos/adapters/openai-agents'
import { Custos, isRefusal } from '@custos/client'
import { verify } from '@custos/client/verify'
import { Agent, type AgentInputItem, MemorySession, Runner } from '@openai/agents-core'
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
  const { api_key } = await service.createTenant('agents')
  client = new Custos({ url: service.url, apiKey: api_key })
})

const item = fc.record({
  type: fc.constant('message' as const),
  role: fc.constant('user' as const),
  content: fc.string({ maxLength: 8 }),
})
const items = fc.array(item, { maxLength: 4 })
const step = fc.oneof(
  fc.record({ op: fc.constant('add' as const), items }),
  fc.record({ op: fc.constant('get' as const), limit: fc.option(fc.integer({ min: -1, max: 5 })) }),
  fc.record({ op: fc.constant('pop' as const) }),
  fc.record({ op: fc.constant('clear' as const) }),
  fc.record({ op: fc.constant('append' as const), id: fc.constantFrom('a', 'b', ' '), items }),
  fc.record({
    op: fc.constant('replace' as const),
    id: fc.constantFrom('a', 'c', 'd'),
    right: fc.boolean(),
    count: fc.integer({ min: 0, max: 2 }),
    items,
  }),
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never
type SessionCalls = Pick<
  MemorySession,
  'addItems' | 'getItems' | 'popItem' | 'clearSession' | 'applyHistoryTransaction'
>

/** What a step answers; `refused` for any error, which each session words in its own way. */
async function run(session: SessionCalls, taken: Step): Promise<unknown> {
  try {
    if (taken.op === 'add') return await session.addItems(taken.items)
    if (taken.op === 'get') return await session.getItems(taken.limit ?? undefined)
    if (taken.op === 'pop') return await session.popItem()
    if (taken.op === 'clear') return await session.clearSession()
    const operationId = taken.id
    if (taken.op === 'append') {
      const transaction = { type: 'append_items' as const, items: taken.items }
      return await session.applyHistoryTransaction({ operationId, transaction })
    }
    const end = taken.count === 0 ? [] : await session.getItems(taken.count)
    const wrong: AgentInputItem = { type: 'message', role: 'user', content: 'never said' }
    const transaction = {
      type: 'replace_suffix' as const,
      expectedSuffix: taken.right ? end : [...end, wrong],
      replacement: taken.items,
    }
    return await session.applyHistoryTransaction({ operationId, transaction })
  } catch {
    return 'refused'
  }
}

describe('CustosSession', () => {
  test('answers sequences of calls as the in-memory session does', async () => {
    const property = fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 8 }),
      async (all) => {
        const ours = new CustosSession({ client })
        const oracle = new MemorySession()
        for (const taken of all) assert.deepEqual(await run(ours, taken), await run(oracle, taken))
        assert.deepEqual(await ours.getItems(), await oracle.getItems())
      },
    )
    await fc.assert(property, { numRuns: roundsOf(50, 300) })
  })

  test('a run finds what was said before, in another process too', async () => {
    const heard: string[] = []
    const model = {
      getResponse: async ({ input }: { input: string | AgentInputItem[] }) => {
        heard.push(JSON.stringify(input))
        return {
          usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2, requests: 1 },
          output: [
            {
              type: 'message' as const,
              role: 'assistant' as const,
              status: 'completed' as const,
              content: [{ type: 'output_text' as const, text: 'Noted.' }],
            },
          ],
        }
      },
    }
    // A model of the test: a run needs no more of it.
    const agent = new Agent({ name: 'helper', model: model as never })
    const runner = new Runner({ tracingDisabled: true })
    const session = () => new CustosSession({ client, sessionId: 'ana' })
    await runner.run(agent, 'I am allergic to nuts', { session: session() })
    await runner.run(agent, 'What am I allergic to?', { session: session() })
    assert.match(heard[1] ?? '', /allergic to nuts/)
    assert.equal((await session().getItems()).length, 4)
    await session().clearSession()
    assert.deepEqual(await session().getItems(), [])
    const { keys } = await client.gcrumbs.publicKey()
    const { certificates } = await client.erasure.list()
    assert.ok(certificates.length >= 4)
    for (const certificate of certificates)
      assert.equal((await verify(certificate, { keys })).valid, true)
  })

  test('two sessions are apart, and what a policy denies is not kept', async () => {
    const [ana, ben] = ['ana', 'ben'].map((sessionId) => new CustosSession({ client, sessionId }))
    await ana?.addItems([{ type: 'message', role: 'user', content: 'from Ana' }])
    assert.deepEqual(await ben?.getItems(), [])
    await client.governance.createPolicy({
      name: 'no secrets',
      policy_type: 'content_filter',
      action: 'deny',
      config: { patterns: ['password'] },
    })
    const secret: AgentInputItem = { type: 'message', role: 'user', content: 'password 1234' }
    await assert.rejects(ben?.addItems([secret]) ?? Promise.resolve(), (error) =>
      isRefusal(error, 'policy_denied'),
    )
    assert.deepEqual(await ben?.getItems(), [])
  })
})
