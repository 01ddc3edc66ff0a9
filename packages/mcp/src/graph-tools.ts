// The nine tools of the official memory server of MCP and its resource memory://knowledge-graph,
// with its inputs and replies, over items.

import type { McpServer, ProtocolEra, ToolAnnotations } from '@modelcontextprotocol/server'
import Type, { type TObject, type TProperties } from 'typebox'
import {
  addObservations,
  createEntities,
  createRelations,
  cutGraph,
  deleteEntities,
  deleteObservations,
  deleteRelations,
  type Graph,
  type GraphView,
  openNodes,
  searchNodes,
  showGraph,
} from './graph.ts'
import { eraseItems, loadGraph, putItems, rankEntities } from './graph-items.ts'
import type { GraphItem } from './graph-records.ts'
import type { Session } from './session.ts'
import { failed, type ToolCall, type ToolSpec, tool } from './tool.ts'

const Texts = (description: string) => Type.Array(Type.String(), { description })

const entityFields = {
  name: Type.String({ description: 'Name of the entity' }),
  entityType: Type.String({ description: 'What kind of thing it is' }),
  observations: Texts('What is known about it, one fact each'),
}
const relationFields = {
  from: Type.String({ description: 'Name of the entity it starts at' }),
  to: Type.String({ description: 'Name of the entity it leads to' }),
  relationType: Type.String({ description: 'What relates them, in active voice' }),
}
const Entities = Type.Array(Type.Object(entityFields))
const Relations = Type.Array(Type.Object(relationFields))

const Closed = <P extends TProperties>(properties: P): TObject<P> =>
  Type.Object(properties, { additionalProperties: false })
const graphOutput = Closed({
  entities: Type.Array(Closed(entityFields)),
  relations: Type.Array(Closed(relationFields)),
})
const deletedOutput = Closed({ success: Type.Boolean(), message: Type.String() })

const reads = {
  scopes: ['memory:read'],
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true },
} as const
const adds = {
  scopes: ['memory:read', 'memory:write'],
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
} as const
const deletes = {
  scopes: ['memory:read', 'memory:write'],
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
  output: deletedOutput,
} as const satisfies { hints: ToolAnnotations; scopes: readonly string[]; output: unknown }

/** A reply whose text is the JSON that the official server returns; members name its content. */
const shown = (value: unknown, structuredContent: Record<string, unknown>) => ({
  content: [{ type: 'text' as const, text: JSON.stringify(value, null, 2) }],
  structuredContent,
})

async function stored<T>(
  call: ToolCall,
  { reply, puts }: { readonly reply: T; readonly puts: readonly GraphItem[] },
): Promise<T> {
  await putItems(call.session, puts)
  if (puts.length > 0) await announceChange(call)
  return reply
}

async function erased(
  call: ToolCall,
  what: 'Entities' | 'Observations' | 'Relations',
  choose: (graph: Graph) => readonly GraphItem[],
) {
  const { session } = call
  const ids = await eraseItems(session, choose(await loadGraph(session)))
  if (ids.length > 0) await announceChange(call)
  const message = `${what} deleted successfully`
  return {
    content: [{ type: 'text' as const, text: message }],
    structuredContent: { success: true, message },
    ...(ids.length === 0 ? {} : { _meta: { 'custos/certificate_ids': [...ids] } }),
  }
}

async function answerGraph(session: Session, graph: GraphView, query?: string) {
  const budget = session.options.graph_budget
  if (budget === undefined) return shown(graph, { ...graph })
  const ranked = query === undefined ? [] : await rankEntities(session, query)
  const { graph: cut, truncated } = cutGraph(graph, ranked, budget)
  return {
    ...shown(cut, { ...cut }),
    ...(truncated ? { _meta: { 'custos/truncated': truncated } } : {}),
  }
}

export const graphTools: readonly ToolSpec[] = [
  tool({
    ...adds,
    name: 'create_entities',
    title: 'Create Entities',
    description: 'Adds entities to the knowledge graph; those whose name is known are left out.',
    input: Type.Object({ entities: Entities }),
    output: Closed({ entities: graphOutput.properties.entities }),
    async run({ entities }, call) {
      const graph = await loadGraph(call.session)
      const added = await stored(call, createEntities(graph, entities))
      return shown(added, { entities: added })
    },
  }),
  tool({
    ...adds,
    name: 'create_relations',
    title: 'Create Relations',
    description: 'Relates entities of the knowledge graph; known relations are left out.',
    input: Type.Object({ relations: Relations }),
    output: Closed({ relations: graphOutput.properties.relations }),
    async run({ relations }, call) {
      const graph = await loadGraph(call.session)
      const added = await stored(call, createRelations(graph, relations))
      return shown(added, { relations: added })
    },
  }),
  tool({
    ...adds,
    name: 'add_observations',
    title: 'Add Observations',
    description: 'Adds what is newly known about entities that are in the knowledge graph.',
    input: Type.Object({
      observations: Type.Array(
        Type.Object({
          entityName: Type.String({ description: 'Name of the entity' }),
          contents: Texts('The facts to add'),
        }),
      ),
    }),
    output: Closed({
      results: Type.Array(
        Closed({ entityName: Type.String(), addedObservations: Type.Array(Type.String()) }),
      ),
    }),
    async run({ observations }, call) {
      const change = addObservations(await loadGraph(call.session), observations)
      if ('missing' in change) return failed(`Entity with name ${change.missing} not found`)
      const results = await stored(call, change)
      return shown(results, { results })
    },
  }),
  tool({
    ...deletes,
    name: 'delete_entities',
    title: 'Delete Entities',
    description: 'Erases entities with their observations and relations.',
    input: Type.Object({ entityNames: Texts('Names of the entities') }),
    run: async ({ entityNames }, call) =>
      erased(call, 'Entities', (graph) => deleteEntities(graph, entityNames)),
  }),
  tool({
    ...deletes,
    name: 'delete_observations',
    title: 'Delete Observations',
    description: 'Erases observations of entities.',
    input: Type.Object({
      deletions: Type.Array(
        Type.Object({
          entityName: Type.String({ description: 'Name of the entity' }),
          observations: Texts('The facts to erase, as they were given'),
        }),
      ),
    }),
    run: async ({ deletions }, call) =>
      erased(call, 'Observations', (graph) => deleteObservations(graph, deletions)),
  }),
  tool({
    ...deletes,
    name: 'delete_relations',
    title: 'Delete Relations',
    description: 'Erases relations between entities.',
    input: Type.Object({ relations: Relations }),
    run: async ({ relations }, call) =>
      erased(call, 'Relations', (graph) => deleteRelations(graph, relations)),
  }),
  tool({
    ...reads,
    name: 'read_graph',
    title: 'Read Graph',
    description: 'Returns the whole knowledge graph.',
    input: Type.Object({}),
    output: graphOutput,
    run: async (_, { session }) => answerGraph(session, showGraph(await loadGraph(session))),
  }),
  tool({
    ...reads,
    name: 'search_nodes',
    title: 'Search Nodes',
    description: 'Finds entities by a text in their name, type or observations.',
    input: Type.Object({ query: Type.String({ description: 'The text to find' }) }),
    output: graphOutput,
    run: async ({ query }, { session }) =>
      answerGraph(session, searchNodes(await loadGraph(session), query), query),
  }),
  tool({
    ...reads,
    name: 'open_nodes',
    title: 'Open Nodes',
    description: 'Returns entities by their names, with their relations.',
    input: Type.Object({ names: Texts('Names of the entities') }),
    output: graphOutput,
    async run({ names }, { session }) {
      const graph = openNodes(await loadGraph(session), names)
      return shown(graph, { ...graph })
    },
  }),
]

const GRAPH_URI = 'memory://knowledge-graph'

export function registerGraph(server: McpServer, session: Session, era?: ProtocolEra): void {
  if (!session.may('memory:read')) return
  const mimeType = 'application/json'
  const about = { title: 'Knowledge Graph', description: 'All entities and relations', mimeType }
  server.registerResource('knowledge-graph', GRAPH_URI, about, async (uri) => {
    const text = JSON.stringify(showGraph(await loadGraph(session)), null, 2)
    return { contents: [{ uri: uri.href, mimeType, text }] }
  })
  // The protocol library keeps the subscriptions of 2026-era clients.
  if (era === 'modern') session.follow(GRAPH_URI)
  if (era !== 'legacy') return
  server.server.setRequestHandler('resources/subscribe', ({ params }) => {
    session.follow(params.uri)
    return {}
  })
  server.server.setRequestHandler('resources/unsubscribe', ({ params }) => {
    session.unfollow(params.uri)
    return {}
  })
}

/** Notifies a subscribed client of a change. A client that is gone is no error of the call. */
const announceChange = ({ server, session }: ToolCall): Promise<void> =>
  session.follows(GRAPH_URI)
    ? server.server.sendResourceUpdated({ uri: GRAPH_URI }).catch(() => {})
    : Promise.resolve()
