// What a knowledge graph is, what each change of it stores and erases, and its cut to a number of
// tokens, which keeps what matters most. Pure.

import {
  type Entity,
  entityItems,
  type GraphItem,
  observationItem,
  type Relation,
  Repeats,
  relationItem,
} from './graph-records.ts'

interface StoredEntity extends Entity {
  readonly item: GraphItem
  readonly copy: number
  readonly observationItems: readonly GraphItem[]
}

/** Entities, relations and observations are in the order of their creation. */
export interface Graph {
  readonly entities: readonly StoredEntity[]
  readonly relations: readonly (Relation & { readonly item: GraphItem })[]
  /** All observations, including those whose entity no longer exists. */
  readonly observations: readonly GraphItem[]
}

export interface GraphView {
  readonly entities: readonly Entity[]
  readonly relations: readonly Relation[]
}

interface GraphAddition<T> {
  readonly reply: T
  readonly puts: readonly GraphItem[]
}

/** Builds the graph from items. An observation without its entity is not shown. */
export function assembleGraph(items: readonly GraphItem[]): Graph {
  const byOwner = new Map<string, GraphItem[]>()
  const ownerOf = (name: unknown, copy: unknown) => JSON.stringify([name, copy ?? 0])
  for (const item of items) {
    if (item.kind !== 'observations') continue
    const owner = ownerOf(item.value['entity'], item.value['copy'])
    const listed = byOwner.get(owner)
    if (listed) listed.push(item)
    else byOwner.set(owner, [item])
  }
  const entities: StoredEntity[] = []
  const relations: Graph['relations'][number][] = []
  for (const item of items) {
    const { value } = item
    if (item.kind === 'entities') {
      const observationItems = byOwner.get(ownerOf(value['name'], value['copy'])) ?? []
      entities.push({
        name: String(value['name']),
        entityType: String(value['entityType']),
        observations: observationItems.map((one) => String(one.value['observation'])),
        copy: Number(value['copy'] ?? 0),
        observationItems,
        item,
      })
    } else if (item.kind === 'relations')
      relations.push({
        from: String(value['from']),
        to: String(value['to']),
        relationType: String(value['relationType']),
        item,
      })
  }
  const observations = items.filter(({ kind }) => kind === 'observations')
  return { entities, relations, observations }
}

const showEntity = ({ name, entityType, observations }: Entity): Entity => ({
  name,
  entityType,
  observations,
})

const showRelation = ({ from, to, relationType }: Relation): Relation => ({
  from,
  to,
  relationType,
})

const isSame = (one: Relation, other: Relation): boolean =>
  one.from === other.from && one.to === other.to && one.relationType === other.relationType

export function createEntities(
  { entities }: Graph,
  given: readonly Entity[],
): GraphAddition<readonly Entity[]> {
  const names = new Set(entities.map(({ name }) => name))
  const fresh = given.filter(({ name }) => !names.has(name)).map(showEntity)
  const copies = new Repeats()
  const puts = fresh.flatMap((entity) => entityItems(entity, copies.next(entity.name)))
  return { reply: fresh, puts }
}

export function createRelations(
  { relations }: Graph,
  given: readonly Relation[],
): GraphAddition<readonly Relation[]> {
  const fresh = given
    .filter((one) => !relations.some((other) => isSame(one, other)))
    .map(showRelation)
  const repeats = new Repeats()
  const puts = fresh.map((one) =>
    relationItem(one, repeats.next(one.from, one.to, one.relationType)),
  )
  return { reply: fresh, puts }
}

interface AddedObservations {
  readonly entityName: string
  readonly addedObservations: readonly string[]
}

/** The addition, or `missing` with the name of an entity that does not exist. */
export function addObservations(
  { entities }: Graph,
  given: readonly { readonly entityName: string; readonly contents: readonly string[] }[],
): { readonly missing: string } | GraphAddition<readonly AddedObservations[]> {
  const known = new Map<StoredEntity, Set<string>>()
  const repeats = new Repeats()
  const puts: GraphItem[] = []
  const reply: AddedObservations[] = []
  for (const { entityName, contents } of given) {
    const entity = entities.find(({ name }) => name === entityName)
    if (!entity) return { missing: entityName }
    const texts = known.get(entity) ?? new Set(entity.observations)
    const added = contents.filter((text) => !texts.has(text))
    known.set(entity, new Set([...texts, ...added]))
    const owner = { entity: entityName, copy: entity.copy }
    for (const text of added)
      puts.push(observationItem(owner, text, repeats.next(entityName, text)))
    reply.push({ entityName, addedObservations: added })
  }
  return { reply, puts }
}

/** The items to erase. Entities come last, so that a remaining entity shows what was not erased. */
export function deleteEntities(graph: Graph, names: readonly string[]): readonly GraphItem[] {
  const gone = new Set(names)
  const entities = graph.entities.filter(({ name }) => gone.has(name))
  const relations = graph.relations.filter(({ from, to }) => gone.has(from) || gone.has(to))
  return [
    ...relations.map(({ item }) => item),
    ...graph.observations.filter(({ value }) => gone.has(String(value['entity']))),
    ...entities.map(({ item }) => item),
  ]
}

export function deleteObservations(
  { entities }: Graph,
  deletions: readonly { readonly entityName: string; readonly observations: readonly string[] }[],
): readonly GraphItem[] {
  const gone = deletions.flatMap(({ entityName, observations }) => {
    const entity = entities.find(({ name }) => name === entityName)
    const items = entity?.observationItems ?? []
    return items.filter(({ value }) => observations.includes(String(value['observation'])))
  })
  return [...new Set(gone)]
}

export const deleteRelations = (
  { relations }: Graph,
  given: readonly Relation[],
): readonly GraphItem[] =>
  relations.filter((one) => given.some((other) => isSame(one, other))).map(({ item }) => item)

export const showGraph = ({ entities, relations }: GraphView): GraphView => ({
  entities: entities.map(showEntity),
  relations: relations.map(showRelation),
})

/** The entities that match, and every relation with an end among them. */
function showAround({ entities, relations }: Graph, fits: (entity: Entity) => boolean): GraphView {
  const chosen = entities.filter(fits)
  const names = new Set(chosen.map(({ name }) => name))
  return showGraph({
    entities: chosen,
    relations: relations.filter(({ from, to }) => names.has(from) || names.has(to)),
  })
}

export function searchNodes(graph: Graph, query: string): GraphView {
  const wanted = query.toLowerCase()
  const has = (text: string): boolean => text.toLowerCase().includes(wanted)
  return showAround(
    graph,
    ({ name, entityType, observations }) => has(name) || has(entityType) || observations.some(has),
  )
}

export const openNodes = (graph: Graph, names: readonly string[]): GraphView =>
  showAround(graph, ({ name }) => names.includes(name))

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
