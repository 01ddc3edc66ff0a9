// Mixed writes of two servers to one graph, and the graph that all of them together make.

import assert from 'node:assert/strict'
import type { Client } from '@modelcontextprotocol/client'
import type { GraphCall } from './graph-servers.ts'

const AT_ONCE = 4
const ENTITIES = 10

const entity = (name: string, ...observations: string[]) => ({
  name,
  entityType: 'thing',
  observations,
})

/** The writes of one server: to entities that the others write to as well, and of its own. */
function* writesOf(writer: number, count: number): Generator<GraphCall> {
  for (let i = 0; i < count; i += 1) {
    const own = `${writer}-${i}`
    const shared = `shared ${i % ENTITIES}`
    if (i % 4 === 0)
      yield { name: 'create_entities', arguments: { entities: [entity(own, 'first', 'second')] } }
    else if (i % 4 === 1)
      yield {
        name: 'add_observations',
        arguments: { observations: [{ entityName: shared, contents: [own, `again ${own}`] }] },
      }
    else if (i % 4 === 2)
      yield {
        name: 'create_relations',
        arguments: { relations: [{ from: shared, to: own, relationType: 'has' }] },
      }
    else
      yield {
        name: 'delete_observations',
        arguments: {
          deletions: [{ entityName: shared, observations: [`again ${writer}-${i - 2}`] }],
        },
      }
  }
}

/** Runs `count` writes of both, several at once, and checks that every one has its effect. */
export async function writeTogether(clients: readonly Client[], count: number): Promise<void> {
  const call = async (client: Client, write: GraphCall) => {
    const result = Object(await client.callTool(write))
    assert.equal(result.isError ?? false, false, JSON.stringify(result.content))
    return result.structuredContent
  }
  const [reader] = clients
  assert.ok(reader)
  const shared = Array.from({ length: ENTITIES }, (_, i) => entity(`shared ${i}`))
  // Both create them: one of each name is there.
  await Promise.all(
    clients.map((client) =>
      call(client, { name: 'create_entities', arguments: { entities: shared } }),
    ),
  )
  const each = Math.ceil(count / clients.length)
  await Promise.all(
    clients.map(async (client, writer) => {
      const writes = writesOf(writer, each)
      const run = async () => {
        for (const write of writes) await call(client, write)
      }
      await Promise.all(Array.from({ length: AT_ONCE }, run))
    }),
  )
  const graph = await call(reader, { name: 'read_graph', arguments: {} })
  const names = new Set<string>(shared.map(({ name }) => name))
  const relations = new Set<string>()
  const observations = new Set<string>()
  for (const [writer] of clients.entries())
    for (let i = 0; i < each; i += 1) {
      const own = `${writer}-${i}`
      if (i % 4 === 0) names.add(own)
      if (i % 4 === 1) observations.add(own)
      if (i % 4 === 2) relations.add(`shared ${i % ENTITIES} has ${own}`)
    }
  const found: { name: string; observations: string[] }[] = graph.entities
  assert.deepEqual(found.map(({ name }) => name).sort(), [...names].sort())
  for (const { name, observations } of found)
    if (!name.startsWith('shared')) assert.deepEqual(observations, ['first', 'second'])
  const added = found.filter(({ name }) => name.startsWith('shared'))
  const texts = added.flatMap((one) => one.observations).filter((text) => !text.startsWith('again'))
  assert.deepEqual(texts.sort(), [...observations].sort())
  assert.deepEqual(
    graph.relations
      .map((one: Record<string, string>) => `${one['from']} ${one['relationType']} ${one['to']}`)
      .sort(),
    [...relations].sort(),
  )
}
