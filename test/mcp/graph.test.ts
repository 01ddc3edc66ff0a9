// `custos mcp --tools graph`: what the official memory server of MCP does, with erasure.

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { tempDirectory } from '../../packages/cli/src/testing/run.ts'
import { loadTokenizer } from '../../packages/server/src/platform/tokens/tokenizer.ts'
import { startTestService, type TestService } from '../../packages/server/src/testing/harness.ts'
import { called, INFO, namesOf } from './testing/calls.ts'
import { compareServers, connect, custosServer, officialServer } from './testing/graph-servers.ts'
import { writeTogether } from './testing/two-writers.ts'

const SEQUENCES = 60
const WRITES = 200

let service: TestService
let tenant: { tenant_id: string; api_key: string }
const dir = tempDirectory()

before(async () => {
  service = await startTestService()
  tenant = await service.createTenant()
})
after(() => service.stop())

const api = (method: string, path: string, body?: object) =>
  service.request(method, path, { key: tenant.api_key, ...(body ? { body } : {}) })

async function newStore(): Promise<string> {
  const { body } = await api('POST', '/v1/stores', {})
  return body.store_id
}

/** `more` comes last, and its options win. */
const graphOf = (store: string, more: readonly string[] = [], env: Record<string, string> = {}) =>
  custosServer(['--tools', 'graph', '--url', service.url, '--store', store, ...more], {
    CUSTOS_API_KEY: tenant.api_key,
    ...env,
  })

const ANA = { name: 'Ana', entityType: 'person', observations: ['likes tea', 'lives in Porto'] }
const BO = { name: 'Bo', entityType: 'person', observations: ['likes tea'] }
const KNOWS = { from: 'Ana', to: 'Bo', relationType: 'knows' }

test('random sequences of the nine tools have the results of the official server', async () => {
  const official = await connect(officialServer(join(dir, 'official.jsonl')))
  const custos = await connect(graphOf(await newStore()))
  try {
    await compareServers(official, custos, SEQUENCES)
  } finally {
    await official.close()
    await custos.close()
  }
})

test('the nine tools have the names, hints and schemas of the official server', async () => {
  const shapeOf = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shapeOf)
    if (typeof value !== 'object' || value === null) return value
    const kept = Object.entries(value).filter(
      ([name, one]) => !['$schema', 'execution'].includes(name) && !isDescription(name, one),
    )
    return Object.fromEntries(kept.map(([name, one]) => [name, shapeOf(one)]))
  }
  const isDescription = (name: string, value: unknown) =>
    name === 'description' && typeof value === 'string'
  const lists = []
  for (const server of [officialServer(join(dir, 'listed.jsonl')), graphOf(await newStore())]) {
    const client = await connect(server)
    const { tools } = await client.listTools()
    lists.push(tools.map(shapeOf))
    await client.close()
  }
  assert.equal(lists[0]?.length, 9)
  assert.deepEqual(lists[1], lists[0])
})

test('two servers write to one graph at once, and nothing is lost', async () => {
  const store = await newStore()
  const clients = [await connect(graphOf(store)), await connect(graphOf(store), 'auto')]
  try {
    await writeTogether(clients, WRITES)
  } finally {
    for (const client of clients) await client.close()
  }
})

test('what is deleted is erased, with a certificate for each memory', async () => {
  const store = await newStore()
  const client = await connect(graphOf(store))
  const run = async (name: string, args: Record<string, unknown>) =>
    Object(await client.callTool({ name, arguments: args }))
  try {
    await run('create_entities', { entities: [ANA, BO] })
    await run('create_relations', { relations: [KNOWS] })
    const { body } = await api('GET', `/v1/stores/${store}/audit`)
    const refOf = (content: object) =>
      body.memories.find((one: { content: string }) => one.content === JSON.stringify(content)).ref
    const tea = refOf({ entity: 'Ana', observation: 'likes tea' })
    const deletions = [{ entityName: 'Ana', observations: ['likes tea', 'unknown'] }]
    const first = await run('delete_observations', { deletions })
    const [id, ...others] = first._meta['custos/certificate_ids']
    assert.deepEqual(others, [])
    const certificate = await api('GET', `/v1/erasure/${id}`)
    assert.equal(certificate.body.fact_ref, tea)
    assert.equal((await api('GET', `/v1/stores/${store}/memories/${tea}`)).status, 404)
    const rest = await run('delete_entities', { entityNames: ['Ana'] })
    assert.equal(rest._meta['custos/certificate_ids'].length, 3, 'relation, observation, entity')
    assert.equal((await run('delete_entities', { entityNames: ['Ana'] }))._meta, undefined)
    const left = await api('GET', `/v1/stores/${store}/audit`)
    assert.doesNotMatch(left.text, /Ana/)
    const { structuredContent } = await run('read_graph', {})
    assert.deepEqual(structuredContent, { entities: [BO], relations: [] })
  } finally {
    await client.close()
  }
})

test('core tools find each observation; a namespace has a graph of its own', async () => {
  const store = await newStore()
  const all = await connect(graphOf(store, ['--tools', 'all']))
  const apart = await connect(graphOf(store, ['--namespace', 'x']))
  try {
    assert.equal((await namesOf(all)).length, 21)
    await called(all, 'create_entities', { entities: [ANA] })
    const found = await called(all, 'memory_search', { query: 'who lives in Porto' })
    assert.match(found.data.memories[0].content, /lives in Porto/)
    assert.deepEqual((await called(apart, 'read_graph', {})).data.entities, [])
    await called(apart, 'create_entities', { entities: [{ ...ANA, observations: [] }] })
    assert.deepEqual((await called(all, 'read_graph', {})).data.entities, [ANA])
  } finally {
    await all.close()
    await apart.close()
  }
})

test('tools that the key may not use, or that write when read-only, are not listed', async () => {
  const store = await newStore()
  const made = await api('POST', '/v1/keys', { scopes: ['memory:read'] })
  const reading = ['read_graph', 'search_nodes', 'open_nodes']
  for (const server of [
    graphOf(store, [], { CUSTOS_API_KEY: made.body.api_key }),
    graphOf(store, ['--read-only']),
  ]) {
    const client = await connect(server)
    assert.deepEqual(await namesOf(client), reading)
    await client.close()
  }
})

test('a budget cuts to the most relevant entities and says so', async () => {
  const store = await newStore()
  const budget = 400
  const cut = await connect(graphOf(store, ['--graph-budget', String(budget)]))
  const { count } = await loadTokenizer('o200k_base')
  try {
    const entities = Array.from({ length: 40 }, (_, i) => ({
      name: `person ${i}`,
      entityType: 'person',
      observations: [i === 7 ? 'tends the harbour lighthouse' : 'walks near the harbour'],
    }))
    await called(cut, 'create_entities', { entities })
    const relations = [{ from: 'person 7', to: 'person 39', relationType: 'knows' }]
    await called(cut, 'create_relations', { relations })
    const search = { name: 'search_nodes', arguments: { query: 'harbour' } }
    const { structuredContent, _meta, content } = Object(await cut.callTool(search))
    const names = structuredContent.entities.map(({ name }: { name: string }) => name)
    assert.ok(names.length > 2 && names.length < 40, String(names.length))
    assert.deepEqual(
      names,
      entities.map(({ name }) => name).filter((one) => names.includes(one)),
    )
    assert.equal(_meta['custos/truncated'].entities, 40 - names.length)
    assert.ok(count(content[0].text) <= budget)
    assert.deepEqual(JSON.parse(content[0].text), structuredContent)
    const lighthouse = { name: 'search_nodes', arguments: { query: 'lighthouse' } }
    const small = Object(await cut.callTool(lighthouse))
    assert.equal(small._meta?.['custos/truncated'], undefined)
    assert.deepEqual(small.structuredContent.relations, relations)
    const read = Object(await cut.callTool({ name: 'read_graph', arguments: {} }))
    assert.ok(count(read.content[0].text) <= budget)
    assert.equal(read.structuredContent.entities.at(-1).name, 'person 39', 'the newest are kept')
  } finally {
    await cut.close()
  }
})

test('the resource shows the graph, and a client that follows it hears of changes', async () => {
  const store = await newStore()
  const uri = 'memory://knowledge-graph'
  const { args, env } = graphOf(store)
  const client = new ClientV1(INFO, { capabilities: {} })
  await client.connect(
    new StdioV1({ command: process.execPath, args: [...args], env: { ...env }, stderr: 'ignore' }),
  )
  try {
    const heard: string[] = []
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
      heard.push(params.uri)
    })
    await called(client, 'create_entities', { entities: [ANA] })
    assert.deepEqual(heard, [], 'before it follows')
    await client.subscribeResource({ uri })
    await called(client, 'create_entities', { entities: [BO] })
    await called(client, 'create_entities', { entities: [BO] })
    await called(client, 'delete_entities', { entityNames: ['Bo'] })
    assert.deepEqual(heard, [uri, uri], 'once for each change')
    await client.unsubscribeResource({ uri })
    await called(client, 'create_entities', { entities: [BO] })
    assert.equal(heard.length, 2)
    const { contents } = await client.readResource({ uri })
    const graph = { entities: [ANA, BO], relations: [] }
    assert.deepEqual(JSON.parse(String(Object(contents[0])['text'])), graph)
  } finally {
    await client.close()
  }
})

test('the file of the official server is imported once, into an empty graph', async () => {
  const store = await newStore()
  const file = join(dir, 'mine.jsonl')
  const env = { MEMORY_FILE_PATH: file }
  const official = await connect(officialServer(file))
  await official.callTool({ name: 'create_entities', arguments: { entities: [ANA, BO] } })
  await official.callTool({ name: 'create_relations', arguments: { relations: [KNOWS] } })
  const expected = await called(official, 'read_graph', {})
  await official.close()
  const before = readFileSync(file, 'utf8')
  const custos = await connect(graphOf(store, [], env))
  assert.deepEqual(await called(custos, 'read_graph', {}), expected)
  await called(custos, 'delete_entities', { entityNames: ['Ana', 'Bo'] })
  await custos.close()
  assert.equal(readFileSync(file, 'utf8'), before)
  const again = await connect(graphOf(store, [], env))
  assert.deepEqual((await called(again, 'read_graph', {})).data.entities, [], 'erased stays erased')
  await called(again, 'create_entities', { entities: [BO] })
  await again.close()
  writeFileSync(file, `\n${JSON.stringify({ type: 'entity', ...ANA })}\n`)
  const third = await connect(graphOf(store, [], env))
  assert.deepEqual((await called(third, 'read_graph', {})).data.entities, [BO], 'it is not empty')
  await third.close()
  writeFileSync(file, `${JSON.stringify({ type: 'entity', ...ANA })}\nnonsense\n`)
  await assert.rejects(connect(graphOf(await newStore(), [], env)), 'a damaged file ends the start')
})
