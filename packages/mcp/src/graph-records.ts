// The stored form of a knowledge graph: entities, observations and relations as items, and the
// lines that import them from a memory file.

import { createHash } from 'node:crypto'
import type { MemoryImportBody } from '@custos/client/types'

export interface Entity {
  readonly name: string
  readonly entityType: string
  readonly observations: readonly string[]
}

export interface Relation {
  readonly from: string
  readonly to: string
  readonly relationType: string
}

export const KINDS = ['entities', 'observations', 'relations'] as const

/** One item of a graph, without the labels that all items of the graph share. */
export interface GraphItem {
  readonly kind: (typeof KINDS)[number]
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
}

/** Labels of the namespaces of a graph. Each namespace of the store has its own graph. */
export const labelsOf = (namespace: string | undefined, ...more: readonly string[]): string[] => [
  ...(namespace === undefined ? [] : [namespace]),
  'graph',
  ...more,
]

/** Hashes names to keys: names have any length and characters, keys are restricted. */
const keyOf = (...parts: readonly (string | number)[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex')

/** `copy` distinguishes entities with the same name, which only a single call can create. */
const entityItem = (
  { name, entityType }: Pick<Entity, 'name' | 'entityType'>,
  copy: number,
): GraphItem => ({
  kind: 'entities',
  key: keyOf(name, copy),
  value: { name, entityType, ...(copy === 0 ? {} : { copy }) },
})

/** `repeat` distinguishes equal observations of one entity. */
export const observationItem = (
  { entity, copy }: { readonly entity: string; readonly copy: number },
  observation: string,
  repeat: number,
): GraphItem => ({
  kind: 'observations',
  key: keyOf(entity, copy, observation, repeat),
  value: { entity, observation, ...(copy === 0 ? {} : { copy }) },
})

export const relationItem = ({ from, to, relationType }: Relation, repeat: number): GraphItem => ({
  kind: 'relations',
  key: keyOf(from, to, relationType, repeat),
  value: { from, to, relationType },
})

/** Counts how often each text has occurred. */
export class Repeats {
  readonly #counts = new Map<string, number>()

  next(...parts: readonly (string | number)[]): number {
    const key = JSON.stringify(parts)
    const count = this.#counts.get(key) ?? 0
    this.#counts.set(key, count + 1)
    return count
  }
}

/** The entity comes after its observations, so an entity that is stored has all of them. */
export function entityItems(entity: Entity, copy: number): GraphItem[] {
  const repeats = new Repeats()
  const owner = { entity: entity.name, copy }
  return [
    ...entity.observations.map((text) => observationItem(owner, text, repeats.next(text))),
    entityItem(entity, copy),
  ]
}

const isText = (value: unknown): value is string => typeof value === 'string'

/**
 * The items of one line of a memory file; null if the line is invalid. Entities with the same name
 * become one, with the observations of all.
 */
function recordItems(record: Readonly<Record<string, unknown>>): GraphItem[] | null {
  const { type, name, entityType, observations, from, to, relationType } = record
  if (type === 'entity') {
    if (!isText(name) || !isText(entityType)) return null
    if (!Array.isArray(observations) || !observations.every(isText)) return null
    return entityItems({ name, entityType, observations }, 0)
  }
  if (type !== 'relation' || !isText(from) || !isText(to) || !isText(relationType)) return null
  return [relationItem({ from, to, relationType }, 0)]
}

/** The lines of `memory.import` for one line of a memory file; null if it is invalid. */
export function graphLines(
  record: Readonly<Record<string, unknown>>,
  namespace: string | undefined,
): MemoryImportBody[] | null {
  const items = recordItems(record)
  return (
    items?.map(({ kind, key, value }) => ({
      content: JSON.stringify(value),
      item: { namespace: labelsOf(namespace, kind), key },
    })) ?? null
  )
}
