// The official memory server of MCP and this one, each behind a client, and random calls of both.

import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import fc from 'fast-check'
import { INFO } from './calls.ts'

const OFFICIAL = fileURLToPath(
  import.meta.resolve('@modelcontextprotocol/server-memory/dist/index.js'),
)
const CUSTOS = fileURLToPath(new URL('../../../packages/cli/bin/custos.js', import.meta.url))

export const officialServer = (file: string) => ({
  args: [OFFICIAL],
  env: { MEMORY_FILE_PATH: file },
})

export const custosServer = (args: readonly string[], env: Readonly<Record<string, string>>) => ({
  args: [CUSTOS, 'mcp', ...args],
  env,
})

export async function connect(
  { args, env }: ReturnType<typeof custosServer>,
  mode?: 'auto',
): Promise<Client> {
  const client = new Client(INFO, { ...(mode ? { versionNegotiation: { mode } } : {}) })
  const command = process.execPath
  await client.connect(
    new StdioClientTransport({ command, args: [...args], env: { ...env }, stderr: 'ignore' }),
  )
  return client
}

export interface GraphCall {
  readonly name: string
  readonly arguments: Record<string, unknown>
}

/** What a client sees of a result; of an error that is not about the graph only its kind. */
export async function outcomeOf(client: Client, call: GraphCall) {
  const { content, structuredContent, isError = false } = Object(await client.callTool(call))
  const text = String(content[0].text)
  const said = isError && !text.startsWith('Entity with name') ? 'refused' : text
  return { isError, structuredContent, text: said, blocks: content.length }
}

/** Few names, so that calls meet; some that are awkward as keys of objects and of items. */
const name = fc.constantFrom('Ana', 'Bo', 'ana', 'Ω', '', ' ', '__proto__', 'a"b\nc', 'constructor')
const word = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('likes tea', 'LIKES', 'tea', '', 'works at Ana') },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 12 }) },
)
const kind = fc.constantFrom('person', 'city', '')
const few = <T>(one: fc.Arbitrary<T>) => fc.array(one, { maxLength: 3 })
const entity = fc.record({ name, entityType: kind, observations: few(word) })
const relation = fc.record({ from: name, to: name, relationType: fc.constantFrom('knows', 'is') })
const wrong = fc.constantFrom(null, 1, {}, [1], [{ name: 'Ana' }], 'text')

const callOf = (tool: string, given: fc.Arbitrary<Record<string, unknown>>) =>
  given.map((args): GraphCall => ({ name: tool, arguments: args }))

const toolCall: fc.Arbitrary<GraphCall> = fc.oneof(
  { weight: 5, arbitrary: callOf('create_entities', fc.record({ entities: few(entity) })) },
  { weight: 3, arbitrary: callOf('create_relations', fc.record({ relations: few(relation) })) },
  {
    weight: 4,
    arbitrary: callOf(
      'add_observations',
      fc.record({ observations: few(fc.record({ entityName: name, contents: few(word) })) }),
    ),
  },
  { weight: 1, arbitrary: callOf('delete_entities', fc.record({ entityNames: few(name) })) },
  {
    weight: 2,
    arbitrary: callOf(
      'delete_observations',
      fc.record({ deletions: few(fc.record({ entityName: name, observations: few(word) })) }),
    ),
  },
  { weight: 2, arbitrary: callOf('delete_relations', fc.record({ relations: few(relation) })) },
  { weight: 2, arbitrary: callOf('read_graph', fc.constant({})) },
  { weight: 2, arbitrary: callOf('search_nodes', fc.record({ query: fc.oneof(word, name) })) },
  { weight: 2, arbitrary: callOf('open_nodes', fc.record({ names: few(name) })) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        fc.constantFrom(
          ['create_entities', 'entities'],
          ['create_relations', 'relations'],
          ['add_observations', 'observations'],
          ['delete_entities', 'entityNames'],
          ['search_nodes', 'query'],
          ['open_nodes', 'names'],
        ),
        wrong,
      )
      .filter(([[, member], value]) => member !== 'query' || typeof value !== 'string')
      .map(([[tool = '', member = ''], value]) => ({ name: tool, arguments: { [member]: value } })),
  },
)

/** Compares random sequences of calls; each begins with an empty graph. */
export async function compareServers(official: Client, custos: Client, sequences: number) {
  const both = async (call: GraphCall) => {
    const expected = await outcomeOf(official, call)
    assert.deepEqual(await outcomeOf(custos, call), expected, JSON.stringify(call))
    return expected
  }
  await fc.assert(
    fc.asyncProperty(fc.array(toolCall, { minLength: 1, maxLength: 12 }), async (calls) => {
      await clear(official)
      await clear(custos)
      for (const call of calls) await both(call)
      await both({ name: 'read_graph', arguments: {} })
    }),
    { numRuns: sequences },
  )
}

async function clear(client: Client): Promise<void> {
  const { structuredContent } = await client.callTool({ name: 'read_graph', arguments: {} })
  const { entities, relations } = Object(structuredContent)
  const entityNames = entities.map((one: { name: string }) => one.name)
  await client.callTool({ name: 'delete_entities', arguments: { entityNames } })
  await client.callTool({ name: 'delete_relations', arguments: { relations } })
}
