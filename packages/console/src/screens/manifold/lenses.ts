// The lenses of the manifold: the values by which cells are coloured.

import type { ManifoldExportReply } from '@custos/client/types'

export type ManifoldCell = ManifoldExportReply['cells'][number]

export interface Lens {
  readonly id: string
  readonly title: string
  readonly about: string
  /** The value of a cell; null if it has none. */
  readonly valueOf: (cell: ManifoldCell) => number | null
  /** The value of the strongest colour; null for the largest value that occurs. */
  readonly most: number | null
}

const COUNT: Lens = {
  id: 'count',
  title: 'Decisions',
  about: 'The stronger the colour, the more decisions.',
  valueOf: ({ count }) => count,
  most: null,
}

export const LENSES: readonly Lens[] = [
  COUNT,
  {
    id: 'paid',
    title: 'Share paid',
    about: 'The stronger the colour, the more outcomes are good. An empty cell has no outcome.',
    valueOf: ({ lenses }) => lenses.paid,
    most: 1,
  },
  {
    id: 'default',
    title: 'Share defaulted',
    about: 'The stronger the colour, the more outcomes are bad. An empty cell has no outcome.',
    valueOf: ({ lenses }) => (lenses.paid === null ? null : 1 - lenses.paid),
    most: 1,
  },
  {
    id: 'resolved',
    title: 'Known outcomes',
    about: 'The stronger the colour, the more decisions have an outcome.',
    valueOf: ({ lenses }) => lenses.resolved,
    most: null,
  },
  {
    id: 'open',
    title: 'Without an outcome',
    about: 'The stronger the colour, the more decisions wait for an outcome.',
    valueOf: ({ count, lenses }) => count - lenses.resolved,
    most: null,
  },
]

export const lensOf = (id: string): Lens => LENSES.find((lens) => lens.id === id) ?? COUNT
