// Pure: how the memories and decisions of a request are named in its list, and digested.

import { hash } from 'node:crypto'

const REF_DIGITS = 16

/** Memories come before decisions, refs in the order of numbers. */
export const FACTS = '1:'
export const DECISIONS = '2:'

export const itemOfFact = (ref: number): string =>
  `${FACTS}${String(ref).padStart(REF_DIGITS, '0')}`

export const itemOfDecision = (decision_id: string): string => `${DECISIONS}${decision_id}`

export const refOf = (item: string): number => Number(item.slice(FACTS.length))

export const decisionOf = (item: string): string => item.slice(DECISIONS.length)

export const isFactItem = (item: string): boolean => item.startsWith(FACTS)

/** Hex SHA-256 over the items, a line each in their order. */
export const digestOf = (items: readonly string[]): string =>
  hash(
    'sha256',
    [...items]
      .sort()
      .map((item) => `${item}\n`)
      .join(''),
  )
