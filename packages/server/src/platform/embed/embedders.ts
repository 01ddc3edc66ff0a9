// The embedders of this process by name, and the default for new stores.

import type { EmbedderName } from '@custos/contract'
import { type Embedder, spaceMark, spaceOf } from './embedder.ts'

export interface Embedders {
  /** The default embedder of a new store. */
  readonly default_name: EmbedderName
  /** Names a store may be created with. */
  readonly names: readonly EmbedderName[]
  /** Returns null if no embedder of that name is configured, or the name is `none`. */
  find(name: string): Embedder | null
  /** The current space of the named embedder, or null if there is none. */
  spaceOf(name: string): Space | null
}

export interface Space {
  readonly name: string
  readonly mark: number
}

/** Throws if the default is not among them. `none` is always available. */
export function embeddersOf(
  default_name: EmbedderName,
  made: ReadonlyMap<EmbedderName, Embedder>,
): Embedders {
  if (default_name !== 'none' && !made.has(default_name))
    throw new Error('the default embedder is not configured')
  const spaces = new Map<string, Space>()
  for (const [name, embedder] of made) {
    const space = spaceOf(embedder)
    spaces.set(name, { name: space, mark: spaceMark(space) })
  }
  const byName: ReadonlyMap<string, Embedder> = made
  return {
    default_name,
    names: [...made.keys(), 'none'],
    find: (name) => byName.get(name) ?? null,
    spaceOf: (name) => spaces.get(name) ?? null,
  }
}
