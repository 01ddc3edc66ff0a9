// The resource memory://knowledge-graph, and notifications of its changes to subscribed clients.

import type { McpServer, ProtocolEra } from '@modelcontextprotocol/server'
import { showGraph } from './graph.ts'
import { loadGraph } from './graph-items.ts'
import type { Session } from './session.ts'
import type { ToolCall } from './tool.ts'

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
export const announceChange = ({ server, session }: ToolCall): Promise<void> =>
  session.follows(GRAPH_URI)
    ? server.server.sendResourceUpdated({ uri: GRAPH_URI }).catch(() => {})
    : Promise.resolve()
