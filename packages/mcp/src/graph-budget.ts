// Cuts a knowledge graph to a number of tokens, keeping what matters most.

import { type GraphView, showGraph } from './graph.ts'

export interface GraphBudget {
  readonly tokens: number
  /** Number of tokens of a text, as the model counts them. */
  readonly count: (text: string) => number
}

/**
 * Keeps as many entities as fit with their relations, in the order of `ranked`. A relation is kept
 * if one of its ends is. The result has the original order. `truncated` counts what was omitted.
 */
export function cutGraph(
  graph: GraphView,
  ranked: readonly string[],
  { tokens, count }: GraphBudget,
): { graph: GraphView; truncated?: { entities: number; relations: number } } {
  const fits = (view: GraphView): boolean => count(JSON.stringify(view, null, 2)) <= tokens
  if (fits(graph)) return { graph }
  const best = rankEntities(graph, ranked)
  let low = 0
  let high = best.length
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(takeBest(graph, best, middle))) low = middle
    else high = middle - 1
  }
  const kept = takeBest(graph, best, low)
  return {
    graph: kept,
    truncated: {
      entities: graph.entities.length - kept.entities.length,
      relations: graph.relations.length - kept.relations.length,
    },
  }
}

/** Positions of the entities, best first. Entities without a rank follow, newest first. */
function rankEntities({ entities }: GraphView, ranked: readonly string[]): number[] {
  const rank = new Map(ranked.map((name, at) => [name, at]))
  return entities
    .map(({ name }, at) => ({ at, rank: rank.get(name) ?? ranked.length }))
    .sort((a, b) => a.rank - b.rank || b.at - a.at)
    .map(({ at }) => at)
}

function takeBest(graph: GraphView, best: readonly number[], size: number): GraphView {
  const kept = new Set(best.slice(0, size))
  const entities = graph.entities.filter((_, at) => kept.has(at))
  const names = new Set(entities.map(({ name }) => name))
  const relations = graph.relations.filter(({ from, to }) => names.has(from) || names.has(to))
  return showGraph({ entities, relations })
}
