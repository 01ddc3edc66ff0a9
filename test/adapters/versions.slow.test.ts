// Each adapter type-checks and runs with the oldest and newest versions of its framework it names.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { startTestService, type TestService } from '../../packages/server/src/testing/harness.ts'

const ROOT = join(import.meta.dirname, '../..')
const execute = promisify(execFile)

/** `zod` is a peer of the SDK. */
const VERSIONS = [
  { ai: '6.0.0', spec: 'v3', approve: false },
  { ai: '6.0.326', spec: 'v3', approve: false },
  { ai: '7.0.0', spec: 'v4', approve: true },
  { ai: '7.0.173', spec: 'v4', approve: true },
]

/** An agent that saves a memory by a tool, is guarded, and has its decisions recorded. */
const program = ({ spec, approve }: { spec: string; approve: boolean }) => `
import { custosApproval, custosGuard, custosMemory, custosTools } from './adapters/ai/index.ts'
import { Custos } from '@custos/client'
import { generateText, stepCountIs, wrapLanguageModel } from 'ai'
import { MockLanguageModel${spec.toUpperCase()} as Mock } from 'ai/test'

const client = new Custos({ url: process.argv[2] ?? '', apiKey: process.argv[3] ?? '' })
let calls = 0
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
}
const inner = new Mock({
  doGenerate: async () => {
    calls += 1
    const input = JSON.stringify({ content: 'Ana lives in Porto' })
    const call = { type: 'tool-call' as const, toolCallId: '1', toolName: 'memory_save', input }
    const finish = (unified: 'stop' | 'tool-calls') => ({ unified, raw: undefined })
    return calls === 1
      ? { content: [call], finishReason: finish('tool-calls'), usage, warnings: [] }
      : { content: [{ type: 'text' as const, text: 'Saved.' }], finishReason: finish('stop'), usage,
          warnings: [] }
  },
})
const middleware = custosMemory({ client, failClosed: true, spec: '${spec}' })
const own = custosTools({ client })
const { text } = await generateText({
  model: wrapLanguageModel({ model: inner, middleware }),
  tools: ${approve ? 'own' : 'custosGuard(own, { client })'},
  ${approve ? 'toolApproval: custosApproval({ client }),' : ''}
  stopWhen: stepCountIs(3),
  prompt: 'Remember that Ana lives in Porto.',
})
const { memories } = await client.memory.memories('default', {})
const { total } = await client.decisions.stats()
console.log(JSON.stringify([text, memories.map(({ content }) => content), total]))
`

const TSCONFIG = {
  extends: join(ROOT, 'tsconfig.base.json'),
  compilerOptions: {
    lib: ['es2024', 'dom', 'dom.asynciterable'],
    noUnusedLocals: false,
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
    paths: { '@custos/client': [join(ROOT, 'packages/client/src/index.ts')] },
  },
  include: ['program.ts'],
}

let service: TestService

before(async () => {
  service = await startTestService()
})
after(() => service?.stop())

/** Checks the types of a program beside the adapters, then runs it; returns what it prints. */
async function runWith(packages: readonly string[], source: string, tenant: string) {
  const cwd = mkdtempSync(join(tmpdir(), 'custos-adapters-'))
  try {
    writeFileSync(join(cwd, 'package.json'), '{"private":true,"type":"module"}')
    const install = ['i', '--no-audit', '--no-fund', '--ignore-scripts', ...packages]
    await execute('npm', install, { cwd })
    mkdirSync(join(cwd, 'node_modules/@custos'))
    symlinkSync(join(ROOT, 'packages/client'), join(cwd, 'node_modules/@custos/client'))
    cpSync(join(ROOT, 'packages/adapters/src'), join(cwd, 'adapters'), { recursive: true })
    writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify(TSCONFIG))
    writeFileSync(join(cwd, 'program.ts'), source)
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
    const checked = execute(process.execPath, [tsc, '--pretty', 'false', '-p', cwd], { cwd })
    await checked.catch((error: { stdout: string }) => assert.fail(error.stdout))

    const file = join(cwd, 'program.ts')
    const { api_key } = await service.createTenant(tenant)
    const { stdout } = await execute(process.execPath, [file, service.url, api_key], { cwd })
    return JSON.parse(stdout)
  } finally {
    rmSync(cwd, { recursive: true })
  }
}

for (const { ai, ...options } of VERSIONS)
  test(`ai ${ai} with spec ${options.spec}`, async () => {
    const printed = await runWith([`ai@${ai}`, 'zod@^4.1.8'], program(options), `ai-${ai}`)
    assert.deepEqual(printed, ['Saved.', ['Ana lives in Porto'], 2])
  })

const GRAPH = `
import { CustosStore } from './adapters/langgraph/index.ts'
import { Custos } from '@custos/client'

const client = new Custos({ url: process.argv[2] ?? '', apiKey: process.argv[3] ?? '' })
const store = new CustosStore({ client })
await store.put(['users'], 'ana', { city: 'Porto' })
const [found] = await store.search(['users'], { query: 'Porto' })
await store.delete(['users'], 'ana')
console.log(JSON.stringify([found?.value, store.certificates(['users'], 'ana').length]))
`

for (const version of ['1.2.1', '1.2.2'])
  test(`@langchain/langgraph-checkpoint ${version}`, async () => {
    const packages = [`@langchain/langgraph-checkpoint@${version}`, '@langchain/core@^1.1.48']
    assert.deepEqual(await runWith(packages, GRAPH, `graph-${version}`), [{ city: 'Porto' }, 1])
  })

const SAID = `
import { HumanMessage } from '@langchain/core/messages'
import { CustosChatHistory, CustosRetriever } from './adapters/langchain/index.ts'
import { Custos } from '@custos/client'

const client = new Custos({ url: process.argv[2] ?? '', apiKey: process.argv[3] ?? '' })
await client.memory.write('default', { content: 'Ana drinks tea' })
const history = new CustosChatHistory({ client, sessionId: 'ana-1' })
await history.addMessage(new HumanMessage('I like tea'))
const [found] = await new CustosRetriever({ client }).invoke('what does Ana drink')
console.log(JSON.stringify([(await history.getMessages()).length, found?.pageContent]))
`

for (const version of ['1.1.48', '1.4.0'])
  test(`@langchain/core ${version}`, async () => {
    const printed = await runWith([`@langchain/core@${version}`], SAID, `chain-${version}`)
    assert.deepEqual(printed, [1, 'Ana drinks tea'])
  })

const SESSION = `
import { CustosSession } from './adapters/openai-agents/index.ts'
import { Custos } from '@custos/client'

const client = new Custos({ url: process.argv[2] ?? '', apiKey: process.argv[3] ?? '' })
const session = new CustosSession({ client, sessionId: 'ana-1' })
await session.addItems([{ type: 'message', role: 'user', content: 'I like tea' }])
console.log(JSON.stringify([(await session.getItems()).length]))
`

test('@openai/agents-core 0.20.0', async () => {
  const packages = ['@openai/agents-core@0.20.0', 'zod@^4.1.8']
  assert.deepEqual(await runWith(packages, SESSION, 'session'), [1])
})

/** Two agents with memory of their own, one after the other, on one thread. */
const THREADS = `
import { CustosMemoryStorage } from './adapters/mastra/index.ts'
import { Custos } from '@custos/client'
import { Agent } from '@mastra/core/agent'
import { InMemoryStore, MastraCompositeStore } from '@mastra/core/storage'
import { createMockModel } from '@mastra/core/test-utils/llm-mock'
import { Memory } from '@mastra/memory'

const client = new Custos({ url: process.argv[2] ?? '', apiKey: process.argv[3] ?? '' })
const seen: string[] = []
async function say(text: string) {
  const domains = { memory: new CustosMemoryStorage({ client }) }
  const storage = new MastraCompositeStore({ id: 'custos', default: new InMemoryStore(), domains })
  const spyGenerate = (prompt: unknown) => seen.push(JSON.stringify(prompt))
  // The mock's types are those of other options of the compiler.
  const model: object = createMockModel({ mockText: 'Noted.', version: 'v2', spyGenerate })
  const memory = new Memory({ storage, options: { lastMessages: 10 } })
  const named = { id: 'helper', name: 'helper', instructions: 'Help.' }
  const agent: Agent = Reflect.construct(Agent, [{ ...named, model, memory }])
  return await agent.generate(text, { memory: { thread: 't1', resource: 'ana' } })
}
await say('I live in Porto.')
const { text } = await say('Where do I live?')
const storage = new CustosMemoryStorage({ client })
const { messages } = await storage.listMessages({ threadId: 't1' })
const recalled = /I live in Porto/.test(seen.at(-1) ?? '')
console.log(JSON.stringify([text, recalled, messages.map(({ role }) => role)]))
`

test('@mastra/core 1.71.0 with @mastra/memory 1.31.0', async () => {
  const packages = ['@mastra/core@1.71.0', '@mastra/memory@1.31.0', 'zod@^4.1.8']
  const roles = ['user', 'assistant', 'user', 'assistant']
  assert.deepEqual(await runWith(packages, THREADS, 'threads'), ['Noted.', true, roles])
})
